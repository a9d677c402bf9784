//! One NIC as its driver shows it: when values are refreshed, what is wrong with reading them, and from
//! where they count.
//!
//! The fabric keeps the truth; a view never changes it.

use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;

use super::cast::Member;
use super::drivers::{Counter, Group, Presence, expand, show};
use super::scenario::Trouble;
use super::scenarios::LOSSLESS;
use super::truth::NicTruth;
use crate::model::{
    BitsPerSecond, Dcb, DeviceFacts, EcnSettings, Ets, GidType, LinkFacts, LinkLayer, LinkPause,
    PcieLink, Pfc, PortDetails, PortSettings, Priority, RdmaPort, Trust, Width,
};
use crate::source::SourceError;

/// How long the kernel serves RDMA counters in sysfs from its cache (`RDMA_HW_STATS_DEFAULT_LIFESPAN`).
pub(super) const RDMA_LIFESPAN_NS: u64 = 10_000_000;

/// MTU of all ports, unless a scenario changes one.
pub(super) const MTU_BYTES: u32 = 9_000;

/// How far below their end short counters stand in the trouble of that name.
const BEFORE_WRAP: u64 = 2_000;

/// What can be wrong with the reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    Fine,
    Frozen,
    Failing,
}

/// A NIC as it is shown.
pub(super) struct View {
    pub(super) member: Member,
    name: Arc<str>,
    home_name: Arc<str>,
    rdma_device: Option<Arc<str>>,
    plugged: bool,
    incarnation: u32,
    /// Moves when a handle that was opened by name no longer reaches the device.
    address: u32,
    delay: Duration,
    reads: Reads,
    presence: Presence,
    /// Moves when the set of names may have changed.
    names_version: u64,
    published: NicTruth,
    rdma_published: NicTruth,
    rdma_expires: u64,
    /// What counters had counted when they last started from 0.
    baseline: Option<Box<NicTruth>>,
    near_wrap: bool,
    mtu_bytes: u32,
}

/// Which of the two counter sets of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Ethtool,
    Rdma,
}

/// How a handle finds its device again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    incarnation: u32,
    /// None for RDMA, which does not care for the netdev's name.
    by_name: Option<u32>,
}

impl View {
    pub(super) fn new(member: Member, ifindex: u32) -> Self {
        let name: Arc<str> = member.device_name().into();
        Self {
            member,
            home_name: Arc::clone(&name),
            name,
            rdma_device: member.rdma_device_name().map(Into::into),
            plugged: true,
            incarnation: ifindex,
            address: 0,
            delay: Duration::ZERO,
            reads: Reads::Fine,
            presence: Presence { pfc: [false; Priority::COUNT], link_pause: false },
            names_version: 0,
            published: NicTruth::default(),
            rdma_published: NicTruth::default(),
            rdma_expires: 0,
            baseline: None,
            near_wrap: false,
            mtu_bytes: MTU_BYTES,
        }
    }

