//! Turns a snapshot into series: one list per family of the table.
//!
//! Counters find their family by quantity and split; all other families say in their row how they are
//! filled. Two series of a family never have the same labels: the first feed's series stays. What is left
//! out is counted and exported, so that it cannot go unseen.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::BuildInfo;
use super::families::FAMILIES;
use super::family::{Family, Label, Origin, Split};
use super::process::ProcessFigures;
use super::series::{LabelValue, Series, Value};
use super::standard_pause;
use crate::engine::{FeedFigures, Snapshot};
use crate::model::{CounterKey, Index, PlanCounter, Quantity, Unit};

/// Everything that one scrape is made of.
#[derive(Debug)]
pub(super) struct Scrape<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) build: &'a BuildInfo,
    pub(super) process: Option<&'a ProcessFigures>,
}

/// Series that were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Skipped {
    no_family: u64,
    duplicate: u64,
}

/// The place in [`FAMILIES`] of the family that a counter belongs to.
pub(super) fn place_of(key: &CounterKey) -> Option<usize> {
    static PLACES: LazyLock<HashMap<(Quantity, Split), usize>> = LazyLock::new(|| {
        let counters =
            FAMILIES.iter().enumerate().filter_map(|(place, family)| match family.origin {
                Origin::Counter(quantity, split) => Some(((quantity, split), place)),
                _ => None,
            });
        counters.collect()
    });
    PLACES.get(&(key.quantity, Split::from(key.index))).copied()
}

/// The series of each family, in the order of [`FAMILIES`].
pub(super) fn gather(scrape: &Scrape<'_>) -> Vec<Vec<Series>> {
    let mut table = vec![Vec::new(); FAMILIES.len()];
    let mut skipped = Skipped::default();
    for feed in &scrape.snapshot.feeds {
        skipped.no_family += place_counters(feed, &mut table);
    }
    standard_pause::place(scrape.snapshot, &mut table);
    for (family, series) in FAMILIES.iter().zip(&mut table) {
        match family.origin {
            Origin::Counter(..) | Origin::Skipped => {}
            Origin::Feed(value) => series.extend(per_feed(family, value, scrape.snapshot)),
            Origin::Process(value) => {
                let value = scrape.process.and_then(value);
                series.extend(value.map(|value| family.series(value, |_| LabelValue::EMPTY)));
            }
            Origin::Scrape(fill) => fill(family, scrape, series),
        }
        skipped.duplicate += sort_and_deduplicate(series);
    }
    for (family, series) in FAMILIES.iter().zip(&mut table) {
        if matches!(family.origin, Origin::Skipped) {
            *series = skipped_series(family, skipped);
        }
    }
    table
}

/// Adds the counters of a feed; returns how many have a value but no family.
fn place_counters(feed: &FeedFigures, table: &mut [Vec<Series>]) -> u64 {
    let mut homeless = 0;
    for (counter, total) in feed.counters.plan.counters.iter().zip(&feed.counters.totals) {
        let Some(total) = *total else { continue };
        let place = place_of(&counter.key);
        let home = place.and_then(|place| FAMILIES.get(place).zip(table.get_mut(place)));
        match home {
            Some((family, series)) => series.push(counter_series(family, feed, counter, total)),
            None => homeless += 1,
        }
    }
    homeless
}

fn counter_series(
    family: &Family,
    feed: &FeedFigures,
    counter: &PlanCounter,
    total: u64,
) -> Series {
    let value = match counter.unit {
        Unit::Count | Unit::Bytes | Unit::Seconds => Value::Integer(total),
        unit @ (Unit::Microseconds | Unit::Milliseconds | Unit::Percent) => {
            Value::Real(unit.to_base(total))
        }
    };
    family.series(value, |label| counter_label(label, feed, &counter.key))
}

fn counter_label(label: Label, feed: &FeedFigures, key: &CounterKey) -> LabelValue {
    match label {
        Label::Priority | Label::TrafficClass | Label::Buffer => match key.index {
            Index::None => LabelValue::EMPTY,
            Index::Priority(priority) => LabelValue::Number(priority.number().into()),
            Index::TrafficClass(number) | Index::Buffer(number) => {
                LabelValue::Number(number.into())
            }
        },
        Label::Direction => {
            key.direction.map_or(LabelValue::EMPTY, |way| LabelValue::Fixed(way.as_str()))
        }
        Label::Reason | Label::Severity | Label::Event | Label::Operation | Label::Kind => {
            LabelValue::optional(key.detail.as_ref())
        }
        _ => feed_label(label, feed),
    }
}

