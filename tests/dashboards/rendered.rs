//! The dashboards as Grafana's own components draw them, in a headless browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::live::{fabric, has_prometheus, source_holds, unix_seconds};
use crate::schema::{node_packages, tool};
use crate::servers::Prometheus;
use crate::skip;

/// Panels that have nothing to say while all is calm.
const ONLY_IN_STORMS: [&str; 4] =
    ["Who was first, who followed", "Asymmetry", "Asymmetry map", "Mean length of a burst"];

fn chromium() -> Option<&'static str> {
    ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
        .into_iter()
        .find(|path| Path::new(path).exists())
}

/// What is needed and there; says so where it is not.
fn tools(test: &str) -> Option<(PathBuf, &'static str)> {
    if !has_prometheus(test) {
        return None;
    }
    let found = node_packages().zip(chromium());
    if found.is_none() {
        skip(test, "needs npm's packages and chromium (make setup)");
    }
    found
}

/// Draws all dashboards, in the dark and in the light, in two widths, and holds the report against what may be empty.
fn drawn(
    prometheus: &Prometheus,
    (packages, browser): (PathBuf, &str),
    (name, end): (&str, u64),
    may_be_empty: &[&str],
) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dashboards");
    let mut command = Command::new("node");
    command.arg(tool("preview.mjs")).arg(packages).arg(format!("http://{}", prometheus.address()));
    command.arg(&output).arg(name).args(["--range", "40", "--end", &end.to_string()]);
    for dashboard in ["roce-fleet", "roce-host", "roce-storm", "roce-exporter"] {
        command.arg(root.join("dashboards").join(dashboard).with_extension("json"));
    }
    let ran = command.env("CHROMIUM", browser).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let report: Vec<Value> = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(report.len(), 4 * 2 * 2);
    for page in &report {
        for trouble in ["errors", "failed", "overflowing"] {
            assert_eq!(page[trouble], Value::Array(Vec::new()), "{page}");
        }
        for panel in page["empty"].as_array().unwrap() {
            assert!(may_be_empty.contains(&panel.as_str().unwrap()), "{panel} is empty: {page}");
        }
        // A page without panels is a few kB.
        let size = fs::metadata(page["picture"].as_str().unwrap()).unwrap().len();
        assert!(size > 40_000, "{size} bytes: {page}");
    }
}

#[test]
fn a_storm_is_drawn_without_an_empty_panel() {
    let Some(tools) = tools("a_storm_is_drawn_without_an_empty_panel") else { return };
    let (_exporter, prometheus) = fabric("nic-storm");
    let end = source_holds(&prometheus);
    drawn(&prometheus, tools, ("storm", end), &[]);
}

#[test]
fn calm_is_drawn() {
    let Some(tools) = tools("calm_is_drawn") else { return };
    let (_exporter, prometheus) = fabric("calm");
    sleep(Duration::from_secs(20));
    drawn(&prometheus, tools, ("calm", unix_seconds()), &ONLY_IN_STORMS);
}
