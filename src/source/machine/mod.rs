//! This machine's NICs: which netdevs and RDMA ports there are, how they are set up, and how to open them.
//!
//! Names pass the filter before anything of the device is read. Without an include pattern only netdevs
//! with a device behind them count (NICs, virtual functions, virtio), not bridges, bonds or veth. Lists come
//! over netlink; a tree that is no sysfs (a copy, a fixture) is listed by its files. Refuses to read sysfs files
//! that restart under rtnl.

mod details;
mod ear;
mod events;
mod kernel;
mod rdma_ports;
mod tree;

pub(super) use rdma_ports::netdev_by_files;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::ear::{Attentive, Ear};
use super::ethtool::{EthtoolStatistics, KernelCalls};
use super::hollow::{HollowDevices, hollow_devices};
use super::netlink::link::Link;
use super::rdma_netlink::RdmaNetlink;
use super::rdma_sysfs::RdmaSysfs;
use super::sysfs::SysfsRoot;
use super::{CounterSet, Discovery, Host, OnChange, SourceError, Watch};
use crate::model::{DeviceFacts, DeviceFilter, Feed, SourceKind};

/// Turns the driver of an RDMA device's bus device, and the RDMA device's name, into the catalogue's key.
pub type RdmaTableKey = dyn Fn(&str, &str) -> String + Send + Sync;

/// This machine, seen through the kernel.
pub struct MachineHost {
    sysfs: SysfsRoot,
    filter: DeviceFilter,
    rdma_table_key: Box<RdmaTableKey>,
    /// Whether the root is the kernel's own sysfs and no copy of one.
    is_kernel: bool,
    kernel: Mutex<kernel::Kernel>,
    epochs: Arc<Epochs>,
    ear: Arc<Ear>,
    hollow: HollowDevices,
}

impl fmt::Debug for MachineHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MachineHost").field("sysfs", &self.sysfs).finish_non_exhaustive()
    }
}

impl MachineHost {
    /// A machine whose sysfs is at `sysfs`. The netdevs are those of the calling thread's network namespace.
    #[must_use]
    pub fn new(sysfs: SysfsRoot, filter: DeviceFilter, key: Box<RdmaTableKey>) -> Self {
        let is_kernel = sysfs.is_kernel();
        let epochs: Arc<Epochs> = Arc::default();
        let ear = Arc::new(Ear::new(Arc::clone(&epochs)));
        Self {
            sysfs,
            filter,
            rdma_table_key: key,
            is_kernel,
            kernel: Mutex::default(),
            epochs,
            ear,
            hollow: HollowDevices::default(),
        }
    }

    /// A machine whose netdevs are those of whatever namespace the calling thread is in. It has no sysfs, since one
    /// shows the namespace of whoever mounted it.
    #[must_use]
    pub fn in_namespace(filter: DeviceFilter) -> Self {
        let nowhere = SysfsRoot::new("/nonexistent");
        let no_rdma = |_: &str, _: &str| String::new();
        Self { is_kernel: true, ..Self::new(nowhere, filter, Box::new(no_rdma)) }
    }

    fn kernel(&self) -> MutexGuard<'_, kernel::Kernel> {
        lock(&self.kernel)
    }
}

impl Host for MachineHost {
    fn discover(&self) -> Discovery {
        let mut found = if self.is_kernel {
            self.kernel().discover(&self.sysfs, &self.filter, &*self.rdma_table_key)
        } else {
            tree::discover(&self.sysfs, &self.filter, &*self.rdma_table_key)
        };
        self.hollow.tell(hollow_devices(&self.sysfs, &self.filter, &found));
        self.epochs.keep(&found.devices);
        found.devices.sort_by(|a, b| a.device.cmp(&b.device));
        found.feeds.sort_by(|a, b| a.feed.cmp(&b.feed));
        found
    }

