//! This machine's NICs: which netdevs and RDMA ports there are, and how to open them.
//!
//! Names pass the filter before anything of the device is read. Without an include pattern only netdevs
//! with a device behind them count (NICs, virtual functions, virtio), not bridges, bonds or veth. Refuses to
//! read sysfs files that restart under rtnl.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::ethtool::{EthtoolStatistics, KernelCalls};
use super::hollow::HollowDevices;
use super::rdma_sysfs::RdmaSysfs;
use super::sysfs::SysfsRoot;
use super::system_call::EthtoolSocket;
use super::{CounterSet, Discovery, FoundFeed, Host, SourceError};
use crate::model::{
    BitsPerSecond, DeviceFacts, DeviceFilter, Feed, LinkFacts, LinkLayer, RdmaPort, SourceKind,
};

/// Turns the driver of an RDMA device's bus device, and the RDMA device's name, into the catalogue's key.
pub type RdmaTableKey = dyn Fn(&str, &str) -> String + Send + Sync;

/// This machine, seen through the kernel.
pub struct MachineHost {
    sysfs: SysfsRoot,
    filter: DeviceFilter,
    rdma_table_key: Box<RdmaTableKey>,
    drivers: Mutex<HashMap<(String, u32), Driver>>,
    hollow: HollowDevices,
}

impl fmt::Debug for MachineHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MachineHost").field("sysfs", &self.sysfs).finish_non_exhaustive()
    }
}

/// What never changes while a netdev lives.
#[derive(Clone, Debug, Default)]
struct Driver {
    name: String,
    firmware: String,
    pci_address: String,
    has_statistics: bool,
}

impl MachineHost {
    /// A machine whose sysfs is at `sysfs`. The netdevs are those of the calling thread's network namespace.
    #[must_use]
    pub fn new(sysfs: SysfsRoot, filter: DeviceFilter, key: Box<RdmaTableKey>) -> Self {
        let (drivers, hollow) = (Mutex::default(), HollowDevices::default());
        Self { sysfs, filter, rdma_table_key: key, drivers, hollow }
    }

