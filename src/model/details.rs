//! What few drivers and kernels say of a port's set-up, beyond what is needed to judge its samples.

use super::GidType;

/// What is known beyond [`super::PortSettings`]. A part that could not be read is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortDetails {
    /// ECN of RoCE; only some builds of drivers show it.
    pub ecn: EcnSettings,
    /// The PCIe link of the NIC.
    pub pcie: PcieLink,
    /// Forward error correction in operation, in the kernel's word, such as `rs`.
    pub fec: Option<String>,
    /// Devices that carry their packets over this one: VLANs, and the bond that it belongs to.
    pub uppers: Vec<Upper>,
    /// What applications over `rdma_cm` get, where somebody made the kernel show it.
    pub rdma_cm: Vec<RdmaCm>,
}

/// ECN roles of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnSettings {
    /// Priorities with the notification point on, as a mask. On mlx5 one of them turns on the whole port.
    pub notification_point: Option<u8>,
    /// Priorities with the reaction point on, as a mask.
    pub reaction_point: Option<u8>,
    /// DSCP of the CNPs that are sent.
    pub cnp_dscp: Option<u8>,
}

/// A PCIe link as it was trained and as it could be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PcieLink {
    /// Lanes in use.
    pub lanes: Option<u32>,
    /// Lanes that the device has.
    pub most_lanes: Option<u32>,
    /// Megatransfers per second and lane.
    pub megatransfers: Option<u32>,
    /// Megatransfers per second and lane that the device can do.
    pub most_megatransfers: Option<u32>,
}

/// A device above a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upper {
    /// Its name.
    pub name: String,
    /// Its MTU.
    pub mtu_bytes: u32,
}

/// Defaults of `rdma_cm` on a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdmaCm {
    /// RDMA device.
    pub rdma_device: String,
    /// Its port.
    pub port: u32,
    /// Kind of GID that a connection takes.
    pub default_gid: Option<GidType>,
    /// Type of service of a connection that sets none; its upper six bits are the DSCP.
    pub default_tos: Option<u8>,
}
