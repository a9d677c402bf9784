//! How much counters have grown over a while that is long enough to judge traffic by.
//!
//! A check of a moment has only the counters' totals; what runs on compares with up to ten minutes ago, so that a
//! finding goes when its cause has gone. Refuses to answer where a counter went backwards or is not there.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::FeedFigures;
use crate::model::{Direction, Index, Monotonic, Quantity};

/// How far back a finding from traffic looks.
const WINDOW: Duration = Duration::from_mins(10);
/// Totals are kept no more often than this.
const STEP: Duration = Duration::from_secs(30);

/// Totals of earlier looks, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct History(VecDeque<(Monotonic, Arc<[FeedFigures]>)>);

impl History {
    /// Keeps the totals of `now`, if the last kept are old enough, and forgets those that no look needs any more.
    pub(super) fn keep(&mut self, now: Monotonic, feeds: &[FeedFigures]) {
        // A look before the first sample has nothing to compare with.
        let read = |feeds: &[FeedFigures]| feeds.iter().any(|own| own.sampling.samples > 0);
        if self.0.back().is_some_and(|(_, feeds)| !read(feeds)) {
            self.0.pop_back();
        }
        let fresh = self.0.back().is_some_and(|(at, _)| now.since(*at) < STEP);
        if !fresh {
            self.0.push_back((now, feeds.into()));
        }
        // One beyond the window stays: what happened at its edge is still seen.
        while self.0.get(1).is_some_and(|(at, _)| now.since(*at) >= WINDOW) {
            self.0.pop_front();
        }
    }
}

/// Over which time counters are compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Span<'a> {
    /// Since the counters themselves began.
    Whole,
    /// Since the oldest look that has them.
    Since(&'a History),
}

/// What has been counted since a span began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth<'a> {
    pub(super) now: &'a [FeedFigures],
    pub(super) span: Span<'a>,
}

impl Growth<'_> {
    /// How this span is called.
    pub(super) const fn words(&self) -> &'static str {
        match self.span {
            Span::Whole => "since the counters began",
            Span::Since(_) => "in the last 10 minutes",
        }
    }

    /// How much a counter of a device grew. Where several of its ports or sources have it, the one that grew most;
    /// none where none of them has it twice.
    pub(super) fn of(
        &self,
        device: &str,
        quantity: Quantity,
        direction: Option<Direction>,
        index: Index,
    ) -> Option<u64> {
        let own = self.now.iter().filter(|feed| &*feed.feed.device == device);
        own.filter_map(|feed| {
            let total = total_of(feed, quantity, direction, index)?;
            match self.span {
                Span::Whole => Some(total),
                Span::Since(history) => {
                    let mut earlier = history.0.iter().filter_map(|(_, feeds)| {
                        let before = feeds.iter().find(|own| own.feed == feed.feed)?;
                        total_of(before, quantity, direction, index)
                    });
                    total.checked_sub(earlier.next()?)
                }
            }
        })
        .max()
    }

    /// Whether a device has such a counter.
    pub(super) fn has(&self, device: &str, quantity: Quantity) -> bool {
        let own = self.now.iter().filter(|feed| &*feed.feed.device == device);
        own.flat_map(|feed| feed.counters.plan.counters.iter().zip(&feed.counters.totals))
            .any(|(counter, total)| counter.key.quantity == quantity && total.is_some())
    }
}

/// The total of a counter, over its details.
fn total_of(
    feed: &FeedFigures,
    quantity: Quantity,
    direction: Option<Direction>,
    index: Index,
) -> Option<u64> {
    let counters = feed.counters.plan.counters.iter().zip(&feed.counters.totals);
    let wanted = counters.filter(|(counter, _)| {
        let key = &counter.key;
        key.quantity == quantity && key.direction == direction && key.index == index
    });
    wanted.filter_map(|(_, total)| *total).reduce(u64::saturating_add)
}
