//! The machine by netlink: links, their set-up, RDMA devices and ports.
//!
//! Everything here may wait for rtnl, so it runs at start, on events and at a slow period, never in the path of a
//! sample. What cannot be asked is left out; the rest stays.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::rdma_ports::{FoundPort, netdev_by_files, place, place_device, table_key};
use super::{RdmaTableKey, details};
use crate::model::{
    BitsPerSecond, Dcb, DeviceFacts, DeviceFilter, Feed, LinkFacts, OptionalCounter, PortDetails,
    PortRole, PortSettings, SourceKind, StandardPause, Trust, Upper,
};
use crate::source::ethtool_settings::EthtoolReader;
use crate::source::netlink::link::{Link, links};
use crate::source::netlink::rdma::{RdmaDevice, RdmaSocket, statistics_request};
use crate::source::netlink::{NetlinkError, NetlinkSocket, Protocol, dcb};
use crate::source::system_call::EthtoolSocket;
use crate::source::{Discovery, FoundFeed, SysfsRoot};

/// Drivers that trust DSCP exactly while their application table has DSCP entries
/// (`mlx5/core/en_dcbnl.c`: `mlx5e_dcbnl_ieee_setapp`, `mlx5e_dcbnl_ieee_delapp`).
const TRUST_FOLLOWS_MAP: [&str; 1] = ["mlx5_core"];
/// Drivers whose standard pause statistics come from counts of 802.3x that their device keeps apart from PFC:
/// link XON and XOFF (`wangxun/libwx/wx_ethtool.c`: `wx_get_pause_stats`), and pause beside the port's PFC frames
/// (`broadcom/bnge/bnge_ethtool.c`: `bnge_get_pause_stats`). Of others, funeth and fbnic among them, the source does
/// not show it.
const LINK_PAUSE_ONLY: [&str; 3] = ["bnge", "ngbe", "txgbe"];
/// `PFC_STORM_PREVENTION_AUTO`: the driver's own choice, 100 ms on mlx5.
const STALL_PREVENTION_AUTO: u16 = u16::MAX;
const STALL_PREVENTION_AUTO_TIME: Duration = Duration::from_millis(100);

/// Sockets and what is remembered between looks.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    route: Option<NetlinkSocket>,
    rdma: Option<RdmaSocket>,
    ethtool: Option<EthtoolReader>,
    drivers: HashMap<u32, Driver>,
    /// RDMA device index and port: whether its statistics come over netlink.
    statistics: HashMap<(u32, u32), bool>,
    /// RDMA device index and port, of those whose netdev was last found to be elsewhere.
    hidden: HashSet<(u32, u32)>,
}

/// What never changes while a netdev lives.
#[derive(Clone, Debug, Default)]
struct Driver {
    name: String,
    firmware: String,
    bus: String,
    has_statistics: bool,
}

/// What a port answered.
struct Asked {
    port: PortSettings,
    speed: Option<BitsPerSecond>,
    fec: Option<String>,
}

impl Kernel {
    /// What the machine has now.
    pub(super) fn discover(
        &mut self,
        sysfs: &SysfsRoot,
        filter: &DeviceFilter,
        key: &RdmaTableKey,
    ) -> Discovery {
        let all = self.links();
        let mut found = Discovery::default();
        let socket = EthtoolSocket::open()
            .inspect_err(|errno| tracing::warn!(%errno, "cannot open a socket for ethtool"))
            .ok();
        for link in &all {
            if !filter.admits(&link.name, is_physical(link, sysfs)) {
                continue;
            }
            let driver = socket.as_ref().map(|socket| self.driver(link, socket));
            let driver = driver.unwrap_or_default();
            let facts = self.facts(link, &all, &driver, sysfs, socket.as_ref());
            if driver.has_statistics {
                found.feeds.push(ethtool_feed(&facts));
            }
            found.devices.push(facts);
        }
        let alive: HashSet<u32> = all.iter().map(|link| link.index).collect();
        self.drivers.retain(|index, _| alive.contains(index));
        self.add_rdma(sysfs, filter, key, &all, &mut found);
        details::add_rdma_cm(sysfs, &mut found.devices);
        found
    }

