//! Who is at the other end of a port's link.

use std::sync::Arc;

/// A port by its host and its own name there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortName {
    /// Host or switch.
    pub host: Arc<str>,
    /// Port of it, such as `eth0`, `swp17` or `Ethernet1/1`.
    pub device: Arc<str>,
}

/// The other end of a link, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPeer {
    /// The port there.
    pub port: PortName,
    /// Who says so.
    pub source: PeerSource,
}

/// Where the knowledge of a peer comes from, the most trusted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeerSource {
    /// The operator's links file.
    File,
    /// LLDP as `lldpd` heard it.
    Lldpd,
    /// LLDP as systemd-networkd heard it.
    Networkd,
    /// The simulated fabric, which knows its own cables.
    Simulation,
}

impl PeerSource {
    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Lldpd => "lldpd",
            Self::Networkd => "networkd",
            Self::Simulation => "simulation",
        }
    }
}
