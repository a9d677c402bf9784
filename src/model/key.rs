//! What a counter counts, apart from the device it belongs to.

use std::fmt;
use std::sync::Arc;

use super::Quantity;

/// Which way the frames or bytes went, seen from this port.
///
/// For pause this decides who is congested. `Tx`: this port sent the pause frames, so this port is
/// congested and its peer stops. `Rx`: the peer sent them, so this port's transmit side is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Sent by this port.
    Tx,
    /// Received by this port.
    Rx,
}

impl Direction {
    /// Both directions, in the order in which they are exported.
    pub const ALL: [Self; 2] = [Self::Tx, Self::Rx];

    /// The label value: `tx` or `rx`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tx => "tx",
            Self::Rx => "rx",
        }
    }
}

/// A number that is no 802.1p priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("priority {0} is not in 0..=7")]
pub struct InvalidPriority(pub u8);

/// An 802.1p priority, which is also a PFC class: 0 to 7 (IEEE 802.1Qbb).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// How many priorities there are.
    pub const COUNT: usize = 8;

    /// All priorities, ascending.
    pub const ALL: [Self; Self::COUNT] =
        [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7)];

    /// # Errors
    /// [`InvalidPriority`] for a number above 7.
    pub const fn new(number: u8) -> Result<Self, InvalidPriority> {
        if number < 8 { Ok(Self(number)) } else { Err(InvalidPriority(number)) }
    }

    /// The number, 0 to 7.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The number as a position in an array of [`Priority::COUNT`].
    #[must_use]
    pub const fn position(self) -> usize {
        self.0 as usize
    }

    /// The label value: `0` to `7`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self.0 {
            0 => "0",
            1 => "1",
            2 => "2",
            3 => "3",
            4 => "4",
            5 => "5",
            6 => "6",
            _ => "7",
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a counter is split by. A traffic class or a buffer is never a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Index {
    /// The whole port or device.
    None,
    /// 802.1p priority.
    Priority(Priority),
    /// Traffic class or CoS queue.
    TrafficClass(u8),
    /// Packet buffer, buffer group or FIFO.
    Buffer(u8),
}

/// One counter of one source, by meaning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterKey {
    /// What is counted.
    pub quantity: Quantity,
    /// Which way, where the quantity has a way.
    pub direction: Option<Direction>,
    /// What it is split by.
    pub index: Index,
    /// A further distinction within the quantity: the reason of a discard, the severity of a stall, the
    /// PCIe operation. Its label's name belongs to the export.
    pub detail: Option<Arc<str>>,
}
