//! What the program costs, and whether that is within its targets: one run, a table, and JSON.
//!
//! `make bench` prints all; `make bench-check` fails where a target is missed. Needs root for veth devices, and
//! node_exporter and strip for what is compared with them; what is missing is told. Ratios compare figures of one run,
//! timed in turns where that can be; single times are those of the machine. The arguments name sections to run;
//! `--program=FILE` is another build of the program to measure.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::float_cmp,
    clippy::cast_precision_loss,
    reason = "measures: the shared modules serve several crates, and a panic is a failed run"
)]

#[path = "../tests/web/client.rs"]
mod client;
#[path = "../benches/read/cost.rs"]
mod cost;
#[path = "bench/lateness.rs"]
mod lateness;
#[path = "../tests/network_namespace/mod.rs"]
mod network_namespace;
#[path = "../tests/paused_nic/mod.rs"]
mod paused_nic;
#[path = "bench/program.rs"]
mod program;
#[path = "bench/report.rs"]
mod report;
#[path = "bench/sample.rs"]
mod sample;
#[path = "bench/scrape.rs"]
mod scrape;
#[path = "bench/storms.rs"]
mod storms;

use std::process::ExitCode;

use report::Report;

/// How long what is watched is watched.
const SECONDS: u64 = 5;
const SECTIONS: [&str; 5] = ["sample", "scrape", "storms", "program", "deadlines"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["spin"] => lateness::spin(),
        ["lateness", who, millis, seconds] => {
            lateness::run_one(who, millis.parse().unwrap(), seconds.parse().unwrap());
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let check = words.contains(&"--check");
    let json = words.iter().find_map(|word| word.strip_prefix("--json="));
    let named: Vec<&str> = words.into_iter().filter(|word| !word.starts_with("--")).collect();
    if let Some(unknown) = named.iter().find(|name| !SECTIONS.contains(name)) {
        eprintln!("no section {unknown}; there are {SECTIONS:?}");
        return ExitCode::from(2);
    }
    let mut report = Report::default();
    for section in SECTIONS.into_iter().filter(|own| named.is_empty() || named.contains(own)) {
        match section {
            "sample" => sample::measure(&mut report),
            "scrape" => scrape::measure(&mut report),
            "storms" => storms::measure(&mut report),
            "program" => program::measure(&mut report, SECONDS),
            _ => lateness::measure(&mut report, SECONDS),
        }
    }
    report.print();
    if let Some(path) = json {
        std::fs::write(path, format!("{:#}\n", report.json())).unwrap();
    }
    let missed = report.missed();
    for figure in &missed {
        eprintln!("target missed: {figure}");
    }
    if check && !missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
