//! The demo, a Prometheus with the shipped rules, an Alertmanager with the shipped example, and a receiver.
//!
//! Only times are shortened. Each scenario is a fabric of its own; all share one Prometheus and one Alertmanager. What is
//! told of is waited for, so a slow machine makes it later and not wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client::get;
use crate::fleet::Fleet;
use crate::receiver::{Labels, Receiver};
use crate::servers::{Alertmanager, Prometheus};
use crate::shortened;

const HOSTS: usize = 4;
/// Within this time every scenario has been told of.
const TO_TELL: Duration = Duration::from_mins(2);
/// Within this time a healthy fabric is quiet again.
const TO_RESOLVE: Duration = Duration::from_mins(4);
const POLL: Duration = Duration::from_millis(500);

/// A scenario of the demo and what it leads to: alerts that are told, and some that are there and muted. `name/c` is critical,
/// `name/w` a warning.
#[derive(Clone, Copy)]
pub struct Trial {
    pub scenario: &'static str,
    pub told: &'static [&'static str],
    pub muted: &'static [&'static str],
}

impl Trial {
    /// Whether this alert may be told: a muted warning, too, where it may come before the same gets critical.
    fn lets_tell(&self, name: &str) -> bool {
        let worse = name.replace("/w", "/c");
        self.told.contains(&name)
            || self.muted.contains(&name) && self.told.contains(&worse.as_str())
    }
}

/// What went otherwise than it should, in words.
type Outcome = Result<(), String>;

type ByFabric = BTreeMap<String, BTreeSet<String>>;

struct Scene<'trials> {
    trials: &'trials [Trial],
    fleets: Vec<Fleet>,
    receiver: Receiver,
    alertmanager: Alertmanager,
    prometheus: Prometheus,
}

/// Runs the scenarios side by side. When all that is expected was told, listens for this much longer to what is told
/// besides.
pub fn run(trials: &[Trial], listened: Duration) -> Outcome {
    let receiver = Receiver::start();
    let address = Alertmanager::address();
    let example = shortened::alertmanager(&receiver.address.to_string());
    let alertmanager = Alertmanager::start(address, &example);
    let fleets: Vec<Fleet> = scope(|scope| {
        let started: Vec<_> =
            trials.iter().map(|trial| scope.spawn(|| fleet(trial.scenario))).collect();
        started.into_iter().map(|fleet| fleet.join().unwrap()).collect()
    });
    let all = trials.iter().map(|trial| trial.scenario).zip(&fleets);
    let prometheus = prometheus(targets(all), &address.to_string());
    let mut scene = Scene { trials, fleets, receiver, alertmanager, prometheus };
    scene.tells(listened)?;
    says_what_it_should(&scene.receiver)?;
    scene.resolves()
}

impl Scene<'_> {
    /// Waits for all that is expected, listens on, and compares.
    fn tells(&self, listened: Duration) -> Outcome {
        let since = Instant::now();
        let mut muted = ByFabric::new();
        let mut whole_at = None;
        loop {
            collect(&mut muted, suppressed(&self.alertmanager));
            let told = self.told();
            let missing: Vec<String> = self
                .trials
                .iter()
                .flat_map(|trial| {
                    let told = lacking(trial.scenario, trial.told, &told, "not told of");
                    told.chain(lacking(trial.scenario, trial.muted, &muted, "never muted"))
                })
                .collect();
            let waits = if missing.is_empty() {
                whole_at.get_or_insert_with(Instant::now).elapsed() < listened
            } else {
                since.elapsed() <= TO_TELL
            };
            if !waits {
                let mut faults = missing;
                faults.extend(self.needless(since));
                return if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) };
            }
            sleep(POLL);
        }
    }

    /// What was told of and should not have been, with when, and what fires besides.
    fn needless(&self, since: Instant) -> Vec<String> {
        let told = self.receiver.told();
        let needless = told.iter().filter_map(|(labels, told)| {
            let (fabric, name) = named(labels);
            let trial = self.trials.iter().find(|trial| trial.scenario == fabric);
            let expected = trial.is_some_and(|trial| trial.lets_tell(&name));
            let after = told.first.saturating_duration_since(since);
            (!expected).then(|| format!("{fabric}: told of {name} after {after:.0?}: {labels:?}"))
        });
        let mut needless: Vec<String> = needless.collect();
        if !needless.is_empty() {
            let mut firing_now = ByFabric::new();
            collect(&mut firing_now, firing(&self.prometheus));
            needless.push(format!("firing: {firing_now:?}"));
        }
        needless
    }

    fn told(&self) -> ByFabric {
        let mut told = ByFabric::new();
        collect(&mut told, self.receiver.told().into_keys());
        told
    }

    /// All fabrics become healthy, and everything that was told of is told to be over.
    fn resolves(&mut self) -> Outcome {
        let healthy = Fleet::start(HOSTS + 1, &arguments("calm", true));
        let fabrics = self.trials.iter().map(|trial| (trial.scenario, &healthy));
        self.prometheus.write("targets.yml", &targets(fabrics));
        self.fleets.clear();
        let since = Instant::now();
        loop {
            let told = self.receiver.told();
            let open: Vec<&Labels> =
                told.iter().filter(|(_, told)| !told.resolved).map(|(labels, _)| labels).collect();
            let firing = firing(&self.prometheus);
            if open.is_empty() && firing.is_empty() {
                return Ok(());
            }
            if since.elapsed() > TO_RESOLVE {
                return Err(format!("still there: {firing:?}; not told to be over: {open:?}"));
            }
            sleep(POLL);
        }
    }
}

