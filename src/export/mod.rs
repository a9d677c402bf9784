//! The one table of metric families, and their encoding from a snapshot.
//!
//! [`FAMILIES`] is the single place where a metric's name, type, labels and HELP text are written. A scrape
//! gathers the series of every family from a [`Snapshot`] and writes them in the order of the table; the
//! documentation is tested against the same table. This room computes nothing but base units, keeps nothing
//! between scrapes, and gives no series to a value that was not read.

mod encoding;
mod families;
mod family;
mod format;
mod gather;
pub(crate) mod json;
mod process;
mod series;
mod standard_pause;

use std::fmt;

use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::registry::Registry;

pub use families::FAMILIES;
pub use family::{Family, Kind, Label};
pub use format::Format;
pub use process::ProcessFigures;

pub use crate::build_info::BuildInfo;
use crate::engine::Snapshot;

/// Writes all metrics of a snapshot to `out` in the given format.
///
/// Families come in the order of [`FAMILIES`], the series of a family ordered by their labels; a family
/// without series is left out. `process` is none where the `process_*` metrics are not wanted.
///
/// # Errors
/// None in practice: only what writing to `out` fails with, and a `String` never fails.
pub fn encode(
    snapshot: &Snapshot,
    build: &BuildInfo,
    process: Option<&ProcessFigures>,
    format: Format,
    out: &mut String,
) -> Result<(), fmt::Error> {
    let scrape = gather::Scrape { snapshot, build, process };
    write(gather::gather(&scrape), format, out)
}

/// Writes the drivers' counters of a snapshot alone, as for a captured text that nobody samples.
///
/// # Errors
/// As [`encode`].
pub fn encode_counters(
    snapshot: &Snapshot,
    format: Format,
    out: &mut String,
) -> Result<(), fmt::Error> {
    let scrape = gather::Scrape { snapshot, build: &BuildInfo::default(), process: None };
    write(gather::gather_counters(&scrape), format, out)
}

fn write(
    table: Vec<Vec<series::Series>>,
    format: Format,
    out: &mut String,
) -> Result<(), fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(encoding::Exposition { table }));
    match format {
        Format::OpenMetrics100 => text::encode(out, &registry),
        Format::Text004 => prometheus_text::encode(out, &registry),
    }
}