    fn links(&mut self) -> Vec<Link> {
        let asked = with_socket(&mut self.route, || NetlinkSocket::open(Protocol::Route), links);
        asked.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot list links");
            Vec::new()
        })
    }

    fn driver(&mut self, link: &Link, socket: &EthtoolSocket) -> Driver {
        if let Some(known) = self.drivers.get(&link.index) {
            return known.clone();
        }
        let device = link.name.as_str();
        let info = match socket.driver_info(device) {
            Ok(info) => info,
            Err(errno) => {
                tracing::debug!(device, %errno, "no driver info");
                return Driver::default();
            }
        };
        let known = |text: String| if text == "N/A" { String::new() } else { text };
        let driver = Driver {
            name: info.driver,
            firmware: known(info.firmware),
            bus: info.bus,
            has_statistics: socket.statistics_count(device).unwrap_or(0) > 0,
        };
        self.drivers.insert(link.index, driver.clone());
        driver
    }

    fn facts(
        &mut self,
        link: &Link,
        all: &[Link],
        driver: &Driver,
        sysfs: &SysfsRoot,
        socket: Option<&EthtoolSocket>,
    ) -> DeviceFacts {
        let asked = self.settings(link, driver, socket);
        let dcb = asked.port.dcb.as_ref();
        let facts = LinkFacts {
            up: link.carrier,
            speed: asked.speed,
            lossless: dcb.and_then(|dcb| dcb.pfc).map(|pfc| pfc.enabled),
            traffic_class: dcb.and_then(|dcb| dcb.ets).map(|ets| ets.traffic_class),
        };
        let master = link.master.and_then(|index| all.iter().find(|own| own.index == index));
        let pci = sysfs.pci_address(&format!("class/net/{}/device", link.name));
        DeviceFacts {
            device: link.name.as_str().into(),
            incarnation: link.index,
            driver: driver.name.clone(),
            firmware: driver.firmware.clone(),
            pci_address: pci.or_else(|| pci_of(link, driver)).unwrap_or_default(),
            master: master.map(|own| own.name.clone()).unwrap_or_default(),
            rdma_ports: Vec::new(),
            link: facts,
            netns: String::new(),
            role: role_of(link, sysfs),
            physical_port: link.physical_port.clone(),
            settings: asked.port,
            details: PortDetails {
                fec: asked.fec,
                uppers: uppers_of(link, all),
                ..details::of_netdev(sysfs, &link.name)
            },
            peer: None,
        }
    }

    fn settings(&mut self, link: &Link, driver: &Driver, socket: Option<&EthtoolSocket>) -> Asked {
        let device = link.name.as_str();
        let open = || NetlinkSocket::open(Protocol::Route);
        let dcb = with_socket(&mut self.route, open, |route| dcb::dcb(route, device));
        let dcb = dcb.unwrap_or_else(|error| {
            tracing::debug!(device, %error, "DCB cannot be read");
            None
        });
        if self.ethtool.is_none() {
            self.ethtool = EthtoolReader::open()
                .inspect_err(|error| tracing::debug!(%error, "no ethtool netlink"))
                .ok();
        }
        let ethtool = self.ethtool.as_mut().map(|reader| reader.settings(device));
        let ethtool = ethtool.unwrap_or_default();
        let millis = socket.and_then(|socket| socket.pfc_prevention_millis(device).ok());
        let speed = ethtool.speed_megabits.map(|own| BitsPerSecond(u64::from(own) * 1_000_000));
        let port = PortSettings {
            trust: dcb.as_ref().and_then(|dcb| trust_of(dcb, &driver.name)),
            dcb,
            link_pause: ethtool.link_pause,
            stall_prevention: millis.map(|millis| match millis {
                STALL_PREVENTION_AUTO => STALL_PREVENTION_AUTO_TIME,
                millis => Duration::from_millis(millis.into()),
            }),
            statistics_period: ethtool.statistics_period,
            mtu_bytes: link.mtu,
            standard_pause: ethtool.standard_pause.map(|own| StandardPause {
                link_only: LINK_PAUSE_ONLY.contains(&driver.name.as_str()),
                ..own
            }),
        };
        Asked { port, speed, fec: ethtool.fec }
    }

    fn add_rdma(
        &mut self,
        sysfs: &SysfsRoot,
        filter: &DeviceFilter,
        key: &RdmaTableKey,
        all: &[Link],
        found: &mut Discovery,
    ) {
        if !sysfs.exists("class/infiniband") {
            self.rdma = None;
            return;
        }
        let devices = with_socket(&mut self.rdma, || RdmaSocket::open(sysfs), RdmaSocket::devices);
        let devices = devices.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot list RDMA devices");
            Vec::new()
        });
        for device in &devices {
            let driver = table_key(sysfs, key, &device.name);
            for port in self.ports(sysfs, device, all) {
                place(sysfs, filter, port, &driver, found);
            }
            place_device(sysfs, &device.name.as_str().into(), &driver, found);
        }
        let alive: HashSet<u32> = devices.iter().map(|device| device.index).collect();
        self.statistics.retain(|(index, _), _| alive.contains(index));
        self.hidden.retain(|(index, _)| alive.contains(index));
    }

    fn ports(&mut self, sysfs: &SysfsRoot, device: &RdmaDevice, all: &[Link]) -> Vec<FoundPort> {
        let open = || RdmaSocket::open(sysfs);
        let ports = with_socket(&mut self.rdma, open, |rdma| rdma.ports(device.index));
        let ports = ports.unwrap_or_else(|error| {
            tracing::debug!(rdma_device = device.name, %error, "cannot list ports");
            Vec::new()
        });
        let found = ports.into_iter().map(|state| {
            let by_index = state.netdev_index.and_then(|index| {
                all.iter().find(|link| link.index == index).map(|link| link.name.clone())
            });
            // A kernel that says the protocol says the netdev too, unless that is in another namespace, where the
            // files would still name it.
            let by_files = || {
                let silent = device.protocol.is_empty();
                silent.then(|| netdev_by_files(sysfs, &device.name, state.port)).flatten()
            };
            let netdev = by_index.or(state.netdev).or_else(by_files);
            self.tell_of_hidden_netdev(device, state.port, netdev.is_none());
            FoundPort {
                rdma_device: device.name.as_str().into(),
                port: state.port,
                netdev,
                source: self.statistics_source(sysfs, device, state.port),
                firmware: device.firmware.clone(),
                optional_counters: self.optional_counters(sysfs, device, state.port),
            }
        });
        found.collect()
    }

    /// An Ethernet port has a netdev; where none is seen, it is in another namespace. Told once while that lasts.
    fn tell_of_hidden_netdev(&mut self, device: &RdmaDevice, port: u32, is_hidden: bool) {
        let place = (device.index, port);
        if !is_hidden {
            self.hidden.remove(&place);
        } else if matches!(device.protocol.as_str(), "roce" | "iw") && self.hidden.insert(place) {
            let rdma_device = device.name.as_str();
            tracing::info!(
                rdma_device,
                port,
                "netdev not visible: it is in another network namespace"
            );
        }
    }

    /// Kernels before 5.16 do not know the question, and most drivers have none.
    fn optional_counters(
        &mut self,
        sysfs: &SysfsRoot,
        device: &RdmaDevice,
        port: u32,
    ) -> Vec<OptionalCounter> {
        let request = statistics_request(device.index, port);
        let open = || RdmaSocket::open(sysfs);
        let asked = with_socket(&mut self.rdma, open, |rdma| rdma.optional_counters(&request));
        asked.unwrap_or_else(|error| {
            tracing::debug!(rdma_device = device.name, port, %error, "no optional counters");
            Vec::new()
        })
    }

    /// Whether a port's statistics come over netlink; asked once while the device lives.
    fn statistics_source(
        &mut self,
        sysfs: &SysfsRoot,
        device: &RdmaDevice,
        port: u32,
    ) -> SourceKind {
        let rdma = &mut self.rdma;
        let over_netlink = *self.statistics.entry((device.index, port)).or_insert_with(|| {
            let request = statistics_request(device.index, port);
            let mut counters = 0_u32;
            let count = &mut |_: &str, _| counters += 1;
            let open = || RdmaSocket::open(sysfs);
            let asked = with_socket(rdma, open, |rdma| rdma.statistics(&request, count));
            if let Err(error) = &asked {
                let rdma_device = device.name.as_str();
                tracing::info!(rdma_device, port, %error, "no statistics over netlink: by sysfs");
            }
            asked.is_ok() && counters > 0
        });
        if over_netlink { SourceKind::RdmaNetlink } else { SourceKind::RdmaSysfs }
    }
}

