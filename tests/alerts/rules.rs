//! The shipped rule files, as they are read by Prometheus.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Deserialize)]
struct RuleFile {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    rules: Vec<Rule>,
}

#[derive(Clone, Deserialize)]
pub struct Rule {
    pub record: Option<String>,
    pub alert: Option<String>,
    pub expr: String,
    #[serde(rename = "for")]
    pub waits: Option<String>,
    #[serde(rename = "keep_firing_for")]
    pub kept: Option<String>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

pub fn in_tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub fn text(path: &str) -> String {
    fs::read_to_string(in_tree(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Files of a folder by the end of their names, in order.
pub fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(in_tree(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.to_str().unwrap().ends_with(end)).collect();
    found.sort();
    assert!(!found.is_empty(), "no {end} in {folder}");
    found
}

/// What has to be loaded for Prometheus, without the adapters to other exporters.
pub fn rule_files() -> Vec<PathBuf> {
    files("alerts", ".rules.yml")
}

pub fn rules() -> Vec<Rule> {
    let parsed = rule_files().into_iter().flat_map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let file: RuleFile = serde_saphyr::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        file.groups
    });
    parsed.flat_map(|group| group.rules).collect()
}

pub fn alerts() -> Vec<Rule> {
    rules().into_iter().filter(|rule| rule.alert.is_some()).collect()
}
