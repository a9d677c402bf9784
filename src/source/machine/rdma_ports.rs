//! Facts of RDMA devices that only sysfs has, and how an RDMA port becomes feeds.

use std::sync::Arc;

use super::RdmaTableKey;
use crate::model::{
    DeviceFacts, DeviceFilter, Feed, GidType, LinkLayer, OptionalCounter, PortRole, RdmaPort,
    SourceKind,
};
use crate::source::{Discovery, FoundFeed, SysfsRoot};

/// GID table entries that are looked at; tables have up to a few hundred, filled from the start.
const MOST_GIDS: usize = 64;

/// One port as it was found, before it is placed.
#[derive(Clone, Debug)]
pub(super) struct FoundPort {
    pub(super) rdma_device: Arc<str>,
    pub(super) port: u32,
    /// The netdev's name, where known.
    pub(super) netdev: Option<String>,
    pub(super) source: SourceKind,
    pub(super) firmware: String,
    pub(super) optional_counters: Vec<OptionalCounter>,
}

/// The catalogue's key for an RDMA device.
pub(super) fn table_key(sysfs: &SysfsRoot, key: &RdmaTableKey, rdma_device: &str) -> String {
    let device = format!("class/infiniband/{rdma_device}/device");
    let driver = sysfs.link_name(&format!("{device}/driver"));
    let driver = driver.or_else(|| driver_of_uevent(&sysfs.text(&format!("{device}/uevent"))?));
    key(&driver.unwrap_or_default(), rdma_device)
}

/// The driver that a device's `uevent` file names: what is left where links are not to be followed, as in a copy of
/// the files or a container that mounts a part of sysfs.
fn driver_of_uevent(text: &str) -> Option<String> {
    let drivers = text.lines().filter_map(|line| line.strip_prefix("DRIVER="));
    drivers.map(str::trim).find(|driver| !driver.is_empty()).map(str::to_owned)
}

/// Adds a port to the netdev it belongs to, or as a device of its own where that netdev is not visible, and its
/// feed. A port whose netdev is filtered out goes with it.
pub(super) fn place(
    sysfs: &SysfsRoot,
    filter: &DeviceFilter,
    found_port: FoundPort,
    driver: &str,
    found: &mut Discovery,
) {
    let FoundPort { rdma_device, port, netdev, source, firmware, optional_counters } = found_port;
    let known = RdmaPort {
        rdma_device: Arc::clone(&rdma_device),
        port,
        link_layer: link_layer(sysfs, &rdma_device, port),
        gid_types: gid_types(sysfs, &rdma_device, port),
        optional_counters,
    };
    let visible = netdev.as_ref().and_then(|netdev| {
        found.devices.iter_mut().find(|facts| &*facts.device == netdev.as_str())
    });
    let (device, incarnation) = if let Some(facts) = visible {
        facts.rdma_ports.push(known);
        (Arc::clone(&facts.device), facts.incarnation)
    } else if filter.admits(netdev.as_deref().unwrap_or(&rdma_device), true) {
        let device: Arc<str> = netdev.unwrap_or_default().into();
        found.devices.push(DeviceFacts {
            device: Arc::clone(&device),
            driver: driver.to_owned(),
            firmware,
            rdma_ports: vec![known],
            role: role_by_files(sysfs, &device),
            ..DeviceFacts::default()
        });
        (device, 0)
    } else {
        return;
    };
    let feed = Feed { device, rdma_device: Some(rdma_device), port: Some(port), source };
    found.feeds.push(FoundFeed { feed, incarnation, driver: driver.to_owned() });
}

/// What a netdev is that was not looked at itself, such as the bond below which an RDMA device counts.
fn role_by_files(sysfs: &SysfsRoot, netdev: &str) -> PortRole {
    let base = format!("class/net/{netdev}");
    let is_above_others = !netdev.is_empty() && sysfs.exists(&base);
    if is_above_others && sysfs.exists(&format!("{base}/bonding")) {
        PortRole::Bond
    } else if is_above_others && !sysfs.exists(&format!("{base}/device")) {
        PortRole::Virtual
    } else {
        PortRole::Physical
    }
}

