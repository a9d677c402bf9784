//! How well each source is read, and which metrics come from it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{FAMILIES, place_of, text};
use crate::engine::{FeedFigures, Snapshot};
use crate::model::{Monotonic, Reason};

/// One source of one device.
#[derive(Serialize)]
pub(crate) struct Source<'a> {
    device: &'a str,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rdma_device: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<&'a str>,
    samples: u64,
    missed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    age_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_read_seconds: Option<f64>,
    read_in_progress_seconds: f64,
    stale: bool,
    resets: u64,
    errors: BTreeMap<&'static str, u64>,
    metrics: BTreeSet<String>,
}

/// All sources.
pub(crate) fn sources(snapshot: &Snapshot) -> Vec<Source<'_>> {
    snapshot.feeds.iter().map(|feed| source(feed, snapshot.taken_at)).collect()
}

fn source(own: &FeedFigures, now: Monotonic) -> Source<'_> {
    let sampling = &own.sampling;
    let errors = Reason::ALL.iter().zip(sampling.errors).filter(|(_, count)| *count > 0);
    let counters = own.counters.plan.counters.iter().zip(&own.counters.totals);
    let valued = counters.filter(|(_, total)| total.is_some());
    let metrics = valued.filter_map(|(counter, _)| FAMILIES.get(place_of(&counter.key)?));
    let reads = sampling.read_seconds.count();
    Source {
        device: &own.feed.device,
        source: own.feed.source.as_str(),
        rdma_device: own.feed.rdma_device.as_deref(),
        port: own.feed.port,
        driver: text(&own.driver),
        samples: sampling.samples,
        missed: sampling.missed,
        age_seconds: sampling.last_sample.map(|last| now.since(last).as_secs_f64()),
        interval_seconds: sampling.interval.map(|interval| interval.as_secs_f64()),
        refresh_seconds: sampling.refresh.map(|period| period.as_secs_f64()),
        mean_read_seconds: (reads > 0).then(|| mean(sampling.read_seconds.sum(), reads)),
        read_in_progress_seconds: sampling.read_in_progress.as_secs_f64(),
        stale: sampling.stale,
        resets: own.counters.resets,
        errors: errors.map(|(reason, count)| (reason.as_str(), count)).collect(),
        metrics: metrics.map(crate::export::Family::full_name).collect(),
    }
}

#[allow(clippy::cast_precision_loss, reason = "a mean needs no more than 53 bits")]
fn mean(sum: f64, count: u64) -> f64 {
    sum / count as f64
}
