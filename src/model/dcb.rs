//! How a port is set up to be lossless: what DCB, pause parameters and the NIC's stall detector say.

use std::time::Duration;

use super::Priority;

/// Per-priority flow control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pfc {
    /// How many traffic classes can have PFC at the same time.
    pub capability: u8,
    /// Priorities with PFC in operation, as a mask.
    pub enabled: u8,
    /// Allowance for the cable, in the driver's unit (mlx5: metres).
    pub delay: u16,
    /// PFC frames sent, by priority, where the driver keeps them.
    pub requests: [u64; Priority::COUNT],
    /// PFC frames received, by priority, where the driver keeps them.
    pub indications: [u64; Priority::COUNT],
}

/// Enhanced transmission selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ets {
    /// Whether the port takes its settings from its peer.
    pub willing: bool,
    /// Traffic class of each priority.
    pub traffic_class: [u8; Priority::COUNT],
    /// Share of bandwidth of each traffic class when sending, in percent.
    pub bandwidth: [u8; Priority::COUNT],
    /// Scheduling of each traffic class: 0 strict, 2 ETS.
    pub algorithm: [u8; Priority::COUNT],
}

/// Receive buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Buffer of each priority.
    pub buffer: [u8; Priority::COUNT],
    /// Bytes of each buffer.
    pub bytes: [u32; Priority::COUNT],
    /// Bytes of all buffers.
    pub total_bytes: u32,
}

/// What decides a packet's priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The DSCP of the IP header.
    Dscp,
    /// The PCP of the VLAN tag.
    Pcp,
}

/// Bit of [`Dcb::dcbx`]: software of the host rules.
pub const DCBX_HOST: u8 = 1;
/// Bit of [`Dcb::dcbx`]: the device's firmware rules.
pub const DCBX_DEVICE: u8 = 2;

/// All bits of [`Dcb::dcbx`] (`DCB_CAP_DCBX_*` in `include/uapi/linux/dcbnl.h`) with the words of the tool `dcb`.
pub const DCBX_WORDS: [(u8, &str); 5] =
    [(DCBX_HOST, "host"), (DCBX_DEVICE, "lld-managed"), (4, "cee"), (8, "ieee"), (16, "static")];

/// Everything that a device says of DCB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dcb {
    /// Flow control.
    pub pfc: Option<Pfc>,
    /// Traffic classes.
    pub ets: Option<Ets>,
    /// DSCP to priority, sorted; none where the driver has no application table.
    pub dscp: Option<Vec<(u8, Priority)>>,
    /// Buffers.
    pub buffers: Option<Buffers>,
    /// Most bits per second of each traffic class; 0 for no limit.
    pub max_rate: Option<[u64; Priority::COUNT]>,
    /// What the driver says of trust; few say anything.
    pub trust: Option<Trust>,
    /// Who rules DCBX and by which version, as the uapi's bits: [`DCBX_WORDS`].
    pub dcbx: Option<u8>,
}

/// 802.3x pause as configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPause {
    /// Whether the two ends negotiate it.
    pub negotiated: bool,
    /// Whether pause frames from the peer are obeyed.
    pub rx: bool,
    /// Whether pause frames are sent.
    pub tx: bool,
}

/// The pause frames of the MAC by the kernel's standard statistics (IEEE 802.3 `aPAUSEMACCtrlFrames*`), which are
/// in no `ethtool -S` name of some drivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandardPause {
    /// Frames received, where counted.
    pub rx_frames: Option<u64>,
    /// Frames sent, where counted.
    pub tx_frames: Option<u64>,
    /// Whether the driver is known to count 802.3x alone. Otherwise PFC frames may be among them.
    pub link_only: bool,
}

/// What was read of a port's set-up. A part that could not be read is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSettings {
    /// DCB; none where the driver has none.
    pub dcb: Option<Dcb>,
    /// What decides a packet's priority: said by the driver, or following from its map.
    pub trust: Option<Trust>,
    /// 802.3x.
    pub link_pause: Option<LinkPause>,
    /// The NIC's own time limit for a stall; zero for off.
    pub stall_prevention: Option<Duration>,
    /// How often the driver renews its statistics, where it can be set.
    pub statistics_period: Option<Duration>,
    /// Largest packet of the netdev, in bytes.
    pub mtu_bytes: Option<u32>,
    /// Pause frames since the driver began to count, as old as the rest of what is here.
    pub standard_pause: Option<StandardPause>,
}
