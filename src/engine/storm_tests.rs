//! Each transition by table.

use super::*;

const MS: Duration = Duration::from_millis(1);

struct Run {
    settings: StormSettings,
    storm: Storm,
    /// The length of a sample that was meant; as long as it is, if none.
    interval: Option<Duration>,
    now: Monotonic,
    before: PausedBefore,
    doubt: Duration,
}

impl Run {
    fn new() -> Self {
        let now = Monotonic::from_nanos(1_000_000_000);
        Self {
            settings: StormSettings::default(),
            storm: Storm::new(),
            interval: None,
            now,
            before: PausedBefore::default(),
            doubt: Duration::ZERO,
        }
    }

    fn sample(&mut self, span: Duration, ratio: f64, evidence: Evidence, upper_bound: bool) {
        self.now = self.now.plus(span);
        let (ended, before) = (self.now, self.before);
        let paused = span.mul_f64(ratio);
        let (doubt, ratio) = (self.doubt, ratio.min(1.0));
        let judged = Judged { ended, span, ratio, paused, doubt, upper_bound, evidence, before };
        self.storm.judge(&self.settings, &judged);
        self.before = PausedBefore::of(span, self.interval.unwrap_or(span), ratio);
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
    run.before = PausedBefore::default();
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
fn a_stall_event_during_suspicion_is_the_episode_that_was_suspected() {
    let mut run = Run::new();
    run.samples(15, 1.0);
    run.storm.stalled(run.now);
    assert_eq!(run.storm.episodes(), 1);
    assert_eq!(run.storm.last_start(), Some(run.now), "the event is what is certain");
    run.samples(20, 1.0);
    assert_eq!(run.storm.episodes(), 1, "what follows belongs to it");
    assert_eq!(run.storm.time(), 200 * MS);
}

#[test]
fn a_gap_begins_neither_a_storm_nor_a_suspicion() {
    let settings = StormSettings::default();
    let mut run = Run::new();
    run.now = run.now.plus(1_000 * MS);
    let gap = Judged {
        ended: run.now,
        span: 1_000 * MS,
        ratio: 1.0,
        paused: 1_000 * MS,
        doubt: Duration::ZERO,
        upper_bound: false,
        evidence: Evidence::Agrees,
        before: PausedBefore::default(),
    };
    run.storm.pass_gap(&settings, &gap);
    run.samples(19, 1.0);
    assert!(!run.storm.is_active());
    run.samples(1, 1.0);
    assert!(run.storm.is_active());
    assert_eq!(run.storm.time(), 200 * MS);
}

#[test]
fn every_setting_is_heeded() {
    let settings = StormSettings {
        suspect_ratio: 0.7,
        detection: 50 * MS,
        least_samples: 8,
        over_ratio: 0.3,
        recovery: 30 * MS,
    };
    // Ratio and count of samples, and whether a storm is on after them.
    let shown = |courses: &[(f64, u32)]| {
        let mut run = Run::new();
        run.settings = settings;
        for (ratio, count) in courses {
            run.samples(*count, *ratio);
        }
        run.storm
    };
    assert!(!shown(&[(0.69, 100)]).is_active());
    assert!(!shown(&[(0.7, 7)]).is_active(), "70 ms, but of 7 samples");
    assert!(shown(&[(0.7, 8)]).is_active());
    assert!(shown(&[(0.7, 8), (0.3, 100)]).is_active(), "not quiet");
    assert!(shown(&[(0.7, 8), (0.29, 2)]).is_active());
    assert!(!shown(&[(0.7, 8), (0.29, 3)]).is_active());
    assert_eq!(shown(&[(0.7, 8), (0.29, 3), (0.7, 8)]).episodes(), 2);
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

#[test]
fn what_a_late_sample_may_have_paused_before_counts_for_its_date_and_not_for_detection() {
    let paused_late = |shares: &[(u32, f64)]| {
        let mut run = Run::new();
        run.interval = Some(100 * MS);
        for (millis, ratio) in shares {
            run.sample(*millis * MS, *ratio, Evidence::Unknown, false);
        }
        run.storm
    };
    // A tick was lost: 50 ms of short pauses, some rest, and then a hold of 150 ms of which 50 ms are in the same sample.
    assert!(!paused_late(&[(200, 0.5), (100, 1.0), (100, 0.0)]).is_active());
    // The same counters with a hold of 250 ms.
    let storm = paused_late(&[(200, 0.25), (100, 1.0), (100, 1.0)]);
    assert!(storm.is_active());
    assert_eq!(storm.time(), 250 * MS, "none of it is lost");
    assert_eq!(storm.last_start(), Some(Monotonic::from_nanos(1_150_000_000)));
    // What cannot all be in the late part counts.
    assert!(paused_late(&[(150, 1.0), (100, 1.0)]).is_active());
}

#[test]
fn the_sample_in_which_a_pause_began_is_one_of_two() {
    let mut run = Run::new();
    run.sample(140 * MS, 0.9, Evidence::Unknown, false);
    run.sample(140 * MS, 1.0, Evidence::Unknown, false);
    assert!(run.storm.is_active());
    assert_eq!(run.storm.time(), 266 * MS);
}

#[test]
fn short_breaks_weigh_the_same_at_every_interval() {
    for millis in [1_u32, 2, 5, 10] {
        let mut run = Run::new();
        // In tenths of a millisecond.
        let mut play = |length: u32, paused: fn(u32) -> bool| {
            for from in (0..length).step_by(10 * millis as usize) {
                let held = (from..from + 10 * millis).filter(|tenth| paused(*tenth)).count();
                let ratio = f64::from(u32::try_from(held).unwrap()) / f64::from(10 * millis);
                run.sample(millis * MS, ratio, Evidence::Agrees, false);
            }
            run.storm.is_active()
        };
        assert!(play(3_000, |tenth| tenth % 50 < 48), "free for 0.2 ms of 5, at {millis} ms");
        assert!(!play(4_000, |tenth| tenth % 100 < 3), "paused for 0.3 ms of 10, at {millis} ms");
    }
}

#[test]
fn a_break_of_a_whole_sample_ends_suspicion_at_every_interval() {
    for millis in [1, 2, 5, 10] {
        let mut run = Run::new();
        for _ in 0..10 {
            for _ in 0..190 / millis {
                run.sample(millis * MS, 1.0, Evidence::Agrees, false);
            }
            run.sample(millis * MS, 0.0, Evidence::Agrees, false);
        }
        assert_eq!(run.storm.episodes(), 0, "{millis} ms");
    }
}

#[test]
fn old_values_need_not_show_the_pause_of_their_own_span() {
    // A source that is refreshed as often as it is read: what one read misses, the next one has.
    let held = |doubt, shares: &[f64]| {
        let mut run = Run::new();
        run.doubt = doubt;
        for share in shares {
            run.sample(100 * MS, *share, Evidence::Unknown, false);
        }
        run.storm.episodes()
    };
    assert_eq!(held(150 * MS, &[0.6, 1.3, 0.8, 1.2]), 1);
    assert_eq!(held(Duration::ZERO, &[0.6, 1.3, 0.8, 1.2]), 0);
    assert_eq!(held(150 * MS, &[0.7, 0.0, 0.9, 0.0, 0.2]), 0, "too little pause in all");
}

#[test]
fn a_gap_lends_a_suspicion_no_time() {
    let settings = StormSettings::default();
    let mut run = Run::new();
    run.samples(15, 1.0);
    let gap = |ratio| Judged {
        ended: Monotonic::from_nanos(2_000_000_000),
        span: 300 * MS,
        ratio,
        paused: (300 * MS).mul_f64(ratio),
        doubt: Duration::ZERO,
        upper_bound: false,
        evidence: Evidence::Agrees,
        before: PausedBefore::default(),
    };
    run.storm.pass_gap(&settings, &gap(1.0));
    assert!(!run.storm.is_active());
    run.samples(5, 1.0);
    assert!(run.storm.is_active(), "the suspicion went on");
    assert_eq!(run.storm.time(), 500 * MS, "the storm has the gap, too");
    run.storm.pass_gap(&settings, &gap(1.0));
    assert_eq!(run.storm.time(), 800 * MS, "and any later one");
    let mut run = Run::new();
    run.samples(15, 1.0);
    run.storm.pass_gap(&settings, &gap(0.5));
    run.samples(5, 1.0);
    assert!(!run.storm.is_active(), "a gap that was not held ends it");
}

#[test]
fn a_break_that_comes_back_in_each_sample_adds_up() {
    for millis in [1, 2, 5] {
        let mut run = Run::new();
        run.sample(millis * MS, 1.0, Evidence::Agrees, false);
        for _ in 0..500 / millis {
            run.sample(millis * MS, 0.9, Evidence::Agrees, false);
        }
        assert!(!run.storm.is_active(), "held for nine tenths, at {millis} ms");
    }
}

#[test]
fn short_pauses_that_come_back_while_quiet_keep_a_storm_until_they_are_few() {
    for (tenths, active) in [(6, true), (3, false)] {
        let mut run = Run::new();
        run.samples(20, 1.0);
        // Each tenth sample of 1 ms is paused in part.
        for tick in 0..500 {
            let ratio = if tick % 10 == 0 { f64::from(tenths) / 10.0 } else { 0.0 };
            run.sample(MS, ratio, Evidence::Agrees, false);
        }
        assert_eq!(run.storm.is_active(), active, "{tenths} tenths of a millisecond in 10");
    }
}

#[test]
fn old_values_make_a_storm_though_no_sample_by_itself_is_suspect() {
    let begun = |shares: &[f64]| {
        let mut run = Run::new();
        run.doubt = 150 * MS;
        for share in shares {
            run.sample(100 * MS, *share, Evidence::Unknown, false);
        }
        (run.storm.episodes(), run.storm.time())
    };
    assert_eq!(begun(&[0.6, 0.94, 0.949]), (1, 260 * MS));
    assert_eq!(begun(&[0.4, 0.94, 0.949]), (0, Duration::ZERO), "less than half begins nothing");
    assert_eq!(begun(&[0.4, 1.0, 0.9]), (1, 240 * MS), "with the pause of the sample before");
}