    fn netdevs(&self) -> Vec<DeviceFacts> {
        let names = self.sysfs.names("class/net").unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot list netdevs");
            Vec::new()
        });
        let socket = EthtoolSocket::open()
            .inspect_err(|errno| tracing::warn!(%errno, "cannot open a socket for ethtool"))
            .ok();
        let found = names.into_iter().filter_map(|name| {
            let physical = self.sysfs.exists(&format!("class/net/{name}/device"));
            if !self.filter.admits(&name, physical) {
                return None;
            }
            self.netdev(name, socket.as_ref())
        });
        found.collect()
    }

    /// The facts of one netdev; none if it vanished meanwhile.
    fn netdev(&self, name: String, socket: Option<&EthtoolSocket>) -> Option<DeviceFacts> {
        let index = self.sysfs.number(&format!("class/net/{name}/ifindex"))?;
        let incarnation = u32::try_from(index).ok()?;
        let driver = self.driver(&name, incarnation, socket);
        let link = socket.map_or_else(LinkFacts::default, |socket| LinkFacts {
            up: socket.link_up(&name).ok(),
            speed: socket
                .link_speed(&name)
                .ok()
                .flatten()
                .map(|megabits| BitsPerSecond(u64::from(megabits) * 1_000_000)),
            ..LinkFacts::default()
        });
        let master = self.sysfs.link_name(&format!("class/net/{name}/master"));
        Some(DeviceFacts {
            device: name.into(),
            incarnation,
            driver: driver.name,
            firmware: driver.firmware,
            pci_address: driver.pci_address,
            master: master.unwrap_or_default(),
            rdma_ports: Vec::new(),
            link,
        })
    }

    fn driver(&self, name: &str, incarnation: u32, socket: Option<&EthtoolSocket>) -> Driver {
        let key = (name.to_owned(), incarnation);
        let mut known = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = known.get(&key) {
            return driver.clone();
        }
        let info = socket.and_then(|socket| {
            let asked = socket.driver_info(name);
            asked.inspect_err(|errno| tracing::debug!(device = name, %errno, "no driver info")).ok()
        });
        let Some(info) = info else { return Driver::default() };
        let count = socket.and_then(|socket| socket.statistics_count(name).ok());
        let driver = Driver {
            name: info.driver,
            firmware: if info.firmware == "N/A" { String::new() } else { info.firmware },
            pci_address: self.pci_address(name).unwrap_or_default(),
            has_statistics: count.unwrap_or(0) > 0,
        };
        known.insert(key, driver.clone());
        driver
    }

    fn pci_address(&self, netdev: &str) -> Option<String> {
        let mut at = format!("class/net/{netdev}/device");
        // An auxiliary or virtio device sits below its PCI function.
        for _ in 0..3 {
            let subsystem = self.sysfs.link_name(&format!("{at}/subsystem"))?;
            if subsystem == "pci" {
                let real = std::fs::canonicalize(self.sysfs.path(&at)).ok()?;
                return real.file_name()?.to_str().map(str::to_owned);
            }
            at.push_str("/..");
        }
        None
    }

    fn rdma_devices(&self) -> Vec<String> {
        self.sysfs.names("class/infiniband").unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot list RDMA devices");
            Vec::new()
        })
    }

    /// The netdev of an RDMA port: by its GID table, else by the bus device that both share.
    fn netdev_of(&self, rdma_device: &str, port: u32) -> Option<String> {
        let below = format!("class/infiniband/{rdma_device}/ports/{port}/gid_attrs/ndevs");
        let by_gid = self.sysfs.names(&below).ok()?.into_iter().find_map(|entry| {
            let name = self.sysfs.text(&format!("{below}/{entry}"))?;
            let lower = self.lowest(&name);
            (!name.is_empty()).then_some(lower)
        });
        by_gid.or_else(|| {
            let net = format!("class/infiniband/{rdma_device}/device/net");
            let siblings = self.sysfs.names(&net).ok()?;
            let at_port = siblings.iter().find(|netdev| {
                let dev_port = self.sysfs.number(&format!("class/net/{netdev}/dev_port"));
                dev_port.is_some_and(|dev_port| dev_port + 1 == u64::from(port))
            });
            match (at_port, siblings.as_slice()) {
                (Some(netdev), _) => Some(netdev.clone()),
                (None, [only]) => Some(only.clone()),
                _ => None,
            }
        })
    }

    /// The device below a VLAN or macvlan, whose GIDs name the upper one.
    fn lowest(&self, netdev: &str) -> String {
        if self.sysfs.exists(&format!("class/net/{netdev}/device")) {
            return netdev.to_owned();
        }
        let entries = self.sysfs.names(&format!("class/net/{netdev}")).unwrap_or_default();
        let mut lowers = entries.iter().filter_map(|entry| entry.strip_prefix("lower_"));
        match (lowers.next(), lowers.next()) {
            (Some(only), None) => only.to_owned(),
            _ => netdev.to_owned(),
        }
    }

    /// Devices that are listed though there is nothing of them to read.
    fn hollow_devices(&self) -> BTreeSet<String> {
        // A directory that cannot be listed was reported where its devices are looked for.
        let listed = |class: &str| self.sysfs.names(class).unwrap_or_default().into_iter();
        let netdevs = listed("class/net").filter(|name| {
            !self.sysfs.exists(&format!("class/net/{name}")) && self.filter.admits(name, true)
        });
        let rdma_devices = listed("class/infiniband").filter(|name| self.is_hollow_rdma(name));
        netdevs.chain(rdma_devices).collect()
    }

    fn is_hollow_rdma(&self, rdma_device: &str) -> bool {
        let base = format!("class/infiniband/{rdma_device}");
        let has = |below: &str| self.sysfs.exists(&format!("{base}/{below}"));
        let ports = self.sysfs.names(&format!("{base}/ports")).unwrap_or_default();
        let admitted = |port: &String| {
            let netdev = port.parse().ok().and_then(|port| self.netdev_of(rdma_device, port));
            self.filter.admits(netdev.as_deref().unwrap_or(rdma_device), true)
        };
        let wanted = match ports.as_slice() {
            [] => self.filter.admits(rdma_device, true),
            ports => ports.iter().any(admitted),
        };
        let counts = |port: &String| {
            has(&format!("ports/{port}/hw_counters")) || has(&format!("ports/{port}/counters"))
        };
        wanted && !has("hw_counters") && !ports.iter().any(counts)
    }

    /// Adds one RDMA device: its ports to the netdevs, its sources to the feeds.
    fn add_rdma(&self, rdma_device: &str, found: &mut Discovery) {
        let base = format!("class/infiniband/{rdma_device}");
        let bus_driver = self.sysfs.link_name(&format!("{base}/device/driver"));
        let driver = (self.rdma_table_key)(&bus_driver.unwrap_or_default(), rdma_device);
        let ports = self.sysfs.names(&format!("{base}/ports")).unwrap_or_default();
        let mut any_netdev = None;
        for port in ports.iter().filter_map(|port| port.parse::<u32>().ok()) {
            let netdev = self.netdev_of(rdma_device, port);
            let link_layer = self.sysfs.text(&format!("{base}/ports/{port}/link_layer"));
            let known = RdmaPort {
                rdma_device: rdma_device.into(),
                port,
                link_layer: link_layer.map(link_layer_of),
            };
            if let Some(feed) = self.rdma_feed(netdev, &known, &driver, found) {
                any_netdev = Some(Arc::clone(&feed.feed.device));
                found.feeds.push(feed);
            }
        }
        if let Some(device) = any_netdev
            && self.sysfs.exists(&format!("{base}/hw_counters"))
        {
            let feed = rdma_feed(device, rdma_device, None);
            found.feeds.push(FoundFeed { feed, incarnation: 0, driver });
        }
    }

    fn rdma_feed(
        &self,
        netdev: Option<String>,
        port: &RdmaPort,
        driver: &str,
        found: &mut Discovery,
    ) -> Option<FoundFeed> {
        let visible = netdev.as_ref().and_then(|netdev| {
            found.devices.iter_mut().find(|facts| &*facts.device == netdev.as_str())
        });
        let (device, incarnation) = if let Some(facts) = visible {
            facts.rdma_ports.push(port.clone());
            (Arc::clone(&facts.device), facts.incarnation)
        } else if self.filter.admits(netdev.as_deref().unwrap_or(&port.rdma_device), true) {
            let device = netdev.map_or_else(|| Arc::from(""), Arc::from);
            found.devices.push(DeviceFacts {
                device: Arc::clone(&device),
                incarnation: 0,
                driver: driver.to_owned(),
                firmware: self
                    .sysfs
                    .text(&format!("class/infiniband/{}/fw_ver", port.rdma_device))
                    .unwrap_or_default(),
                pci_address: String::new(),
                master: String::new(),
                rdma_ports: vec![port.clone()],
                link: LinkFacts::default(),
            });
            (device, 0)
        } else {
            return None;
        };
        let feed = rdma_feed(device, &port.rdma_device, Some(port.port));
        Some(FoundFeed { feed, incarnation, driver: driver.to_owned() })
    }
}

