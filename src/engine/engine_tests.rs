//! The engine as a whole, on a NIC that is driven by hand.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "figures made here"
)]

use super::hand_driven_nic::{Kind, MS, Nic, SPEED, near, plan_of};
use super::*;
use crate::model::{BitsPerSecond, Freshness, Reading, Reason};

#[test]
fn the_ratio_is_the_share_of_the_last_ten_seconds() {
    let mut nic = Nic::new(Kind::Durations);
    nic.run(Direction::Rx, 0.25, 2_000);
    let figures = nic.figures(Direction::Rx);
    assert!(near(figures.ratio, 0.25, 1e-9), "{:?}", figures.ratio);
    assert_eq!(figures.ratio_peak, Some(0.25));
    assert_eq!(figures.upper_bound, None, "a duration needs no bound");
    nic.idle(500);
    assert!(near(nic.figures(Direction::Rx).ratio, 0.125, 0.003));
    nic.idle(600);
    assert_eq!(nic.figures(Direction::Rx).ratio, Some(0.0));
    assert_eq!(nic.figures(Direction::Rx).ratio_peak, Some(0.25), "for a minute");
    let tx = nic.figures(Direction::Tx);
    assert_eq!((tx.ratio, tx.ratio_peak), (Some(0.0), Some(0.0)), "zero was read");
}

#[test]
fn an_interval_is_measured_and_never_nominal() {
    let mut nic = Nic::new(Kind::Durations);
    for span in [7, 13, 10, 25, 4, 11] {
        nic.pause(Direction::Rx, span * MS, 0.5);
        nic.sample(span * MS);
    }
    let figures = nic.figures(Direction::Rx);
    assert!(near(figures.ratio, 0.5, 1e-9));
    assert!(near(figures.ratio_peak, 0.5, 1e-9));
}

#[test]
fn bursts_have_their_length() {
    let mut nic = Nic::new(Kind::Durations);
    for count in [1, 3, 20] {
        nic.run(Direction::Rx, 0.4, count);
        nic.idle(2);
    }
    let burst = nic.figures(Direction::Rx).burst_seconds;
    assert_eq!(burst.count(), 3);
    assert!((burst.sum() - 0.24).abs() < 1e-9);
}

#[test]
fn c56_a_storm_is_seen_within_the_detection_time_and_one_interval() {
    for millis in [1, 10, 100] {
        let mut nic = Nic::new(Kind::Durations);
        nic.interval = millis * MS;
        nic.idle(20);
        // Begins in the middle of a sample.
        nic.pause(Direction::Rx, nic.interval / 2, 1.0);
        nic.sample(nic.interval);
        let began = nic.now.since(Monotonic::from_nanos(nic.interval.as_nanos() as u64 / 2));
        while !nic.figures(Direction::Rx).storm.active {
            nic.run(Direction::Rx, 1.0, 1);
            assert!(nic.now.since(Monotonic::ZERO) < began + Duration::from_secs(1));
        }
        let detected = nic.now.since(Monotonic::ZERO).saturating_sub(began);
        assert!(detected <= 200 * MS + nic.interval, "{detected:?} at {millis} ms");
        let storm = nic.figures(Direction::Rx).storm;
        let unix = storm.last_start_unix_seconds.unwrap() - 1.7e9;
        assert!((unix - began.as_secs_f64()).abs() < 0.001, "{unix} {began:?}");
        assert!(!nic.figures(Direction::Tx).storm.active, "the other direction is its own");
    }
}

#[test]
fn traffic_on_the_priority_contradicts_a_storm() {
    let line_rate = SPEED.0 / 8 / 100;
    let mut nic = Nic::new(Kind::Durations);
    for _ in 0..100 {
        // Data leaves at a tenth of line rate although "the peer holds us".
        nic.add(Quantity::Bytes, Direction::Tx, 3, line_rate / 10);
        nic.run(Direction::Rx, 1.0, 1);
    }
    assert_eq!(nic.figures(Direction::Rx).storm.episodes, 0);
    let mut nic = Nic::new(Kind::Durations);
    for _ in 0..100 {
        // Data of the other way says nothing.
        nic.add(Quantity::Bytes, Direction::Rx, 3, line_rate);
        nic.run(Direction::Rx, 1.0, 1);
    }
    assert_eq!(nic.figures(Direction::Rx).storm.episodes, 1);
}

