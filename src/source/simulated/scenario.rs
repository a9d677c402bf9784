//! What a scenario is: a name, what it shows, and a script of timed changes.

use std::time::Duration;

use super::cast::Nic;
use super::scenarios::ALL;
use crate::model::Priority;

/// A named course of events in the fabric or in the reading of it.
#[derive(Debug)]
pub struct Scenario {
    /// As given on the command line.
    pub name: &'static str,
    /// One line on what happens.
    pub summary: &'static str,
    /// The pattern that an operator should recognize.
    pub pattern: &'static str,
    /// How long one pass takes.
    pub duration: Duration,
    /// Where the next pass starts. From zero the fabric is put in order first; from later on, what the
    /// script did before that time stays.
    pub repeat_from: Duration,
    /// How long the scenario stays on when several are shown in turn; none to leave it out there.
    pub walk: Option<Duration>,
    pub(super) script: &'static [Cue],
}

impl Scenario {
    /// All scenarios, in the order of the documentation.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        ALL
    }

    /// The scenario of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|scenario| scenario.name == name)
    }
}

/// A scenario for a time, as a part of a course.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// What is played.
    pub scenario: &'static Scenario,
    /// For how long.
    pub lasts: Duration,
    /// How many times as long as usual all that the script does lasts. Traffic and disturbances keep their pace.
    pub slowed: u32,
}

/// A change at a time of the script.
#[derive(Debug)]
pub(super) struct Cue {
    pub(super) at: Duration,
    pub(super) change: Change,
}

/// A range of spans in microseconds; each is drawn evenly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Micros(pub(super) u64, pub(super) u64);

/// What a load runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The priority that the fabric treats as lossless at the time.
    Lossless,
    /// This one.
    Fixed(Priority),
}

impl Class {
    /// The priority, when `lossless` is the lossless one.
    pub(super) const fn priority(self, lossless: Priority) -> Priority {
        match self {
            Self::Lossless => lossless,
            Self::Fixed(priority) => priority,
        }
    }
}

/// A change that a script makes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// Further steady load, in percent of the slower link of the two.
    Offer { from: Nic, to: Nic, class: Class, percent: u64 },
    /// Several senders at once send to one receiver, again and again. No receiver: a random one each time.
    Bursts { to: Option<Nic>, senders: usize, percent: u64, every: Micros, lasts: Micros },
    /// The receive side of a priority stops for short times. No NIC: a random one each time.
    Stalls { nic: Option<Nic>, class: Class, every: Micros, lasts: Micros },
    /// Memory takes in only this much of the link.
    Drain { nic: Nic, percent: u64 },
    /// Memory takes in all again.
    DrainAll { nic: Nic },
    /// The switch marks or not.
    Marking(bool),
    /// CNPs reach the senders or not.
    CnpDelivery(bool),
    /// The switch port ignores this NIC's pause.
    PeerIgnores { nic: Nic },
    /// The NIC has PFC off: it ignores its switch port's pause and asks for none.
    Ignores { nic: Nic },
    /// The switch port has PFC on this priority instead of the lossless one; the NIC does not.
    PeerPfc { nic: Nic, priority: Priority },
    /// The netdev has another MTU than its switch port.
    Mtu { nic: Nic, bytes: u32 },
    /// The switch port obeys this NIC's pause late.
    PeerLags { nic: Nic, micros: u64 },
    /// The switches hold each other in a circle: nothing lossless leaves.
    Stuck(bool),
    /// The NIC sends 802.3x pause in place of PFC.
    LinkPause { nic: Nic },
    /// Another priority becomes the lossless one, for all, and the traffic with it.
    LosslessPriority(Priority),
    /// One more priority gets PFC at both ends of a link.
    ExtraPfc { nic: Nic, priority: Priority },
    /// A change of how counters are read; the fabric itself goes on.
    Reading { nic: Nic, trouble: Trouble },
}

/// What can go wrong with reading a NIC.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trouble {
    /// A read takes this long.
    Slow(Duration),
    /// Values stand still.
    Frozen,
    /// A read fails with `EIO`.
    Failing,
    /// All is well again.
    Cured,
    /// The device is gone.
    Unplugged,
    /// The device is back as a new one.
    Plugged,
    /// The device has another name.
    Renamed(&'static str),
    /// All counters start from 0 again.
    Reset,
    /// Counters of less than 64 bits stand just below their end.
    NearWrap,
}
