//! Every query asked of a real Prometheus that scrapes the demo, calm and in a storm, and of one that has nothing.

use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::files::{Dashboard, Target, dashboard, dashboards, interpolated};
use crate::queries::label_values;
use crate::servers::{Exporter, Prometheus};
use crate::skip;

const HOSTS: u16 = 4;
const RANGE: &str = "20s";
const RATE_INTERVAL: &str = "4s";
/// Parts of queries without an answer here: a healthy exporter has no errors, and the demo serves no switch, which
/// is the other end of all its links.
const NOT_HERE: [&str; 2] = [
    "sum by (instance, device, source, reason) (rate(roce_source_errors_total",
    "roce_link:pfc_frames_lost:ratio_rate5m",
];

pub fn has_prometheus(test: &str) -> bool {
    let found = Command::new("prometheus").arg("--version").output().is_ok();
    if !found {
        skip(test, "needs prometheus");
    }
    found
}

/// The first of some ports that were free a moment ago.
fn free_ports() -> u16 {
    for _ in 0..100 {
        let first = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let Some(last) = first.checked_add(HOSTS - 1) else { continue };
        if (first..=last).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()) {
            return first;
        }
    }
    panic!("no {HOSTS} free ports in a row");
}

/// A fabric in this scenario and a Prometheus that calls its hosts `host0` and so on.
pub fn fabric(scenario: &str) -> (Exporter, Prometheus) {
    let first = free_ports();
    let hosts = HOSTS.to_string();
    let exporter = Exporter::start_at(
        &format!("127.0.0.1:{first}"),
        &["demo", "--hosts", &hosts, "--scenario", scenario],
    );
    let targets: Vec<String> = (0..HOSTS)
        .map(|host| {
            let address = SocketAddr::from(([127, 0, 0, 1], first + host));
            format!("      - {{targets: ['{address}'], labels: {{instance: host{host}, cluster: lab}}}}\n")
        })
        .collect();
    // The shipped rules, over seconds: a test cannot wait for minutes.
    let rules = include_str!("../../alerts/roce-links.rules.yml")
        .replace("[5m]", "[3s]")
        .replace("offset 5m", "offset 3s");
    assert!(!rules.contains("5m]"));
    let text = format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\n\
         rule_files: [links.yml]\nscrape_configs:\n  - job_name: roce\n    \
         static_configs:\n{}",
        targets.concat()
    );
    (exporter, Prometheus::configured(&text, &[("links.yml", rules)]))
}

pub fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// What dashboards show of one second, however long it takes to ask for all of it.
struct Shown<'a> {
    prometheus: &'a Prometheus,
    unix_seconds: u64,
}

/// The series that a panel gets, each with its latest value.
fn asked(shown: &Shown<'_>, query: &str, instant: bool) -> Vec<(Value, f64)> {
    let query = encoded(&interpolated(query, RANGE, RATE_INTERVAL));
    let Shown { prometheus, unix_seconds: end } = shown;
    let data = if instant {
        prometheus.get(&format!("query?query={query}&time={end}"))
    } else {
        prometheus.get(&format!("query_range?query={query}&start={}&end={end}&step=1", end - 20))
    };
    let latest = |series: &Value| {
        let point = if instant {
            &series["value"]
        } else {
            series["values"].as_array().unwrap().last().unwrap()
        };
        (series["metric"].clone(), point[1].as_str().unwrap().parse().unwrap())
    };
    data["result"].as_array().unwrap().iter().map(latest).collect()
}

fn of_target(shown: &Shown<'_>, target: &Target<'_>) -> Vec<(Value, f64)> {
    asked(shown, target.expression(), target.is_instant())
}

/// All values of the first query of a panel.
fn panel(shown: &Shown<'_>, dashboard: &Dashboard, title: &str) -> Vec<(Value, f64)> {
    of_target(shown, &dashboard.panel(title)[0])
}

