//! Driver statistics by the ethtool ioctl (`ethtool -S`), the only interface that has PFC counters.
//!
//! Names are read once; a read then passes the cached count, so that a kernel that checks it answers with
//! nothing when the set changed (Linux 6.19, stable 6.12.117 and 6.18.3: commit 7b07be1ff1cb). Other kernels
//! are asked for their count before each read. Refuses to look at a device other than by its name now.

use rustix::io::Errno;

use super::system_call::{EthtoolSocket, NAME_SLOT, Request};
use super::{CounterSet, SourceError};
use crate::model::{Reading, Reason};

/// The most statistics that a device may have; more is nonsense from a driver.
const MOST_STATISTICS: u32 = 1 << 20;

/// The three ioctls of `ethtool -S`, so that tests can stand in for the kernel.
pub trait StatisticsCalls: Send {
    /// See [`EthtoolSocket::statistics_count`].
    ///
    /// # Errors
    /// The kernel's errno.
    fn count(&self, device: &str) -> Result<u32, Errno>;
    /// See [`EthtoolSocket::statistics_names`].
    ///
    /// # Errors
    /// The kernel's errno.
    fn names(&self, device: &str, count: u32) -> Result<Vec<[u8; NAME_SLOT]>, Errno>;
    /// See [`EthtoolSocket::statistics`].
    ///
    /// # Errors
    /// The kernel's errno.
    fn values(&mut self, device: &str, count: u32) -> Result<(u32, &[u64]), Errno>;
    /// See [`EthtoolSocket::index`]. A stand-in that has one device only need not say.
    ///
    /// # Errors
    /// The kernel's errno.
    fn index(&self, device: &str) -> Result<u32, Errno> {
        let _ = device;
        Ok(0)
    }
}

/// The kernel itself.
#[derive(Debug)]
pub struct KernelCalls {
    socket: EthtoolSocket,
    request: Request,
}

impl KernelCalls {
    /// Opens a socket in the namespace of the calling thread.
    ///
    /// # Errors
    /// The errno of `socket(2)`.
    pub fn open() -> Result<Self, Errno> {
        Ok(Self { socket: EthtoolSocket::open()?, request: Request::default() })
    }
}

impl StatisticsCalls for KernelCalls {
    fn count(&self, device: &str) -> Result<u32, Errno> {
        self.socket.statistics_count(device)
    }

    fn names(&self, device: &str, count: u32) -> Result<Vec<[u8; NAME_SLOT]>, Errno> {
        self.socket.statistics_names(device, count)
    }

    fn values(&mut self, device: &str, count: u32) -> Result<(u32, &[u64]), Errno> {
        let given = self.socket.statistics(device, count, &mut self.request)?;
        Ok((given, self.request.values()))
    }

    fn index(&self, device: &str) -> Result<u32, Errno> {
        self.socket.index(device)
    }
}

/// Whether the kernel compares the caller's count with the driver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountCheck {
    NotProbed,
    ByKernel,
    ByUs,
}

/// The statistics of one netdev.
#[derive(Debug)]
pub struct EthtoolStatistics<C> {
    calls: C,
    device: String,
    /// The netdev's number when its names were first read.
    index: Option<u32>,
    count: u32,
    check: CountCheck,
}

impl<C: StatisticsCalls> EthtoolStatistics<C> {
    /// The statistics of `device`, by name; nothing is read yet.
    #[must_use]
    pub const fn new(calls: C, device: String) -> Self {
        Self { calls, device, index: None, count: 0, check: CountCheck::NotProbed }
    }

    fn error(&self, call: &str, errno: Errno) -> SourceError {
        SourceError::Kernel { call: format!("{call} {}", self.device), errno }
    }

    /// A name can pass to another device, whose counters must not go on from those of the first.
    fn is_the_same_device(&mut self) -> Result<(), SourceError> {
        let now = self.calls.index(&self.device);
        let now = now.map_err(|errno| self.error("SIOCGIFINDEX", errno))?;
        if *self.index.get_or_insert(now) == now {
            Ok(())
        } else {
            Err(self.error("SIOCGIFINDEX", Errno::NODEV))
        }
    }

    /// Asks for one value more than there is: only a kernel that checks answers with none.
    fn probe(&mut self) -> Result<(), SourceError> {
        if self.check == CountCheck::NotProbed && self.count > 0 {
            let answer = self.calls.values(&self.device, self.count + 1).map(|(given, _)| given);
            let given = answer.map_err(|errno| self.error("ETHTOOL_GSTATS", errno))?;
            self.check = if given == 0 { CountCheck::ByKernel } else { CountCheck::ByUs };
        }
        Ok(())
    }
}

/// The text of a fixed-width name slot: up to the first NUL or the slot's end, whatever bytes it has.
fn name_of(slot: &[u8; NAME_SLOT]) -> String {
    let end = slot.iter().position(|byte| *byte == 0).unwrap_or(slot.len());
    String::from_utf8_lossy(slot.get(..end).unwrap_or_default()).into_owned()
}

impl<C: StatisticsCalls> CounterSet for EthtoolStatistics<C> {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        self.is_the_same_device()?;
        let count = match self.calls.count(&self.device) {
            Ok(count) if count <= MOST_STATISTICS => count,
            Ok(count) => return Err(SourceError::Nonsense(format!("{count} statistics"))),
            Err(Errno::OPNOTSUPP) => 0,
            Err(errno) => return Err(self.error("ETHTOOL_GSSET_INFO", errno)),
        };
        self.count = count;
        if count == 0 {
            return Ok(Vec::new());
        }
        let slots = self.calls.names(&self.device, count);
        let slots = slots.map_err(|errno| self.error("ETHTOOL_GSTRINGS", errno))?;
        if slots.len() != count as usize {
            return Err(SourceError::NamesChanged);
        }
        self.probe()?;
        Ok(slots.iter().map(name_of).collect())
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        if self.count == 0 {
            return Ok(());
        }
        if self.check != CountCheck::ByKernel {
            match self.calls.count(&self.device) {
                Ok(count) if count == self.count => {}
                Ok(_) => return Err(SourceError::NamesChanged),
                Err(errno) => return Err(self.error("ETHTOOL_GSSET_INFO", errno)),
            }
        }
        match self.calls.values(&self.device, self.count) {
            Ok((given, values)) if given == self.count => {
                // What lies behind them in the buffer is of earlier reads.
                let values = values.get(..given as usize).unwrap_or(values);
                for (reading, position) in readings.iter_mut().zip(wanted) {
                    let value = values.get(*position as usize);
                    *reading = value.map_or(Reading::Missing(Reason::NamesChanged), |value| {
                        Reading::Value(*value)
                    });
                }
                Ok(())
            }
            Ok(_) => Err(SourceError::NamesChanged),
            Err(errno) => Err(self.error("ETHTOOL_GSTATS", errno)),
        }
    }
}

#[cfg(test)]
#[path = "ethtool_tests.rs"]
mod tests;
