//! The demo, a Prometheus with the shipped rules, an Alertmanager with the shipped example, and a receiver.
//!
//! Only times are shortened. Alertmanager starts when the alerts are there, so that what mutes and what is muted reach
//! it together, as they do where alerts wait for minutes and not for seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::fleet::Fleet;
use crate::receiver::{Labels, Receiver};
use crate::servers::{Alertmanager, Prometheus};
use crate::shortened;

const HOSTS: usize = 4;
/// Within this time every scenario shows what it leads to, and one that comes and goes has come.
const TO_SHOW: Duration = Duration::from_secs(32);
/// How long is listened to what Alertmanager tells: a full round of the scenarios that come and go.
const TO_TELL: Duration = Duration::from_secs(28);
/// Within this time a healthy fabric is quiet again.
const TO_RESOLVE: Duration = Duration::from_secs(110);

/// A scenario of the demo and what it leads to: alerts that are told, and some that are there and muted. `name/c` is critical,
/// `name/w` a warning.
pub struct Trial {
    pub scenario: &'static str,
    pub told: &'static [&'static str],
    pub muted: &'static [&'static str],
}

/// Runs the scenarios side by side, each as a fabric of its own.
pub fn run(trials: &[Trial]) {
    let receiver = Receiver::start();
    let for_alerts = Alertmanager::address();
    let mut fleets: Vec<(&Trial, Fleet)> = Vec::new();
    for trial in trials {
        fleets.push((trial, fleet(trial.scenario)));
    }
    let prometheus = prometheus(&fleets, &for_alerts.to_string());
    sleep(TO_SHOW);
    let example = shortened::alertmanager(&receiver.address.to_string());
    let _alertmanager = Alertmanager::start(for_alerts, &example);
    let there = watch(&prometheus);
    let told = told(&receiver);
    for trial in trials {
        let expected: BTreeSet<String> = trial.told.iter().map(|&name| name.to_owned()).collect();
        let found = told.get(trial.scenario).cloned().unwrap_or_default();
        assert_eq!(
            found,
            expected,
            "told of {}; there: {:?}",
            trial.scenario,
            there.get(trial.scenario)
        );
        for muted in trial.muted {
            let there = there.get(trial.scenario).is_some_and(|there| there.contains(*muted));
            assert!(there, "{}: {muted} is not even there", trial.scenario);
            assert!(!found.contains(*muted), "{}: {muted} is not muted", trial.scenario);
        }
    }
    says_what_it_should(&receiver);
    resolves(&prometheus, &receiver, fleets);
}

fn fleet(scenario: &str) -> Fleet {
    let hosts = HOSTS.to_string();
    let mut arguments =
        vec!["--hosts", &hosts, "--scenario", scenario, "--sampler.interval", "50ms"];
    if joined(scenario) {
        arguments.push("--switch");
    }
    Fleet::start(HOSTS + usize::from(joined(scenario)), &arguments)
}

/// Whether both ends of links are looked at. That is so for one fabric only, since a host's name has to be unique there.
fn joined(scenario: &str) -> bool {
    scenario == "one-sided"
}

fn targets<'fleet>(fleets: impl IntoIterator<Item = (&'fleet str, &'fleet Fleet)>) -> String {
    let mut groups = Vec::new();
    for (fabric, fleet) in fleets {
        for (place, address) in fleet.addresses.iter().enumerate() {
            let instance = match (joined(fabric), place) {
                (true, HOSTS) => "switch0".to_owned(),
                (true, _) => format!("host{place}"),
                (false, HOSTS) => continue,
                (false, _) => format!("{fabric}-{place}"),
            };
            groups.push(format!(
                "- {{targets: ['{address}'], labels: {{fabric: {fabric}, instance: {instance}}}}}\n"
            ));
        }
    }
    groups.concat()
}