fn stat(shown: &Shown<'_>, dashboard: &Dashboard, title: &str) -> f64 {
    let found = panel(shown, dashboard, title);
    assert_eq!(found.len(), 1, "{title}: {found:?}");
    found[0].1
}

fn may_be_empty(query: &str) -> bool {
    NOT_HERE.iter().any(|part| query.contains(part))
}

/// Everything has series with finite values, and every variable something to choose from.
fn filled(shown: &Shown<'_>, only_in_storms: &[&str]) {
    let mut empty = Vec::new();
    for dashboard in dashboards() {
        for target in dashboard.targets() {
            let query = target.expression();
            let series = of_target(shown, &target);
            let place = format!("{}: {}", dashboard.name, target.place());
            let title = target.panel["title"].as_str().unwrap();
            if series.is_empty() && !may_be_empty(query) && !only_in_storms.contains(&title) {
                empty.push(place.clone());
            }
            assert!(series.iter().all(|(_, value)| value.is_finite()), "{place}: {series:?}");
            assert!(series.len() <= 160, "{place}: {} series", series.len());
        }
        for variable in dashboard.variables().iter().skip(1) {
            let (selector, label) = label_values(variable["query"]["query"].as_str().unwrap());
            let selector = encoded(&interpolated(selector, RANGE, RATE_INTERVAL));
            let values =
                shown.prometheus.get(&format!("label/{label}/values?match%5B%5D={selector}"));
            assert!(!values.as_array().unwrap().is_empty(), "{}: {label}", dashboard.name);
        }
        for annotation in dashboard.annotations() {
            asked(shown, annotation["expr"].as_str().unwrap(), false);
        }
    }
    assert!(empty.is_empty(), "no data: {empty:#?}");
}

fn is(series: &Value, host: &str, device: &str, priority: &str) -> bool {
    series["instance"] == host && series["device"] == device && series["priority"] == priority
}

