//! Each transition by table.

use super::*;

const MS: Duration = Duration::from_millis(1);

struct Run {
    storm: Storm,
    now: Monotonic,
    before: Duration,
    doubt: Duration,
}

impl Run {
    fn new() -> Self {
        let now = Monotonic::from_nanos(1_000_000_000);
        Self { storm: Storm::new(), now, before: Duration::ZERO, doubt: Duration::ZERO }
    }

    fn sample(&mut self, span: Duration, ratio: f64, evidence: Evidence, upper_bound: bool) {
        self.now = self.now.plus(span);
        let (now, paused_before) = (self.now, self.before);
        let paused = span.mul_f64(ratio);
        let doubt = self.doubt;
        let judged =
            Judged { now, span, ratio, paused, doubt, upper_bound, evidence, paused_before };
        self.storm.judge(&StormSettings::default(), &judged);
        self.before = span.mul_f64(ratio);
    }

    fn samples(&mut self, count: u32, ratio: f64) {
        for _ in 0..count {
            self.sample(10 * MS, ratio, Evidence::Unknown, false);
        }
    }
}

#[test]
fn a_storm_begins_after_the_detection_time_and_not_before() {
    let mut run = Run::new();
    run.samples(19, 1.0);
    assert!(!run.storm.is_active());
    run.samples(1, 1.0);
    assert!(run.storm.is_active());
    assert_eq!(run.storm.episodes(), 1);
    assert_eq!(run.storm.time(), 200 * MS);
    assert_eq!(run.storm.last_start(), Some(Monotonic::from_nanos(1_000_000_000)));
}

#[test]
fn suspicion_needs_no_break() {
    for ratio in [0.0, 0.5, 0.949] {
        let mut run = Run::new();
        for _ in 0..20 {
            run.samples(18, 1.0);
            run.samples(1, ratio);
        }
        assert_eq!(run.storm.episodes(), 0, "{ratio}");
    }
}

#[test]
fn a_storm_needs_two_samples_however_long() {
    let mut run = Run::new();
    run.sample(1_000 * MS, 1.0, Evidence::Agrees, false);
    assert!(!run.storm.is_active());
    run.sample(1_000 * MS, 1.0, Evidence::Agrees, false);
    assert!(run.storm.is_active());
}

#[test]
fn a_storm_ends_after_the_recovery_time_and_the_quiet_is_not_its_own() {
    let mut run = Run::new();
    run.samples(50, 1.0);
    run.samples(39, 0.04);
    assert!(run.storm.is_active());
    run.samples(1, 0.0);
    assert!(!run.storm.is_active());
    assert_eq!(run.storm.time(), 500 * MS);
}

#[test]
fn a_relapse_within_the_recovery_time_is_the_same_storm() {
    let mut run = Run::new();
    run.samples(50, 1.0);
    run.samples(30, 0.0);
    run.samples(10, 0.05);
    run.samples(40, 0.0);
    assert_eq!(run.storm.episodes(), 1);
    assert!(!run.storm.is_active());
    assert_eq!(run.storm.time(), 900 * MS);
    run.samples(20, 1.0);
    assert_eq!(run.storm.episodes(), 2);
}

#[test]
fn traffic_that_flows_contradicts_a_storm_before_it_begins_only() {
    let mut run = Run::new();
    for _ in 0..100 {
        run.sample(10 * MS, 1.0, Evidence::Contradicts, false);
    }
    assert_eq!(run.storm.episodes(), 0);
    run.samples(20, 1.0);
    run.sample(10 * MS, 1.0, Evidence::Contradicts, false);
    assert!(run.storm.is_active(), "the ratio alone ends a storm");
}

#[test]
fn an_upper_bound_needs_a_second_sign() {
    for (evidence, storms) in
        [(Evidence::Unknown, 0), (Evidence::Contradicts, 0), (Evidence::Agrees, 1)]
    {
        let mut run = Run::new();
        for _ in 0..100 {
            run.sample(10 * MS, 1.0, evidence, true);
        }
        assert_eq!(run.storm.episodes(), storms, "{evidence:?}");
    }
}

#[test]
fn an_interval_without_a_verdict_ends_suspicion_but_no_storm() {
    let mut run = Run::new();
    run.samples(19, 1.0);
    run.storm.no_verdict();
    run.before = Duration::ZERO;
    run.samples(19, 1.0);
    assert_eq!(run.storm.episodes(), 0);
    run.samples(1, 1.0);
    run.storm.no_verdict();
    assert!(run.storm.is_active());
    run.storm.new_epoch();
    assert!(!run.storm.is_active());
}

#[test]
fn the_nic_s_own_stall_event_opens_an_episode_whatever_the_ratio() {
    let mut run = Run::new();
    run.storm.stalled(run.now);
    assert!(run.storm.is_active());
    run.storm.stalled(run.now);
    assert_eq!(run.storm.episodes(), 1);
    run.samples(40, 0.0);
    assert!(!run.storm.is_active());
}

#[test]
fn a_pause_that_began_within_a_sample_counts_from_there() {
    let mut run = Run::new();
    run.sample(100 * MS, 0.5, Evidence::Unknown, false);
    run.sample(100 * MS, 1.0, Evidence::Unknown, false);
    assert!(!run.storm.is_active());
    run.sample(100 * MS, 1.0, Evidence::Unknown, false);
    assert!(run.storm.is_active());
    assert_eq!(run.storm.time(), 250 * MS);
}
