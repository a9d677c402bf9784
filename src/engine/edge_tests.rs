//! Where a judgement turns: bounds, missing counters, changed plans, and who gets the NIC's stall.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "figures made here")]

use super::hand_driven_nic::{Kind, MS, Nic, SPEED, near, plan_of};
use super::*;
use crate::model::{BitsPerSecond, Freshness, PlanCounter, Reading, Reason, Unit};

const TX: Direction = Direction::Tx;
const RX: Direction = Direction::Rx;

#[test]
fn a_priority_keeps_its_figures_when_names_of_others_come_and_go() {
    let mut nic = Nic::new(Kind::Durations);
    nic.run(RX, 0.5, 100);
    nic.idle(1);
    let before = nic.figures(RX);
    for priorities in [&[3, 4][..], &[3]] {
        let kept: Vec<_> = nic.plan.counters.iter().map(|own| own.key.clone()).collect();
        let values = nic.values.clone();
        nic.plan = plan_of(Kind::Durations, priorities, Freshness::Live);
        let value = |own: &PlanCounter| {
            let place = kept.iter().position(|key| *key == own.key);
            place.map_or(Reading::Value(1_000), |place| values[place])
        };
        nic.values = nic.plan.counters.iter().map(value).collect();
        nic.idle(1);
        let after = nic.figures(RX);
        assert_eq!(after.priority, Priority::ALL[3]);
        assert_eq!(after.ratio_peak, Some(0.5), "{priorities:?}");
        assert_eq!(after.burst_seconds.count(), before.burst_seconds.count());
    }
}

#[test]
fn a_stall_is_of_the_lossless_priority_that_sends_most_pause() {
    for (three, four, expected) in [(5_000, 2_000, 3), (2_000, 5_000, 4)] {
        let mut nic = Nic::with(plan_of(Kind::Durations, &[3, 4, 5], Freshness::Live));
        nic.link.lossless = Some(0b1_1000);
        for tick in 0..20 {
            for (priority, micros) in [(3, three), (4, four), (5, 9_000)] {
                nic.add(Quantity::PfcPauseTime, TX, priority, micros);
                nic.add(Quantity::PfcPauseFrames, TX, priority, 30);
            }
            if tick == 19 {
                nic.add(Quantity::PfcStallEvents, TX, 0, 1);
            }
            nic.sample(10 * MS);
        }
        let storms = nic.summary().tracks.into_iter().filter(|own| own.storm.active);
        let storms: Vec<_> = storms.map(|own| (own.priority.number(), own.direction)).collect();
        assert_eq!(storms, [(expected, TX)]);
    }
}

#[test]
fn more_pause_than_time_is_believed_as_far_as_reads_can_shift_it() {
    let every_second = Freshness::Every(Duration::from_secs(1));
    for (freshness, interval, judged, left_out) in [
        (Freshness::Live, 10, 12_400, 12_600),
        (Freshness::Live, 100, 106_900, 107_100),
        // The value before may have been as old as a period, or as an interval and a half.
        (every_second, 1_000, 2_051_000, 2_053_000),
        (Freshness::Unknown, 10, 27_400, 27_600),
    ] {
        for (micros, skipped) in [(judged, 0), (left_out, 1)] {
            let mut nic = Nic::with(plan_of(Kind::Durations, &[3], freshness));
            nic.interval = interval * MS;
            for _ in 0..4 {
                nic.add(Quantity::Bytes, RX, 3, 10_000);
                nic.idle(1);
            }
            nic.add(Quantity::PfcPauseTime, RX, 3, micros);
            nic.idle(1);
            let peak = nic.figures(RX).ratio_peak;
            assert_eq!(nic.skipped(Skip::OutOfRange), skipped, "{freshness:?}: {micros} us");
            assert_eq!(peak, Some(if skipped == 0 { 1.0 } else { 0.0 }));
        }
    }
}