#[test]
fn c58_a_storm_needs_no_drops() {
    let mut nic = Nic::new(Kind::Durations);
    nic.run(Direction::Tx, 1.0, 100);
    let storm = nic.figures(Direction::Tx).storm;
    assert!(storm.active);
    assert!((storm.seconds - 1.0).abs() < 1e-6, "{storm:?}");
}

#[test]
fn c55_a_flood_of_frames_without_pause_time_is_no_storm() {
    let mut nic = Nic::new(Kind::Durations);
    for _ in 0..500 {
        nic.add(Quantity::PfcPauseFrames, Direction::Rx, 3, 1_000);
        nic.sample(10 * MS);
    }
    let figures = nic.figures(Direction::Rx);
    assert_eq!((figures.storm.episodes, figures.ratio), (0, Some(0.0)));
    assert!(near(figures.frame_rate_peak, 100_000.0, 1.0));
}

#[test]
fn an_ambiguous_tx_duration_counts_only_while_frames_are_sent() {
    let mut nic = Nic::new(Kind::Durations);
    for _ in 0..100 {
        nic.add(Quantity::PfcPauseTime, Direction::Tx, 3, 10_000);
        nic.add(Quantity::PfcPauseTime, Direction::Rx, 3, 10_000);
        nic.sample(10 * MS);
    }
    let (tx, rx) = (nic.figures(Direction::Tx), nic.figures(Direction::Rx));
    assert_eq!((tx.ratio, tx.storm.episodes), (Some(0.0), 0));
    assert_eq!((rx.ratio, rx.storm.episodes), (Some(1.0), 1));
    assert!(near(nic.summary().asymmetry[3], -1.0, 1e-9));
}

#[test]
fn frames_alone_give_a_bound_and_no_ratio() {
    let mut nic = Nic::new(Kind::Frames);
    nic.run(Direction::Rx, 0.3, 1_500);
    let figures = nic.figures(Direction::Rx);
    assert_eq!((figures.ratio, figures.ratio_peak), (None, None));
    assert!(figures.sample_ratio.is_none());
    let bound = figures.upper_bound.unwrap();
    assert!((0.3..0.35).contains(&bound), "{bound}");
    assert_eq!(nic.summary().basis, Some(Basis::Frames));
    nic.link.speed = None;
    nic.idle(1);
    assert_eq!(nic.figures(Direction::Rx).upper_bound, None, "no speed, no bound");
}

#[test]
fn frames_alone_make_a_storm_only_when_no_data_moves() {
    let mut nic = Nic::new(Kind::Frames);
    nic.run(Direction::Rx, 1.0, 100);
    assert_eq!(nic.figures(Direction::Rx).storm.episodes, 0, "no traffic counter, no verdict");
    let mut nic = Nic::new(Kind::FramesAndBytes);
    nic.run(Direction::Rx, 1.0, 100);
    assert_eq!(nic.figures(Direction::Rx).storm.episodes, 1);
}

#[test]
fn asymmetry_says_who_holds_whom() {
    for (tx, rx, expected) in [(0.4, 0.0, 1.0), (0.0, 0.4, -1.0), (0.3, 0.1, 0.5), (0.2, 0.2, 0.0)]
    {
        for kind in [Kind::Durations, Kind::Frames] {
            let mut nic = Nic::new(kind);
            for _ in 0..1_200 {
                nic.pause(Direction::Tx, 10 * MS, tx);
                nic.pause(Direction::Rx, 10 * MS, rx);
                nic.sample(10 * MS);
            }
            assert!(near(nic.summary().asymmetry[3], expected, 0.02), "{tx} {rx}");
        }
    }
}

#[test]
fn c65_noise_has_no_asymmetry() {
    let mut nic = Nic::new(Kind::Durations);
    for tick in 0..2_000 {
        if tick % 200 == 0 {
            nic.pause(Direction::Tx, 10 * MS, 0.1);
        }
        nic.sample(10 * MS);
    }
    assert_eq!(nic.summary().asymmetry[3], None);
}