/// Asks over a kept socket; one that failed otherwise than by the kernel's plain refusal is opened anew next
/// time.
fn with_socket<S, T>(
    kept: &mut Option<S>,
    open: impl FnOnce() -> Result<S, rustix::io::Errno>,
    ask: impl FnOnce(&mut S) -> Result<T, NetlinkError>,
) -> Result<T, NetlinkError> {
    let mut socket = match kept.take() {
        Some(socket) => socket,
        None => open()?,
    };
    let answer = ask(&mut socket);
    if matches!(answer, Ok(_) | Err(NetlinkError::Kernel { .. })) {
        *kept = Some(socket);
    }
    answer
}

fn ethtool_feed(facts: &DeviceFacts) -> FoundFeed {
    let feed = Feed {
        device: Arc::clone(&facts.device),
        rdma_device: None,
        port: None,
        source: SourceKind::Ethtool,
    };
    FoundFeed { feed, incarnation: facts.incarnation, driver: facts.driver.clone() }
}

/// Whether there is a device behind a link. Kernels before 5.14 do not say so over netlink.
pub(super) fn is_physical(link: &Link, sysfs: &SysfsRoot) -> bool {
    !link.is_loopback
        && (!link.parent.0.is_empty() || sysfs.exists(&format!("class/net/{}/device", link.name)))
}