    pub(super) const fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) const fn rdma_device(&self) -> Option<&Arc<str>> {
        self.rdma_device.as_ref()
    }

    pub(super) const fn is_plugged(&self) -> bool {
        self.plugged
    }

    pub(super) const fn incarnation(&self) -> u32 {
        self.incarnation
    }

    pub(super) const fn delay(&self) -> Duration {
        self.delay
    }

    pub(super) const fn set_mtu(&mut self, bytes: u32) {
        self.mtu_bytes = bytes;
    }

    pub(super) const fn names_version(&self) -> u64 {
        self.names_version
    }

    pub(super) const fn presence(&self) -> Presence {
        self.presence
    }

    /// Sets what decides which rows there are; true when it changed.
    pub(super) fn set_presence(&mut self, presence: Presence) -> bool {
        let changed = self.presence != presence;
        if changed {
            self.presence = presence;
            self.names_version += 1;
        }
        changed
    }

    pub(super) fn address(&self, side: Side) -> Address {
        let by_name = (side == Side::Ethtool).then_some(self.address);
        Address { incarnation: self.incarnation, by_name }
    }

    /// Whether a handle still reaches the device and the device answers.
    pub(super) fn check(&self, address: Address, side: Side) -> Result<(), SourceError> {
        let errno = if !self.plugged || address != self.address(side) {
            Errno::NODEV
        } else if self.reads == Reads::Failing {
            Errno::IO
        } else {
            return Ok(());
        };
        let call = match side {
            Side::Ethtool => "SIOCETHTOOL statistics (simulated)",
            Side::Rdma => "hw_counters (simulated)",
        };
        Err(SourceError::Kernel { call: call.to_owned(), errno })
    }

    const fn tables(&self, side: Side) -> &'static [Group] {
        match side {
            Side::Ethtool => self.member.driver.ethtool,
            Side::Rdma => self.member.driver.rdma,
        }
    }

    /// The present set of names and what stands behind each.
    pub(super) fn names(&self, side: Side) -> (Vec<String>, Vec<Counter>) {
        expand(self.tables(side), self.presence)
    }

    /// Whether values stand still between refreshes.
    pub(super) const fn is_cached(&self) -> bool {
        matches!(self.reads, Reads::Frozen) || self.member.driver.refresh.is_some()
    }

    /// The driver or firmware refreshes its statistics.
    pub(super) fn publish(&mut self, truth: &NicTruth) {
        if self.reads != Reads::Frozen {
            self.published = *truth;
        }
    }

    /// The figures that a read of `side` shows at `now`, when the truth is `live`.
    pub(super) fn shown(
        &mut self,
        side: Side,
        now: u64,
        live: impl FnOnce() -> NicTruth,
    ) -> Shot<'_> {
        let truth = match side {
            Side::Ethtool if self.is_cached() => &self.published,
            Side::Ethtool => {
                self.published = live();
                &self.published
            }
            Side::Rdma => {
                if now >= self.rdma_expires && self.reads != Reads::Frozen {
                    self.rdma_published = live();
                    self.rdma_expires = now + RDMA_LIFESPAN_NS;
                }
                &self.rdma_published
            }
        };
        Shot { truth, view: self }
    }

    /// Puts something wrong, or right again. True when names or devices changed.
    pub(super) fn suffer(&mut self, trouble: Trouble, live: &NicTruth, ifindex: u32) -> bool {
        match trouble {
            Trouble::Slow(delay) => self.delay = delay,
            Trouble::Frozen => {
                if !self.is_cached() {
                    self.published = *live;
                }
                self.reads = Reads::Frozen;
            }
            Trouble::Failing => self.reads = Reads::Failing,
            Trouble::Cured => self.cure(),
            Trouble::Unplugged => {
                self.plugged = false;
                self.address += 1;
                return true;
            }
            Trouble::Plugged => {
                self.plugged = true;
                self.incarnation = ifindex;
                self.count_from(live);
                return true;
            }
            Trouble::Renamed(name) => return self.rename(name.into()),
            Trouble::Reset => self.count_from(live),
            Trouble::NearWrap => self.near_wrap = true,
        }
        false
    }

    /// All counters start from 0. What a cache holds lies before that.
    fn count_from(&mut self, live: &NicTruth) {
        self.baseline = Some(Box::new(*live));
        self.published = *live;
        self.rdma_published = *live;
    }

    /// All is well again. A counter that went back stays there.
    pub(super) const fn cure(&mut self) {
        self.delay = Duration::ZERO;
        self.reads = Reads::Fine;
    }

    /// Back to where it was at the start. True when names or devices changed.
    pub(super) fn restore(&mut self, live: &NicTruth, ifindex: u32) -> bool {
        self.cure();
        self.mtu_bytes = MTU_BYTES;
        let plugged = !self.plugged && self.suffer(Trouble::Plugged, live, ifindex);
        let renamed = self.rename(Arc::clone(&self.home_name));
        plugged || renamed
    }

    fn rename(&mut self, name: Arc<str>) -> bool {
        let changed = self.name != name;
        if changed {
            self.name = name;
            self.address += 1;
        }
        changed
    }

    /// What discovery finds.
    pub(super) fn facts(&self) -> DeviceFacts {
        let rdma_ports = self.rdma_device.iter().map(|rdma_device| RdmaPort {
            rdma_device: Arc::clone(rdma_device),
            port: 1,
            link_layer: Some(LinkLayer::Ethernet),
            gid_types: vec![GidType::V1, GidType::V2],
            optional_counters: Vec::new(),
        });
        let settings = self.settings();
        let dcb = settings.dcb.as_ref();
        DeviceFacts {
            device: Arc::clone(&self.name),
            incarnation: self.incarnation,
            driver: self.member.driver.name.to_owned(),
            firmware: self.member.firmware().to_owned(),
            pci_address: self.member.pci_address().to_owned(),
            rdma_ports: rdma_ports.collect(),
            link: LinkFacts {
                up: Some(true),
                speed: Some(BitsPerSecond(self.member.bits_per_second)),
                lossless: dcb.and_then(|dcb| dcb.pfc).map(|pfc| pfc.enabled),
                traffic_class: dcb.and_then(|dcb| dcb.ets).map(|ets| ets.traffic_class),
            },
            settings,
            details: self.details(),
            ..DeviceFacts::default()
        }
    }

    /// Of these drivers only mlx5 shows its ECN roles. The slot is as wide and as fast as the NIC.
    fn details(&self) -> PortDetails {
        let (lanes, megatransfers) = (Some(16), Some(16_000));
        let ecn = EcnSettings {
            notification_point: Some(u8::MAX),
            reaction_point: Some(u8::MAX),
            cnp_dscp: Some(48),
        };
        PortDetails {
            ecn: if self.member.driver.name == "mlx5_core" { ecn } else { EcnSettings::default() },
            pcie: PcieLink {
                lanes,
                most_lanes: lanes,
                megatransfers,
                most_megatransfers: megatransfers,
            },
            fec: Some("rs".to_owned()),
            ..PortDetails::default()
        }
    }

    /// A set-up as an operator would have made it: RoCE on DSCP 26, CNPs on DSCP 48 and priority 6.
    fn settings(&self) -> PortSettings {
        let enabled = self.presence.pfc_mask();
        let lossless = Priority::ALL.into_iter().find(|own| enabled >> own.number() & 1 == 1);
        // Where PFC is off, the map is as it was.
        let lossless = lossless.or(Some(LOSSLESS));
        let cnp = Priority::ALL.into_iter().find(|own| own.number() == 6);
        let dscp = [(26, lossless), (48, cnp)];
        let pfc = Pfc { capability: 8, enabled, ..Pfc::default() };
        // Only where counters of a class go together does it matter which class a priority has; elsewhere each has
        // its own.
        let shared = self.member.driver.traffic_classes;
        let traffic_class = if shared == [0; 8] { [0, 1, 2, 3, 4, 5, 6, 7] } else { shared };
        let ets = Ets { traffic_class, ..Ets::default() };
        let (rx, tx) = (self.presence.link_pause, self.presence.link_pause);
        PortSettings {
            dcb: Some(Dcb {
                pfc: Some(pfc),
                ets: Some(ets),
                dscp: Some(dscp.into_iter().filter_map(|(code, own)| Some((code, own?))).collect()),
                ..Dcb::default()
            }),
            trust: Some(Trust::Dscp),
            link_pause: Some(LinkPause { negotiated: false, rx, tx }),
            mtu_bytes: Some(self.mtu_bytes),
            ..PortSettings::default()
        }
    }
}

/// The figures of one read, all of one instant.
pub(super) struct Shot<'view> {
    truth: &'view NicTruth,
    view: &'view View,
}

impl Shot<'_> {
    /// The value of a counter as the driver gives it.
    pub(super) fn value(&self, counter: Counter) -> u64 {
        let classes = self.view.member.driver.traffic_classes;
        let value = show(counter.shown, counter.number, self.truth, classes);
        if counter.shown.is_gauge() {
            return value;
        }
        let baseline = self.view.baseline.as_deref();
        let before =
            baseline.map_or(0, |baseline| show(counter.shown, counter.number, baseline, classes));
        let width = Width { bits: counter.bits, saturates: false }.max();
        let ahead = if self.view.near_wrap && counter.bits < 64 { width - BEFORE_WRAP } else { 0 };
        value.saturating_sub(before).wrapping_add(ahead) & width
    }
}
