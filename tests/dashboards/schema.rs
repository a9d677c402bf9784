//! The dashboards against JSON schemas that are made, when the test runs, from the types that Grafana publishes.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::files::{Dashboard, dashboards};
use crate::skip;

/// What the data source for Prometheus reads of an annotation; the types do not know data sources.
const OF_THE_DATA_SOURCE: [&str; 6] =
    ["expr", "step", "tagKeys", "textFormat", "titleFormat", "useValueForTime"];

/// Where `tools/setup` puts what npm brings.
pub fn node_packages() -> Option<PathBuf> {
    let cache = match std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()) {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
    };
    let found = cache.join("roce_exporter-tests/dashboard-preview");
    found.join("node_modules/@grafana/schema").exists().then_some(found)
}

pub fn tool(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/dashboard-preview").join(name)
}

fn schemas(packages: &Path) -> Value {
    let output = Command::new("node").arg(tool("schema.mjs")).arg(packages).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn faults(schema: &Value, json: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).unwrap();
    validator.iter_errors(json).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn faults_of(schemas: &Value, dashboard: &Dashboard) -> Vec<String> {
    let mut json = dashboard.json.clone();
    for annotation in json["annotations"]["list"].as_array_mut().unwrap() {
        annotation
            .as_object_mut()
            .unwrap()
            .retain(|key, _| !OF_THE_DATA_SOURCE.contains(&key.as_str()));
    }
    let mut wrong = faults(&schemas["dashboard"], &json);
    for panel in dashboard.panels().iter().filter(|panel| panel["type"] != "row") {
        let (kind, title) = (panel["type"].as_str().unwrap(), &panel["title"]);
        let mut found = faults(&schemas[format!("{kind}/options")], &panel["options"]);
        if let Some(schema) = schemas.get(format!("{kind}/fields")) {
            found.extend(faults(schema, &panel["fieldConfig"]["defaults"]["custom"]));
        }
        wrong.extend(found.into_iter().map(|fault| format!("{title}: {fault}")));
    }
    wrong
}

#[test]
fn grafanas_own_types_accept_the_dashboards() {
    let Some(packages) = node_packages() else {
        return skip(
            "grafanas_own_types_accept_the_dashboards",
            "needs npm's packages (make setup)",
        );
    };
    let schemas = schemas(&packages);
    for dashboard in dashboards() {
        let wrong = faults_of(&schemas, &dashboard);
        assert!(wrong.is_empty(), "{}: {wrong:#?}", dashboard.name);
    }
    // And they refuse what is misspelt.
    let spoiled = |pointer: &str, key: &str, value: Value| {
        let mut dashboard = dashboards().remove(1);
        let place = dashboard.json.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}"));
        place[key] = value;
        assert!(!faults_of(&schemas, &dashboard).is_empty(), "{pointer}/{key}");
    };
    let series =
        dashboards()[1].panels().iter().position(|panel| panel["type"] == "timeseries").unwrap();
    spoiled("", "tittle", json!("x"));
    spoiled("/templating/list/1", "includeAl", json!(true));
    spoiled(&format!("/panels/{series}/options/legend"), "displayMod", json!("table"));
    spoiled(&format!("/panels/{series}/fieldConfig/defaults/custom"), "drawStyle", json!("crayon"));
}
