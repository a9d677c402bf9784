//! What Grafana's own linter asks for, and what makes a dashboard readable.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::files::{Dashboard, dashboards};

/// Kinds of panels that can be rendered outside Grafana.
const KINDS: [&str; 6] = ["timeseries", "stat", "table", "bargauge", "text", "row"];
/// Units of Grafana that fit what is shown. A panel with another one is looked at first.
const UNITS: [&str; 9] = [
    "short",
    "none",
    "percentunit",
    "s",
    "pps",
    "ops",
    "Bps",
    "bytes",
    "time:YYYY-MM-DD HH:mm:ss.SSS",
];
const SOURCE: &str = "${datasource}";

/// Dashboards with one word of explanation for each that fails.
fn each(check: impl Fn(&Dashboard) -> Vec<String>) {
    let all = dashboards();
    assert_eq!(all.len(), 4);
    let wrong: Vec<_> = all
        .iter()
        .flat_map(|dashboard| {
            check(dashboard).into_iter().map(|what| format!("{}: {what}", dashboard.name))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a number: {value}"))
}

#[test]
fn a_dashboard_can_be_imported_and_stays_itself() {
    each(|dashboard| {
        let json = &dashboard.json;
        let mut wrong = Vec::new();
        for key in ["id", "version", "__inputs", "__requires", "iteration", "gnetId"] {
            if json.get(key).is_some() {
                wrong.push(format!("{key} is Grafana's to set"));
            }
        }
        if json["uid"] != dashboard.name.as_str() {
            wrong.push("the uid is not the file's name".to_owned());
        }
        if json["editable"] != false || json["graphTooltip"] != 1 {
            wrong.push("editable, or without a shared tooltip".to_owned());
        }
        let linked: BTreeSet<_> =
            dashboard.list("/links").iter().map(|link| link["url"].to_string()).collect();
        let kept = |link: &Value| link["includeVars"] == true && link["keepTime"] == true;
        if linked.len() != 3 || !dashboard.list("/links").iter().all(kept) {
            wrong.push("a link is missing, or forgets the selection".to_owned());
        }
        wrong
    });
}

#[test]
fn a_panel_explains_itself() {
    each(|dashboard| {
        let mut wrong = Vec::new();
        let mut titles = BTreeSet::new();
        for panel in dashboard.panels() {
            let (title, kind) = (panel["title"].as_str().unwrap(), panel["type"].as_str().unwrap());
            if !KINDS.contains(&kind) || title.is_empty() || !titles.insert(title) {
                wrong.push(format!("{title}: kind {kind}, or the title is not its own"));
            }
            if kind == "row" {
                continue;
            }
            let description = panel["description"].as_str().unwrap_or_default();
            if description.len() < 40 || !description.ends_with('.') {
                wrong.push(format!("{title}: no description"));
            }
            let says = ["tx", "rx", "direction"].iter().any(|word| description.contains(word));
            if dashboard.name != "roce-exporter" && !says {
                wrong.push(format!("{title}: the description does not say what direction means"));
            }
            if panel["datasource"]["uid"] != SOURCE {
                wrong.push(format!("{title}: another data source"));
            }
            let unit = panel["fieldConfig"]["defaults"]["unit"].as_str().unwrap_or_default();
            if !UNITS.contains(&unit) {
                wrong.push(format!("{title}: unit {unit:?}"));
            }
        }
        for target in dashboard.targets() {
            if target.json["datasource"]["uid"] != SOURCE {
                wrong.push(format!("{}: another data source", target.place()));
            }
        }
        wrong
    });
}

#[test]
fn panels_do_not_overlap_and_have_their_own_numbers() {
    each(|dashboard| {
        let mut wrong = Vec::new();
        let (mut taken, mut numbers) = (BTreeSet::new(), BTreeSet::new());
        for panel in dashboard.panels() {
            let at = |key: &str| number(&panel["gridPos"][key]);
            let (left, top, width, height) = (at("x"), at("y"), at("w"), at("h"));
            if width == 0 || height == 0 || left + width > 24 {
                wrong.push(format!("{} is outside", panel["title"]));
            }
            for (x, y) in
                (left..left + width).flat_map(|x| (top..top + height).map(move |y| (x, y)))
            {
                if !taken.insert((x, y)) {
                    wrong.push(format!("{} overlaps at {x}, {y}", panel["title"]));
                }
            }
            if !numbers.insert(number(&panel["id"])) {
                wrong.push(format!("{} has the number of another", panel["title"]));
            }
        }
        wrong
    });
}

#[test]
fn variables_are_the_usual_ones_in_their_order() {
    each(|dashboard| {
        let names: Vec<_> = dashboard
            .variables()
            .iter()
            .map(|variable| variable["name"].as_str().unwrap())
            .collect();
        let mut expected = vec!["datasource", "cluster", "job", "instance", "device"];
        if dashboard.name != "roce-exporter" {
            expected.push("priority");
        }
        let mut wrong = Vec::new();
        if names != expected {
            wrong.push(format!("{names:?}"));
        }
        for variable in dashboard.variables().iter().skip(1) {
            if variable["refresh"] != 2
                || variable["multi"] != true
                || variable["allValue"].is_null()
            {
                wrong.push(format!("{}: not renewed, or not for several", variable["name"]));
            }
        }
        wrong
    });
}