#[test]
fn c34_mates_of_a_class_are_compared_by_their_highest() {
    let mut nic = Nic::with(plan_of(Kind::Frames, &[0, 1, 2, 3], Freshness::Live));
    nic.link.traffic_class = Some([0, 0, 1, 0, 0, 0, 0, 0]);
    for _ in 0..1_200 {
        for priority in [0, 1, 3] {
            nic.add(Quantity::PfcPauseFrames, Direction::Tx, priority, 3);
        }
        nic.add(Quantity::PfcPauseFrames, Direction::Rx, 0, 1);
        nic.sample(10 * MS);
    }
    let asymmetry = nic.summary().asymmetry;
    for priority in [0, 1, 3] {
        assert!(near(asymmetry[priority], 0.5, 1e-9), "{priority}: {asymmetry:?}");
    }
    // PFC moves to priority 1 of the same class: the others fall silent.
    for _ in 0..1_200 {
        nic.add(Quantity::PfcPauseFrames, Direction::Rx, 1, 3);
        nic.sample(10 * MS);
    }
    let asymmetry = nic.summary().asymmetry;
    assert_eq!((asymmetry[1], asymmetry[3]), (Some(-1.0), None));
}

#[test]
fn pause_time_of_a_mate_is_not_one_s_own() {
    let mut nic = Nic::with(plan_of(Kind::Durations, &[3, 5], Freshness::Live));
    nic.link.traffic_class = Some([0; 8]);
    nic.link.lossless = Some(0b10_1000);
    for _ in 0..1_200 {
        nic.add(Quantity::PfcPauseFrames, Direction::Tx, 5, 3);
        nic.add(Quantity::PfcPauseTime, Direction::Tx, 5, 1_000);
        nic.sample(10 * MS);
    }
    let asymmetry = nic.summary().asymmetry;
    assert_eq!((asymmetry[3], asymmetry[5]), (None, Some(1.0)));
}

#[test]
fn c54_nothing_is_judged_without_carrier_or_across_a_change_of_speed() {
    let mut nic = Nic::new(Kind::Durations);
    nic.run(Direction::Rx, 1.0, 30);
    assert!(nic.figures(Direction::Rx).storm.active);
    nic.link.up = Some(false);
    nic.run(Direction::Rx, 1.0, 100);
    let figures = nic.figures(Direction::Rx);
    assert!(!figures.storm.active);
    assert_eq!(figures.ratio, None, "unknown, not zero");
    assert_eq!(nic.skipped(Skip::LinkDown), 100);
    nic.link.up = Some(true);
    nic.run(Direction::Rx, 1.0, 19);
    assert_eq!(nic.figures(Direction::Rx).storm.episodes, 1, "the first span is left out");
    nic.link.speed = Some(BitsPerSecond(25_000_000_000));
    nic.run(Direction::Rx, 1.0, 20);
    assert_eq!(nic.figures(Direction::Rx).storm.episodes, 1);
    assert_eq!(nic.skipped(Skip::LinkChange), 2);
}

#[test]
fn a_reset_is_left_out_and_nothing_goes_negative() {
    let mut nic = Nic::new(Kind::Durations);
    nic.run(Direction::Rx, 0.5, 100);
    nic.values.fill(Reading::Value(0));
    nic.sample(10 * MS);
    nic.run(Direction::Rx, 0.5, 100);
    assert!(near(nic.figures(Direction::Rx).ratio, 0.5, 1e-9));
    assert_eq!(nic.skipped(Skip::Reset), 1);
}

#[test]
fn growth_beyond_time_is_left_out_and_counted() {
    let mut nic = Nic::new(Kind::Durations);
    nic.idle(10);
    // A driver that takes a reset for a wrap at 40 bits jumps forward (bnxt_en).
    nic.add(Quantity::PfcPauseTime, Direction::Rx, 3, 1 << 40);
    nic.sample(10 * MS);
    nic.idle(10);
    let figures = nic.figures(Direction::Rx);
    assert_eq!((figures.ratio_peak, figures.storm.episodes), (Some(0.0), 0));
    assert_eq!(nic.skipped(Skip::OutOfRange), 1);
}

