//! What the exporter's own process costs, under the names that every Prometheus client uses.

use super::{Family, NO_LABELS};
use crate::export::family::{Kind, Origin};
use crate::export::process::ProcessFigures;
use crate::export::series::Value;

const fn row(
    kind: Kind,
    name: &'static str,
    value: fn(&ProcessFigures) -> Option<Value>,
    help: &'static str,
) -> Family {
    Family::new(kind, name, NO_LABELS, Origin::Process(value), help)
}

#[rustfmt::skip]
pub(super) const ROWS: &[Family] = &[
    row(Kind::Counter, "process_cpu_seconds",
        |process| process.cpu_seconds.map(Value::Real),
        "User and system CPU time of this process"),
    row(Kind::Gauge, "process_resident_memory_bytes",
        |process| process.resident_memory_bytes.map(Value::Integer),
        "Resident memory of this process"),
    row(Kind::Gauge, "process_virtual_memory_bytes",
        |process| process.virtual_memory_bytes.map(Value::Integer),
        "Virtual memory of this process"),
    row(Kind::Gauge, "process_start_time_seconds",
        |process| process.start_time_seconds.map(Value::Real),
        "Unix time at which this process started"),
    row(Kind::Gauge, "process_open_fds",
        |process| process.open_fds.map(Value::Integer),
        "Open file descriptors of this process"),
    row(Kind::Gauge, "process_max_fds",
        |process| process.max_fds.map(Value::Integer),
        "Most file descriptors this process may have open; absent where there is no limit"),
    row(Kind::Gauge, "process_threads",
        |process| process.threads.map(Value::Integer),
        "Threads of this process"),
];