fn prometheus(fleets: &[(&Trial, Fleet)], alertmanager: &str) -> Prometheus {
    let mut files = shortened::rules();
    let all = fleets.iter().map(|(trial, fleet)| (trial.scenario, fleet));
    files.push(("targets.yml".to_owned(), targets(all)));
    let configuration = format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\n\
         rule_files: ['*.rules.yml']\n\
         alerting: {{alertmanagers: [{{static_configs: [{{targets: ['{alertmanager}']}}]}}]}}\n\
         scrape_configs:\n\
         - job_name: roce\n  \
           file_sd_configs: [{{files: [targets.yml], refresh_interval: 1s}}]\n  \
           metric_relabel_configs:\n  \
           - {{source_labels: [fabric, __name__], regex: 'one-sided;roce_link_peer_info', target_label: __tmp_joined, replacement: 'yes'}}\n  \
           - {{source_labels: [__tmp_joined, __name__], regex: ';roce_link_peer_info', action: drop}}\n"
    );
    let files: Vec<(&str, String)> =
        files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    // Prometheus tells Alertmanager again of what goes on only once a minute.
    Prometheus::with_flags(&configuration, &files, &["--rules.alert.resend-delay=1s"])
}

fn short(labels: &Labels) -> String {
    format!("{}/{}", labels["alertname"], &labels["severity"][..1])
}

fn fabric(labels: &Labels) -> String {
    labels.get("fabric").cloned().unwrap_or_else(|| "one-sided".to_owned())
}

type ByFabric = BTreeMap<String, BTreeSet<String>>;

/// What fires in Prometheus by itself, until there has been time to tell of it.
fn watch(prometheus: &Prometheus) -> ByFabric {
    let mut there = ByFabric::new();
    let since = Instant::now();
    while since.elapsed() < TO_TELL {
        for labels in firing(prometheus) {
            there.entry(fabric(&labels)).or_default().insert(short(&labels));
        }
        sleep(Duration::from_millis(500));
    }
    there
}

fn firing(prometheus: &Prometheus) -> Vec<Labels> {
    let data = prometheus.get("alerts");
    let firing =
        data["alerts"].as_array().unwrap().iter().filter(|alert| alert["state"] == "firing");
    firing
        .map(|alert| {
            let labels = alert["labels"].as_object().unwrap().iter();
            labels.map(|(name, text)| (name.clone(), text.as_str().unwrap().to_owned())).collect()
        })
        .collect()
}

fn told(receiver: &Receiver) -> ByFabric {
    let mut told = ByFabric::new();
    for labels in receiver.told().into_keys() {
        told.entry(fabric(&labels)).or_default().insert(short(&labels));
    }
    told
}

/// Texts came out of their templates, and each severity went to its receiver.
fn says_what_it_should(receiver: &Receiver) {
    for (labels, told) in receiver.told() {
        let wanted = if labels["severity"] == "critical" { "/page" } else { "/ticket" };
        assert_eq!(told.path, wanted, "{labels:?}");
        for (name, text) in &told.annotations {
            let rendered =
                !text.contains("{{") && !text.contains("<error") && !text.contains("<no value>");
            assert!(rendered && !text.is_empty(), "{labels:?}: {name}: {text}");
        }
        let runbook = format!("/docs/runbooks/{}.md", labels["alertname"]);
        assert!(told.annotations["runbook_url"].ends_with(&runbook), "{labels:?}");
        assert!(told.annotations["dashboard_url"].starts_with("https://"), "{labels:?}");
        for place in ["instance", "device"] {
            let named = labels
                .get(place)
                .is_none_or(|place| told.annotations["description"].contains(place));
            assert!(named, "{labels:?}: {}", told.annotations["description"]);
        }
    }
}

/// All fabrics become healthy, and everything that was told of is told to be over.
fn resolves(prometheus: &Prometheus, receiver: &Receiver, fleets: Vec<(&Trial, Fleet)>) {
    let healthy = Fleet::start(
        HOSTS + 1,
        &[
            "--hosts",
            &HOSTS.to_string(),
            "--scenario",
            "calm",
            "--switch",
            "--sampler.interval",
            "50ms",
        ],
    );
    let fabrics: Vec<&str> = fleets.iter().map(|(trial, _)| trial.scenario).collect();
    prometheus.write("targets.yml", &targets(fabrics.iter().map(|&fabric| (fabric, &healthy))));
    drop(fleets);
    let since = Instant::now();
    loop {
        let told = receiver.told();
        let open: Vec<&Labels> =
            told.iter().filter(|(_, told)| !told.resolved).map(|(labels, _)| labels).collect();
        let firing = firing(prometheus);
        if open.is_empty() && firing.is_empty() {
            break;
        }
        assert!(
            since.elapsed() < TO_RESOLVE,
            "still there: {firing:?}; not told to be over: {open:?}"
        );
        sleep(Duration::from_millis(500));
    }
}
