//! `roce_exporter decode`: what a captured text of counters would become.
//!
//! The text takes the way of a live device from its names on: catalogue, plan, engine, export. What is not
//! exported but looks related is printed as comments, so that one output serves a bug report.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::sync::Arc;

use anyhow::Context;

use crate::catalogue::ethtool_text::{self, EthtoolText};
use crate::catalogue::{Catalogue, NameUse, RawSelection, Table, concerns_flow_control};
use crate::config::{DecodeInput, DecodeSettings, DecodeTable};
use crate::engine::{
    Circumstances, CounterFigures, FeedEngine, FeedFigures, PauseSummary, SamplingFigures, Snapshot,
};
use crate::export::{Format, encode_counters};
use crate::model::{Feed, LinkFacts, Monotonic, Plan, Reading, Sample, SourceKind};
use crate::source::{CounterSet, PlanRules, PlannedSource, SourceError};

/// The device label of what is decoded.
const DEVICE: &str = "decoded";

/// Reads a text and prints what would be exported from it.
///
/// # Errors
/// When the text cannot be read, or holds no counter at all.
pub(super) fn decode(settings: &DecodeSettings, catalogue: &Arc<Catalogue>) -> anyhow::Result<()> {
    let text = match &settings.input {
        DecodeInput::Stdin => {
            let mut bytes = Vec::new();
            io::stdin().read_to_end(&mut bytes).context("standard input")?;
            bytes
        }
        DecodeInput::File(path) => fs::read(path).with_context(|| path.display().to_string())?,
    };
    let table = match settings.table {
        DecodeTable::Ethtool => Table::Ethtool,
        DecodeTable::Rdma => Table::RdmaPort,
    };
    let text = String::from_utf8_lossy(&text);
    super::once::print(&decoded(&text, table, &settings.driver, catalogue)?)
}

/// The exposition of a text, with comments.
///
/// # Errors
/// When the text holds no counter at all.
pub(super) fn decoded(
    text: &str,
    table: Table,
    driver: &str,
    catalogue: &Arc<Catalogue>,
) -> anyhow::Result<String> {
    let parsed = ethtool_text::parse(text);
    anyhow::ensure!(!parsed.names.is_empty(), "no line of the form `name: value` in the text");
    let mut out = String::new();
    if !catalogue.knows_driver(table, driver) {
        writeln!(out, "# driver {driver:?} is not in the catalogue by this name")?;
    }
    let snapshot = snapshot_of(&parsed, table, driver, catalogue)?;
    encode_counters(&snapshot, Format::Text004, &mut out)?;
    comment(&mut out, &parsed, &catalogue.classify(table, driver, &parsed.names))?;
    Ok(out)
}

/// One sample of the text, through the engine.
fn snapshot_of(
    text: &EthtoolText,
    table: Table,
    driver: &str,
    catalogue: &Arc<Catalogue>,
) -> Result<Snapshot, SourceError> {
    let set = TextCounters { names: text.names.clone(), values: text.values.clone() };
    let rules = PlanRules {
        catalogue: Arc::clone(catalogue),
        table,
        driver: driver.to_owned(),
        raw: RawSelection::default(),
    };
    let mut sample = Sample::empty(Arc::new(Plan::default()));
    let mut source = PlannedSource::new(Box::new(set), rules, Arc::default());
    source.read(&|| Monotonic::ZERO, &mut sample)?;
    let mut engine = FeedEngine::default();
    let around = Circumstances {
        link: LinkFacts::default(),
        interval: std::time::Duration::ZERO,
        unix_seconds: 0.0,
    };
    engine.push(&sample, &around);
    let mut counters =
        CounterFigures { plan: Arc::default(), totals: Vec::new(), raw: Vec::new(), resets: 0 };
    engine.copy_counters(&mut counters);
    let rdma = table != Table::Ethtool;
    let feed = Feed {
        device: DEVICE.into(),
        rdma_device: rdma.then(|| DEVICE.into()),
        port: rdma.then_some(1),
        source: if rdma { SourceKind::RdmaSysfs } else { SourceKind::Ethtool },
    };
    let figures = FeedFigures {
        feed,
        driver: driver.into(),
        counters,
        pause: PauseSummary::default(),
        sampling: SamplingFigures::new(),
    };
    Ok(Snapshot {
        taken_at: Monotonic::ZERO,
        devices: Vec::new(),
        feeds: vec![figures],
        checks: Arc::default(),
    })
}

/// Says which lines look like flow control but became nothing, and why.
fn comment(out: &mut String, text: &EthtoolText, uses: &[NameUse]) -> std::fmt::Result {
    for ((name, value), used) in text.names.iter().zip(&text.values).zip(uses) {
        let name = name.trim().escape_debug();
        match used {
            NameUse::Known(note) => writeln!(out, "# not exported: {name}: {value} ({note})")?,
            NameUse::Shadowed => {
                writeln!(out, "# not exported: {name}: {value} (a better source is there)")?;
            }
            NameUse::Unknown if concerns_flow_control(&name.to_string()) => {
                writeln!(out, "# not catalogued, looks related: {name}: {value}")?;
            }
            NameUse::Exported(_) | NameUse::Unknown => {}
        }
    }
    for line in &text.unreadable {
        writeln!(out, "# line {} is no counter: {}", line.line, line.text.escape_debug())?;
    }
    Ok(())
}

/// The counters of a text, as a set that never changes.
struct TextCounters {
    names: Vec<String>,
    values: Vec<u64>,
}

impl CounterSet for TextCounters {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        Ok(self.names.clone())
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        for (reading, position) in readings.iter_mut().zip(wanted) {
            let value = self.values.get(*position as usize).copied();
            *reading = value.map_or(Reading::Missing(crate::model::Reason::Gone), Reading::Value);
        }
        Ok(())
    }
}
