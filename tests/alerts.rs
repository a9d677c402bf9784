//! The shipped rules: linted, tried in promtool, held against the table of metrics and the runbooks, and end to end.
//!
//! Without `promtool`, `amtool`, `prometheus` or `prometheus-alertmanager` a test says `SKIPPED` and why, and fails where
//! `ROCE_REQUIRE_ALL_TIERS=1` says that all must run.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests: the shared modules serve several test crates, and a panic is a failed test"
)]

#[path = "web/client.rs"]
mod client;
#[path = "alerts/cost.rs"]
mod cost;
#[path = "alerts/end_to_end.rs"]
mod end_to_end;
#[path = "alerts/expressions.rs"]
mod expressions;
#[path = "links/fleet.rs"]
mod fleet;
#[path = "alerts/muting.rs"]
mod muting;
#[path = "alerts/receiver.rs"]
mod receiver;
#[path = "alerts/rules.rs"]
mod rules;
#[path = "prometheus/servers.rs"]
mod servers;
#[path = "alerts/shortened.rs"]
mod shortened;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use end_to_end::Trial;
use expressions::Metrics;
use rules::{Rule, alerts, files, in_tree, rule_files, text};

const REQUIRE_ALL: &str = "ROCE_REQUIRE_ALL_TIERS";

/// Whether `test` cannot run for want of a program; says so then.
fn lacks(program: &str, test: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        let required = std::env::var_os(REQUIRE_ALL).is_some_and(|value| value == "1");
        assert!(!required, "{test}: needs {program}");
        // Not by a macro: what those print is kept from the terminal when a test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: needs {program}");
    }
    !there
}

fn succeeds(program: &str, arguments: &[&str], files: &[PathBuf]) {
    let ran = Command::new(program).args(arguments).args(files).output().unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    assert!(ran.status.success(), "{program}: {}", String::from_utf8_lossy(&said));
}

fn name(rule: &Rule) -> &str {
    rule.record.as_ref().or(rule.alert.as_ref()).unwrap()
}

#[test]
fn the_rules_pass_every_lint() {
    if lacks("promtool", "the_rules_pass_every_lint") {
        return;
    }
    succeeds("promtool", &["check", "rules", "--lint=all", "--lint-fatal"], &rule_files());
}

#[test]
fn the_rules_give_the_expected_alerts_and_values() {
    if lacks("promtool", "the_rules_give_the_expected_alerts_and_values") {
        return;
    }
    for file in files("tests/alerts", ".test.yml") {
        succeeds("promtool", &["test", "rules"], &[file]);
    }
}

#[test]
fn every_alert_and_every_recording_rule_has_its_trial() {
    let tried = files("tests/alerts", ".test.yml").into_iter().map(|path| {
        let text = fs::read_to_string(path).unwrap();
        // What is expected, not what is fed.
        let lines = text.lines().filter(|line| !line.contains("{series:"));
        lines.flat_map(|line| [line, "\n"]).collect::<String>()
    });
    let tried: String = tried.collect();
    for rule in own_rules() {
        let name = name(&rule);
        if !name.starts_with("roce:policy:") {
            assert!(tried.contains(name), "no test expects {name}");
        }
    }
}

/// Without those that join links, which have tests of their own.
fn own_rules() -> Vec<Rule> {
    rules::rules().into_iter().filter(|rule| !name(rule).starts_with("roce_link")).collect()
}