fn rdma_feed(device: Arc<str>, rdma_device: &str, port: Option<u32>) -> Feed {
    Feed { device, rdma_device: Some(rdma_device.into()), port, source: SourceKind::RdmaSysfs }
}

fn link_layer_of(text: String) -> LinkLayer {
    match text.as_str() {
        "Ethernet" => LinkLayer::Ethernet,
        "InfiniBand" => LinkLayer::InfiniBand,
        _ => LinkLayer::Other(text),
    }
}

impl Host for MachineHost {
    fn discover(&self) -> Discovery {
        let mut found = Discovery { devices: self.netdevs(), feeds: Vec::new() };
        let mut known = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(name, incarnation), _| {
            let alive = |facts: &DeviceFacts| {
                &*facts.device == name.as_str() && facts.incarnation == *incarnation
            };
            found.devices.iter().any(alive)
        });
        for facts in &found.devices {
            let key = (facts.device.to_string(), facts.incarnation);
            if known.get(&key).is_some_and(|driver| driver.has_statistics) {
                found.feeds.push(FoundFeed {
                    feed: Feed {
                        device: Arc::clone(&facts.device),
                        rdma_device: None,
                        port: None,
                        source: SourceKind::Ethtool,
                    },
                    incarnation: facts.incarnation,
                    driver: facts.driver.clone(),
                });
            }
        }
        drop(known);
        for rdma_device in self.rdma_devices() {
            self.add_rdma(&rdma_device, &mut found);
        }
        self.hollow.tell(self.hollow_devices());
        found.devices.sort_by(|a, b| a.device.cmp(&b.device));
        found.feeds.sort_by(|a, b| a.feed.cmp(&b.feed));
        found
    }

    fn open(&self, feed: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        match (feed.source, &feed.rdma_device) {
            (SourceKind::Ethtool, _) => {
                let calls = KernelCalls::open()
                    .map_err(|errno| SourceError::Kernel { call: "socket".to_owned(), errno })?;
                Ok(Box::new(EthtoolStatistics::new(calls, feed.device.to_string())))
            }
            (SourceKind::RdmaSysfs, Some(rdma_device)) => {
                let sysfs = self.sysfs.clone();
                Ok(Box::new(RdmaSysfs::new(sysfs, rdma_device.to_string(), feed.port)))
            }
            _ => Err(SourceError::Nonsense(format!("no such source: {feed:?}"))),
        }
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
