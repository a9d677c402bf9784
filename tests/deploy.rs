//! The parts of `deploy/` that are made from `alerts/` and `dashboards/` are what those say today, and so is what the mixin gives.
//!
//! `UPDATE_EXPECT=1` (`make deploy`) writes them anew.
#![allow(missing_docs, reason = "tests")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test says where")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

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

/// The groups of a rule file.
fn parsed(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
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
        let json = name.replace(".rules.yml", ".json");
        let made = serde_json::to_string_pretty(&parsed(&text)).unwrap() + "\n";
        files.insert(Path::new("deploy/mixin/rules").join(json), made);
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
    for (directory, end) in [
        ("deploy/helm/roce-exporter/rules", ".yml"),
        ("deploy/helm/roce-exporter/dashboards", ".json"),
        ("deploy/mixin/rules", ".json"),
    ] {
        for name in sources(directory, end).keys() {
            let known = files.contains_key(&Path::new(directory).join(name));
            assert!(known, "{directory}/{name} has no source any more: remove it");
        }
    }
}

/// What jsonnet makes of a field of the mixin; none without jsonnet, which is a failure where all has to run.
fn rendered(field: &str) -> Option<Value> {
    let mixin = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/mixin/mixin.libsonnet");
    let code = format!("(import '{}').{field}", mixin.display());
    let Ok(ran) = Command::new("jsonnet").args(["-e", &code]).output() else {
        let required = std::env::var_os("ROCE_REQUIRE_ALL_TIERS").is_some_and(|all| all == "1");
        assert!(!required, "needs jsonnet");
        // Not by a macro: what those print is kept from the terminal when a test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED: the mixin: needs jsonnet");
        return None;
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(serde_json::from_slice(&ran.stdout).unwrap())
}

#[test]
fn the_mixin_gives_the_rules_and_dashboards_of_the_tree() {
    let Some(alerts) = rendered("prometheusAlerts") else { return };
    let rules = rendered("prometheusRules").unwrap();
    let of = |rendered: &Value| rendered["groups"].as_array().unwrap().clone();
    let mut given = [of(&alerts), of(&rules)].concat();
    let mut shipped: Vec<Value> =
        sources("alerts", ".rules.yml").values().flat_map(|text| of(&parsed(text))).collect();
    let name = |group: &Value| group["name"].as_str().unwrap().to_owned();
    given.sort_by_key(name);
    shipped.sort_by_key(name);
    assert!(given.len() > 8 && given == shipped, "the mixin's rules are not those of alerts/");
    let is_of_alerts = |group: &Value| group["rules"][0]["alert"].is_string();
    assert!(of(&alerts).iter().all(is_of_alerts) && !of(&rules).iter().any(is_of_alerts));

    let dashboards = rendered("grafanaDashboards").unwrap();
    let shipped = sources("dashboards", ".json");
    assert_eq!(dashboards.as_object().unwrap().len(), shipped.len());
    for (name, text) in shipped {
        let shipped: Value = serde_json::from_str(&text).unwrap();
        assert!(dashboards[&name] == shipped, "{name} is another in the mixin");
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