fn pci_of(link: &Link, driver: &Driver) -> Option<String> {
    let (bus, address) = &link.parent;
    if bus == "pci" {
        return Some(address.clone());
    }
    let looks_like_pci = driver.bus.matches(':').count() == 2 && driver.bus.contains('.');
    looks_like_pci.then(|| driver.bus.clone())
}

fn role_of(link: &Link, sysfs: &SysfsRoot) -> PortRole {
    let is_function = sysfs.exists(&format!("class/net/{}/device/physfn", link.name));
    let port = link.switch_port.as_str();
    let is_representor = port.starts_with("pf") && (port.contains("vf") || port.contains("sf"));
    if link.kind == "bond" {
        PortRole::Bond
    } else if is_representor {
        PortRole::Representor
    } else if is_function {
        PortRole::VirtualFunction
    } else if is_physical(link, sysfs) {
        PortRole::Physical
    } else {
        PortRole::Virtual
    }
}

/// VLANs over a link and the bond that it belongs to, with those over the bond. A bridge passes on what it gets.
fn uppers_of(link: &Link, all: &[Link]) -> Vec<Upper> {
    let bond = link
        .master
        .and_then(|master| all.iter().find(|own| own.index == master && own.kind == "bond"));
    let below = [Some(link.index), bond.map(|own| own.index)];
    let vlans = all.iter().filter(|own| own.kind == "vlan" && own.lower.is_some());
    let vlans = vlans.filter(|own| below.contains(&own.lower));
    let uppers = bond.into_iter().chain(vlans);
    uppers.filter_map(|own| Some(Upper { name: own.name.clone(), mtu_bytes: own.mtu? })).collect()
}

