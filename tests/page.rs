//! The status page in a headless browser.

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

mod exposition;
mod paused_nic;
#[path = "prometheus/servers.rs"]
mod servers;
#[path = "api/still.rs"]
mod still;
mod web;

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use exposition::judges::skip;
use exposition::strict_parser;
use roce_exporter::export::Format;
use serde_json::Value;
use servers::Exporter;
use still::{still, still_after};
use web::{Server, client, state};

/// One browser at a time: a page that opens slowly misses the first storm, and the next is 40 s away.
static BROWSER: Mutex<()> = Mutex::new(());

/// What the tests need beside this tree; says so where it is not there.
fn tools() -> Option<(PathBuf, PathBuf)> {
    let cache = match std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()) {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
    };
    let packages = cache.join("roce_exporter-tests/page-check");
    let packages = Some(packages).filter(|own| own.join("node_modules/axe-core").exists());
    let browsers = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];
    let browser = browsers.into_iter().map(PathBuf::from).find(|own| own.exists());
    let found = packages.zip(browser);
    if found.is_none() {
        skip("the page in a browser, which needs npm's packages and chromium (make setup)");
    }
    found
}

/// Opens the page and gives one report for each width and theme.
fn reports(
    (packages, browser): &(PathBuf, PathBuf),
    address: SocketAddr,
    name: &str,
    flags: &[&str],
) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    let ran = Command::new("node")
        .arg(root.join("tools/page-check/check.mjs"))
        .arg(packages)
        .arg(format!("http://{address}/"))
        .arg(&output)
        .arg(name)
        .args(flags)
        .env("CHROMIUM", browser)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let reports: Vec<Value> = serde_json::from_slice(&ran.stdout).unwrap();
    for report in &reports {
        let what = format!("{name} {} {}: {report}", report["theme"], report["width"]);
        for trouble in ["errors", "elsewhere", "refused", "faults"] {
            assert_eq!(report[trouble], Value::Array(Vec::new()), "{trouble} of {what}");
        }
        assert_eq!(report["overflows"], false, "{what}");
        assert_eq!(report["keys"]["first"], "skip", "{what}");
        assert_eq!(report["keys"]["unreached"], 0, "{what}");
        let size = fs::metadata(report["picture"].as_str().unwrap()).unwrap().len();
        assert!(size > 20_000, "{size} bytes: {what}");
    }
    reports
}

/// Holds each figure of a report against the series of its metric; says how many there are of each metric.
fn compare(report: &Value, address: SocketAddr) -> Vec<(String, String)> {
    let metrics = strict_parser::parse(client::get(address, "/metrics").text(), Format::Text004);
    let mut compared = Vec::new();
    for figure in report["figures"].as_array().unwrap() {
        let text = |key: &str| figure[key].as_str();
        let named = [
            ("device", "device"),
            ("priority", "priority"),
            ("direction", "direction"),
            ("rdmaDevice", "rdma_device"),
        ];
        let labels: Vec<(&str, &str)> =
            named.into_iter().filter_map(|(key, label)| Some((label, text(key)?))).collect();
        let metric = text("metric").unwrap();
        let expected = strict_parser::value(&metrics, metric, &labels);
        let expected: f64 = expected.unwrap_or_else(|| panic!("{figure}")).parse().unwrap();
        let shown: f64 = text("value").unwrap().parse().unwrap();
        assert!((shown - expected).abs() <= f64::EPSILON * expected.abs(), "{figure} {expected}");
        compared.push((metric.to_owned(), text("text").unwrap().to_owned()));
    }
    compared
}

#[test]
fn the_page_shows_the_figures_of_the_metrics() {
    let Some(tools) = tools() else { return };
    let _alone = BROWSER.lock().unwrap_or_else(PoisonError::into_inner);
    let once = ["--width", "1280", "--theme", "light"];
    let server = Server::start(still());
    let all = reports(&tools, server.address, "still", &once);
    let compared = compare(&all[0], server.address);
    assert_eq!(compared.len(), 2 * 8 * 2);
    let texts: BTreeSet<&str> = compared.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, BTreeSet::from(["100 %", "50.0 %"]));
    assert_eq!(all[0]["charts"], 2 * 8 * 2, "each has its chart");
    let text = all[0]["text"].as_str().unwrap();
    for part in ["eth0 priority 5 (rx): the peer holds this port", "blue/eth1", "ethtool"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    server.stop();
    // One judged sample has no length on a chart.
    let server = Server::start(still_after(2));
    let open = [&once[..], &["--open"]].concat();
    let all = reports(&tools, server.address, "young", &open);
    assert!(all[0]["charts"].as_u64().unwrap() > 2 * 8 * 2, "{}", all[0]["charts"]);
    server.stop();
    // Counters of RDMA, and a device that was never read.
    let server = Server::start(state());
    let all = reports(&tools, server.address, "made", &once);
    let compared = compare(&all[0], server.address);
    let metrics: Vec<&str> = compared.iter().map(|(metric, _)| metric.as_str()).collect();
    assert_eq!(metrics, ["roce_ecn_marked_packets_total", "roce_cnp_sent_total"]);
    assert!(all[0]["text"].as_str().unwrap().contains("No storm since"), "{}", all[0]["text"]);
    server.stop();
}

#[test]
fn a_storm_shows_within_a_second_and_is_named_with_its_direction() {
    let Some(tools) = tools() else { return };
    let _alone = BROWSER.lock().unwrap_or_else(PoisonError::into_inner);
    let exporter = Exporter::start(&["demo", "--scenario", "nic-storm"]);
    let all = reports(&tools, exporter.address, "storm", &["--storms", "3", "--open"]);
    assert_eq!(all.len(), 4, "two themes in two widths");
    let storms = all[0]["storms"].as_array().unwrap();
    let shown = storms.last().unwrap();
    // A storm that came while the machine was busy has another after it.
    assert!(shown["milliseconds"].as_u64().unwrap() <= 1_000, "{storms:?}");
    assert_eq!(shown["words"], "eth0 priority 3 (tx): this port holds its peer");
    assert!(shown["title"].as_str().unwrap().contains("storm"), "{shown}");
    for report in &all {
        let text = report["text"].as_str().unwrap();
        assert!(text.contains("this port holds its peer (tx)"), "{text}");
        // Two of the port, two of each sample, and one around the storm at least.
        assert!(report["charts"].as_u64().unwrap() > 12, "{}", report["charts"]);
    }
}
