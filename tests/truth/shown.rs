//! What a driver shows of a truth.

use roce_exporter::model::{CounterKey, Direction, Index, Plan, Priority, Quantity};
use roce_exporter::source::simulated::NicTruth;

use crate::judge::Lane;

/// Lanes for which a plan has pause counters.
pub(crate) fn lanes_of(plan: &Plan) -> Vec<Lane> {
    let pauses = plan.counters.iter().filter_map(|counter| match counter.key {
        CounterKey {
            quantity: Quantity::PfcPauseTime | Quantity::PfcPauseFrames,
            direction: Some(direction),
            index: Index::Priority(priority),
            ..
        } => Some((priority, direction)),
        _ => None,
    });
    let mut lanes: Vec<Lane> = pauses.collect();
    lanes.sort_unstable();
    lanes.dedup();
    lanes
}

/// What a driver's counter says of a truth; none for counters that are not compared.
pub(crate) fn shown_value(key: &CounterKey, driver: &str, truth: &NicTruth) -> Option<u64> {
    let direction = key.direction?;
    let link = truth.link_tx;
    let priority = match (key.quantity, &key.index) {
        (Quantity::LinkPauseTime, Index::None) if direction == Direction::Tx => {
            return Some(link.paused_ns / 1_000);
        }
        (_, Index::Priority(priority)) => *priority,
        _ => return None,
    };
    let pause = truth.priority(priority).pause(direction).to_owned();
    match key.quantity {
        Quantity::PfcPauseTime => Some(pause.paused_ns / 1_000),
        Quantity::PfcPauseFrames if matches!(driver, "ice" | "i40e") => {
            Some(xoff_frames(truth, priority, direction, driver))
        }
        Quantity::PfcPauseFrames => Some(pause.frames()),
        Quantity::Bytes => Some(truth.priority(priority).bytes(direction)),
        _ => None,
    }
}

/// XOFF frames of a priority; on ice those of its traffic class, which 2 and 3 share, as all others do.
pub(crate) fn xoff_frames(
    truth: &NicTruth,
    priority: Priority,
    direction: Direction,
    driver: &str,
) -> u64 {
    let class = |own: &Priority| matches!(own.number(), 2 | 3);
    let counted = |own: &&Priority| match driver {
        "ice" => class(own) == class(&priority),
        _ => **own == priority,
    };
    let mates = Priority::ALL.iter().filter(counted);
    mates.map(|own| truth.priority(*own).pause(direction).xoff_frames).sum()
}
