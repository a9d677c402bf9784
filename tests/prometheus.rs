//! A real Prometheus scrapes the real program, on loopback, once a second.
//!
//! What Prometheus then has is held against what the program says itself. Without `prometheus` or a netdev to
//! sample a test says `SKIPPED` and why, and fails where `ROCE_REQUIRE_ALL_TIERS=1` says that all must run.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests: the shared modules serve several test crates, and a panic is a failed test"
)]

#[path = "web/client.rs"]
mod client;
#[path = "prometheus/servers.rs"]
mod servers;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::fs;
use std::io::Write;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use servers::{Exporter, Labels, Prometheus, Series};

const REQUIRE_ALL: &str = "ROCE_REQUIRE_ALL_TIERS";

/// Lets a driver without counters of flow control, such as a virtual machine's, be sampled like one that has them.
const ALL_COUNTERS: [&str; 2] = ["--raw.include", ".*"];

/// Whether `reason` forbids `test` here; says so then.
fn skipped(test: &str, reason: Option<&str>) -> bool {
    if let Some(reason) = reason {
        assert!(std::env::var_os(REQUIRE_ALL).is_none_or(|value| value != "1"), "{test}: {reason}");
        // Not by a macro: what those print is kept from the terminal when a test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {reason}");
    }
    reason.is_some()
}

fn no_prometheus() -> Option<&'static str> {
    let answer = Command::new("prometheus").arg("--version").output();
    answer.is_err().then_some("needs prometheus")
}

fn no_netdev() -> Option<&'static str> {
    let mut netdevs = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let physical = netdevs.any(|netdev| netdev.path().join("device").exists());
    (!physical).then_some("needs a netdev with a device behind it")
}

/// Starts the program with these arguments and a Prometheus that scrapes it, and waits for its third scrape.
fn scraped(arguments: &[&str]) -> (Exporter, Prometheus) {
    let exporter = Exporter::start(arguments);
    let prometheus = Prometheus::start(exporter.address);
    for _ in 0..3 {
        prometheus.wait_for_next_scrape();
    }
    (exporter, prometheus)
}

#[test]
fn prometheus_scrapes_this_machine_without_an_error() {
    let test = "prometheus_scrapes_this_machine_without_an_error";
    if skipped(test, no_prometheus().or_else(no_netdev)) {
        return;
    }
    let (_exporter, prometheus) = scraped(&ALL_COUNTERS);
    let targets = prometheus.targets();
    assert_eq!(targets.len(), 1, "{targets:?}");
    assert_eq!(targets[0]["health"], "up", "{targets:?}");
    assert_eq!(targets[0]["lastError"], "", "{targets:?}");
    assert_eq!(prometheus.query("sum(up)"), [(Labels::new(), 1.0)].into());
    // Only OpenMetrics tells units, so this is what was agreed on.
    let unit = &prometheus.get("metadata?metric=roce_sampler_interval_seconds");
    assert_eq!(unit["roce_sampler_interval_seconds"][0]["unit"], "seconds", "{unit}");
    let samples = || prometheus.query("roce_sampler_samples_total");
    let before = samples();
    assert!(!before.is_empty());
    sleep(Duration::from_secs(1));
    prometheus.wait_for_next_scrape();
    for (labels, later) in samples() {
        let grown = later - before[&labels];
        assert!(grown >= 50.0, "{labels:?} grew by {grown} in a second at an interval of 10 ms");
    }
    let left_out = prometheus.query("sum(roce_exporter_skipped_series)");
    assert_eq!(left_out, [(Labels::new(), 0.0)].into());
}

#[test]
fn prometheus_has_the_values_that_the_program_gives() {
    let test = "prometheus_has_the_values_that_the_program_gives";
    if skipped(test, no_prometheus().or_else(no_netdev)) {
        return;
    }
    let (exporter, prometheus) = scraped(&ALL_COUNTERS);
    let stored = values_agree(&exporter, &prometheus);
    let raw = stored.keys().filter(|labels| labels["__name__"] == "roce_raw_counter").count();
    assert!(raw > 5, "only {raw} of the driver's own counters");
}

/// Whether a series may end between two scrapes: a verdict is a label, and asymmetry is absent where hardly anything
/// pauses.
fn comes_and_goes(labels: &Labels) -> bool {
    ["roce_check_status", "roce_pfc_asymmetry_ratio"].contains(&labels["__name__"].as_str())
}

/// Holds what Prometheus has against what the program said before and said after. Returns the former.
fn values_agree(exporter: &Exporter, prometheus: &Prometheus) -> Series {
    let earlier = exporter.scrape();
    prometheus.wait_for_next_scrape();
    // process_* tell of the scrape itself: descriptors and threads come and go with the client.
    let mut stored = prometheus.query("%7B__name__=~%22roce_.*%22%7D");
    stored.retain(|labels, _| !comes_and_goes(labels));
    prometheus.wait_for_next_scrape();
    let later = exporter.scrape();
    let told =
        |labels: &&Labels| labels["__name__"].starts_with("roce_") && !comes_and_goes(labels);
    for labels in earlier.keys().filter(told) {
        assert!(stored.contains_key(labels), "Prometheus lacks {labels:?}");
    }
    let mut moved = 0;
    for (labels, value) in &stored {
        let Some(most) = later.get(labels) else { panic!("nobody said {labels:?}") };
        // A series that began meanwhile began somewhere.
        let least = earlier.get(labels).unwrap_or(value);
        let name = &labels["__name__"];
        let accumulates =
            ["_total", "_bucket", "_count", "_sum"].iter().any(|end| name.ends_with(end));
        if accumulates || least.total_cmp(most).is_eq() {
            assert!((least..=most).contains(&value), "{labels:?}: {value} not in {least}..={most}");
            moved += usize::from(most > least);
        }
    }
    assert!(moved > 5, "only {moved} counters moved");
    stored
}

#[test]
fn prometheus_and_the_program_agree_on_how_long_a_simulated_nic_pauses() {
    let test = "prometheus_and_the_program_agree_on_how_long_a_simulated_nic_pauses";
    if skipped(test, no_prometheus()) {
        return;
    }
    let (exporter, prometheus) = scraped(&["demo", "--hosts", "1", "--scenario", "slow-receiver"]);
    let one = |expression: &str| {
        let series = prometheus.query(expression);
        assert!(series.len() <= 1, "{expression}: {series:?}");
        series.into_values().next()
    };
    let of = "%7Bdevice=%22eth0%22,priority=%223%22,direction=%22tx%22%7D";
    // The windows of both must lie within the time that was scraped.
    while one(&format!("count_over_time(roce_pfc_pause_ratio{of}[15s])"))
        .is_none_or(|count| count < 15.0)
    {
        prometheus.wait_for_next_scrape();
    }
    let ours = one(&format!("roce_pfc_pause_ratio{of}")).unwrap();
    let theirs = one(&format!("rate(roce_pfc_pause_seconds_total{of}[10s])")).unwrap();
    assert!((0.3..0.8).contains(&ours), "a receiver at a quarter of what it is sent pauses {ours}");
    assert!((ours - theirs).abs() < 0.1, "{ours} by the program, {theirs} by Prometheus");
    let targets = prometheus.targets();
    assert_eq!(targets[0]["lastError"], "", "{targets:?}");
    values_agree(&exporter, &prometheus);
}
