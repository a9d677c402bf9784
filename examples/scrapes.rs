//! How long scrapes take while 8 NICs are read every millisecond, and what the sampler then misses.
//!
//! `cargo run --release --example scrapes [SECONDS [RATE]]`. The NICs are made up and pause on every priority in both
//! directions, which makes some ten times as many series as a calm host has. Each scrape is timed from when it was due, so
//! that a wait counts.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "an example to measure with: the shared modules serve several crates, a panic ends the run"
)]

#[path = "../tests/exposition/mod.rs"]
mod exposition;
#[path = "../tests/load/mod.rs"]
mod load;
#[path = "../tests/paused_nic/mod.rs"]
mod paused_nic;
#[path = "../tests/web/mod.rs"]
mod web;

use std::path::Path;
use std::time::Duration;

use roce_exporter::export::ProcessFigures;

use load::{Host8, INTERVAL, NICS, Report};

fn tell(what: &str, report: &Report) {
    let [half, most, nearly_all] =
        [500, 900, 990].map(|share| report.quantile(share).as_secs_f64() * 1e3);
    println!(
        "{what}: {} scrapes of {} bytes, p50 {half:.2} ms, p90 {most:.2} ms, p99 {nearly_all:.2} ms; {:.0} samples, \
         {:.0} deadlines missed ({:.2} %)",
        report.took.len(),
        report.bytes,
        report.samples,
        report.missed,
        100.0 * report.missed / (report.samples + report.missed),
    );
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse::<u32>().ok());
    let (seconds, rate) = (numbers.next().unwrap_or(30), numbers.next().unwrap_or(100));
    let host = Host8::start();
    let time = Duration::from_secs(seconds.into());
    // The windows of 10 s fill.
    std::thread::sleep(Duration::from_secs(12));
    println!("{NICS} NICs every {INTERVAL:?}, {rate} scrapes a second for {seconds} s");
    tell("one a second", &host.scrape(time, 1, &[]));
    tell("text", &host.scrape(time, rate, &[]));
    let accept = "application/openmetrics-text;version=1.0.0";
    let open = host.scrape(time, rate, &[("Accept", accept)]);
    tell("OpenMetrics", &open);
    let zipped = [("Accept", accept), ("Accept-Encoding", "gzip")];
    tell("OpenMetrics, gzip", &host.scrape(time, rate, &zipped));
    let resident =
        ProcessFigures::read(Path::new("/proc")).resident_memory_bytes.unwrap_or_default();
    println!("{} series; {} MB resident, clients included", open.series, resident / 1_000_000);
    host.stop();
}