/// The value of a label that belongs to a feed as a whole; empty for any other label.
pub(super) fn feed_label(label: Label, feed: &FeedFigures) -> LabelValue {
    match label {
        Label::Device => LabelValue::text(&feed.feed.device),
        Label::RdmaDevice => LabelValue::optional(feed.feed.rdma_device.as_ref()),
        Label::Port => feed.feed.port.map_or(LabelValue::EMPTY, LabelValue::Number),
        Label::Source => LabelValue::Fixed(feed.feed.source.as_str()),
        Label::Driver => LabelValue::text(&feed.driver),
        _ => LabelValue::EMPTY,
    }
}

fn per_feed<'a>(
    family: &'a Family,
    value: fn(&FeedFigures, crate::model::Monotonic) -> Option<Value>,
    snapshot: &'a Snapshot,
) -> impl Iterator<Item = Series> + 'a {
    snapshot.feeds.iter().filter_map(move |feed| {
        let value = value(feed, snapshot.taken_at)?;
        Some(family.series(value, |label| feed_label(label, feed)))
    })
}

/// Orders series by their labels, so that the output depends on nothing else; returns how many had the labels
/// of another one and were dropped.
fn sort_and_deduplicate(series: &mut Vec<Series>) -> u64 {
    let before = series.len();
    series.sort_by(|one, other| one.labels.cmp(&other.labels));
    series.dedup_by(|later, first| later.labels == first.labels);
    u64::try_from(before - series.len()).unwrap_or(u64::MAX)
}

fn skipped_series(family: &Family, skipped: Skipped) -> Vec<Series> {
    let counts = [("duplicate", skipped.duplicate), ("no_family", skipped.no_family)];
    let series =
        |(reason, count)| family.series(Value::Integer(count), |_| LabelValue::Fixed(reason));
    counts.into_iter().map(series).collect()
}

