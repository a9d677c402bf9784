//! A tree that only looks like sysfs: a copy from another machine, or a fixture.
//!
//! Everything is listed by files, and nothing of this machine's kernel is mixed in.

use std::sync::Arc;

use super::rdma_ports::{FoundPort, netdev_by_files, place, place_device, table_key};
use super::{RdmaTableKey, details};
use crate::model::{DeviceFacts, DeviceFilter, PortSettings, SourceKind};
use crate::source::{Discovery, SysfsRoot};

/// What the tree holds.
pub(super) fn discover(sysfs: &SysfsRoot, filter: &DeviceFilter, key: &RdmaTableKey) -> Discovery {
    let mut found = Discovery { devices: netdevs(sysfs, filter), feeds: Vec::new() };
    for rdma_device in list(sysfs, "class/infiniband") {
        let base = format!("class/infiniband/{rdma_device}");
        let driver = table_key(sysfs, key, &rdma_device);
        let rdma_device: Arc<str> = rdma_device.into();
        let ports = sysfs.names(&format!("{base}/ports")).unwrap_or_default();
        for port in ports.iter().filter_map(|port| port.parse::<u32>().ok()) {
            let found_port = FoundPort {
                rdma_device: Arc::clone(&rdma_device),
                port,
                netdev: netdev_by_files(sysfs, &rdma_device, port),
                source: SourceKind::RdmaSysfs,
                firmware: sysfs.text(&format!("{base}/fw_ver")).unwrap_or_default(),
                optional_counters: Vec::new(),
            };
            place(sysfs, filter, found_port, &driver, &mut found);
        }
        place_device(sysfs, &rdma_device, &driver, &mut found);
    }
    details::add_rdma_cm(sysfs, &mut found.devices);
    found
}

fn netdevs(sysfs: &SysfsRoot, filter: &DeviceFilter) -> Vec<DeviceFacts> {
    let found = list(sysfs, "class/net").into_iter().filter_map(|name| {
        let base = format!("class/net/{name}");
        if !filter.admits(&name, sysfs.exists(&format!("{base}/device"))) {
            return None;
        }
        let incarnation = u32::try_from(sysfs.number(&format!("{base}/ifindex"))?).ok()?;
        let driver = sysfs.link_name(&format!("{base}/device/driver"));
        let master = sysfs.link_name(&format!("{base}/master"));
        Some(DeviceFacts {
            incarnation,
            driver: driver.unwrap_or_default(),
            pci_address: sysfs.pci_address(&format!("{base}/device")).unwrap_or_default(),
            master: master.unwrap_or_default(),
            settings: PortSettings {
                mtu_bytes: sysfs.number(&format!("{base}/mtu")).and_then(|mtu| mtu.try_into().ok()),
                ..PortSettings::default()
            },
            details: details::of_netdev(sysfs, &name),
            device: name.into(),
            ..DeviceFacts::default()
        })
    });
    found.collect()
}

fn list(sysfs: &SysfsRoot, below: &str) -> Vec<String> {
    sysfs.names(below).unwrap_or_else(|error| {
        tracing::warn!(%error, below, "cannot be listed");
        Vec::new()
    })
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