#[test]
fn a_counter_that_cannot_be_read_for_a_while_is_no_pause() {
    let mut nic = Nic::new(Kind::Durations);
    nic.run(Direction::Rx, 0.5, 100);
    let kept = nic.values.clone();
    nic.values.fill(Reading::Missing(Reason::Io));
    nic.idle(1);
    nic.values = kept;
    // What it paused meanwhile shows up with the first value again.
    nic.pause(Direction::Rx, 10 * MS, 0.5);
    nic.run(Direction::Rx, 0.5, 100);
    let figures = nic.figures(Direction::Rx);
    assert!(near(figures.ratio, 0.5, 1e-9), "{:?}", figures.ratio);
    assert_eq!(figures.ratio_peak, Some(0.5), "the growth of two intervals is of none of them");
    assert_eq!(nic.skipped(Skip::Missing), 2);
}

#[test]
fn c40_a_gap_allows_no_verdict_but_loses_no_time() {
    let mut nic = Nic::new(Kind::Durations);
    nic.run(Direction::Rx, 1.0, 15);
    nic.pause(Direction::Rx, 500 * MS, 1.0);
    nic.sample(500 * MS);
    let figures = nic.figures(Direction::Rx);
    assert_eq!((figures.storm.episodes, figures.ratio), (0, Some(1.0)));
    assert_eq!(nic.skipped(Skip::Gap), 1);
    nic.run(Direction::Rx, 1.0, 20);
    assert_eq!(nic.figures(Direction::Rx).storm.episodes, 1);
}

#[test]
fn c53_a_staircase_shows_no_peak_and_no_storm_that_is_not_one() {
    let second = Freshness::Every(Duration::from_secs(1));
    let mut nic = Nic::with(plan_of(Kind::Durations, &[3], second));
    for tick in 0..6_000 {
        // 3 % of the time, shown once a second.
        if tick % 100 == 99 {
            nic.add(Quantity::PfcPauseTime, Direction::Rx, 3, 30_000);
            nic.add(Quantity::PfcPauseFrames, Direction::Rx, 3, 90);
            nic.add(Quantity::Bytes, Direction::Rx, 3, 1_000_000);
        }
        nic.sample(10 * MS);
    }
    let figures = nic.figures(Direction::Rx);
    assert!(near(figures.ratio, 0.03, 0.001), "{:?}", figures.ratio);
    assert!(near(figures.ratio_peak, 0.03, 0.005), "{:?}", figures.ratio_peak);
    assert_eq!(figures.storm.episodes, 0);
    assert!(near(figures.frame_rate_peak, 90.0, 10.0));
}

#[test]
fn a_storm_on_a_staircase_is_seen_after_two_refreshes() {
    let second = Freshness::Every(Duration::from_secs(1));
    let mut nic = Nic::with(plan_of(Kind::Durations, &[3], second));
    for tick in 0..500 {
        if tick % 100 == 99 {
            nic.add(Quantity::PfcPauseTime, Direction::Tx, 3, 1_000_000);
            nic.add(Quantity::PfcPauseFrames, Direction::Tx, 3, 3_000);
        }
        nic.sample(10 * MS);
    }
    assert_eq!(nic.figures(Direction::Tx).storm.episodes, 1);
}

#[test]
fn the_nic_s_own_stall_event_opens_an_episode() {
    let mut nic = Nic::new(Kind::Durations);
    nic.run(Direction::Tx, 0.2, 10);
    nic.add(Quantity::PfcStallEvents, Direction::Tx, 3, 1);
    nic.run(Direction::Tx, 0.2, 1);
    assert!(nic.figures(Direction::Tx).storm.active);
    nic.idle(40);
    assert!(!nic.figures(Direction::Tx).storm.active);
}

#[test]
fn c30_pfc_that_moves_to_another_priority_leaves_the_old_one() {
    let mut nic = Nic::new(Kind::Durations);
    nic.run(Direction::Rx, 0.5, 100);
    nic.plan = plan_of(Kind::Durations, &[4], Freshness::Live);
    nic.sample(10 * MS);
    let summary = nic.summary();
    assert!(summary.tracks.iter().all(|own| own.priority.number() == 4), "{summary:?}");
    assert!(summary.tracks.iter().all(|own| own.ratio_peak.is_none()));
}

