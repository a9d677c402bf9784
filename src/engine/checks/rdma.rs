//! What RDMA connections get: kinds of GIDs and the defaults of `rdma_cm`.

use super::evidence::{Evidence, is_roce, list};
use super::policy::Expected;
use super::verdict::{Status, Verdict};
use crate::model::{GidType, RdmaCm};

/// The directory is there only after somebody made it.
const NO_CONFIGFS: &str = "configfs does not show this port";

const fn word(kind: GidType) -> &'static str {
    match kind {
        GidType::V1 => "v1",
        GidType::V2 => "v2",
    }
}

/// Every RDMA port has a GID that is routed.
pub(super) fn roce_version(port: &Evidence<'_>) -> Option<Verdict> {
    if !is_roce(port.facts) {
        return None;
    }
    let wanted = if port.wanted.roce_v2 == Expected::Any { "any" } else { "v2" };
    let ports = &port.facts.rdma_ports;
    if ports.iter().any(|own| own.gid_types.is_empty()) {
        let reason = "no GID could be read";
        return Some(Verdict::unknown(reason, wanted));
    }
    let mut kinds: Vec<GidType> = ports.iter().flat_map(|own| own.gid_types.clone()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let routed = ports.iter().all(|own| own.gid_types.contains(&GidType::V2));
    let good = routed || port.wanted.roce_v2 == Expected::Any;
    Some(Verdict::unless(good, Status::Critical, list(kinds.into_iter().map(word)), wanted))
}

/// Connections over `rdma_cm` take a GID that is routed.
pub(super) fn rdma_cm_mode(port: &Evidence<'_>) -> Option<Verdict> {
    if !is_roce(port.facts) {
        return None;
    }
    let wanted = if port.wanted.roce_v2 == Expected::Any { "any" } else { "v2" };
    let known = defaults(port, |own| own.default_gid);
    Some(match known.as_slice() {
        [] => Verdict::unknown(NO_CONFIGFS, wanted),
        kinds => {
            let any = port.wanted.roce_v2 == Expected::Any;
            let good = any || kinds.iter().all(|kind| *kind == GidType::V2);
            let found = list(kinds.iter().map(|kind| word(*kind)));
            Verdict::unless(good, Status::Warning, found, wanted)
        }
    })
}

/// Connections over `rdma_cm` that set no type of service get the DSCP of RoCE.
pub(super) fn rdma_cm_tos(port: &Evidence<'_>) -> Option<Verdict> {
    if !is_roce(port.facts) {
        return None;
    }
    let wanted = format!("DSCP {}", port.wanted.roce_dscp);
    let known = defaults(port, |own| own.default_tos);
    Some(match known.as_slice() {
        [] => Verdict::unknown(NO_CONFIGFS, wanted),
        tos => {
            let good = tos.iter().all(|tos| tos >> 2 == port.wanted.roce_dscp);
            let found = list(tos.iter().map(|tos| format!("ToS {tos}, DSCP {}", tos >> 2)));
            Verdict::unless(good, Status::Warning, found, wanted)
        }
    })
}

fn defaults<T>(port: &Evidence<'_>, of: impl Fn(&RdmaCm) -> Option<T>) -> Vec<T> {
    port.facts.details.rdma_cm.iter().filter_map(of).collect()
}
