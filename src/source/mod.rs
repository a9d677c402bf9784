//! Reads the kernel's interfaces and gives plain samples.
//!
//! One small type per interface implements [`CounterSet`]; a [`Host`] says which devices there are and
//! opens their counter sets. The simulated host implements the same two traits, so its values take the
//! very same way. This room refuses to compute a rate, and to know a metric name.

mod clock;
mod error;
mod ethtool;
mod ethtool_settings;
mod hollow;
mod machine;
mod namespaces;
pub mod netlink;
mod peers;
mod planned;
mod rdma_netlink;
mod rdma_sysfs;
pub mod simulated;
mod sysfs;
mod system_call;

pub use clock::{monotonic_now, unix_seconds_now};
pub use error::{SourceError, reason_of};
pub use ethtool::{EthtoolStatistics, KernelCalls, StatisticsCalls};
pub use ethtool_settings::{EthtoolReader, EthtoolSettings};
pub use machine::{MachineHost, RdmaTableKey};
pub use namespaces::NamespacesHost;
pub use peers::{LldpAgents, PeeredHost, neighbours_of_lldpcli, neighbours_of_networkd};
pub use planned::{PlanRules, PlannedSource};
pub use rdma_netlink::RdmaNetlink;
pub use rdma_sysfs::{PORT_COUNTERS_PREFIX, RdmaSysfs};
pub use sysfs::{KeptFile, SysfsRoot};
pub use system_call::{DriverInfo, EthtoolSocket, NAME_SLOT, Request};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::model::{DeviceFacts, Feed, Reading};

/// The named counters of one source of one device, as the kernel offers them.
///
/// A position in the set of names identifies a counter until the next call of [`CounterSet::names`].
pub trait CounterSet: Send {
    /// Reads the set of names. Slow (up to milliseconds): once at start and when the set changed.
    ///
    /// Names are as the driver gives them but for the end of a fixed-width slot; matching trims them.
    ///
    /// # Errors
    /// Whatever the kernel answers, with its errno.
    fn names(&mut self) -> Result<Vec<String>, SourceError>;

    /// Reads the counters at the positions `wanted` (ascending) into `readings`, which has the same length.
    /// Allocates nothing once warm.
    ///
    /// A counter that cannot be read is [`Reading::Missing`] with its reason and leaves the others alone.
    ///
    /// # Errors
    /// [`SourceError::NamesChanged`] when the set is no longer the one that [`CounterSet::names`] gave;
    /// otherwise an error that concerns the whole set.
    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError>;

    /// The period on which the kernel serves the same values again, where it says one.
    fn cache_period(&self) -> Option<Duration> {
        None
    }
}

/// What a host has now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// Devices, sorted by name.
    pub devices: Vec<DeviceFacts>,
    /// What can be sampled on them.
    pub feeds: Vec<FoundFeed>,
}

/// A source of a device that can be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFeed {
    /// What it is.
    pub feed: Feed,
    /// Changes when the same name means another device.
    pub incarnation: u32,
    /// The catalogue's driver key.
    pub driver: String,
}

/// A machine with NICs: this one, a simulated one, or a recorded one.
pub trait Host: Send + Sync {
    /// Lists the devices and sources there are now. What cannot be looked at is left out; one device's
    /// failure leaves the others in. Blocking; not on an async worker.
    fn discover(&self) -> Discovery;

    /// Opens a source for its sampling thread.
    ///
    /// # Errors
    /// When the device is gone or the interface cannot be opened.
    fn open(&self, feed: &Feed) -> Result<Box<dyn CounterSet>, SourceError>;

    /// What moves when the names of this source's counters may have changed, for those who sample it. A host
    /// that learns of no events gives one that never moves.
    fn names_epoch(&self, feed: &Feed) -> Arc<AtomicU64> {
        let _ = feed;
        Arc::default()
    }

    /// Calls `on_change` soon after devices or their set-up changed, until the watch is dropped. None where
    /// changes cannot be learned of; whoever looks must then look often.
    fn watch(&self, on_change: OnChange) -> Option<Watch> {
        let _ = on_change;
        None
    }
}

/// What a [`Host`] calls when something changed. It may be called often and from any thread.
pub type OnChange = Box<dyn Fn() + Send + Sync>;

/// Watching, which ends when this is dropped.
#[derive(Debug)]
pub struct Watch {
    stop: Arc<AtomicBool>,
}

impl Watch {
    /// A watch that sets `stop` when it is dropped.
    #[must_use]
    pub const fn new(stop: Arc<AtomicBool>) -> Self {
        Self { stop }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}