fn trust_of(dcb: &Dcb, driver: &str) -> Option<Trust> {
    let by_map = || {
        let follows = TRUST_FOLLOWS_MAP.contains(&driver);
        let entries = dcb.dscp.as_ref().filter(|_| follows);
        let empty = entries.map_or(follows, Vec::is_empty);
        follows.then_some(if empty { Trust::Pcp } else { Trust::Dscp })
    };
    dcb.trust.or_else(by_map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Priority;

    #[test]
    fn trust_is_what_the_driver_says_or_follows_from_its_map_where_that_is_known() {
        let entries = |count: usize| Some(vec![(26, Priority::ALL[3]); count]);
        for (said, dscp, driver, expected) in [
            (Some(Trust::Pcp), entries(1), "mlx5_core", Some(Trust::Pcp)),
            (None, entries(1), "mlx5_core", Some(Trust::Dscp)),
            (None, entries(0), "mlx5_core", Some(Trust::Pcp)),
            (None, None, "mlx5_core", Some(Trust::Pcp)),
            (None, entries(1), "bnxt_en", None),
        ] {
            let dcb = Dcb { trust: said, dscp, ..Dcb::default() };
            assert_eq!(trust_of(&dcb, driver), expected, "{dcb:?} {driver}");
        }
    }

    #[test]
    fn c43_functions_and_representors_are_told_from_ports() {
        let sysfs = SysfsRoot::new("/nowhere");
        let pci = ("pci".to_owned(), "0000:3b:00.0".to_owned());
        for (kind, switch_port, parent, expected) in [
            ("", "", pci.clone(), PortRole::Physical),
            ("", "p0", pci.clone(), PortRole::Physical),
            ("", "pf0vf1", pci.clone(), PortRole::Representor),
            ("", "pf0sf88", pci, PortRole::Representor),
            ("bond", "", Default::default(), PortRole::Bond),
            ("veth", "", Default::default(), PortRole::Virtual),
        ] {
            let link = Link {
                kind: kind.to_owned(),
                switch_port: switch_port.to_owned(),
                parent,
                ..Link::default()
            };
            assert_eq!(role_of(&link, &sysfs), expected, "{link:?}");
        }
    }

    #[test]
    fn what_is_above_a_port_is_its_bond_and_the_vlans_on_either() {
        let link = |index, name: &str, kind: &str, mtu, master, lower| Link {
            index,
            name: name.to_owned(),
            kind: kind.to_owned(),
            mtu: Some(mtu),
            master,
            lower,
            ..Link::default()
        };
        let all = [
            link(1, "eth0", "", 9000, Some(3), None),
            link(2, "eth1", "", 9000, Some(6), None),
            link(3, "bond0", "bond", 4200, None, None),
            link(4, "bond0.7", "vlan", 1500, None, Some(3)),
            link(5, "eth1.8", "vlan", 9000, None, Some(2)),
            link(6, "br0", "bridge", 1500, None, None),
        ];
        let names = |place: usize| {
            let uppers = uppers_of(&all[place], &all).into_iter();
            uppers.map(|own| (own.name, own.mtu_bytes)).collect::<Vec<_>>()
        };
        assert_eq!(names(0), [("bond0".to_owned(), 4200), ("bond0.7".to_owned(), 1500)]);
        assert_eq!(names(1), [("eth1.8".to_owned(), 9000)]);
        assert_eq!(names(3), []);
    }

    #[test]
    fn a_device_address_of_another_bus_is_no_pci_address() {
        let driver = Driver { bus: "virtio0".to_owned(), ..Driver::default() };
        assert_eq!(pci_of(&Link::default(), &driver), None);
        let driver = Driver { bus: "0000:3b:00.0".to_owned(), ..Driver::default() };
        assert_eq!(pci_of(&Link::default(), &driver).as_deref(), Some("0000:3b:00.0"));
    }
}
