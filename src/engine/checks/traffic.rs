//! Whether RDMA really goes where it should: what counters of traffic say, whatever the settings are.

use super::evidence::{Evidence, bytes, list};
use super::policy::in_mask;
use super::verdict::Verdict;
use crate::model::{Index, Quantity};

/// Less RDMA than this says nothing about where it goes, in bytes.
const LEAST_RDMA: u64 = 1_000_000;

/// RDMA moves on the lossless priorities.
///
/// Counters of priorities hold the frames of all protocols and with all headers, so what RDMA moved on a priority is
/// at most what is counted there. Half is demanded: a NIC's own loopback is RDMA that no wire sees.
pub(super) fn rdma_on_lossless(port: &Evidence<'_>) -> Option<Verdict> {
    let wanted = format!("on {}", list(port.wanted.lossless_priorities()));
    let words = port.growth.words();
    let rdma = [Quantity::RdmaBytes, Quantity::VportRdmaBytes]
        .into_iter()
        .filter_map(|quantity| port.grown_both_ways(quantity, Index::None))
        .max();
    let Some(rdma) = rdma else {
        let reason = "no RDMA bytes to compare";
        return Some(Verdict::unknown(reason, wanted));
    };
    if rdma < LEAST_RDMA {
        return Some(Verdict::unknown(format!("{} of RDMA {words}", bytes(rdma)), wanted));
    }
    let sum = |mask| {
        let priorities = in_mask(mask).map(|own| port.priority_bytes(own));
        priorities.flatten().reduce(u64::saturating_add)
    };
    let (Some(lossless), Some(lossy)) = (sum(port.wanted.lossless), sum(!port.wanted.lossless))
    else {
        let reason = "bytes of priorities are not counted";
        return Some(Verdict::unknown(reason, wanted));
    };
    let busiest = in_mask(!port.wanted.lossless).max_by_key(|own| port.priority_bytes(*own));
    let elsewhere = busiest.map(|own| format!(", most of the rest on {own}")).unwrap_or_default();
    let found = format!("{} there of {} of RDMA {words}", bytes(lossless), bytes(rdma));
    Some(if lossless >= rdma / 2 {
        Verdict::ok(found, wanted)
    } else if lossless == 0 && lossy >= rdma / 2 {
        Verdict::critical(format!("{found}{elsewhere}"), wanted)
    } else if lossy >= rdma / 2 {
        Verdict::warning(format!("{found}{elsewhere}"), wanted)
    } else {
        Verdict::unknown(format!("{found}: it stayed within the NIC"), wanted)
    })
}