#[test]
fn rules_name_only_metrics_and_labels_that_there_are() {
    let rules = rules::rules();
    let metrics = Metrics::with_records_of(&rules);
    let mut faults = Vec::new();
    // A rule that compares the two ends of a link looks at the presence of counters in its own way.
    for rule in own_rules() {
        for fault in metrics.faults(&rule.expr) {
            faults.push(format!("{}: {fault}", name(&rule)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_walk_finds_what_is_wrong() {
    let metrics = Metrics::with_records_of(&rules::rules());
    for (expression, fault) in [
        ("roce_pfc_pause_second_total > 0", "no such metric"),
        ("rate(roce_pfc_pause_seconds_total{prio=\"3\"}[5m])", "has no label \"prio\""),
        ("roce_pfc_storms_total > 0", "a counter outside rate and increase"),
        ("max_over_time(roce_pfc_storms_total[5m])", "a counter outside rate and increase"),
        ("roce_port_up and (roce_pfc_storms_total or roce_mtu_bytes) + 1", "a counter outside"),
        ("sum by (priorty) (roce_pfc_pause_ratio)", "label \"priorty\""),
        ("roce_port_up * on (device) group_left (drivr) roce_device_info", "label \"drivr\""),
        ("{job=\"roce\"}", "no name"),
        ("roce_port_up +", "roce_port_up +"),
        ("device_priority:roce_pfc_pause:ratio_avg3m", "no such metric"),
        ("device_priority:roce_pfc_asymmetry:ratio_avg2m{check=\"x\"}", "label \"check\""),
    ] {
        let faults = metrics.faults(expression);
        assert!(faults.iter().any(|found| found.contains(fault)), "{expression}: {faults:?}");
    }
    for expression in [
        "increase(roce_pfc_storms_total[5m]) unless roce_pfc_storms_total offset 5m",
        "rate(roce_pfc_sample_pause_ratio_bucket{le=\"+Inf\"}[5m])",
        "roce_port_up and on (device) roce_pfc_storms_total",
    ] {
        let faults = metrics.faults(expression);
        assert!(faults.is_empty(), "{expression}: {faults:?}");
    }
}

#[test]
fn alerts_say_how_bad_they_are_and_where_to_read_on() {
    let boards: Vec<&str> = vec!["roce-fleet", "roce-host", "roce-storm", "roce-exporter"];
    let shipped = in_tree("dashboards");
    for alert in alerts() {
        let name = alert.alert.unwrap();
        assert!(name.starts_with("Roce"), "{name}");
        let severity = alert.labels["severity"].as_str();
        assert!(["critical", "warning", "info"].contains(&severity), "{name}: {severity}");
        let summary = &alert.annotations["summary"];
        assert!(summary.ends_with('.') && !summary.contains("{{"), "{name}: {summary}");
        assert!(alert.annotations["description"].len() > 60, "{name}");
        let runbook = &alert.annotations["runbook_url"];
        assert!(runbook.ends_with(&format!("/{name}.md")), "{name}: {runbook}");
        let (_, board) = alert.annotations["dashboard_url"].split_once("/d/").unwrap();
        let board = board.split('?').next().unwrap();
        assert!(boards.contains(&board), "{name}: {board}");
        if shipped.exists() {
            assert!(text(&format!("dashboards/{board}.json")).contains(board), "{name}: {board}");
        }
        // Labels tell alerts apart; a value among them would make a new alert of each evaluation.
        assert!(alert.labels.values().all(|value| !value.contains("{{")), "{name}");
    }
}

#[test]
fn every_alert_has_its_runbook_and_every_runbook_its_alert() {
    let named: BTreeSet<String> = alerts().into_iter().map(|alert| alert.alert.unwrap()).collect();
    let written: BTreeSet<String> = files("docs/runbooks", ".md")
        .iter()
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "README")
        .collect();
    assert_eq!(named, written);
    let index = text("docs/runbooks/README.md");
    for name in named {
        let page = text(&format!("docs/runbooks/{name}.md"));
        assert!(page.starts_with(&format!("# {name}\n")), "{name}");
        assert!(index.contains(&format!("]({name}.md)")), "{name} is not in the index");
        let parts = [
            "## What it means",
            "## Culprit and victim",
            "## Confirm",
            "## Do first",
            "## Do not",
            "## False alarms",
        ];
        let at: Vec<Option<usize>> = parts.iter().map(|part| page.find(part)).collect();
        assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{name}: {at:?}");
    }
}

#[test]
fn the_policy_is_in_one_place() {
    let policies: BTreeSet<String> = rules::rules()
        .into_iter()
        .filter_map(|rule| rule.record)
        .filter(|name| name.starts_with("roce:policy:"))
        .collect();
    assert!(policies.len() > 10, "{policies:?}");
    let missing = alerts().into_iter().find(|alert| name(alert) == "RocePolicyMissing").unwrap();
    let readme = text("alerts/README.md");
    let others: String = own_rules()
        .iter()
        .filter(|rule| name(rule) != "RocePolicyMissing")
        .flat_map(|rule| std::iter::once(&rule.expr).chain(rule.annotations.values()))
        .map(|text| text.clone() + "\n")
        .collect();
    for policy in policies {
        assert!(missing.expr.contains(&policy), "RocePolicyMissing does not watch {policy}");
        assert!(readme.contains(&format!("`{policy}`")), "README.md does not explain {policy}");
        assert!(others.contains(&policy), "nothing asks {policy}");
    }
}

#[test]
fn the_example_for_alertmanager_is_sound() {
    let test = "the_example_for_alertmanager_is_sound";
    if lacks("amtool", test) {
        return;
    }
    let example = in_tree("alerts/alertmanager.example.yml");
    succeeds("amtool", &["check-config"], std::slice::from_ref(&example));
    for (labels, receiver) in [
        (["alertname=RoceStormSent", "severity=critical"], "page"),
        (["alertname=RocePauseSentHigh", "severity=warning"], "ticket"),
        (["alertname=RocePauseUpperBoundHigh", "severity=info"], "nobody"),
    ] {
        let file = format!("--config.file={}", example.display());
        let verify = format!("--verify.receivers={receiver}");
        let arguments = ["config", "routes", "test", &file, &verify, labels[0], labels[1]];
        succeeds("amtool", &arguments, &[]);
    }
}

#[test]
fn what_mutes_comes_before_anybody_is_told_and_stays_to_the_end() {
    let (faults, pairs) = muting::faults();
    assert!(pairs > 20, "{pairs}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What each scenario of the demo leads to. Alerts that inform are told to nobody, so they are not in it.
const TRIALS: &[Trial] = &[
    Trial { scenario: "calm", told: &[], muted: &[] },
    Trial { scenario: "incast", told: &["RocePauseReceivedHigh/w"], muted: &[] },
    Trial {
        scenario: "nic-storm",
        told: &["RoceStormSent/c", "RoceStormReceived/c", "RoceNicStallDetected/c"],
        muted: &[
            "RocePauseSentHigh/c",
            "RocePauseSentHigh/w",
            "RoceLosslessDrops/c",
            "RoceNicStallDetected/w",
        ],
    },
    Trial {
        scenario: "straggler",
        told: &["RocePauseSentHigh/w", "RoceStragglerRail/w"],
        muted: &["RocePauseReceivedHigh/w"],
    },
    Trial {
        scenario: "one-sided",
        told: &[
            "RoceOneSidedPfc/c",
            "RoceLosslessDrops/c",
            "RocePauseSentHigh/w",
            "RoceStragglerRail/w",
        ],
        muted: &["RoceOneSidedPfc/w"],
    },
    Trial { scenario: "stale", told: &["RoceDeviceStale/w"], muted: &[] },
    Trial { scenario: "reset", told: &[], muted: &[] },
    // Gone for less than the two minutes that the alert waits.
    Trial { scenario: "unplug", told: &[], muted: &[] },
    Trial {
        scenario: "deadlock",
        told: &["RoceDeadlockSuspected/c"],
        muted: &["RoceStormReceived/c", "RocePauseReceivedHigh/c"],
    },
    Trial {
        scenario: "lossless-drops",
        told: &["RoceLosslessDrops/c", "RocePauseSentHigh/w", "RoceStragglerRail/w"],
        muted: &["RocePauseReceivedHigh/w"],
    },
    Trial {
        scenario: "wrong-priority",
        told: &["RocePfcMaskNotWanted/w", "RoceRdmaOnLossyPriority/w", "RocePauseSentHigh/w"],
        muted: &["RocePauseOnLossyPriority/w", "RoceCheckFailed/w", "RoceConfigurationDrift/w"],
    },
    Trial { scenario: "chatter", told: &[], muted: &[] },
    Trial { scenario: "wrap", told: &[], muted: &[] },
    Trial { scenario: "rename", told: &["RoceDeviceGone/w"], muted: &[] },
    Trial {
        scenario: "slow-receiver",
        told: &["RocePauseSentHigh/c", "RocePauseReceivedHigh/c"],
        muted: &["RocePauseSentHigh/w", "RocePauseReceivedHigh/w", "RoceStragglerRail/w"],
    },
    Trial {
        scenario: "victim",
        told: &["RocePauseSentHigh/c", "RocePauseReceivedHigh/c"],
        muted: &["RocePauseSentHigh/w", "RocePauseReceivedHigh/w", "RoceStragglerRail/w"],
    },
    // Slow for less than the five minutes that the alert waits.
    Trial { scenario: "slow-read", told: &[], muted: &[] },
    Trial {
        scenario: "ecn-off",
        told: &["RocePauseWithoutEcn/w", "RocePauseReceivedHigh/c"],
        muted: &["RocePauseReceivedHigh/w"],
    },
    Trial {
        scenario: "cnp-lost",
        told: &["RoceCnpLoopOpen/w", "RocePauseReceivedHigh/c"],
        muted: &["RocePauseReceivedHigh/w"],
    },
    Trial {
        scenario: "link-pause",
        told: &["RoceLinkPauseBesidePfc/c", "RocePauseReceivedHigh/c"],
        muted: &["RoceLinkPauseBesidePfc/w", "RoceConfigurationDrift/w", "RocePauseReceivedHigh/w"],
    },
    // A check remembers pause outside the mask for ten minutes, which no test shortens.
    Trial {
        scenario: "pfc-moved",
        told: &[
            "RoceRdmaOnLossyPriority/w",
            "RocePauseSentHigh/w",
            "RoceStragglerRail/w",
            "RoceCheckFailed/w",
        ],
        muted: &["RocePauseReceivedHigh/w"],
    },
    // What the switch drops, its ports do not count.
    Trial {
        scenario: "deaf-nic",
        told: &[
            "RoceOneSidedPfc/w",
            "RocePfcMaskNotWanted/w",
            "RocePauseSentHigh/w",
            "RoceStragglerRail/w",
        ],
        muted: &["RoceCheckFailed/c", "RoceConfigurationDrift/w", "RocePauseReceivedHigh/w"],
    },
    Trial {
        scenario: "priority-mismatch",
        told: &[
            "RoceOneSidedPfc/c",
            "RoceLosslessDrops/c",
            "RoceCheckFailed/c",
            "RoceCheckFailed/w",
            "RocePfcMaskNotWanted/w",
            "RoceRdmaOnLossyPriority/w",
            "RocePauseOnLossyPriority/w",
            "RocePauseSentHigh/w",
            "RoceStragglerRail/w",
        ],
        muted: &["RoceOneSidedPfc/w"],
    },
    Trial {
        scenario: "mtu-mismatch",
        told: &[
            "RoceCheckFailed/w",
            "RoceConfigurationDrift/w",
            "RocePauseSentHigh/w",
            "RoceStragglerRail/w",
        ],
        muted: &["RocePauseReceivedHigh/w"],
    },
];

const AT_ONCE: usize = 8;

/// Whether programs are missing for `test`.
fn cannot_run(test: &str) -> bool {
    lacks("prometheus", test) || lacks("prometheus-alertmanager", test)
}

/// On a machine that stood still for seconds alerts may be told that are not the scenario's, so those that went wrong get a
/// second run.
fn leads_to_its_alerts(trials: &[Trial], listened: Duration) -> Result<(), String> {
    let Err(first) = end_to_end::run(trials, listened) else { return Ok(()) };
    eprintln!("first run: {first}");
    end_to_end::run(trials, listened)
}

#[test]
#[ignore = "needs an idle processor for two minutes: make paging"]
fn scenarios_lead_to_their_alerts_and_no_others_and_all_resolve() {
    let test = "scenarios_lead_to_their_alerts_and_no_others_and_all_resolve";
    if cannot_run(test) {
        return;
    }
    let trials = ["calm", "nic-storm", "one-sided"];
    let trials: Vec<Trial> =
        TRIALS.iter().filter(|trial| trials.contains(&trial.scenario)).copied().collect();
    leads_to_its_alerts(&trials, Duration::from_secs(4)).unwrap();
}

#[test]
#[ignore = "takes both processors for minutes: make alerts"]
fn every_scenario_leads_to_its_alerts_and_no_others_and_all_resolve() {
    let test = "every_scenario_leads_to_its_alerts_and_no_others_and_all_resolve";
    if cannot_run(test) {
        return;
    }
    let chosen = std::env::var("SCENARIOS").unwrap_or_default();
    let is_chosen =
        |trial: &&Trial| chosen.is_empty() || chosen.split(',').any(|name| name == trial.scenario);
    let trials: Vec<Trial> = TRIALS.iter().filter(is_chosen).copied().collect();
    // A few by name are there to be looked at, so they get one run.
    let run = if chosen.is_empty() { leads_to_its_alerts } else { end_to_end::run };
    // As many at once as two processors can sample in time.
    let faults: Vec<String> = trials
        .chunks(AT_ONCE)
        .filter_map(|some| run(some, Duration::from_secs(30)).err())
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
#[ignore = "takes minutes and some gigabytes of disk: make scale"]
fn one_evaluation_of_all_rules_takes_less_than_half_of_its_interval() {
    if !cannot_run("one_evaluation_of_all_rules_takes_less_than_half_of_its_interval") {
        cost::measured();
    }
}

#[test]
fn no_scenario_of_the_demo_is_forgotten() {
    let listed =
        Command::new(env!("CARGO_BIN_EXE_roce_exporter")).args(["demo", "--list"]).output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    let listed: BTreeSet<&str> =
        listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let tried: BTreeSet<&str> = TRIALS.iter().map(|trial| trial.scenario).collect();
    assert_eq!(tried, listed);
}