#[test]
fn pause_received_needs_no_frames_and_pause_sent_does() {
    for (direction, skipped) in [(RX, 0), (TX, 1)] {
        let mut nic = Nic::new(Kind::Durations);
        nic.run(direction, 0.5, 10);
        let place = nic.plan.counters.iter().position(|own| {
            own.key.quantity == Quantity::PfcPauseFrames && own.key.direction == Some(direction)
        });
        nic.values[place.unwrap()] = Reading::Missing(Reason::Io);
        nic.add(Quantity::PfcPauseTime, direction, 3, 5_000);
        nic.idle(1);
        assert_eq!(nic.skipped(Skip::Missing), skipped, "{direction:?}");
        assert!(near(nic.figures(direction).ratio, 0.5, 1e-9));
    }
    let mut nic = Nic::new(Kind::Frames);
    nic.run(RX, 0.5, 10);
    nic.values.fill(Reading::Missing(Reason::Io));
    nic.idle(1);
    assert_eq!(nic.skipped(Skip::Missing), 1, "frames alone are all there is");
}

#[test]
fn pause_time_alone_and_frames_alone_each_show_a_priority() {
    for quantity in [Quantity::PfcPauseTime, Quantity::PfcPauseFrames] {
        let mut nic = Nic::new(Kind::Durations);
        nic.link.lossless = Some(0);
        nic.idle(3);
        assert!(nic.summary().tracks.is_empty());
        nic.add(quantity, RX, 3, 10);
        nic.idle(1);
        assert_eq!(nic.summary().tracks.len(), 1, "{quantity:?}");
    }
}

#[test]
fn frames_alone_have_bursts_too() {
    let mut nic = Nic::new(Kind::Frames);
    for count in [1, 3, 20] {
        nic.run(RX, 0.4, count);
        nic.idle(2);
    }
    let burst = nic.figures(RX).burst_seconds;
    assert_eq!(burst.count(), 3);
    assert!((burst.sum() - 0.24).abs() < 1e-9);
}

#[test]
fn sent_pause_counts_for_as_long_as_the_last_frame_can_hold() {
    for (speed, counted) in [(None, 5), (Some(SPEED), 2)] {
        let mut nic = Nic::new(Kind::Durations);
        (nic.link.speed, nic.interval) = (speed, MS);
        nic.add(Quantity::PfcPauseFrames, TX, 3, 1);
        for _ in 0..10 {
            nic.add(Quantity::PfcPauseTime, TX, 3, 1_000);
            nic.idle(1);
        }
        let ratio = nic.figures(TX).ratio;
        assert!(near(ratio, f64::from(counted) / 10.0, 1e-9), "{speed:?}: {ratio:?}");
    }
}

#[test]
fn more_pause_than_time_shows_that_values_are_old() {
    for (first, storms) in [(1.3, 1), (0.9, 0)] {
        let mut nic = Nic::with(plan_of(Kind::Durations, &[3], Freshness::Unknown));
        nic.interval = 100 * MS;
        for share in [0.0, 0.0, 0.0, first, 0.0, 0.6, 0.94, 0.949, 0.0] {
            nic.add(Quantity::Bytes, RX, 3, 10_000);
            nic.run(RX, share, 1);
        }
        // Of old values a sample alone need not show a whole pause.
        assert_eq!(nic.figures(RX).storm.episodes, storms, "{first}");
    }
}

