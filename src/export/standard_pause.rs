//! Pause frames by the kernel's standard statistics, for the NICs whose driver has them under no name of its own.
//!
//! Refuses a second count: a device whose driver names its link pause, or all pause of its MAC, is left to that. What
//! may hold PFC frames goes under the MAC's name, never under that of link pause.

use super::families::FAMILIES;
use super::family::Label;
use super::gather::place_of;
use super::series::{LabelValue, Series, Value};
use crate::engine::Snapshot;
use crate::model::{CounterKey, DeviceFacts, Direction, Index, Quantity, StandardPause};

/// The devices whose standard statistics are shown, and the place of their family in [`FAMILIES`].
pub(super) fn shown(snapshot: &Snapshot) -> impl Iterator<Item = (&DeviceFacts, usize)> {
    snapshot.devices.iter().filter_map(|facts| {
        let pause = facts.settings.standard_pause?;
        let quantity =
            if pause.link_only { Quantity::LinkPauseFrames } else { Quantity::MacPauseFrames };
        let of_nobody_else = !facts.device.is_empty() && !has_its_own(snapshot, facts);
        let place = place_of(&key_of(quantity)).filter(|_| of_nobody_else)?;
        Some((facts, place))
    })
}

/// Adds the series.
pub(super) fn place(snapshot: &Snapshot, table: &mut [Vec<Series>]) {
    for (facts, place) in shown(snapshot) {
        let Some((family, series)) = FAMILIES.get(place).zip(table.get_mut(place)) else {
            continue;
        };
        let pause = facts.settings.standard_pause.unwrap_or_default();
        let StandardPause { rx_frames, tx_frames, .. } = pause;
        for (direction, frames) in [(Direction::Rx, rx_frames), (Direction::Tx, tx_frames)] {
            let Some(frames) = frames else { continue };
            series.push(family.series(Value::Integer(frames), |label| match label {
                Label::Direction => LabelValue::Fixed(direction.as_str()),
                _ => LabelValue::text(&facts.device),
            }));
        }
    }
}

/// Whether the driver's own statistics have such a counter, or are not known yet.
fn has_its_own(snapshot: &Snapshot, facts: &DeviceFacts) -> bool {
    let feeds = snapshot.feeds.iter();
    let mut own = feeds.filter(|own| own.feed.device == facts.device && !own.feed.source.is_rdma());
    own.any(|feed| {
        let counters = &feed.counters.plan.counters;
        feed.sampling.samples == 0
            || counters.iter().any(|counter| {
                matches!(counter.key.quantity, Quantity::LinkPauseFrames | Quantity::MacPauseFrames)
            })
    })
}

const fn key_of(quantity: Quantity) -> CounterKey {
    CounterKey { quantity, direction: None, index: Index::None, detail: None }
}
