//! The parts of `deploy/` that are made from `alerts/` and `dashboards/` are what those say today.
//!
//! `UPDATE_EXPECT=1` (`make deploy`) writes them anew.
#![allow(missing_docs, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a failed test says where")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The text of each file of a directory whose name ends so, by name.
fn sources(directory: &str, end: &str) -> BTreeMap<String, String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let Ok(entries) = fs::read_dir(directory) else { return BTreeMap::new() };
    let files = entries.map(|entry| entry.unwrap().path());
    let named = files.map(|file| (file.file_name().unwrap().to_str().unwrap().to_owned(), file));
    named
        .filter(|(name, _)| name.ends_with(end))
        .map(|(name, file)| (name, fs::read_to_string(file).unwrap()))
        .collect()
}

fn indented(text: &str, columns: usize) -> String {
    let indent = |line: &str| match line {
        "" => "\n".to_owned(),
        line => format!("{:columns$}{line}\n", ""),
    };
    text.lines().map(indent).collect()
}

/// An object with no field but its name. Objects' names hold no dots here, so that they can be used as volumes' names too.
fn object(version: &str, kind: &str, file: &str, end: &str, labels: &str) -> String {
    let name = file.strip_suffix(end).unwrap();
    format!(
        "---\napiVersion: {version}\nkind: {kind}\nmetadata:\n  name: roce-exporter-{name}\n{labels}"
    )
}

fn prometheus_rules() -> String {
    let mut made = "# Made from alerts/ by `make deploy`.\n".to_owned();
    for (file, text) in sources("alerts", ".rules.yml") {
        made += &object("monitoring.coreos.com/v1", "PrometheusRule", &file, ".rules.yml", "");
        made += "spec:\n";
        made += &indented(&text, 2);
    }
    made
}

fn dashboards() -> String {
    let mut made = "# Made from dashboards/ by `make deploy`.\n".to_owned();
    for (file, text) in sources("dashboards", ".json") {
        let label = "  labels:\n    grafana_dashboard: \"1\"\n";
        made += &object("v1", "ConfigMap", &file, ".json", label);
        made.extend(["data:\n  ", &file, ": |\n"]);
        made += &indented(&text, 4);
    }
    made
}

/// Every made file with what it is to hold.
fn made_files() -> BTreeMap<PathBuf, String> {
    let base = Path::new("deploy/kubernetes");
    let chart = Path::new("deploy/helm/roce-exporter");
    let mut files = BTreeMap::from([
        (base.join("prometheus-rules.yaml"), prometheus_rules()),
        (base.join("dashboards.yaml"), dashboards()),
    ]);
    for (name, text) in sources("alerts", ".rules.yml") {
        files.insert(chart.join("rules").join(name.replace(".rules.yml", ".yml")), text);
    }
    for (name, text) in sources("dashboards", ".json") {
        files.insert(chart.join("dashboards").join(name), text);
    }
    files
}

#[test]
fn rules_and_dashboards_for_kubernetes_are_those_of_the_tree() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let files = made_files();
    assert!(files.len() > 10, "{:?}", files.keys());
    for (path, wanted) in &files {
        let file = top.join(path);
        if update {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, wanted).unwrap();
        }
        let found = fs::read_to_string(&file).unwrap_or_default();
        assert!(found == *wanted, "{} is not up to date: run `make deploy`", path.display());
    }
    for (directory, end) in [("rules", ".yml"), ("dashboards", ".json")] {
        let directory = format!("deploy/helm/roce-exporter/{directory}");
        for name in sources(&directory, end).keys() {
            let known = files.contains_key(&Path::new(&directory).join(name));
            assert!(known, "{directory}/{name} has no source any more: remove it");
        }
    }
}

/// The figures that several files have to say alike.
#[test]
fn versions_are_those_of_the_program() {
    let version = env!("CARGO_PKG_VERSION");
    for (path, line) in [
        ("deploy/helm/roce-exporter/Chart.yaml", format!("appVersion: {version}\n")),
        ("deploy/kubernetes/kustomization.yaml", format!("newTag: {version}\n")),
        ("Dockerfile", format!("ARG VERSION={version}\n")),
    ] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        assert!(text.contains(&line), "{path} lacks {line}");
    }
}
