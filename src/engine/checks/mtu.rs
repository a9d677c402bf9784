//! MTUs: large enough for RDMA, alike on all rails, and in order with what lies above.

use super::evidence::{Evidence, list};
use super::verdict::{Status, Verdict};

const NO_MTU: &str = "the MTU cannot be read";

/// The netdev's MTU leaves RDMA its largest.
pub(super) fn mtu(port: &Evidence<'_>) -> Option<Verdict> {
    let (least, best) = (port.wanted.mtu_least_bytes, port.wanted.mtu_recommended_bytes);
    let wanted = format!("{least} or more, {best} recommended");
    let Some(mtu) = port.facts.settings.mtu_bytes else {
        return Some(Verdict::unknown(NO_MTU, wanted));
    };
    let rdma = port.facts.rdma_mtu_bytes();
    let rdma = rdma.map(|bytes| format!(", RDMA {bytes}")).unwrap_or_default();
    Some(Verdict::unless(mtu >= least, Status::Warning, format!("{mtu}{rdma}"), wanted))
}

/// What lies above sends no packet that is too long for the port, and wastes no room.
pub(super) fn mtu_stack(port: &Evidence<'_>) -> Option<Verdict> {
    let uppers = &port.facts.details.uppers;
    if uppers.is_empty() {
        return None;
    }
    let Some(mtu) = port.facts.settings.mtu_bytes else {
        return Some(Verdict::unknown(NO_MTU, "as the port's"));
    };
    let found = list(uppers.iter().map(|own| format!("{} {}", own.name, own.mtu_bytes)));
    let wanted = format!("{mtu}, as the port's");
    Some(if uppers.iter().any(|own| own.mtu_bytes > mtu) {
        Verdict::critical(found, wanted)
    } else {
        let good = uppers.iter().all(|own| own.mtu_bytes == mtu);
        Verdict::unless(good, Status::Warning, found, wanted)
    })
}

/// All rails have the same.
pub(super) fn mtu_rails(port: &Evidence<'_>) -> Option<Verdict> {
    let (own, rival) = port.among_rails(|facts| facts.settings.mtu_bytes)?;
    let wanted = rival.map_or_else(|| "as the other rails".to_owned(), |own| own.to_string());
    Some(Verdict::unless(rival.is_none(), Status::Warning, own.to_string(), wanted))
}
