//! Devices that sysfs lists while nothing that can be counted stands behind them.
//!
//! A container often has the links below `/sys/class` but not the `/sys/devices` that they lead to, and in
//! a network namespace of its own an RDMA device shows no counters (`rdma system` mode `exclusive`). Such a
//! device gives no series and no failed read, so only the log can say what is wrong. Refuses to repeat
//! itself: each device is named once, and again only after it had counters in between.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::machine::netdev_by_files;
use super::{Discovery, SysfsRoot};
use crate::model::{DeviceFilter, SourceKind};

/// What an operator can do about it.
const REMEDY: &str = "listed, but without a counter to read; in a container, mount the /sys of the host, name it \
                      with --path.sysfs, and run in the network namespace of the host";

/// The devices that were named already.
#[derive(Debug, Default)]
pub(super) struct HollowDevices {
    named: Mutex<BTreeSet<String>>,
}

impl HollowDevices {
    /// Takes all devices that are hollow now, and says so of those that were not before.
    pub(super) fn tell(&self, hollow: BTreeSet<String>) {
        let new = self.take_new(hollow);
        if !new.is_empty() {
            tracing::warn!(devices = new.join(","), "{REMEDY}");
        }
    }

    fn take_new(&self, hollow: BTreeSet<String>) -> Vec<String> {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let new = hollow.difference(&named).cloned().collect();
        *named = hollow;
        new
    }
}

/// Devices that are listed though there is nothing of them to read, neither by files nor over netlink.
pub(super) fn hollow_devices(
    sysfs: &SysfsRoot,
    filter: &DeviceFilter,
    found: &Discovery,
) -> BTreeSet<String> {
    // A directory that cannot be listed was reported where its devices are looked for.
    let listed = |class: &str| sysfs.names(class).unwrap_or_default().into_iter();
    let netdevs = listed("class/net")
        .filter(|name| !sysfs.exists(&format!("class/net/{name}")) && filter.admits(name, true));
    let over_netlink = |name: &String| {
        found.feeds.iter().any(|found| {
            let feed = &found.feed;
            feed.source == SourceKind::RdmaNetlink && feed.rdma_device.as_deref() == Some(name)
        })
    };
    let rdma_devices = listed("class/infiniband")
        .filter(|name| !over_netlink(name) && is_hollow_rdma(sysfs, filter, name));
    netdevs.chain(rdma_devices).collect()
}

fn is_hollow_rdma(sysfs: &SysfsRoot, filter: &DeviceFilter, rdma_device: &str) -> bool {
    let base = format!("class/infiniband/{rdma_device}");
    let has = |below: &str| sysfs.exists(&format!("{base}/{below}"));
    let ports = sysfs.names(&format!("{base}/ports")).unwrap_or_default();
    let admitted = |port: &String| {
        let netdev = port.parse().ok().and_then(|port| netdev_by_files(sysfs, rdma_device, port));
        filter.admits(netdev.as_deref().unwrap_or(rdma_device), true)
    };
    let wanted = match ports.as_slice() {
        [] => filter.admits(rdma_device, true),
        ports => ports.iter().any(admitted),
    };
    let counts = |port: &String| {
        has(&format!("ports/{port}/hw_counters")) || has(&format!("ports/{port}/counters"))
    };
    wanted && !has("hw_counters") && !ports.iter().any(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_once_until_it_was_whole() {
        let devices = HollowDevices::default();
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(devices.take_new(set(&["mlx5_0", "mlx5_1"])), ["mlx5_0", "mlx5_1"]);
        assert_eq!(devices.take_new(set(&["mlx5_0", "mlx5_1"])), [""; 0]);
        assert_eq!(devices.take_new(set(&["mlx5_1", "mlx5_2"])), ["mlx5_2"]);
        assert_eq!(devices.take_new(set(&["mlx5_0", "mlx5_1"])), ["mlx5_0"]);
    }
}