#[test]
fn a_frame_may_hold_beyond_the_sample_that_it_was_seen_in() {
    let shares = |speed, frames: &[u64]| -> Vec<Option<f32>> {
        let mut nic = Nic::with(plan_of(Kind::Frames, &[3], Freshness::Live));
        let mut history = FeedHistory::new(Arc::default());
        (nic.link.speed, nic.interval) = (Some(BitsPerSecond(speed)), MS);
        nic.idle(2);
        for count in frames {
            nic.add(Quantity::PfcPauseFrames, RX, 3, *count);
            nic.idle(1);
            nic.engine.copy_history(&mut history);
        }
        let kept = history.samples(Priority::ALL[3], Duration::from_secs(1)).unwrap();
        kept.samples.iter().map(|own| own.rx.share).collect()
    };
    // 65,535 times 512 bits: 3.355 ms at 10 Gbit/s, 0.336 ms at 100.
    let slow = shares(10_000_000_000, &[1, 0, 0, 0, 0, 0]);
    assert_eq!(
        slow.iter().map(|own| *own == Some(1.0)).collect::<Vec<_>>(),
        [true, true, true, true, false, false]
    );
    assert!(slow[4].is_some_and(|own| (own - 0.355).abs() < 0.001), "{slow:?}");
    assert_eq!(slow[5], Some(0.0));
    let fast = shares(100_000_000_000, &[2, 0, 0, 1]);
    for (share, expected) in fast.iter().zip([0.671, 0.336, 0.0, 0.336]) {
        assert!(share.is_some_and(|own| (own - expected).abs() < 0.001), "{fast:?}");
    }
}

#[test]
fn a_storm_has_the_date_of_its_beginning_whatever_the_wall_clock_does_later() {
    let mut nic = Nic::new(Kind::Durations);
    nic.run(RX, 0.5, 20);
    assert_eq!(nic.figures(RX).storm.last_start_unix_seconds, None, "there was none");
    nic.run(RX, 1.0, 30);
    let began = nic.figures(RX).storm.last_start_unix_seconds;
    assert!(began.is_some());
    let mut sample = Sample::empty(Arc::clone(&nic.plan));
    sample.readings.copy_from_slice(&nic.values);
    sample.taken_at = nic.now.plus(10 * MS);
    let around = Circumstances { link: nic.link, interval: nic.interval, unix_seconds: 1e9 };
    nic.engine.push(&sample, &around);
    assert_eq!(nic.figures(RX).storm.last_start_unix_seconds, began);
}

#[test]
fn the_first_judged_span_has_a_ratio() {
    let mut nic = Nic::new(Kind::Durations);
    nic.run(RX, 0.5, 1);
    assert!(near(nic.figures(RX).ratio, 0.5, 1e-9));
    nic.run(RX, 0.2, 1);
    assert!(near(nic.figures(RX).ratio, 0.35, 1e-9));
}

#[test]
fn pause_time_has_the_plan_s_unit() {
    for (unit, growth, expected) in [
        (Unit::Microseconds, 500_000, 0.25),
        (Unit::Milliseconds, 500, 0.25),
        (Unit::Seconds, 1, 0.5),
        (Unit::Count, 1, 0.0),
    ] {
        let mut plan = Plan::clone(&plan_of(Kind::Durations, &[3], Freshness::Live));
        for counter in &mut plan.counters {
            if counter.key.quantity == Quantity::PfcPauseTime {
                counter.unit = unit;
            }
        }
        let mut nic = Nic::with(Arc::new(plan));
        nic.interval = Duration::from_secs(2);
        nic.add(Quantity::PfcPauseTime, RX, 3, growth);
        nic.idle(1);
        assert!(near(nic.figures(RX).ratio, expected, 1e-9), "{unit:?}");
    }
}

#[test]
fn a_held_priority_may_move_a_hundredth_of_line_rate() {
    // 100 Gbit/s are 125 MB in 10 ms.
    for (share, bytes, storms) in
        [(1.0, 1_240_000, 1), (1.0, 1_260_000, 0), (0.97, 4_990_000, 1), (0.97, 5_010_000, 0)]
    {
        let mut nic = Nic::new(Kind::Durations);
        for _ in 0..40 {
            nic.add(Quantity::Bytes, TX, 3, bytes);
            nic.run(RX, share, 1);
        }
        assert_eq!(nic.figures(RX).storm.episodes, storms, "{share}: {bytes} bytes");
    }
}

