//! The rules that join the ends of links: by value in promtool, and over simulated hosts in a real Prometheus.
//!
//! Without `promtool` or `prometheus` a test says `SKIPPED` and why, and fails where `ROCE_REQUIRE_ALL_TIERS=1` says that
//! all must run.

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
#[path = "links/fleet.rs"]
mod fleet;
#[path = "prometheus/servers.rs"]
mod servers;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use fleet::Fleet;
use servers::{Labels, Prometheus};

const REQUIRE_ALL: &str = "ROCE_REQUIRE_ALL_TIERS";
/// The window that the rules have in this test.
const WINDOW: &str = "20s";

/// Whether `test` cannot run for want of a program; says so then.
fn lacks(program: &str, test: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        let required = std::env::var_os(REQUIRE_ALL).is_some_and(|value| value == "1");
        assert!(!required, "{test}: needs {program}");
        // Not by a macro: what those print is kept from the terminal when a test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: needs {program}");
    }
    !there
}

fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.to_str().unwrap().ends_with(end)).collect();
    found.sort();
    assert!(!found.is_empty(), "{}", folder.display());
    found
}

fn promtool(arguments: &[&str], files: &[PathBuf]) {
    let ran = Command::new("promtool").args(arguments).args(files).output().unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn the_rules_pass_every_lint() {
    if lacks("promtool", "the_rules_pass_every_lint") {
        return;
    }
    let rules = [files("alerts", "roce-links.rules.yml"), files("alerts/adapters", ".rules.yml")];
    promtool(&["check", "rules", "--lint=all", "--lint-fatal"], &rules.concat());
}

#[test]
fn the_rules_give_the_expected_values() {
    if lacks("promtool", "the_rules_give_the_expected_values") {
        return;
    }
    for file in files("tests/rules", ".test.yml") {
        promtool(&["test", "rules"], &[file]);
    }
}

/// A demo of this scenario, scraped by a Prometheus with the shipped rules, whose windows alone are shortened.
fn joined(scenario: &str) -> (Fleet, Prometheus) {
    let arguments = ["--hosts=2", "--switch", "--scenario", scenario];
    let fleet = Fleet::start(3, &arguments);
    let names = ["host0", "host1", "switch0"];
    let target = |(name, address): (&str, &std::net::SocketAddr)| {
        format!("{{targets: ['{address}'], labels: {{instance: {name}}}}}")
    };
    let targets: Vec<String> = names.into_iter().zip(&fleet.addresses).map(target).collect();
    let rules = fs::read_to_string(&files("alerts", "roce-links.rules.yml")[0]).unwrap();
    let shortened = rules
        .replace("[5m]", &format!("[{WINDOW}]"))
        .replace("offset 5m", &format!("offset {WINDOW}"));
    assert_ne!(rules, shortened);
    let configuration = format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\n\
         rule_files: [links.yml]\n\
         scrape_configs: [{{job_name: roce, static_configs: [{}]}}]\n",
        targets.join(", ")
    );
    let prometheus = Prometheus::configured(&configuration, &[("links.yml", shortened)]);
    (fleet, prometheus)
}

fn lost(prometheus: &Prometheus, host: &str, device: &str, direction: &str) -> Option<f64> {
    let selector = format!(
        "%7Bhost=%22{host}%22,device=%22{device}%22,direction=%22{direction}%22,priority=%223%22%7D"
    );
    let found = prometheus.query(&format!("roce_link:pfc_frames_lost:ratio_rate5m{selector}"));
    assert!(found.len() <= 1, "{found:?}");
    found.into_values().next()
}

/// Waits for a loss and returns it some scrapes later, when the window is full of it.
fn settled(fleet: &Fleet, prometheus: &Prometheus, end: (&str, &str, &str)) -> f64 {
    fleet.wait_until("loss", |_| lost(prometheus, end.0, end.1, end.2).is_some());
    for _ in 0..4 {
        prometheus.wait_for_next_scrape();
    }
    lost(prometheus, end.0, end.1, end.2).unwrap()
}

#[test]
fn a_one_sided_link_loses_everything_in_one_direction() {
    if lacks("prometheus", "a_one_sided_link_loses_everything_in_one_direction") {
        return;
    }
    let (fleet, prometheus) = joined("one-sided");
    let told = settled(&fleet, &prometheus, ("host0", "eth0", "tx"));
    assert!((0.95..=1.0).contains(&told), "host0 sends and switch0 hears {told} less");
    let seen = settled(&fleet, &prometheus, ("switch0", "swp1", "rx"));
    assert!((0.95..=1.0).contains(&seen), "the same from the switch: {seen}");
}

#[test]
fn a_nic_without_pfc_loses_all_that_its_switch_port_asks() {
    if lacks("prometheus", "a_nic_without_pfc_loses_all_that_its_switch_port_asks") {
        return;
    }
    let (fleet, prometheus) = joined("deaf-nic");
    let told = settled(&fleet, &prometheus, ("host0", "eth1", "rx"));
    assert!((0.95..=1.0).contains(&told), "switch0 sends and host0 hears {told} less");
    let seen = settled(&fleet, &prometheus, ("switch0", "swp2", "tx"));
    assert!((0.95..=1.0).contains(&seen), "the same from the switch: {seen}");
}

#[test]
fn a_good_link_loses_nothing_in_either_direction() {
    if lacks("prometheus", "a_good_link_loses_nothing_in_either_direction") {
        return;
    }
    let (fleet, prometheus) = joined("victim");
    // host1 eth0 stalls and pauses its switch port; the switch pauses host0 eth0, which sends there.
    for end in [("host1", "eth0", "tx"), ("host0", "eth0", "rx"), ("switch0", "swp1", "tx")] {
        let told = settled(&fleet, &prometheus, end);
        assert!(told.abs() < 0.05, "{end:?}: {told}");
    }
    let failed = prometheus.query("sum(prometheus_rule_evaluation_failures_total)");
    assert!(failed.is_empty() || failed == [(Labels::new(), 0.0)].into(), "{failed:?}");
    let errors = prometheus.get("rules");
    assert!(!errors.to_string().contains("\"health\":\"err\""), "{errors}");
}