fn arguments(scenario: &str, switch: bool) -> Vec<&str> {
    let mut arguments = vec!["--hosts", "4", "--scenario", scenario, "--sampler.interval", "50ms"];
    if switch {
        arguments.push("--switch");
    }
    arguments
}

fn fleet(scenario: &str) -> Fleet {
    let switch = joined(scenario);
    Fleet::start(HOSTS + usize::from(switch), &arguments(scenario, switch))
}

/// Whether the switch is watched too, so that both ends of links are known.
fn joined(scenario: &str) -> bool {
    ["one-sided", "deaf-nic", "priority-mismatch", "mtu-mismatch"].contains(&scenario)
}

/// The servers of each fabric. Hosts and switch get names that are unique over all fabrics.
fn targets<'fleet>(fleets: impl IntoIterator<Item = (&'fleet str, &'fleet Fleet)>) -> String {
    let mut groups = Vec::new();
    for (fabric, fleet) in fleets {
        for (place, address) in fleet.addresses.iter().enumerate() {
            let name = match place {
                HOSTS if !joined(fabric) => continue,
                HOSTS => "switch0".to_owned(),
                _ => format!("host{place}"),
            };
            groups.push(format!(
                "- {{targets: ['{address}'], labels: {{fabric: {fabric}, instance: {fabric}-{name}}}}}\n"
            ));
        }
    }
    groups.concat()
}

fn prometheus(targets: String, alertmanager: &str) -> Prometheus {
    let mut files = shortened::rules();
    files.push(("targets.yml".to_owned(), targets));
    let configuration = format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\n\
         rule_files: ['*.rules.yml']\n\
         alerting: {{alertmanagers: [{{static_configs: [{{targets: ['{alertmanager}']}}]}}]}}\n\
         scrape_configs:\n\
         - job_name: roce\n  \
           file_sd_configs: [{{files: [targets.yml], refresh_interval: 1s}}]\n  \
           metric_relabel_configs:\n  \
           - {{source_labels: [__name__, fabric, peer], regex: 'roce_link_peer_info;(.+);(.+)', target_label: peer, replacement: '$1-$2'}}\n"
    );
    let files: Vec<(&str, String)> =
        files.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    // Alertmanager takes an alert for over when it has not heard of it for four times as long.
    Prometheus::with_flags(&configuration, &files, &["--rules.alert.resend-delay=3s"])
}

/// Which of these alerts of a fabric are not among all those, in words.
fn lacking<'names>(
    fabric: &'names str,
    names: &'names [&str],
    all: &'names ByFabric,
    what: &'names str,
) -> impl Iterator<Item = String> + 'names {
    let there = all.get(fabric);
    let lacks = move |name: &&&str| there.is_none_or(|there| !there.contains(**name));
    names.iter().filter(lacks).map(move |name| format!("{fabric}: {name} {what}"))
}

/// The fabric and the short name of an alert.
fn named(labels: &Labels) -> (String, String) {
    let short = format!("{}/{}", labels["alertname"], &labels["severity"][..1]);
    // An alert on a link names its host alone.
    let fabric = labels.get("fabric").map(String::as_str);
    let fabric = fabric.or_else(|| Some(labels.get("host")?.rsplit_once('-')?.0));
    (fabric.unwrap_or_default().to_owned(), short)
}

/// Adds alerts by fabric and short name. Those who inform are told to nobody, so they are left out.
fn collect(by_fabric: &mut ByFabric, alerts: impl IntoIterator<Item = Labels>) {
    for labels in alerts.into_iter().filter(|labels| labels["severity"] != "info") {
        let (fabric, short) = named(&labels);
        by_fabric.entry(fabric).or_default().insert(short);
    }
}

fn labels(alert: &Value) -> Labels {
    let labels = alert["labels"].as_object().unwrap().iter();
    labels.map(|(name, text)| (name.clone(), text.as_str().unwrap().to_owned())).collect()
}

fn firing(prometheus: &Prometheus) -> Vec<Labels> {
    let data = prometheus.get("alerts");
    let alerts = data["alerts"].as_array().unwrap().iter();
    alerts.filter(|alert| alert["state"] == "firing").map(labels).collect()
}

/// What Alertmanager has and mutes.
fn suppressed(alertmanager: &Alertmanager) -> Vec<Labels> {
    let answer = get(alertmanager.address, "/api/v2/alerts");
    let alerts: Value = serde_json::from_slice(&answer.body).unwrap();
    let alerts = alerts.as_array().unwrap().iter();
    alerts.filter(|alert| alert["status"]["state"] == "suppressed").map(labels).collect()
}

/// Texts came out of their templates, and each severity went to its receiver.
fn says_what_it_should(receiver: &Receiver) -> Outcome {
    for (labels, told) in receiver.told() {
        let wanted = if labels["severity"] == "critical" { "/page" } else { "/ticket" };
        if told.path != wanted {
            return Err(format!("{labels:?} went to {}", told.path));
        }
        for (name, text) in &told.annotations {
            let raw = ["{{", "<error", "<no value>"].iter().any(|raw| text.contains(raw));
            if raw || text.is_empty() {
                return Err(format!("{labels:?}: {name}: {text}"));
            }
        }
        let runbook = format!("/docs/runbooks/{}.md", labels["alertname"]);
        let description = &told.annotations["description"];
        let places = ["instance", "device"].into_iter().filter_map(|place| labels.get(place));
        let named = places.into_iter().all(|place| description.contains(place));
        let linked = told.annotations["runbook_url"].ends_with(&runbook)
            && told.annotations["dashboard_url"].starts_with("https://");
        if !named || !linked {
            return Err(format!("{labels:?}: {:?}", told.annotations));
        }
    }
    Ok(())
}