    fn open(&self, feed: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        let refused = |errno| SourceError::Kernel { call: "socket".to_owned(), errno };
        match (feed.source, &feed.rdma_device) {
            (SourceKind::Ethtool, _) => {
                let calls = KernelCalls::open().map_err(refused)?;
                let set = EthtoolStatistics::new(calls, feed.device.to_string());
                self.ear.open();
                Ok(Box::new(Attentive { set, ear: Arc::clone(&self.ear) }))
            }
            (SourceKind::RdmaSysfs, Some(rdma_device)) => {
                let sysfs = self.sysfs.clone();
                Ok(Box::new(RdmaSysfs::new(sysfs, rdma_device.to_string(), feed.port)))
            }
            (SourceKind::RdmaNetlink, Some(rdma_device)) => {
                let port = feed.port.unwrap_or(1);
                Ok(Box::new(RdmaNetlink::open(&self.sysfs, rdma_device, port)?))
            }
            _ => Err(SourceError::Nonsense(format!("no such source: {feed:?}"))),
        }
    }

    fn names_epoch(&self, feed: &Feed) -> Arc<AtomicU64> {
        self.epochs.of(&feed.device)
    }

    fn watch(&self, on_change: OnChange) -> Option<Watch> {
        if !self.is_kernel {
            return None;
        }
        let started =
            events::watch(&self.sysfs, self.filter.clone(), Arc::clone(&self.epochs), on_change);
        started.inspect_err(|error| tracing::warn!(%error, "changes are seen late: no events")).ok()
    }
}

/// What the watcher of events knows of the devices that are looked at.
#[derive(Debug, Default)]
struct Epochs {
    /// Names epochs by netdev name, of those that are sampled.
    all: Mutex<HashMap<Arc<str>, Arc<AtomicU64>>>,
    /// Names by netdev index, as the last look found them.
    found: Mutex<HashMap<u32, Arc<str>>>,
    /// Whether one of these belongs to a bond or a bridge.
    has_member: AtomicBool,
}

impl Epochs {
    fn of(&self, device: &Arc<str>) -> Arc<AtomicU64> {
        let mut all = lock(&self.all);
        Arc::clone(all.entry(Arc::clone(device)).or_default())
    }

    /// Keeps what the last look found, and forgets the epochs that nobody holds: names can come and go for ever.
    fn keep(&self, devices: &[DeviceFacts]) {
        let netdevs = devices.iter().filter(|facts| facts.incarnation != 0);
        let found = netdevs.map(|facts| (facts.incarnation, Arc::clone(&facts.device)));
        *lock(&self.found) = found.collect();
        let has_member = devices.iter().any(|facts| !facts.master.is_empty());
        self.has_member.store(has_member, Release);
        lock(&self.all).retain(|_, epoch| Arc::strong_count(epoch) > 1);
    }

    /// The names of this device's counters may have changed. Returns whether the device is looked at.
    fn moved(&self, device: &str) -> bool {
        let sampled = lock(&self.all).get(device).map(|epoch| epoch.fetch_add(1, AcqRel)).is_some();
        sampled || lock(&self.found).values().any(|found| **found == *device)
    }

    /// Something happened to the netdev of this index, whose name is now `name`. Counters that the last look
    /// found under another name are no longer there. Returns whether the last look found it.
    fn renamed(&self, index: u32, name: &str) -> bool {
        let before = lock(&self.found).get(&index).map(Arc::clone);
        if let Some(before) = before.as_ref().filter(|before| ***before != *name) {
            self.moved(before);
        }
        before.is_some()
    }

    /// Whether a link may lie above a device that the last look found: a bond, or a VLAN on one or on the device.
    fn lies_above(&self, link: &Link) -> bool {
        let has_member = self.has_member.load(Acquire);
        match link.kind.as_str() {
            "bond" => has_member,
            "vlan" => {
                has_member || link.lower.is_some_and(|lower| lock(&self.found).contains_key(&lower))
            }
            _ => false,
        }
    }

    /// The names of any counters may have changed.
    fn all_moved(&self) {
        for epoch in lock(&self.all).values() {
            epoch.fetch_add(1, AcqRel);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
