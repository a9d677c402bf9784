//! Whether the inhibition of the shipped example can hold: what mutes has to be there before anybody is told of what
//! it mutes, and as long.

use std::collections::BTreeMap;
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;

use crate::rules::{Rule, alerts, rules, text};

#[derive(Deserialize)]
struct Example {
    route: Route,
    inhibit_rules: Vec<Inhibition>,
}

#[derive(Deserialize)]
struct Route {
    matchers: Option<Vec<String>>,
    group_wait: Option<String>,
    #[serde(default)]
    routes: Vec<Route>,
}

#[derive(Deserialize)]
struct Inhibition {
    source_matchers: Vec<String>,
    target_matchers: Vec<String>,
    equal: Vec<String>,
}

fn span(text: &str) -> Duration {
    let (figure, unit) = text.trim().split_at(text.trim().len() - 1);
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => panic!("{text}"),
    };
    Duration::from_secs(figure.parse::<u64>().unwrap() * unit)
}

/// Whether an alert meets these; a label that only an evaluation gives may have any value.
fn meets(alert: &Rule, matchers: &[String]) -> bool {
    matchers.iter().all(|matcher| {
        let (name, rest) = matcher.split_once('=').unwrap();
        let value = match name.trim() {
            "alertname" => alert.alert.as_deref().unwrap(),
            name => match alert.labels.get(name) {
                Some(value) => value.as_str(),
                None => return true,
            },
        };
        let wanted = rest.trim_start_matches('~').trim().trim_matches('"');
        Regex::new(&format!("^(?:{wanted})$")).unwrap().is_match(value)
    })
}

/// How far back an expression looks, by itself and through what it asks of recording rules.
fn looks_back(expression: &str, recorded: &BTreeMap<String, Duration>) -> Duration {
    let windows = Regex::new(r"\[(\w+)\]").unwrap();
    let own = windows.captures_iter(expression).map(|found| span(&found[1]));
    let named = recorded.iter().filter(|(name, _)| expression.contains(name.as_str()));
    own.chain(named.map(|(_, back)| *back)).max().unwrap_or_default()
}

/// The same of each recording rule. Those that ask others come after them in the files.
fn records() -> BTreeMap<String, Duration> {
    let mut records = BTreeMap::new();
    for rule in rules() {
        if let Some(name) = rule.record {
            let back = looks_back(&rule.expr, &records);
            let longest: &mut Duration = records.entry(name).or_default();
            *longest = back.max(*longest);
        }
    }
    records
}

fn waits(alert: &Rule) -> Duration {
    alert.waits.as_deref().map_or(Duration::ZERO, span)
}

fn lasts(alert: &Rule, recorded: &BTreeMap<String, Duration>) -> Duration {
    looks_back(&alert.expr, recorded) + alert.kept.as_deref().map_or(Duration::ZERO, span)
}

/// How long Alertmanager waits before it tells of the first of a group.
fn told_after(alert: &Rule, top: &Route) -> Duration {
    let route = top.routes.iter().find(|route| meets(alert, route.matchers.as_ref().unwrap()));
    let wait = route.and_then(|route| route.group_wait.as_ref()).or(top.group_wait.as_ref());
    span(wait.unwrap())
}

/// What is wrong with each pair of alerts of which one mutes the other, and how many pairs there are.
pub fn faults() -> (Vec<String>, usize) {
    let example: Example =
        serde_saphyr::from_str(&text("alerts/alertmanager.example.yml")).unwrap();
    let (alerts, recorded) = (alerts(), records());
    let (mut faults, mut pairs) = (Vec::new(), 0);
    for inhibition in &example.inhibit_rules {
        let of = |matchers| alerts.iter().filter(move |alert| meets(alert, matchers));
        for source in of(&inhibition.source_matchers) {
            for target in of(&inhibition.target_matchers) {
                let one_name = inhibition.equal.iter().any(|label| label == "alertname");
                if one_name && source.alert != target.alert {
                    continue;
                }
                let name = |alert: &Rule| {
                    format!("{} ({})", alert.alert.as_ref().unwrap(), alert.labels["severity"])
                };
                pairs += 1;
                // One scrape and one evaluation lie between the two at most.
                let skew = Duration::from_secs(30);
                if waits(source) + skew > waits(target) + told_after(target, &example.route) {
                    faults.push(format!(
                        "{} comes too late to mute {}",
                        name(source),
                        name(target)
                    ));
                }
                if lasts(source, &recorded) < lasts(target, &recorded) {
                    faults.push(format!("{} ends before {}", name(source), name(target)));
                }
            }
        }
    }
    (faults, pairs)
}
