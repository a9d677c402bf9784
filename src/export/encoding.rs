//! Hands the gathered series to the exposition crate, which writes and escapes them.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabel, EncodeLabelSet, EncodeLabelValue, LabelSetEncoder,
    LabelValueEncoder, MetricEncoder, NoLabelSet,
};
use prometheus_client::registry::Unit;

use super::families::FAMILIES;
use super::family::{Family, Kind};
use super::series::{LabelValue, Series, Value};

const NO_MORE_LABELS: [(&str, &str); 0] = [];

/// The series of one scrape, one list per family of the table.
#[derive(Debug)]
pub(super) struct Exposition {
    pub(super) table: Vec<Vec<Series>>,
}

impl Collector for Exposition {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (family, series) in FAMILIES.iter().zip(&self.table) {
            if series.is_empty() {
                continue;
            }
            let unit = family.unit().map(crate_unit);
            let stem = stem(family);
            let kind = family.kind.metric_type();
            let mut metric = encoder.encode_descriptor(stem, family.help, unit.as_ref(), kind)?;
            for one in series {
                encode_series(family, one, &mut metric)?;
            }
        }
        Ok(())
    }
}

/// The name without its unit, which the crate appends.
fn stem(family: &Family) -> &'static str {
    let unit = family.unit().and_then(|unit| family.name.strip_suffix(unit));
    unit.and_then(|stem| stem.strip_suffix('_')).unwrap_or(family.name)
}

fn crate_unit(unit: &'static str) -> Unit {
    match unit {
        "seconds" => Unit::Seconds,
        "bytes" => Unit::Bytes,
        // The crate's own word is "ratios", which no metric name ends with.
        other => Unit::Other(other.to_owned()),
    }
}

fn encode_series(family: &Family, series: &Series, metric: &mut MetricEncoder<'_>) -> fmt::Result {
    let labels = Labels { family, values: &series.labels };
    let mut metric = metric.encode_family(&labels)?;
    match (family.kind, &series.value) {
        (_, Value::Fact) => metric.encode_info(&NO_MORE_LABELS),
        (_, Value::Distribution(figures)) => metric.encode_histogram::<NoLabelSet>(
            figures.sum,
            figures.count,
            &figures.buckets,
            None,
        ),
        (Kind::Counter, Value::Integer(total)) => {
            metric.encode_counter::<NoLabelSet, u64, u64>(total, None)
        }
        (Kind::Counter, Value::Real(total)) => {
            metric.encode_counter::<NoLabelSet, f64, f64>(total, None)
        }
        (_, Value::Integer(value)) => metric.encode_gauge(value),
        (_, Value::Real(value)) => metric.encode_gauge(value),
    }
}

/// A series' labels beside their names.
#[derive(Debug)]
struct Labels<'a> {
    family: &'a Family,
    values: &'a [LabelValue],
}

impl EncodeLabelSet for Labels<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        let always = self.family.labels.len();
        for (place, (label, value)) in self.family.all_labels().zip(self.values).enumerate() {
            if place >= always && value.is_empty() {
                continue;
            }
            EncodeLabel::encode(&(label.as_str(), value), encoder.encode_label())?;
        }
        Ok(())
    }
}

impl EncodeLabelValue for &LabelValue {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        match self {
            LabelValue::Fixed(text) => text.encode(encoder),
            LabelValue::Number(number) => number.encode(encoder),
            LabelValue::Text(text) => text.encode(encoder),
        }
    }
}
