//! The exporter itself: how the sampling goes, what is missing, and the counters that no table knows.
//!
//! Families of a feed carry `rdma_device` and `port` beside `device` and `source`, since one netdev may have
//! several RDMA ports; both are empty for ethtool statistics.

use std::collections::{BTreeMap, BTreeSet};

use super::{FAMILIES, Family, Label};
use crate::engine::FeedFigures;
use crate::export::family::{Kind, Origin};
use crate::export::gather::{Scrape, feed_label, place_of};
use crate::export::series::{LabelValue, Series, Value};
use crate::export::standard_pause;
use crate::model::{DeviceFacts, Reason};

const FEED: &[Label] = &[Label::Device, Label::Source, Label::RdmaDevice, Label::Port];

const fn of_feed(
    kind: Kind,
    name: &'static str,
    value: fn(&FeedFigures, crate::model::Monotonic) -> Option<Value>,
    help: &'static str,
) -> Family {
    Family::new(kind, name, FEED, Origin::Feed(value), help)
}

#[rustfmt::skip]
pub(super) const ROWS: &[Family] = &[
    Family::new(Kind::Unknown, "roce_raw_counter",
        &[Label::Device, Label::Driver, Label::Name, Label::RdmaDevice, Label::Port],
        Origin::Scrape(raw_counters),
        "Driver counters outside the catalogue that the operator asked for, as they are; \
         it is not known whether a value accumulates"),
    Family::new(Kind::Info, "roce_exporter_build",
        &[Label::Version, Label::Revision, Label::Branch, Label::Rustc, Label::Target],
        Origin::Scrape(build_info),
        "What this exporter was built from"),
    of_feed(Kind::Gauge, "roce_sampler_interval_seconds",
        |feed, _| feed.sampling.interval.map(|interval| Value::Real(interval.as_secs_f64())),
        "Average time between the last good reads, as reached and not as configured"),
    of_feed(Kind::Counter, "roce_sampler_samples",
        |feed, _| Some(Value::Integer(feed.sampling.samples)),
        "Good reads since start"),
    of_feed(Kind::Histogram, "roce_sampler_read_seconds",
        |feed, _| Some(Value::Distribution((&feed.sampling.read_seconds).into())),
        "How long a read took, with the wait for the kernel's rtnl lock"),
    of_feed(Kind::Gauge, "roce_sampler_read_in_progress_seconds",
        |feed, _| Some(Value::Real(feed.sampling.read_in_progress.as_secs_f64())),
        "How long the read under way has taken, 0 between reads. When a driver hangs under rtnl all such reads wait; \
         the longest is the culprit"),
    of_feed(Kind::Counter, "roce_sampler_missed",
        |feed, _| Some(Value::Integer(feed.sampling.missed)),
        "Deadlines that passed without a read"),
    of_feed(Kind::Gauge, "roce_sample_age_seconds",
        |feed, now| feed.sampling.last_sample.map(|last| Value::Real(now.since(last).as_secs_f64())),
        "Age of the last good read; absent before the first"),
    of_feed(Kind::Gauge, "roce_counter_refresh_seconds",
        |feed, _| feed.sampling.refresh.map(|period| Value::Real(period.as_secs_f64())),
        "How often the driver or firmware renews its counters; absent where each read is fresh or nothing is known"),
    Family::new(Kind::Counter, "roce_source_errors",
        &[Label::Device, Label::Source, Label::Reason, Label::RdmaDevice, Label::Port],
        Origin::Scrape(source_errors),
        "Failed reads, and counters that became unreadable (once, not at each read), by reason; a reason that never occurred has no series"),
    of_feed(Kind::Counter, "roce_counter_resets",
        |feed, _| Some(Value::Integer(feed.counters.resets)),
        "Reads in which a counter had gone backwards, as after a driver reload"),
    Family::new(Kind::Gauge, "roce_counter_supported",
        &[Label::Device, Label::Counter, Label::RdmaDevice, Label::Port],
        Origin::Scrape(supported_counters),
        "1 = the device gives at least one counter of this metric now, 0 = it does not, so that absent is not \
         taken for zero"),
    of_feed(Kind::Gauge, "roce_device_stale",
        |feed, _| Some(Value::Integer(feed.sampling.stale.into())),
        "1 = no good read for longer than the interval allows: the other values of this source are old"),
    Family::new(Kind::Gauge, "roce_exporter_skipped_series", &[Label::Reason], Origin::Skipped,
        "Series left out of this scrape: no_family = a catalogue entry that no metric is made for; \
         duplicate = two counters that would have been the same series"),
];

fn build_info(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    let build = scrape.build;
    series.push(family.series(Value::Fact, |label| match label {
        Label::Version => LabelValue::Fixed(build.version),
        Label::Revision => LabelValue::Fixed(build.revision),
        Label::Branch => LabelValue::Fixed(build.branch),
        Label::Rustc => LabelValue::Fixed(build.rustc),
        Label::Target => LabelValue::Fixed(build.target),
        _ => LabelValue::EMPTY,
    }));
}

fn raw_counters(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for feed in &scrape.snapshot.feeds {
        let named = feed.counters.plan.raw.iter().zip(&feed.counters.raw);
        series.extend(named.filter_map(|((_, name), value)| {
            let value = Value::Integer((*value)?);
            Some(family.series(value, |label| match label {
                Label::Name => LabelValue::copied(name),
                _ => feed_label(label, feed),
            }))
        }));
    }
}

fn source_errors(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for feed in &scrape.snapshot.feeds {
        let counted = Reason::ALL.iter().zip(feed.sampling.errors).filter(|(_, count)| *count > 0);
        series.extend(counted.map(|(reason, count)| {
            family.series(Value::Integer(count), |label| match label {
                Label::Reason => LabelValue::Fixed(reason.as_str()),
                _ => feed_label(label, feed),
            })
        }));
    }
}

/// Two sources of one RDMA port answer together: what one of them has, the port has.
fn supported_counters(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    let mut answers: BTreeMap<Vec<LabelValue>, bool> = BTreeMap::new();
    let shown: Vec<_> = standard_pause::shown(scrape.snapshot).collect();
    for feed in &scrape.snapshot.feeds {
        let present = places_with_a_value(feed);
        let of_device =
            |facts: &DeviceFacts| !feed.feed.source.is_rdma() && facts.device == feed.feed.device;
        let asked = FAMILIES
            .iter()
            .enumerate()
            .filter(|(_, asked)| asked.askable.includes(feed.feed.source));
        for (place, asked) in asked {
            let one = family.series(Value::Fact, |label| match label {
                Label::Counter => LabelValue::copied(&asked.full_name()),
                _ => feed_label(label, feed),
            });
            let standard = shown.iter().any(|(facts, own)| *own == place && of_device(facts));
            *answers.entry(one.labels).or_default() |= standard || present.contains(&place);
        }
    }
    let answers = answers.into_iter();
    series
        .extend(answers.map(|(labels, has)| Series { labels, value: Value::Integer(has.into()) }));
}

fn places_with_a_value(feed: &FeedFigures) -> BTreeSet<usize> {
    let counters = feed.counters.plan.counters.iter().zip(&feed.counters.totals);
    counters
        .filter(|(_, total)| total.is_some())
        .filter_map(|(counter, _)| place_of(&counter.key))
        .collect()
}
