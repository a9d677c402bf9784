//! The dashboards' files, their panels and queries.

use std::fs;
use std::path::Path;

use serde_json::Value;

pub struct Dashboard {
    pub name: String,
    pub json: Value,
}

/// One query of a panel.
pub struct Target<'a> {
    pub panel: &'a Value,
    pub json: &'a Value,
}

impl Target<'_> {
    pub fn expression(&self) -> &str {
        self.json["expr"].as_str().unwrap_or_else(|| panic!("no query: {}", self.json))
    }

    pub fn is_instant(&self) -> bool {
        self.json["instant"] == true
    }

    pub fn place(&self) -> String {
        format!("{} {}", self.panel["title"], self.json["refId"])
    }
}

impl Dashboard {
    pub fn list(&self, pointer: &str) -> &Vec<Value> {
        let found = self.json.pointer(pointer).and_then(Value::as_array);
        found.unwrap_or_else(|| panic!("{}: no list {pointer}", self.name))
    }

    pub fn panels(&self) -> &Vec<Value> {
        self.list("/panels")
    }

    pub fn targets(&self) -> impl Iterator<Item = Target<'_>> {
        self.panels().iter().flat_map(|panel| {
            let targets = panel["targets"].as_array().into_iter().flatten();
            targets.map(move |json| Target { panel, json })
        })
    }

    pub fn variables(&self) -> &Vec<Value> {
        self.list("/templating/list")
    }

    pub fn annotations(&self) -> &Vec<Value> {
        self.list("/annotations/list")
    }

    /// The queries of the panel with this title.
    pub fn panel(&self, title: &str) -> Vec<Target<'_>> {
        let found: Vec<_> =
            self.targets().filter(|target| target.panel["title"] == title).collect();
        assert!(!found.is_empty(), "{}: no panel {title}", self.name);
        found
    }
}

pub fn dashboards() -> Vec<Dashboard> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("dashboards");
    let mut found: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| Dashboard {
            name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
            json: serde_json::from_slice(&fs::read(&path).unwrap()).unwrap(),
        })
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

pub fn dashboard(name: &str) -> Dashboard {
    let mut all = dashboards().into_iter();
    all.find(|dashboard| dashboard.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// A query with everything selected and these spans in place of Grafana's variables.
pub fn interpolated(query: &str, range: &str, rate_interval: &str) -> String {
    let all = query
        .replace("$cluster", ".*")
        .replace("$job", ".+")
        .replace("$instance", ".+")
        .replace("$device", ".*")
        .replace("$priority", ".+")
        .replace("$__rate_interval", rate_interval)
        .replace("$__range", range);
    assert!(!all.contains('$'), "{all}");
    all
}