#[test]
fn the_bound_of_a_window_counts_the_frame_before_it() {
    let mut nic = Nic::new(Kind::Frames);
    nic.link.lossless = Some(0b1000);
    nic.idle(100);
    assert_eq!(nic.figures(RX).upper_bound, Some(0.0));
    nic.add(Quantity::PfcPauseFrames, RX, 3, 10);
    nic.idle(100);
    // Two seconds in all.
    let expected = 11.0 * SPEED.longest_pause_seconds() / 2.0;
    assert!(near(nic.figures(RX).upper_bound, expected, 1e-9));
}

#[test]
fn there_is_an_asymmetry_from_a_thousandth_on() {
    for kind in [Kind::Durations, Kind::Frames] {
        for (tx, rx, expected) in
            [(9, 0, None), (11, 0, Some(1.0)), (0, 11, Some(-1.0)), (6, 6, Some(0.0)), (4, 4, None)]
        {
            let mut nic = Nic::new(kind);
            nic.idle(10);
            // Ten-thousandths of the ten seconds, in frames of which one is added to each window.
            for (direction, parts) in [(TX, tx), (RX, rx)] {
                let whole = f64::from(parts) / 1e4 * 10.0;
                let frames = (whole / SPEED.longest_pause_seconds()) as u64;
                nic.add(Quantity::PfcPauseFrames, direction, 3, frames);
                if matches!(kind, Kind::Durations) {
                    nic.add(Quantity::PfcPauseTime, direction, 3, (whole * 1e6) as u64);
                }
            }
            nic.interval = 9_900 * MS;
            nic.idle(1);
            let got = nic.summary().asymmetry[3];
            assert_eq!(got, expected, "{kind:?}: {tx} and {rx} ten-thousandths");
        }
    }
}

#[test]
fn floods_of_frames_are_compared_beyond_what_they_can_hold() {
    let mut nic = Nic::new(Kind::Frames);
    for _ in 0..100 {
        nic.add(Quantity::PfcPauseFrames, TX, 3, 300);
        nic.add(Quantity::PfcPauseFrames, RX, 3, 100);
        nic.idle(1);
    }
    assert!(near(nic.summary().asymmetry[3], 0.5, 1e-9));
}

#[test]
fn pause_of_unknown_age_is_not_judged_but_shows_a_priority() {
    for (quantity, shown) in
        [(Quantity::PfcPauseTime, 1), (Quantity::PfcPauseFrames, 1), (Quantity::Bytes, 0)]
    {
        let mut nic = Nic::with(plan_of(Kind::Durations, &[3], Freshness::Unknown));
        nic.link.lossless = Some(0);
        nic.add(quantity, RX, 3, 10);
        nic.idle(1);
        assert_eq!(nic.summary().tracks.len(), shown, "{quantity:?}");
        assert!(nic.summary().tracks.iter().all(|own| own.ratio.is_none()));
        nic.add(Quantity::Bytes, RX, 3, 10);
        nic.idle(1);
        assert_eq!(nic.summary().tracks.len(), shown, "{quantity:?}: and goes on to");
    }
}

#[test]
fn figures_grow_old_while_nothing_can_be_read() {
    let mut nic = Nic::new(Kind::Durations);
    nic.run(RX, 0.5, 100);
    nic.interval = 100 * MS;
    nic.values.fill(Reading::Missing(Reason::Io));
    nic.idle(95);
    assert!(nic.figures(RX).ratio.is_some());
    nic.idle(6);
    let figures = nic.figures(RX);
    assert_eq!((figures.ratio, figures.ratio_peak), (None, Some(0.5)));
    nic.idle(600);
    let figures = nic.figures(RX);
    assert_eq!((figures.ratio_peak, figures.frame_rate_peak), (None, None));
}

#[test]
fn three_intervals_allow_a_verdict_and_more_do_not() {
    for (millis, gaps, storms) in [(30, 0, 1), (31, 1, 0)] {
        let mut nic = Nic::new(Kind::Durations);
        nic.run(RX, 1.0, 18);
        nic.pause(RX, millis * MS, 1.0);
        nic.sample(millis * MS);
        assert_eq!(nic.skipped(Skip::Gap), gaps, "{millis} ms");
        assert_eq!(nic.figures(RX).storm.episodes, storms, "{millis} ms");
    }
}