/// Adds the counters of the RDMA device itself, where the driver has some and one of its ports is looked at.
pub(super) fn place_device(
    sysfs: &SysfsRoot,
    rdma_device: &Arc<str>,
    driver: &str,
    found: &mut Discovery,
) {
    let of_device = |feed: &&FoundFeed| feed.feed.rdma_device.as_ref() == Some(rdma_device);
    let Some(of_port) = found.feeds.iter().find(of_device) else { return };
    if sysfs.exists(&format!("class/infiniband/{rdma_device}/hw_counters")) {
        let feed = Feed { port: None, source: SourceKind::RdmaSysfs, ..of_port.feed.clone() };
        let (incarnation, driver) = (of_port.incarnation, driver.to_owned());
        found.feeds.push(FoundFeed { feed, incarnation, driver });
    }
}

fn link_layer(sysfs: &SysfsRoot, rdma_device: &str, port: u32) -> Option<LinkLayer> {
    let text = sysfs.text(&format!("class/infiniband/{rdma_device}/ports/{port}/link_layer"))?;
    Some(match text.as_str() {
        "Ethernet" => LinkLayer::Ethernet,
        "InfiniBand" => LinkLayer::InfiniBand,
        _ => LinkLayer::Other(text),
    })
}

/// Entries that are not used answer `EINVAL`.
fn gid_types(sysfs: &SysfsRoot, rdma_device: &str, port: u32) -> Vec<GidType> {
    let below = format!("class/infiniband/{rdma_device}/ports/{port}/gid_attrs/types");
    let entries = sysfs.names(&below).unwrap_or_default();
    let texts = entries.iter().take(MOST_GIDS);
    let mut types: Vec<GidType> = texts
        .filter_map(|entry| match sysfs.text(&format!("{below}/{entry}"))?.as_str() {
            "IB/RoCE v1" => Some(GidType::V1),
            "RoCE v2" => Some(GidType::V2),
            _ => None,
        })
        .collect();
    types.sort_unstable();
    types.dedup();
    types
}

/// The netdev of an RDMA port by files: from its GID table, else by the bus device that both share.
pub(in crate::source) fn netdev_by_files(
    sysfs: &SysfsRoot,
    rdma_device: &str,
    port: u32,
) -> Option<String> {
    let below = format!("class/infiniband/{rdma_device}/ports/{port}/gid_attrs/ndevs");
    let by_gid = sysfs.names(&below).ok()?.into_iter().take(MOST_GIDS).find_map(|entry| {
        let name = sysfs.text(&format!("{below}/{entry}"))?;
        (!name.is_empty()).then(|| lowest(sysfs, &name))
    });
    by_gid.or_else(|| by_bus_device(sysfs, rdma_device, port))
}

fn by_bus_device(sysfs: &SysfsRoot, rdma_device: &str, port: u32) -> Option<String> {
    let siblings = sysfs.names(&format!("class/infiniband/{rdma_device}/device/net")).ok()?;
    let at_port = siblings.iter().find(|netdev| {
        let dev_port = sysfs.number(&format!("class/net/{netdev}/dev_port"));
        dev_port.is_some_and(|dev_port| dev_port + 1 == u64::from(port))
    });
    match (at_port, siblings.as_slice()) {
        (Some(netdev), _) => Some(netdev.clone()),
        (None, [only]) => Some(only.clone()),
        _ => None,
    }
}

/// The device below a VLAN or macvlan, whose GIDs name the upper one.
fn lowest(sysfs: &SysfsRoot, netdev: &str) -> String {
    if sysfs.exists(&format!("class/net/{netdev}/device")) {
        return netdev.to_owned();
    }
    let entries = sysfs.names(&format!("class/net/{netdev}")).unwrap_or_default();
    let mut lowers = entries.iter().filter_map(|entry| entry.strip_prefix("lower_"));
    match (lowers.next(), lowers.next()) {
        (Some(only), None) => only.to_owned(),
        _ => netdev.to_owned(),
    }
}
