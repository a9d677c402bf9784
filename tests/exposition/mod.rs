//! What the tests of the exposition and of the server share: snapshots and parsers.

pub mod judges;
pub mod snapshots;
pub mod strict_parser;

use roce_exporter::engine::Snapshot;
use roce_exporter::export::{BuildInfo, Format, ProcessFigures, encode};

pub const BUILD: BuildInfo = BuildInfo {
    version: "0.1.0",
    revision: "0123abc",
    branch: "main",
    rustc: "1.95.0",
    target: "x86_64-unknown-linux-gnu",
};

pub const PROCESS: ProcessFigures = ProcessFigures {
    cpu_seconds: Some(1.25),
    resident_memory_bytes: Some(8_388_608),
    virtual_memory_bytes: Some(33_554_432),
    start_time_seconds: Some(1_700_000_000.5),
    open_fds: Some(12),
    max_fds: None,
    threads: Some(5),
};

pub fn text_of(snapshot: &Snapshot, format: Format) -> String {
    let mut out = String::new();
    encode(snapshot, &BUILD, Some(&PROCESS), format, &mut out).unwrap();
    out
}
