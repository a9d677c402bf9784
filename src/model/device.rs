//! Slow facts of a device: what it is, not what it counts.

use std::sync::Arc;

use super::{LinkPeer, PortDetails, PortSettings, Priority};

/// Link speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitsPerSecond(pub u64);

/// The longest pause that one frame can ask for, in quanta (IEEE 802.3 annex 31B).
const MOST_QUANTA: u64 = 65_535;
/// Bit times in one quantum.
const QUANTUM_BITS: u64 = 512;

impl BitsPerSecond {
    /// How long one pause frame holds a class at most, in seconds: 3.4 ms at 10G, 84 µs at 400G.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "speeds are below 2^53 bit/s")]
    pub fn longest_pause_seconds(self) -> f64 {
        (MOST_QUANTA * QUANTUM_BITS) as f64 / self.0.max(1) as f64
    }
}

/// What the engine must know of the link at the time of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkFacts {
    /// Carrier, where known.
    pub up: Option<bool>,
    /// Speed, where known.
    pub speed: Option<BitsPerSecond>,
    /// Priorities with PFC on, as a bit mask, where known.
    pub lossless: Option<u8>,
    /// Traffic class of each priority, where known. Mates of a class can count in unison.
    pub traffic_class: Option<[u8; Priority::COUNT]>,
}

/// What an RDMA port runs on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkLayer {
    /// RoCE or iWARP.
    Ethernet,
    /// Native InfiniBand: Ethernet findings do not apply.
    InfiniBand,
    /// Anything else that the kernel says, kept as it is.
    Other(String),
}

impl LinkLayer {
    /// The kernel's spelling.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Ethernet => "Ethernet",
            Self::InfiniBand => "InfiniBand",
            Self::Other(text) => text,
        }
    }
}

/// A port of an RDMA device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RdmaPort {
    /// RDMA device, such as `mlx5_0`.
    pub rdma_device: Arc<str>,
    /// Port number, from 1.
    pub port: u32,
    /// What it runs on, where the kernel says.
    pub link_layer: Option<LinkLayer>,
    /// Kinds of GIDs in its table, each once.
    pub gid_types: Vec<GidType>,
    /// Counters that can be switched on and off, in the driver's order; empty where nothing can be asked.
    pub optional_counters: Vec<OptionalCounter>,
}

/// An RDMA counter that the driver counts only after an operator switched it on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OptionalCounter {
    /// Its name, as the driver gives it.
    pub name: String,
    /// Whether it is on.
    pub enabled: bool,
}

/// Kind of a GID, which decides how RoCE packets look on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GidType {
    /// InfiniBand, or RoCE v1: Ethernet frames that no router forwards.
    V1,
    /// RoCE v2: UDP.
    V2,
}

/// What a netdev is to the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortRole {
    /// A port with a wire: a NIC's physical function or an uplink.
    #[default]
    Physical,
    /// A virtual function: it shares a port and has no counters of the wire.
    VirtualFunction,
    /// The switch side of a virtual function.
    Representor,
    /// A bond of ports, which count for themselves.
    Bond,
    /// Another device without a wire of its own: VLAN, bridge, veth.
    Virtual,
}

impl PortRole {
    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Physical => "physical",
            Self::VirtualFunction => "virtual_function",
            Self::Representor => "representor",
            Self::Bond => "bond",
            Self::Virtual => "virtual",
        }
    }
}

/// What is known of a device apart from its counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Netdev name; empty for an RDMA device without a netdev.
    pub device: Arc<str>,
    /// Changes when the name is reused for another device: the interface index.
    pub incarnation: u32,
    /// Driver as `ETHTOOL_GDRVINFO` names it; empty where unknown.
    pub driver: String,
    /// Firmware version; empty where unknown.
    pub firmware: String,
    /// PCI address; empty for virtual devices.
    pub pci_address: String,
    /// Bond or bridge master; empty where there is none.
    pub master: String,
    /// RDMA ports on this netdev.
    pub rdma_ports: Vec<RdmaPort>,
    /// Link state.
    pub link: LinkFacts,
    /// The network namespace that it is in; empty for the program's own.
    pub netns: String,
    /// What it is to the wire.
    pub role: PortRole,
    /// The physical port, where several netdevs can share one and the driver says which; else empty.
    pub physical_port: String,
    /// How it is set up.
    pub settings: PortSettings,
    /// What few drivers say beyond that.
    pub details: PortDetails,
    /// The other end of its link, where somebody says.
    pub peer: Option<LinkPeer>,
}

impl DeviceFacts {
    /// The MTU of RDMA on this netdev, in bytes: what is left of its MTU for a payload, cut to a power of two
    /// from 256 to 4096 (`drivers/infiniband`: `iboe_get_mtu`).
    #[must_use]
    pub fn rdma_mtu_bytes(&self) -> Option<u32> {
        const HEADERS: u32 = 96;
        let payload = self.settings.mtu_bytes?.checked_sub(HEADERS)?;
        [4096, 2048, 1024, 512, 256].into_iter().find(|size| *size <= payload)
    }
}