#[test]
fn a_driver_with_counters_of_all_priorities_says_nothing_of_which_are_lossless() {
    let mut nic = Nic::with(plan_of(Kind::Frames, &[0, 1, 2, 3, 4, 5, 6, 7], Freshness::Live));
    nic.idle(3);
    assert!(nic.summary().tracks.is_empty());
    assert_eq!(nic.summary().basis, Some(Basis::Frames));
    let mut nic = Nic::with(plan_of(Kind::Frames, &[0, 1, 2, 3, 4, 5, 6], Freshness::Live));
    nic.idle(3);
    assert_eq!(nic.summary().tracks.len(), 14);
    let nic = Nic::with(Arc::new(Plan::default()));
    assert_eq!(nic.summary().basis, None);
}

#[test]
fn counters_are_copied_out_with_what_wraps_took_and_without_what_is_missing() {
    let mut nic = Nic::new(Kind::FramesAndBytes);
    let mut figures =
        CounterFigures { plan: Arc::default(), totals: Vec::new(), raw: Vec::new(), resets: 0 };
    nic.engine.copy_counters(&mut figures);
    assert_eq!(figures.totals, [Some(1_000); 4]);
    nic.add(Quantity::PfcPauseFrames, RX, 3, 5);
    nic.idle(1);
    nic.values[0] = Reading::Missing(Reason::Io);
    nic.idle(1);
    nic.engine.copy_counters(&mut figures);
    assert!(Arc::ptr_eq(&figures.plan, &nic.plan));
    let expected = nic.values.iter().map(|own| own.value());
    assert_eq!(figures.totals, expected.collect::<Vec<_>>());
    assert_eq!((figures.totals.iter().flatten().max(), figures.resets), (Some(&1_005), 0));
    nic.values.fill(Reading::Value(1));
    nic.idle(1);
    nic.engine.copy_counters(&mut figures);
    assert_eq!((figures.totals, figures.resets), (vec![Some(1); 4], 1));
}

#[test]
fn a_refresh_period_is_told_and_no_refresh_is_cut() {
    let second = Freshness::Every(Duration::from_secs(1));
    let mut nic = Nic::with(plan_of(Kind::Durations, &[3], second));
    assert_eq!(nic.engine.refresh_period(), Some(Duration::from_secs(1)));
    nic.interval = 250 * MS;
    for tick in 1..=80 {
        if tick % 4 == 0 {
            // Paused in each third second.
            let micros = if tick / 4 % 3 == 0 { 900_000 } else { 0 };
            nic.add(Quantity::PfcPauseTime, RX, 3, micros);
            nic.add(Quantity::Bytes, RX, 3, 10_000);
        }
        nic.idle(1);
        let Some(ratio) = nic.summary().tracks.iter().find_map(|own| own.ratio) else { continue };
        let whole = ratio * 10.0 / 0.9;
        assert!(tick < 50 || ratio == 0.0 || whole > 2.7, "{ratio} at {tick}");
    }
    assert_eq!(Nic::new(Kind::Frames).engine.refresh_period(), None);
}

#[test]
fn directions_that_were_judged_for_different_times_are_compared_by_rate() {
    let mut nic = Nic::new(Kind::Frames);
    for tick in 0..200 {
        nic.add(Quantity::PfcPauseFrames, TX, 3, 3);
        nic.add(Quantity::PfcPauseFrames, RX, 3, 3);
        let kept = nic.values.clone();
        if tick < 100 {
            let received = |own: &PlanCounter| own.key.direction == Some(RX);
            let place = nic.plan.counters.iter().position(received).unwrap();
            nic.values[place] = Reading::Missing(Reason::Io);
        }
        nic.idle(1);
        nic.values = kept;
    }
    assert!(near(nic.summary().asymmetry[3], 0.0, 0.01), "{:?}", nic.summary().asymmetry);
}
