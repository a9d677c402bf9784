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

#[path = "day/events.rs"]
mod events;
#[path = "day/played.rs"]
mod played;
#[path = "alerts/rules.rs"]
mod rules;
#[path = "day/series.rs"]
mod series;

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use events::{EVENTS, Event, REST};
use played::Played;
use roce_exporter::source::simulated::{Scenario, Scene};
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

fn scene(name: &str, lasts: Duration) -> Scene {
    Scene { scenario: Scenario::by_name(name).unwrap(), lasts, slowed: 1 }
}

/// Healthy traffic: steady loads, bursts of several senders, short stalls; for a while now and then many short pauses.
struct Healthy {
    lasts: Duration,
    course: Vec<Scene>,
    seed: u64,
    /// Whether the switch is watched too, which doubles the ports and the time that this takes.
    switch: bool,
}

impl Healthy {
    fn leads_to_no_alert(&self) {
        let since = Instant::now();
        let lasts = self.lasts;
        let mut played = Played::new(&self.course, self.seed, self.switch);
        let series = Series::scraped(&mut played, lasts, &|_, _| false);
        let made = since.elapsed();
        // That it was a working day.
        assert!(series.len() > 300, "{}", series.len());
        for moved in ["roce_pfc_pause_frames_total", "roce_cnp_sent_total", "roce_rdma_bytes_total"]
        {
            let per_minute = series.increase(moved) / (lasts.as_secs_f64() / 60.0);
            assert!(per_minute > 10.0, "{moved}: {per_minute} in a minute");
        }
        let directory = tempfile::tempdir().unwrap();
        let none = Question {
            expression: format!(
                r#"count by (alertname, severity, instance, host, device) (max_over_time(ALERTS{{alertstate="firing"}}[{}s]))"#,
                lasts.as_secs()
            ),
            at: lasts,
            expected: Vec::new(),
        };
        // The rules were evaluated, over all hosts and to the end.
        let ports = if self.switch { 16 } else { 8 };
        let evaluated = Question {
            expression: format!("fabric:roce_ports:count == bool {ports}"),
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
}

#[test]
fn healthy_traffic_leads_to_no_alert() {
    if lacks_promtool("healthy_traffic_leads_to_no_alert") {
        return;
    }
    let course = vec![scene("calm", 20 * MINUTE), scene("chatter", MINUTE), scene("calm", HOUR)];
    Healthy { lasts: 30 * MINUTE, course, seed: 7, switch: false }.leads_to_no_alert();
}

#[test]
#[ignore = "takes minutes: make day"]
fn a_day_of_healthy_traffic_leads_to_no_alert() {
    if lacks_promtool("a_day_of_healthy_traffic_leads_to_no_alert") {
        return;
    }
    // Both halves at once.
    thread::scope(|scope| {
        for seed in [7, 8] {
            let course = vec![scene("calm", 110 * MINUTE), scene("chatter", 10 * MINUTE)];
            let half = Healthy { lasts: 12 * HOUR, course, seed, switch: false };
            scope.spawn(move || half.leads_to_no_alert());
        }
    });
}

#[test]
#[ignore = "takes minutes: make day"]
fn healthy_traffic_of_a_watched_switch_leads_to_no_alert() {
    if lacks_promtool("healthy_traffic_of_a_watched_switch_leads_to_no_alert") {
        return;
    }
    let course = vec![scene("calm", 50 * MINUTE), scene("chatter", 10 * MINUTE)];
    Healthy { lasts: 2 * HOUR, course, seed: 9, switch: true }.leads_to_no_alert();
}

/// Plays events with rests between and holds each to its alerts, each of which fires in one go.
fn each_is_found_once(events: &[Event]) {
    let since = Instant::now();
    let (mut course, mut questions, mut fails) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = Duration::ZERO;
    for event in events {
        course.extend([scene("calm", REST), event.scene()]);
        let began = at + REST;
        at = began + event.lasts();
        if event.unanswered {
            fails.push(began..at);
        }
        questions.extend(event.questions(began, at + REST));
    }
    course.push(scene("calm", 2 * REST));
    let mut played = Played::new(&course, 11, true);
    let failing =
        |host: &str, at: Duration| host == "host2" && fails.iter().any(|span| span.contains(&at));
    let series = Series::scraped(&mut played, at + REST, &failing);
    let made = since.elapsed();
    let directory = tempfile::tempdir().unwrap();
    series.judge(directory.path(), &questions).unwrap_or_else(|said| panic!("{said}"));
    println!(
        "{} events in {at:?} of {} series: made in {made:.1?}, judged after {:.1?}",
        events.len(),
        series.len(),
        since.elapsed()
    );
}

#[test]
fn a_storm_is_found_once() {
    if lacks_promtool("a_storm_is_found_once") {
        return;
    }
    each_is_found_once(&EVENTS[..1]);
}

#[test]
#[ignore = "takes minutes: make day"]
fn a_day_with_an_event_of_each_kind_finds_each_once() {
    if lacks_promtool("a_day_with_an_event_of_each_kind_finds_each_once") {
        return;
    }
    let only = std::env::var("DAY_ONLY").ok();
    let wanted = |event: &&Event| {
        only.as_ref().is_none_or(|only| only.split_whitespace().any(|own| own == event.scenario))
    };
    let events: Vec<Event> = EVENTS.iter().filter(wanted).copied().collect();
    assert!(!events.is_empty(), "no scenario is called {only:?}");
    // Two fabrics at once.
    let (one, other) = events.split_at(events.len() / 2);
    thread::scope(|scope| {
        for events in [one, other].into_iter().filter(|events| !events.is_empty()) {
            scope.spawn(|| each_is_found_once(events));
        }
    });
}

#[test]
fn no_scenario_of_the_demo_is_forgotten() {
    let all: BTreeSet<&str> = Scenario::all().iter().map(|scenario| scenario.name).collect();
    let played: BTreeSet<&str> = EVENTS.iter().map(|event| event.scenario).collect();
    assert_eq!(played, all);
}
