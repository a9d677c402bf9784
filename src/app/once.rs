//! `roce_exporter once`: one exposition on standard output, for the collector of `node_exporter`.

use std::io::{self, Write};
use std::sync::Arc;

use crate::build_info::BuildInfo;
use crate::catalogue::Catalogue;
use crate::config::Settings;
use crate::export::{Format, encode};
use crate::sampler::sample_once;

/// Reads every source once and prints what came of it, without `process_*`, which would be the collector's own.
///
/// # Errors
/// When standard output cannot be written to, but for a reader that went away.
pub(super) fn once(settings: &Settings, catalogue: &Arc<Catalogue>) -> anyhow::Result<()> {
    let host = super::machine(settings, catalogue);
    let snapshot = sample_once(&*host, catalogue, &super::sampler_options(settings));
    let mut text = String::new();
    encode(&snapshot, &BuildInfo::current(), None, Format::Text004, &mut text)?;
    print(&text)
}

/// Prints `text`; a closed pipe is no error.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
