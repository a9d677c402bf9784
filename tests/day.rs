//! Whole days of simulated traffic before the shipped rules, with their own times: a healthy day leads to no alert, and one with
//! an event of each kind to the alerts of each, once.
//!
//! `make test` plays less than an hour of each, since a day takes minutes: `make day`.

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

#[path = "day/played.rs"]
mod played;
#[path = "alerts/rules.rs"]
mod rules;
#[path = "day/series.rs"]
mod series;

use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use played::Played;
use series::{Question, Series};

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

/// Whether promtool is missing; says so then.
fn lacks_promtool(test: &str) -> bool {
    let there = Command::new("promtool").arg("--version").output().is_ok();
    if !there {
        let required = std::env::var_os("ROCE_REQUIRE_ALL_TIERS").is_some_and(|all| all == "1");
        assert!(!required, "{test}: needs promtool");
        // Not by a macro: what those print is kept from the terminal when a test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: needs promtool");
    }
    !there
}

/// Healthy traffic for so long: steady loads, bursts of several senders, short stalls; for a while now and then many short
/// pauses.
fn no_alert_in(lasts: Duration, course: &[(&str, Duration)]) {
    let since = Instant::now();
    let mut played = Played::new(course, 7);
    let series = Series::scraped(&mut played, lasts, &|_, _| false);
    let made = since.elapsed();
    // That it was a working day.
    assert!(series.len() > 300, "{}", series.len());
    for moved in ["roce_pfc_pause_frames_total", "roce_cnp_sent_total", "roce_rdma_bytes_total"] {
        let per_minute = series.increase(moved) / (lasts.as_secs_f64() / 60.0);
        assert!(per_minute > 10.0, "{moved}: {per_minute} in a minute");
    }
    let directory = tempfile::tempdir().unwrap();
    let none = Question {
        expression: format!(
            r#"count by (alertname, severity, instance, device) (max_over_time(ALERTS{{alertstate="firing"}}[{}s]))"#,
            lasts.as_secs()
        ),
        at: lasts,
        expected: Vec::new(),
    };
    // The rules were evaluated, over all hosts and to the end.
    let evaluated = Question {
        expression: "fabric:roce_ports:count == bool 8".to_owned(),
        at: lasts,
        expected: vec![r#"{fabric="pod"}"#.to_owned()],
    };
    series.judge(directory.path(), &[none, evaluated]).unwrap_or_else(|said| panic!("{said}"));
    println!(
        "{lasts:?} of {} series: made in {made:.1?}, judged after {:.1?}",
        series.len(),
        since.elapsed()
    );
}

#[test]
fn healthy_traffic_leads_to_no_alert() {
    if lacks_promtool("healthy_traffic_leads_to_no_alert") {
        return;
    }
    no_alert_in(30 * MINUTE, &[("calm", 20 * MINUTE), ("chatter", MINUTE), ("calm", HOUR)]);
}

#[test]
#[ignore = "takes minutes: make day"]
fn a_day_of_healthy_traffic_leads_to_no_alert() {
    if lacks_promtool("a_day_of_healthy_traffic_leads_to_no_alert") {
        return;
    }
    no_alert_in(24 * HOUR, &[("calm", 110 * MINUTE), ("chatter", 10 * MINUTE)]);
}

/// Something that happens once a day: a scenario for a time, and the alerts that fire, `name/c` or `name/w` for its severity.
/// Those that inform are not in it. What is over before a rule has made sure of it leads to nothing.
struct Event {
    scenario: &'static str,
    lasts: Duration,
    alerts: &'static [&'static str],
}

const fn event(scenario: &'static str, lasts: Duration, alerts: &'static [&'static str]) -> Event {
    Event { scenario, lasts, alerts }
}

const LONG: Duration = Duration::from_mins(17);
const PASS: Duration = Duration::from_secs(40);

const EVENTS: &[Event] = &[
    event(
        "nic-storm",
        PASS,
        &[
            "RoceStormSent/c",
            "RoceStormReceived/c",
            "RoceNicStallDetected/c",
            "RoceNicStallDetected/w",
            "RoceLosslessDrops/c",
            "RocePauseSentHigh/w",
            "RocePauseReceivedHigh/w",
        ],
    ),
    event(
        "straggler",
        LONG,
        &["RocePauseSentHigh/w", "RocePauseReceivedHigh/w", "RoceStragglerRail/w"],
    ),
    event(
        "deadlock",
        PASS,
        &["RoceStormReceived/c", "RocePauseReceivedHigh/c", "RocePauseReceivedHigh/w"],
    ),
    event("reset", Duration::from_secs(30), &[]),
    event("unplug", PASS, &[]),
    event("slow-read", Duration::from_secs(30), &[]),
    event("stale", PASS, &[]),
    event(
        "pfc-moved",
        PASS,
        &["RoceCheckFailed/w", "RocePauseSentHigh/w", "RocePauseReceivedHigh/w"],
    ),
    // The last, since a name that is gone is told of for half an hour.
    event("rename", PASS, &["RoceDeviceGone/w"]),
];

/// Healthy time before each event, and at the end: averages and what is kept have forgotten the event before. A NIC's own
/// stall detector counts for ten minutes.
const REST: Duration = Duration::from_mins(12);

/// Plays events with rests between and holds each to its alerts, each of which fires once in one go.
fn each_is_found_once(events: &[Event], rest: Duration) {
    let mut course = Vec::new();
    let mut questions = Vec::new();
    let mut at = Duration::ZERO;
    for event in events {
        course.extend([("calm", rest), (event.scenario, event.lasts)]);
        let span = rest + event.lasts;
        at += span;
        // From the event's beginning to the next one's.
        let asked = (at + rest).as_secs().saturating_sub(15) / 15 * 15;
        let fired = format!(
            r#"max_over_time(ALERTS{{alertstate="firing",severity!="info"}}[{}s])"#,
            span.as_secs()
        );
        // Fired in one go: as many evaluations as there are between the first and the last.
        let when = format!("timestamp(ALERTS{{alertstate=\"firing\"}})[{}s:15s]", span.as_secs());
        let counted = fired.replace("max_over_time", "count_over_time");
        questions.push(Question {
            expression: format!(
                "(max_over_time({when}) - min_over_time({when})) / 15 + 1 > {counted}"
            ),
            at: Duration::from_secs(asked),
            expected: Vec::new(),
        });
        let expected = event.alerts.iter().map(|alert| {
            let (name, severity) = alert.split_once('/').unwrap();
            let severity = if severity == "c" { "critical" } else { "warning" };
            format!(r#"{{alertname="{name}", severity="{severity}"}}"#)
        });
        questions.push(Question {
            expression: format!("group by (alertname, severity) ({fired})"),
            at: Duration::from_secs(asked),
            expected: expected.collect(),
        });
    }
    course.push(("calm", 2 * rest));
    let lasts = at + rest;
    let mut played = Played::new(&course, 11);
    let series = Series::scraped(&mut played, lasts, &|_, _| false);
    let directory = tempfile::tempdir().unwrap();
    series.judge(directory.path(), &questions).unwrap_or_else(|said| panic!("{said}"));
}

#[test]
fn a_storm_is_found_once() {
    if lacks_promtool("a_storm_is_found_once") {
        return;
    }
    each_is_found_once(&EVENTS[..1], REST);
}

#[test]
#[ignore = "takes minutes: make day"]
fn a_day_with_an_event_of_each_kind_finds_each_once() {
    if lacks_promtool("a_day_with_an_event_of_each_kind_finds_each_once") {
        return;
    }
    each_is_found_once(EVENTS, REST);
}
