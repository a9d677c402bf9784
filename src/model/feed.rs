//! One source of one device: the unit of sampling.

use std::sync::Arc;

/// Which kernel interface a sample came through. The label `source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceKind {
    /// `SIOCETHTOOL` statistics; holds rtnl.
    Ethtool,
    /// RDMA counters below `/sys/class/infiniband`; no rtnl, cached by the kernel for 10 ms.
    RdmaSysfs,
    /// RDMA netlink statistics; no rtnl, no cache.
    RdmaNetlink,
}

impl SourceKind {
    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ethtool => "ethtool",
            Self::RdmaSysfs => "rdma_sysfs",
            Self::RdmaNetlink => "rdma_netlink",
        }
    }

    /// Whether a read holds the kernel's rtnl lock and so stalls with it.
    #[must_use]
    pub const fn holds_rtnl(self) -> bool {
        matches!(self, Self::Ethtool)
    }

    /// Whether this source gives RDMA counters.
    #[must_use]
    pub const fn is_rdma(self) -> bool {
        matches!(self, Self::RdmaSysfs | Self::RdmaNetlink)
    }
}

/// One source of one device: what a sampling thread reads and what a series is labelled with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Feed {
    /// The netdev; empty for an RDMA port without one.
    pub device: Arc<str>,
    /// The RDMA device, for RDMA sources.
    pub rdma_device: Option<Arc<str>>,
    /// The RDMA port; none for counters of the whole RDMA device.
    pub port: Option<u32>,
    /// The interface that is read.
    pub source: SourceKind,
}
