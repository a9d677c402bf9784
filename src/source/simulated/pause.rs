//! One direction of pause on a link: who asks, how long, with how many frames, and who is held.
//!
//! The asking side sends XOFF with the longest quanta, repeats it when they run out, and sends XON when
//! it has room again. The other side holds at once, late, or never. Times are nanoseconds of the
//! fabric's clock.

use super::truth::PauseTruth;

/// Quanta of an XOFF: the most that 16 bits hold.
const QUANTA: u64 = 65_535;

/// Bits in the time of one quantum, at link speed (IEEE 802.3 annex 31B).
const QUANTUM_BITS: u64 = 512;

/// How the held side answers an XOFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obedience {
    /// Before another byte leaves.
    AtOnce,
    /// After this many nanoseconds: a long cable or a slow peer.
    After(u64),
    /// Not at all: PFC is off there.
    Never,
}

/// An edge at one of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Began,
    Ended,
}

/// One direction of pause.
#[derive(Clone, Debug)]
pub(super) struct Pause {
    obedience: Obedience,
    refresh_ns: u64,
    asked_since: Option<u64>,
    next_refresh: u64,
    held: bool,
    asked: PauseTruth,
    felt: PauseTruth,
}

impl Pause {
    /// For a link of `bits_per_second`.
    pub(super) fn new(bits_per_second: u64) -> Self {
        Self {
            obedience: Obedience::AtOnce,
            refresh_ns: longest_pause_ns(bits_per_second),
            asked_since: None,
            next_refresh: 0,
            held: false,
            asked: PauseTruth::default(),
            felt: PauseTruth::default(),
        }
    }

    pub(super) const fn set_obedience(&mut self, obedience: Obedience) {
        self.obedience = obedience;
    }

    pub(super) const fn is_asked(&self) -> bool {
        self.asked_since.is_some()
    }

    pub(super) const fn is_held(&self) -> bool {
        self.held
    }

    /// Whether the held side can be trusted to stop in time, so that the headroom suffices.
    pub(super) const fn is_obeyed(&self) -> bool {
        matches!(self.obedience, Obedience::AtOnce)
    }

    pub(super) const fn asked_since(&self) -> Option<u64> {
        self.asked_since
    }

    /// Sends XOFF unless it stands already.
    pub(super) const fn ask(&mut self, now: u64) -> Option<Edge> {
        if self.asked_since.is_some() {
            return None;
        }
        self.asked_since = Some(now);
        self.next_refresh = now + self.refresh_ns;
        self.send_xoff();
        self.asked.starts += 1;
        Some(Edge::Began)
    }

    /// Sends XON if XOFF stands.
    pub(super) const fn release(&mut self) -> Option<Edge> {
        if self.asked_since.is_none() {
            return None;
        }
        self.asked_since = None;
        self.asked.xon_frames += 1;
        if self.is_heard() {
            self.felt.xon_frames += 1;
        }
        self.asked.ends += 1;
        Some(Edge::Ended)
    }

    /// Lets `[from, to)` pass in the present state.
    pub(super) const fn elapse(&mut self, from: u64, to: u64) {
        if self.asked_since.is_some() {
            self.asked.paused_ns += to - from;
            while self.next_refresh <= to {
                self.send_xoff();
                self.next_refresh += self.refresh_ns;
            }
        }
        if self.held {
            self.felt.paused_ns += to - from;
        }
    }

    /// Brings the held side up to date with what is asked.
    pub(super) fn settle(&mut self, now: u64) -> Option<Edge> {
        let held = match (self.asked_since, self.obedience) {
            (Some(_), Obedience::AtOnce) => true,
            (Some(since), Obedience::After(delay)) => now >= since + delay,
            (Some(_), Obedience::Never) | (None, _) => false,
        };
        if held == self.held {
            return None;
        }
        self.held = held;
        if held {
            self.felt.starts += 1;
            Some(Edge::Began)
        } else {
            self.felt.ends += 1;
            Some(Edge::Ended)
        }
    }

    /// When a late peer will at last hold, if that is still to come.
    pub(super) const fn obeyed_at(&self) -> Option<u64> {
        match (self.asked_since, self.obedience) {
            (Some(since), Obedience::After(delay)) if !self.held => Some(since + delay),
            _ => None,
        }
    }

    /// As the asking side counts it.
    pub(super) const fn at_asker(&self) -> PauseTruth {
        self.asked
    }

    /// As the other side counts it: frames of a priority without PFC are not PFC frames to it, and the time is the
    /// time it held.
    pub(super) const fn at_held(&self) -> PauseTruth {
        self.felt
    }

    const fn is_heard(&self) -> bool {
        !matches!(self.obedience, Obedience::Never)
    }

    const fn send_xoff(&mut self) {
        self.asked.xoff_frames += 1;
        if self.is_heard() {
            self.felt.xoff_frames += 1;
        }
    }
}

/// How long one XOFF holds a link of this speed.
fn longest_pause_ns(bits_per_second: u64) -> u64 {
    (QUANTA * QUANTUM_BITS * 1_000_000_000).checked_div(bits_per_second).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEED: u64 = 100_000_000_000;

    #[test]
    fn one_xoff_holds_as_long_as_its_quanta() {
        assert_eq!(longest_pause_ns(100_000_000_000), 335_539);
        assert_eq!(longest_pause_ns(40_000_000_000), 838_848);
        assert_eq!(longest_pause_ns(0), u64::MAX);
    }

    #[test]
    fn frames_count_the_start_each_refresh_and_the_end() {
        let mut pause = Pause::new(SPEED);
        pause.ask(1_000);
        pause.settle(1_000);
        pause.elapse(1_000, 1_000 + 2 * 335_539);
        assert_eq!(pause.at_asker().xoff_frames, 3);
        pause.release();
        pause.settle(672_078);
        let truth = pause.at_asker();
        assert_eq!((truth.xoff_frames, truth.xon_frames), (3, 1));
        assert_eq!(truth.paused_ns, 671_078);
        assert_eq!(pause.at_held(), truth);
    }

    #[test]
    fn a_second_xoff_or_xon_in_a_row_changes_nothing() {
        let mut pause = Pause::new(SPEED);
        assert_eq!(pause.release(), None);
        assert_eq!(pause.ask(0), Some(Edge::Began));
        assert_eq!(pause.ask(5), None);
        assert_eq!(pause.release(), Some(Edge::Ended));
        assert_eq!(pause.at_asker().edges(), 2);
    }

    #[test]
    fn a_peer_that_never_obeys_is_never_held() {
        let mut pause = Pause::new(SPEED);
        pause.set_obedience(Obedience::Never);
        pause.ask(0);
        pause.settle(0);
        pause.elapse(0, 1_000);
        assert_eq!(pause.at_asker().paused_ns, 1_000);
        assert_eq!(
            pause.at_held(),
            PauseTruth::default(),
            "nor is a frame of it a PFC frame there"
        );
    }

    #[test]
    fn a_late_peer_holds_after_its_delay() {
        let mut pause = Pause::new(SPEED);
        pause.set_obedience(Obedience::After(300));
        pause.ask(100);
        assert_eq!(pause.settle(100), None);
        assert_eq!(pause.obeyed_at(), Some(400));
        pause.elapse(100, 400);
        assert_eq!(pause.settle(400), Some(Edge::Began));
        pause.elapse(400, 500);
        assert_eq!(pause.at_held().paused_ns, 100);
        assert_eq!(pause.at_asker().paused_ns, 400);
    }
}
