//! What a feed was found to have, in one line of the log.

use crate::model::{Feed, Index, Plan, Quantity};

/// What a NIC should have for this exporter to be of full use, by source.
const NETDEV_QUANTITIES: [Quantity; 6] = [
    Quantity::PfcPauseFrames,
    Quantity::PfcPauseTime,
    Quantity::LinkPauseFrames,
    Quantity::Bytes,
    Quantity::Discards,
    Quantity::PcieStalledTime,
];
const RDMA_QUANTITIES: [Quantity; 5] = [
    Quantity::RdmaEcnMarkedPackets,
    Quantity::RdmaCnpSent,
    Quantity::RdmaCnpHandled,
    Quantity::RdmaBytes,
    Quantity::RdmaOutOfSequence,
];

/// One log line per feed and set of names: what was found, what is not there.
pub(super) fn tell(feed: &Feed, names: &[String], plan: &Plan) {
    let has = |quantity: Quantity| {
        plan.counters.iter().any(|own| {
            let whole_port = quantity == Quantity::Bytes && own.key.index == Index::None;
            own.key.quantity == quantity && !whole_port
        })
    };
    let due: &[Quantity] =
        if feed.source.is_rdma() { &RDMA_QUANTITIES } else { &NETDEV_QUANTITIES };
    let words = |present: bool| {
        let chosen = due.iter().filter(|quantity| has(**quantity) == present);
        chosen.map(|quantity| quantity.as_str()).collect::<Vec<_>>().join(",")
    };
    tracing::info!(
        device = &*feed.device,
        rdma_device = feed.rdma_device.as_deref(),
        port = feed.port,
        source = feed.source.as_str(),
        names = names.len(),
        counters = plan.counters.len(),
        has = words(true),
        lacks = words(false),
        "{}",
        if plan.is_empty() { "no counter of flow control here; watching" } else { "sampling" }
    );
}
