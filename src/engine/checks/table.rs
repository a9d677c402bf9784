//! The table of all checks: name, judge and the command that shows an operator the same.
//!
//! A check is one row here and one section in `docs/checks.md`; a test compares the two.

use super::evidence::Evidence;
use super::verdict::Verdict;
use super::{buffers, ecn, flow_control, link, mapping, mtu, rdma, sampling, traffic};
use crate::model::DeviceFacts;

macro_rules! checks {
    ($($variant:ident = $word:literal, $judge:path, $look:literal;)+) => {
        /// A check. Named in `docs/checks.md`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "the documentation explains each under its name")]
        pub enum Check { $($variant,)+ }

        impl Check {
            /// All checks, in the order of reports.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The label value.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The command with its places open.
            const fn look_template(self) -> &'static str {
                match self { $(Self::$variant => $look,)+ }
            }

            pub(super) fn judge(self, port: &Evidence<'_>) -> Option<Verdict> {
                match self { $(Self::$variant => $judge(port),)+ }
            }
        }
    };
}

checks! {
    Link = "link", link::link, "ip -s link show dev {device}";
    PfcMask = "pfc_mask", flow_control::pfc_mask, "dcb pfc show dev {device}";
    LosslessPriorities = "lossless_priorities", flow_control::lossless_priorities,
        "dcb pfc show dev {device}";
    PfcCapability = "pfc_capability", flow_control::pfc_capability, "dcb pfc show dev {device}";
    LinkPause = "link_pause", flow_control::link_pause, "ethtool -a {device}";
    Trust = "trust", mapping::trust, "dcb app show dev {device}";
    DscpMap = "dscp_map", mapping::dscp_map, "dcb app show dev {device} dscp-prio";
    CnpPriority = "cnp_priority", mapping::cnp_priority, "dcb app show dev {device} dscp-prio";
    TrafficClass = "traffic_class", mapping::traffic_class, "dcb ets show dev {device}";
    Dcbx = "dcbx", mapping::dcbx, "dcb dcbx show dev {device}";
    Buffer = "buffer", buffers::buffer, "dcb buffer show dev {device}";
    Headroom = "headroom", buffers::headroom, "dcb buffer show dev {device}";
    Mtu = "mtu", mtu::mtu, "ip link show dev {device}";
    MtuStack = "mtu_stack", mtu::mtu_stack, "ip -d link show";
    MtuRails = "mtu_rails", mtu::mtu_rails, "ip link show";
    RoceVersion = "roce_version", rdma::roce_version,
        "grep . /sys/class/infiniband/{rdma}/ports/{port}/gid_attrs/types/*";
    RdmaCmMode = "rdma_cm_mode", rdma::rdma_cm_mode,
        "cat /sys/kernel/config/rdma_cm/{rdma}/ports/{port}/default_roce_mode";
    RdmaCmTos = "rdma_cm_tos", rdma::rdma_cm_tos,
        "cat /sys/kernel/config/rdma_cm/{rdma}/ports/{port}/default_roce_tos";
    EcnNotificationPoint = "ecn_notification_point", ecn::ecn_notification_point,
        "grep . /sys/class/net/{device}/ecn/roce_np/enable/*";
    EcnReactionPoint = "ecn_reaction_point", ecn::ecn_reaction_point,
        "grep . /sys/class/net/{device}/ecn/roce_rp/enable/*";
    StallPrevention = "stall_prevention", link::stall_prevention,
        "ethtool --get-tunable {device} pfc-prevention-tout";
    SpeedRails = "speed_rails", link::speed_rails, "ethtool {device}";
    Fec = "fec", link::fec, "ethtool --show-fec {device}";
    SymbolErrors = "symbol_errors", link::symbol_errors,
        "cat /sys/class/infiniband/{rdma}/ports/{port}/counters/symbol_error";
    Pcie = "pcie", link::pcie, "lspci -vv -s {pci}";
    FirmwareRails = "firmware_rails", link::firmware_rails, "ethtool -i {device}";
    RdmaOnLossless = "rdma_on_lossless", traffic::rdma_on_lossless, "ethtool -S {device}";
    PauseOutsideMask = "pause_outside_mask", flow_control::pause_outside_mask,
        "ethtool -S {device}";
    PauseWithoutFlowControl = "pause_without_flow_control",
        flow_control::pause_without_flow_control, "ethtool -S {device}";
    Counters = "counters", sampling::counters, "ethtool -S {device}";
    Sampler = "sampler", sampling::sampler, "time ethtool -S {device}";
}

impl Check {
    /// The command that shows this of a port. In another network namespace it has to be run there.
    pub(super) fn look(self, facts: &DeviceFacts) -> String {
        let device = facts.device.rsplit('/').next().unwrap_or_default();
        let port = facts.rdma_ports.first();
        let rdma = port.map_or("RDMA_DEVICE", |own| &own.rdma_device);
        let number = port.map_or(1, |own| own.port).to_string();
        let pci = if facts.pci_address.is_empty() { "ADDRESS" } else { &facts.pci_address };
        let command = self.look_template().replace("{device}", device).replace("{rdma}", rdma);
        let command = command.replace("{port}", &number).replace("{pci}", pci);
        if facts.netns.is_empty() {
            command
        } else {
            format!("ip netns exec {} {command}", facts.netns)
        }
    }
}