#[test]
fn c61_pause_on_a_priority_outside_the_mask_is_shown() {
    let mut nic = Nic::with(plan_of(Kind::Frames, &[0, 1, 2, 3, 4, 5, 6, 7], Freshness::Live));
    nic.link.lossless = Some(0b1000);
    nic.idle(10);
    let shown = |nic: &Nic| -> Vec<u8> {
        nic.summary().tracks.iter().map(|own| own.priority.number()).collect()
    };
    assert_eq!(shown(&nic), [3, 3]);
    nic.add(Quantity::PfcPauseFrames, Direction::Rx, 5, 1);
    nic.idle(1);
    assert_eq!(shown(&nic), [3, 3, 5], "the direction that paused");
}

fn series_of(summary: &PauseSummary) -> Vec<(Priority, Direction)> {
    summary.tracks.iter().map(|own| (own.priority, own.direction)).collect()
}

#[test]
fn any_samples_keep_every_figure_in_its_range() {
    use proptest::prelude::*;
    let reading = prop_oneof![
        2 => (0_u64..20_000).prop_map(Reading::Value),
        1 => any::<u64>().prop_map(Reading::Value),
        1 => Just(Reading::Missing(Reason::Busy)),
    ];
    let step = (
        prop::collection::vec(reading, 7),
        prop_oneof![4 => 0_u64..30_000_000, 1 => any::<u64>()],
        prop::option::of(any::<bool>()),
        prop::option::of(any::<u64>()),
        any::<bool>(),
    );
    let steps = prop::collection::vec(step, 1..60);
    let every_second = Freshness::Every(Duration::from_secs(1));
    let freshness =
        prop_oneof![Just(Freshness::Live), Just(every_second), Just(Freshness::Unknown)];
    let kind = prop_oneof![Just(Kind::Durations), Just(Kind::Frames), Just(Kind::FramesAndBytes)];
    proptest!(|(steps in steps, freshness in freshness, kind in kind, accumulate: bool)| {
        let mut nic = Nic::with(plan_of(kind, &[3], freshness));
        let mut before = (0, 0.0, 0);
        let mut series = Vec::new();
        for (readings, nanos, up, speed, moved) in steps {
            for (value, reading) in nic.values.iter_mut().zip(readings) {
                *value = match (*value, reading) {
                    (Reading::Value(own), Reading::Value(growth)) if accumulate => {
                        Reading::Value(own.wrapping_add(growth))
                    }
                    (_, reading) => reading,
                };
            }
            nic.link = LinkFacts { up, speed: speed.map(BitsPerSecond), ..LinkFacts::default() };
            if moved && !accumulate {
                let was_3 = nic.plan.counters[0].key.index == Index::Priority(Priority::ALL[3]);
                let priority = if was_3 { 4 } else { 3 };
                nic.plan = plan_of(kind, &[priority], freshness);
                before = (0, 0.0, 0);
                series.clear();
            }
            nic.sample(Duration::from_nanos(nanos));
            let summary = nic.summary();
            let share = |figure: Option<f64>| figure.is_none_or(|own| (0.0..=1.0).contains(&own));
            for own in &summary.tracks {
                prop_assert!(share(own.ratio) && share(own.ratio_peak) && share(own.upper_bound));
                prop_assert!(own.frame_rate_peak.is_none_or(|rate| rate.is_finite() && rate >= 0.0));
                prop_assert!(own.storm.seconds.is_finite() && own.burst_seconds.sum().is_finite());
            }
            let shown = series_of(&summary);
            prop_assert!(series.iter().all(|own| shown.contains(own)), "a series went away");
            series = shown;
            for own in summary.asymmetry {
                prop_assert!(own.is_none_or(|own| (-1.0..=1.0).contains(&own)));
            }
            if let Some(own) = summary.tracks.iter().find(|own| own.direction == Direction::Rx) {
                let now = (own.storm.episodes, own.storm.seconds, own.burst_seconds.count());
                prop_assert!(now.0 >= before.0 && now.1 >= before.1 && now.2 >= before.2);
                before = now;
            }
        }
    });
}
