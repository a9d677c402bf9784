//! What a check may look at: one port, its siblings, the counters and what is wanted.

use std::fmt::Display;

use super::SamplingWanted;
use super::growth::Growth;
use super::policy::{Policy, Wanted};
use crate::engine::FeedFigures;
use crate::model::{
    Dcb, DeviceFacts, Direction, Index, LinkLayer, PortRole, Priority, Quantity, RdmaPort,
};

/// Why DCB facts are not there.
pub(super) const NO_DCB: &str = "no answer over DCB netlink";

/// Everything about one port.
#[derive(Clone, Copy)]
pub(super) struct Evidence<'a> {
    pub(super) facts: &'a DeviceFacts,
    pub(super) wanted: &'a Wanted,
    /// RoCE ports of the same profile, this one among them, if it is one.
    pub(super) rails: &'a [&'a DeviceFacts],
    pub(super) growth: Growth<'a>,
    pub(super) sampling: SamplingWanted,
}

impl<'a> Evidence<'a> {
    pub(super) const fn dcb(&self) -> Option<&'a Dcb> {
        self.facts.settings.dcb.as_ref()
    }

    pub(super) fn grown(
        &self,
        quantity: Quantity,
        direction: Option<Direction>,
        index: Index,
    ) -> Option<u64> {
        self.growth.of(&self.facts.device, quantity, direction, index)
    }

    /// Both directions of a counter together; none where neither is known.
    pub(super) fn grown_both_ways(&self, quantity: Quantity, index: Index) -> Option<u64> {
        let ways = Direction::ALL.map(|way| self.grown(quantity, Some(way), index));
        ways.into_iter().flatten().reduce(u64::saturating_add)
    }

    /// Octets that a priority moved both ways.
    pub(super) fn priority_bytes(&self, priority: Priority) -> Option<u64> {
        self.grown_both_ways(Quantity::Bytes, Index::Priority(priority))
    }

    pub(super) fn has(&self, quantity: Quantity) -> bool {
        self.growth.has(&self.facts.device, quantity)
    }

    /// The netdev's own statistics, where they are sampled.
    pub(super) fn netdev_feed(&self) -> Option<&'a FeedFigures> {
        let own = |feed: &&FeedFigures| {
            feed.feed.device == self.facts.device && !feed.feed.source.is_rdma()
        };
        self.growth.now.iter().find(own)
    }

    /// Compares something with the port's siblings: its own value, and what most of them have where that is another.
    /// None where the port has no value or no sibling with one.
    pub(super) fn among_rails<T: PartialEq + Clone>(
        &self,
        of: impl Fn(&DeviceFacts) -> Option<T>,
    ) -> Option<(T, Option<T>)> {
        let rails = self.rails.iter().filter(|facts| facts.device != self.facts.device);
        if rails.clone().count() == self.rails.len() {
            return None;
        }
        let own = of(self.facts)?;
        let others: Vec<T> = rails.filter_map(|facts| of(facts)).collect();
        if others.is_empty() {
            return None;
        }
        let times = |value: &T| others.iter().filter(|other| *other == value).count();
        let rivals = others.iter().filter(|other| **other != own);
        // At a tie nobody is right, so both sides hear of it.
        let rival = rivals.max_by_key(|other| times(other));
        let rival = rival.filter(|rival| times(rival) > times(&own)).cloned();
        Some((own, rival))
    }
}

/// Whether a port is one that carries RoCE.
pub(super) fn is_roce(facts: &DeviceFacts) -> bool {
    let ethernet = |port: &RdmaPort| {
        matches!(port.link_layer, None | Some(LinkLayer::Ethernet)) && !facts.device.is_empty()
    };
    has_wire(facts) && facts.rdma_ports.iter().any(ethernet)
}

/// Whether a device is judged: a RoCE port, a port with PFC on, or one that a profile names.
pub(super) fn is_judged(facts: &DeviceFacts, policy: &Policy) -> bool {
    let named = !facts.device.is_empty() && policy.of(&facts.device).1.is_some();
    let lossless = has_wire(facts) && facts.link.lossless.is_some_and(|mask| mask != 0);
    named || is_roce(facts) || lossless
}

const fn has_wire(facts: &DeviceFacts) -> bool {
    matches!(facts.role, PortRole::Physical | PortRole::VirtualFunction)
}

/// `3` or `3, 4`; `none` where there are none.
pub(super) fn list<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    let words: Vec<String> = values.into_iter().map(|own| own.to_string()).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// `1 thing`, `2 things`.
pub(super) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Bytes for people: `12 B`, `3.4 MB`.
pub(super) fn bytes(number: u64) -> String {
    const STEPS: [(u64, &str); 4] =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let step = STEPS.into_iter().find(|(size, _)| number >= *size);
    step.map_or_else(
        || format!("{number} B"),
        |(size, unit)| format!("{}.{} {unit}", number / size, number % size * 10 / size),
    )
}
