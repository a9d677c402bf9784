//! What the fast samples show: ratios, peaks, bursts, asymmetry and storms.
//!
//! Only priorities that are lossless, or that have paused since the exporter started, have series.

use super::{Family, Label, PRIORITY_WAY};
use crate::engine::{Basis, PauseFigures, Skip};
use crate::export::family::{Kind, Origin};
use crate::export::gather::{Scrape, feed_label};
use crate::export::series::{LabelValue, Series, Value};
use crate::model::Priority;

/// A family with at most one value per priority and direction.
macro_rules! of_track {
    ($kind:ident, $name:literal, $value:expr, $help:expr $(,)?) => {
        Family::new(
            Kind::$kind,
            $name,
            PRIORITY_WAY,
            Origin::Scrape(|family, scrape, series| of_tracks(family, scrape, series, $value)),
            $help,
        )
    };
}

#[rustfmt::skip]
pub(super) const ROWS: &[Family] = &[
    of_track!(Gauge, "roce_pfc_pause_ratio",
        |own| own.ratio.map(Value::Real),
        "Share of the last 10 s in which this priority was paused, from the driver's pause time. \
         tx = sent by this port: this port is congested and holds its peer; rx = received: the peer holds this port"),
    of_track!(Gauge, "roce_pfc_pause_ratio_upper_bound",
        |own| own.upper_bound.map(Value::Real),
        "At most this share of the last 10 s was paused; from frames, where the driver has no pause time. \
         The true share can be far lower. tx = sent by this port; rx = received"),
    of_track!(Gauge, "roce_pfc_pause_ratio_peak",
        |own| own.ratio_peak.map(Value::Real),
        "Highest share of one sample, or one refresh of a slow driver, in the last 60 s. tx = sent by this port; rx = received"),
    of_track!(Gauge, "roce_pfc_pause_frame_rate_peak",
        |own| own.frame_rate_peak.map(Value::Real),
        "Most pause frames per second in one sample of the last 60 s. tx = sent by this port; rx = received"),
    of_track!(Histogram, "roce_pfc_sample_pause_ratio",
        |own| own.sample_ratio.as_ref().map(|own| Value::Distribution(own.into())),
        "Share of time paused, one observation per sample, or per refresh of a slow driver. tx = sent by this port; rx = received"),
    of_track!(Histogram, "roce_pfc_burst_duration_seconds",
        |own| Some(Value::Distribution((&own.burst_seconds).into())),
        "Length of runs of samples with pausing, counted when a run ends. tx = sent by this port; rx = received"),
    Family::new(Kind::Gauge, "roce_pfc_asymmetry_ratio", &[Label::Device, Label::Priority],
        Origin::Scrape(asymmetry),
        "(tx - rx) / (tx + rx) over the last 10 s, of paused time, or of XOFF frames where the driver gives no pause time. \
         +1 = this port holds its peer; -1 = the peer holds this port; absent below 0.1 % of time paused"),
    of_track!(Gauge, "roce_pfc_storm_active",
        |own| Some(Value::Integer(own.storm.active.into())),
        "1 = in a storm: held shut for 200 ms or more without a break. tx = this port holds its peer; rx = the peer holds this port"),
    of_track!(Counter, "roce_pfc_storms",
        |own| Some(Value::Integer(own.storm.episodes)),
        "Storms since the exporter started. tx = this port held its peer; rx = the peer held this port"),
    of_track!(Counter, "roce_pfc_storm_seconds",
        |own| Some(Value::Real(own.storm.seconds)),
        "Time in storms. tx = this port held its peer; rx = the peer held this port"),
    of_track!(Gauge, "roce_pfc_storm_last_start_timestamp_seconds",
        |own| own.storm.last_start_unix_seconds.map(Value::Real),
        "Unix time at which the last storm began; absent before the first. tx = this port held its peer; rx = the peer held this port"),
    Family::new(Kind::Info, "roce_pfc_basis", &[Label::Device, Label::Basis],
        Origin::Scrape(basis),
        "What pause ratios are made of: duration = the driver's pause time, exact; frames = an upper bound only"),
    Family::new(Kind::Counter, "roce_pfc_spans_left_out", &[Label::Device, Label::Reason],
        Origin::Scrape(left_out),
        "Spans between samples that could not be judged and are in no ratio and no storm; a gap keeps its place in ratios"),
];

fn of_tracks(
    family: &Family,
    scrape: &Scrape<'_>,
    series: &mut Vec<Series>,
    value: impl Fn(&PauseFigures) -> Option<Value>,
) {
    for feed in &scrape.snapshot.feeds {
        for own in &feed.pause.tracks {
            let Some(value) = value(own) else { continue };
            series.push(family.series(value, |label| match label {
                Label::Priority => LabelValue::Number(own.priority.number().into()),
                Label::Direction => LabelValue::Fixed(own.direction.as_str()),
                _ => feed_label(label, feed),
            }));
        }
    }
}

fn asymmetry(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for feed in &scrape.snapshot.feeds {
        for (priority, figure) in Priority::ALL.iter().zip(feed.pause.asymmetry) {
            let Some(figure) = figure else { continue };
            series.push(family.series(Value::Real(figure), |label| match label {
                Label::Priority => LabelValue::Number(priority.number().into()),
                _ => feed_label(label, feed),
            }));
        }
    }
}

fn basis(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for feed in &scrape.snapshot.feeds {
        let word = feed.pause.basis.map(Basis::as_str);
        series.extend(word.map(|word| {
            family.series(Value::Fact, |label| match label {
                Label::Basis => LabelValue::Fixed(word),
                _ => feed_label(label, feed),
            })
        }));
    }
}

fn left_out(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for feed in &scrape.snapshot.feeds {
        let counted = Skip::ALL.iter().zip(feed.pause.skipped).filter(|(_, count)| *count > 0);
        series.extend(counted.map(|(skip, count)| {
            family.series(Value::Integer(count), |label| match label {
                Label::Reason => LabelValue::Fixed(skip.as_str()),
                _ => feed_label(label, feed),
            })
        }));
    }
}