/// The series of drivers' counters alone.
pub(super) fn gather_counters(scrape: &Scrape<'_>) -> Vec<Vec<Series>> {
    let mut table = gather(scrape);
    for (family, series) in FAMILIES.iter().zip(&mut table) {
        if !matches!(family.origin, Origin::Counter(..)) {
            series.clear();
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::engine::{CounterFigures, PauseSummary, SamplingFigures};
    use crate::model::{
        Feed, Freshness, Monotonic, Plan, Priority, ReadingKind, SourceKind, Width,
    };

    const BUILD: BuildInfo =
        BuildInfo { version: "1", revision: "", branch: "", rustc: "", target: "" };

    fn indices() -> [Index; 4] {
        [Index::None, Index::Priority(Priority::ALL[3]), Index::TrafficClass(3), Index::Buffer(3)]
    }

    fn counter(quantity: Quantity, index: Index) -> PlanCounter {
        PlanCounter {
            key: CounterKey { quantity, direction: None, index, detail: None },
            kind: ReadingKind::Counter,
            unit: Unit::Count,
            width: Width::FULL,
            freshness: Freshness::Live,
        }
    }

    fn feed(device: &str, counters: Vec<PlanCounter>) -> FeedFigures {
        let totals = vec![Some(1); counters.len()];
        let plan = Arc::new(Plan { counters, ..Plan::default() });
        FeedFigures {
            feed: Feed {
                device: device.into(),
                rdma_device: None,
                port: None,
                source: SourceKind::Ethtool,
            },
            driver: "mlx5_core".into(),
            counters: CounterFigures { plan, totals, raw: Vec::new(), resets: 0 },
            pause: PauseSummary::default(),
            sampling: SamplingFigures::new(),
        }
    }

    fn gather_feeds(feeds: Vec<FeedFigures>) -> Vec<Vec<Series>> {
        let snapshot = Snapshot {
            taken_at: Monotonic::ZERO,
            devices: Vec::new(),
            feeds,
            checks: Arc::default(),
        };
        gather(&Scrape { snapshot: &snapshot, build: &BUILD, process: None })
    }

    fn skipped(table: &[Vec<Series>], reason: &'static str) -> Value {
        let place =
            FAMILIES.iter().position(|family| matches!(family.origin, Origin::Skipped)).unwrap();
        let wanted = [LabelValue::Fixed(reason)];
        table[place].iter().find(|series| series.labels == wanted).unwrap().value.clone()
    }

    /// Series of the families that show counters of a plan.
    fn counter_series_of(table: &[Vec<Series>]) -> usize {
        let counted = FAMILIES.iter().zip(table);
        counted
            .filter(|(family, _)| matches!(family.origin, Origin::Counter(..)))
            .map(|(_, series)| series.len())
            .sum()
    }

    #[test]
    fn every_quantity_has_a_family_and_no_two_families_share_a_counter() {
        let mut places = BTreeSet::new();
        for &quantity in Quantity::ALL {
            let found: Vec<usize> = indices()
                .iter()
                .filter_map(|index| place_of(&counter(quantity, *index).key))
                .collect();
            assert!(!found.is_empty(), "{quantity:?} has no family");
            places.extend(found);
        }
        let rows =
            FAMILIES.iter().filter(|family| matches!(family.origin, Origin::Counter(..))).count();
        assert_eq!(places.len(), rows, "two rows have the same quantity and split");
    }

    #[test]
    fn a_counter_is_exported_or_counted_as_skipped() {
        let combinations =
            Quantity::ALL.iter().flat_map(|quantity| indices().map(|index| (*quantity, index)));
        let all: Vec<PlanCounter> =
            combinations.map(|(quantity, index)| counter(quantity, index)).collect();
        let homeless = all.iter().filter(|counter| place_of(&counter.key).is_none()).count();
        let table = gather_feeds(vec![feed("eth0", all.clone())]);
        assert_eq!(counter_series_of(&table), all.len() - homeless);
        assert_eq!(skipped(&table, "no_family"), Value::Integer(homeless as u64));
        assert_eq!(skipped(&table, "duplicate"), Value::Integer(0));
        assert!(homeless > 0, "a traffic class has no CNP");
    }

    #[test]
    fn a_counter_without_a_value_has_no_series() {
        let mut silent = feed("eth0", vec![counter(Quantity::PcieBufferOverflow, Index::None)]);
        silent.counters.totals = vec![None];
        let table = gather_feeds(vec![silent]);
        assert_eq!(counter_series_of(&table), 0);
    }

    #[test]
    fn of_two_counters_with_equal_labels_the_first_stays() {
        let mut first = counter(Quantity::PcieBufferOverflow, Index::None);
        first.key.detail = Some("one".into());
        let mut second = first.clone();
        second.key.detail = Some("other".into());
        let mut figures = feed("eth0", vec![first, second]);
        figures.counters.totals = vec![Some(7), Some(9)];
        let table = gather_feeds(vec![figures]);
        let place = place_of(&counter(Quantity::PcieBufferOverflow, Index::None).key).unwrap();
        assert_eq!(table[place].len(), 1);
        assert_eq!(table[place][0].value, Value::Integer(7));
        assert_eq!(skipped(&table, "duplicate"), Value::Integer(1));
    }

    #[test]
    fn an_empty_detail_is_no_detail() {
        let mut empty = counter(Quantity::RdmaTimeout, Index::None);
        empty.key.detail = Some("".into());
        let table = gather_feeds(vec![feed(
            "eth0",
            vec![counter(Quantity::RdmaTimeout, Index::None), empty],
        )]);
        assert_eq!(counter_series_of(&table), 1);
        assert_eq!(skipped(&table, "duplicate"), Value::Integer(1));
    }

    #[test]
    fn series_are_ordered_by_label_whatever_the_order_of_feeds() {
        let overflow = || vec![counter(Quantity::PcieBufferOverflow, Index::None)];
        let forward = gather_feeds(vec![feed("eth0", overflow()), feed("eth1", overflow())]);
        let backward = gather_feeds(vec![feed("eth1", overflow()), feed("eth0", overflow())]);
        assert_eq!(forward, backward);
    }
}