/// The first second in which the source of `nic-storm` has held its peer for most of the window, and the links are known.
pub fn source_holds(prometheus: &Prometheus) -> u64 {
    let since = Instant::now();
    loop {
        let shown = Shown { prometheus, unix_seconds: unix_seconds() };
        let found = panel(&shown, &dashboard("roce-fleet"), "Top senders of pause");
        let holds =
            found.iter().any(|(series, value)| is(series, "host0", "eth0", "3") && *value > 0.5);
        // The rules are the last to have anything.
        if holds && !panel(&shown, &dashboard("roce-storm"), "Links").is_empty() {
            return shown.unix_seconds;
        }
        assert!(since.elapsed() < Duration::from_mins(1), "no storm within a minute");
        sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_storm_is_seen_at_its_source_and_at_its_victims() {
    if !has_prometheus("a_storm_is_seen_at_its_source_and_at_its_victims") {
        return;
    }
    let (_exporter, prometheus) = fabric("nic-storm");
    let (fleet, host, storm) =
        (dashboard("roce-fleet"), dashboard("roce-host"), dashboard("roce-storm"));
    // Long enough into the storm that a window of 10 s is half full of it, and before the NIC ends it at 8 s.
    let shown = Shown { prometheus: &prometheus, unix_seconds: source_holds(&prometheus) };
    assert!((stat(&shown, &fleet, "Ports that hold their peer (tx)") - 1.0).abs() < 1e-9);
    assert!(stat(&shown, &fleet, "Ports held by their peer (rx)") >= 1.0);
    assert!(stat(&shown, &host, "Holds its peer (tx)") >= 1.0);
    assert!(stat(&shown, &fleet, "Highest pause peak") > 0.95);
    let tops = panel(&shown, &fleet, "Top senders of pause");
    let worst = tops.iter().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
    assert!(is(&worst.0, "host0", "eth0", "3"), "{worst:?}");
    let held = panel(&shown, &fleet, "Top receivers of pause");
    let victim = held.iter().max_by(|one, other| one.1.total_cmp(&other.1)).unwrap();
    assert!(
        victim.0["instance"] != "host0" && victim.0["priority"] == "3" && victim.1 > 0.3,
        "{held:?}"
    );
    for (series, value) in panel(&shown, &storm, "Storm, sender side (tx)") {
        let expected = f64::from(u8::from(is(&series, "host0", "eth0", "3")));
        assert!((value - expected).abs() < 1e-9, "{series}: {value}");
    }
    let balance = panel(&shown, &fleet, "Asymmetry map");
    let source = balance.iter().find(|(series, _)| is(series, "host0", "eth0", "3")).unwrap();
    assert!(source.1 > 0.9, "{balance:?}");
    assert!(
        balance.iter().any(|(series, value)| series["instance"] != "host0" && *value < -0.9),
        "{balance:?}"
    );
    let starts = panel(&shown, &storm, "Who was first, who followed");
    let sends: Vec<_> = starts.iter().filter(|(series, _)| series["direction"] == "tx").collect();
    assert!(sends.len() == 1 && is(&sends[0].0, "host0", "eth0", "3"), "{starts:?}");
    assert!(starts.len() > 1, "nobody followed: {starts:?}");
    filled(&shown, &[]);
}

#[test]
fn calm_looks_calm_and_not_empty() {
    if !has_prometheus("calm_looks_calm_and_not_empty") {
        return;
    }
    let (_exporter, prometheus) = fabric("calm");
    // The windows of all queries must lie within the time that was scraped.
    sleep(Duration::from_secs(24));
    let shown = Shown { prometheus: &prometheus, unix_seconds: unix_seconds() };
    let (fleet, host, storm) =
        (dashboard("roce-fleet"), dashboard("roce-host"), dashboard("roce-storm"));
    for (dashboard, title) in [
        (&fleet, "Hosts silent"),
        (&fleet, "Ports that hold their peer (tx)"),
        (&fleet, "Ports held by their peer (rx)"),
        (&fleet, "Storms in this range"),
        (&fleet, "Drops on lossless priorities"),
        (&fleet, "Stale devices"),
        (&host, "Holds its peer (tx)"),
        (&host, "Held by its peer (rx)"),
        (&host, "Time in storms"),
        (&host, "Stall events"),
    ] {
        assert!(stat(&shown, dashboard, title).abs() < 1e-9, "{title} is not 0");
    }
    assert!((stat(&shown, &fleet, "Hosts answering") - f64::from(HOSTS)).abs() < 1e-9);
    for (dashboard, title) in [
        (&fleet, "Ports in a storm, by direction"),
        (&fleet, "Ports in a storm, by rail"),
        (&fleet, "Ports in a storm, by priority"),
        (&storm, "Storm, sender side (tx)"),
        (&storm, "Storm, held side (rx)"),
    ] {
        let found = panel(&shown, dashboard, title);
        assert!(
            !found.is_empty() && found.iter().all(|(_, value)| value.abs() < 1e-9),
            "{title}: {found:?}"
        );
    }
    // No storm ever began, and the time paused is too short for a balance.
    filled(
        &shown,
        &["Who was first, who followed", "Asymmetry map", "Asymmetry", "Mean length of a burst"],
    );
}

#[test]
fn an_empty_prometheus_answers_every_query() {
    if !has_prometheus("an_empty_prometheus_answers_every_query") {
        return;
    }
    let prometheus = Prometheus::configured("scrape_configs: []\n", &[]);
    let shown = Shown { prometheus: &prometheus, unix_seconds: unix_seconds() };
    for dashboard in dashboards() {
        for target in dashboard.targets() {
            let found = of_target(&shown, &target);
            assert!(
                found.is_empty(),
                "{}: {}: {found:?} of nothing",
                dashboard.name,
                target.place()
            );
        }
        for annotation in dashboard.annotations() {
            assert!(asked(&shown, annotation["expr"].as_str().unwrap(), false).is_empty());
        }
    }
}
