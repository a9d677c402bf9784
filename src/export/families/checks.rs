//! What the checks of the configuration found.

use super::{Family, Label};
use crate::export::family::{Kind, Origin};
use crate::export::gather::Scrape;
use crate::export::series::{LabelValue, Series, Value};

#[rustfmt::skip]
pub(super) const ROWS: &[Family] = &[
    Family::new(Kind::Gauge, "roce_check_status", &[Label::Device, Label::Check, Label::Status],
        Origin::Scrape(findings),
        "1 for the status of this check: ok, warning, critical, or unknown where it cannot look; docs/checks.md explains each"),
    Family::new(Kind::Counter, "roce_config_changes", &[Label::Device, Label::Setting],
        Origin::Scrape(changes),
        "Changes of this setting seen since the exporter started, by events and at least once a minute"),
];

fn findings(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    series.extend(scrape.snapshot.checks.findings.iter().map(|finding| {
        family.series(Value::Integer(1), |label| match label {
            Label::Check => LabelValue::Fixed(finding.check.as_str()),
            Label::Status => LabelValue::Fixed(finding.status.as_str()),
            _ => LabelValue::text(&finding.device),
        })
    }));
}

fn changes(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    series.extend(scrape.snapshot.checks.changes.iter().map(|change| {
        family.series(Value::Integer(change.count), |label| match label {
            Label::Setting => LabelValue::Fixed(change.setting),
            _ => LabelValue::text(&change.device),
        })
    }));
}
