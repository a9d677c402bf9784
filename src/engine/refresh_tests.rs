//! Staircases, fresh sources, trickles and silences.

#![allow(clippy::cast_possible_truncation, reason = "times made here")]

use super::*;

const MS: Duration = Duration::from_millis(1);

/// Reads each `interval` for `count` reads a source whose value moves as `value_at` says; returns the judged
/// spans.
fn run(
    refresh: &mut Refresh,
    interval: Duration,
    count: u32,
    value_at: impl Fn(Duration) -> u64,
) -> Vec<(Duration, Duration)> {
    let mut before = None;
    let mut judged = Vec::new();
    for tick in 0..count {
        let at = interval * tick;
        let value = value_at(at);
        let weight = before.map(|before| value - before).filter(|weight| *weight > 0);
        let now = Monotonic::ZERO.plus(at);
        if let Due::Span(span) = refresh.note(now, interval, weight) {
            judged.push((at, span));
        }
        before = Some(value);
    }
    judged
}

/// A source with steady traffic, refreshed each `period`.
fn staircase(period: Duration) -> impl Fn(Duration) -> u64 {
    move |at| {
        let steps = (at.as_nanos() / period.as_nanos()) as u64;
        steps * (period.as_nanos() as u64) / 1_000
    }
}

fn catalogued(period: Duration) -> Refresh {
    let announced = Announced::Every(period);
    Refresh { announced, period: Some(period), ..Refresh::default() }
}

#[test]
fn a_fresh_source_is_judged_at_each_read() {
    let mut refresh = Refresh::default();
    let judged = run(&mut refresh, 10 * MS, 500, |at| at.as_micros() as u64);
    assert_eq!(refresh.period(), None);
    assert_eq!(judged.len(), 498, "how old the first value was is not known");
    assert!(judged.iter().all(|(_, span)| *span == 10 * MS));
    assert_eq!(refresh.doubt(10 * MS, 10 * MS), Duration::ZERO);
    let mut live = Refresh { announced: Announced::Live, ..Refresh::default() };
    assert_eq!(run(&mut live, 10 * MS, 500, |at| at.as_micros() as u64).len(), 499);
}

#[test]
fn a_fresh_but_idle_source_stays_fresh() {
    let mut refresh = Refresh::default();
    // One small packet a second, as a keep-alive.
    run(&mut refresh, 10 * MS, 3_000, |at| at.as_secs() * 64);
    assert_eq!(refresh.period(), None);
}

#[test]
fn a_staircase_that_nobody_announced_is_learned() {
    for (period, interval) in [(250 * MS, 10 * MS), (1_000 * MS, 10 * MS), (50 * MS, MS)] {
        let mut refresh = Refresh::default();
        let judged = run(&mut refresh, interval, 4_000, staircase(period));
        let learned = refresh.period().unwrap();
        assert!(learned.abs_diff(period) <= interval, "{learned:?} for {period:?}");
        let late = judged.iter().filter(|(at, _)| *at > period * 12);
        for (at, span) in late {
            assert!(span.abs_diff(period) <= interval, "{span:?} judged at {at:?}");
        }
    }
}

#[test]
fn a_learned_staircase_is_given_up_at_the_first_pair_of_jumps() {
    let mut refresh = Refresh::default();
    run(&mut refresh, 10 * MS, 4_000, staircase(1_000 * MS));
    assert!(refresh.period().is_some());
    let mut now = Monotonic::ZERO.plus(40_000 * MS);
    refresh.note(now, 10 * MS, Some(5_000));
    now = now.plus(10 * MS);
    refresh.note(now, 10 * MS, Some(5_000));
    assert_eq!(refresh.period(), None);
}

#[test]
fn the_catalogue_is_believed_until_the_data_shows_a_finer_period() {
    let mut refresh = catalogued(1_000 * MS);
    let judged = run(&mut refresh, 10 * MS, 250, staircase(1_000 * MS));
    assert!(judged.iter().all(|(_, span)| *span >= 990 * MS), "{judged:?}");
    let mut refresh = catalogued(1_000 * MS);
    run(&mut refresh, 10 * MS, 1_000, staircase(250 * MS));
    assert_eq!(refresh.period(), Some(250 * MS));
    let mut refresh = catalogued(1_000 * MS);
    run(&mut refresh, 10 * MS, 1_000, |at| at.as_micros() as u64);
    assert_eq!(refresh.period(), None, "a driver that turns out fresh");
}

#[test]
fn a_trickle_does_not_stretch_a_catalogued_period() {
    let mut refresh = catalogued(1_000 * MS);
    run(&mut refresh, 10 * MS, 5_000, |at| at.as_secs() / 4 * 64);
    assert_eq!(refresh.period(), Some(1_000 * MS));
}

#[test]
fn reads_as_slow_as_the_refresh_teach_nothing() {
    let mut refresh = catalogued(1_000 * MS);
    run(&mut refresh, 600 * MS, 100, staircase(1_000 * MS));
    assert_eq!(refresh.period(), Some(1_000 * MS));
}

#[test]
fn silence_is_judged_period_by_period_and_a_jump_after_it_belongs_to_one() {
    let mut refresh = catalogued(1_000 * MS);
    let jump_at = 60_000 * MS;
    let judged = run(&mut refresh, 10 * MS, 6_200, |at| if at >= jump_at { 1_000_000 } else { 0 });
    let (at, span) = *judged.iter().find(|(at, _)| *at >= jump_at).unwrap();
    assert_eq!(at, jump_at);
    assert!(span >= 900 * MS && span <= 1_250 * MS, "{span:?}");
    let total: Duration = judged.iter().map(|(_, span)| *span).sum();
    assert!(total <= 62_000 * MS, "no time is judged twice: {total:?}");
    assert!(total >= 60_000 * MS, "no time is forgotten: {total:?}");
}

#[test]
fn an_absence_of_our_own_is_judged_whole() {
    let mut refresh = catalogued(1_000 * MS);
    run(&mut refresh, 10 * MS, 200, staircase(1_000 * MS));
    let back = Monotonic::ZERO.plus(6_000 * MS);
    assert_eq!(refresh.note(back, 10 * MS, Some(5_000_000)), Due::Span(5_000 * MS));
}

#[test]
fn a_refresh_read_half_done_is_judged_with_the_next() {
    let mut refresh = catalogued(1_000 * MS);
    run(&mut refresh, 10 * MS, 200, staircase(1_000 * MS));
    assert!(matches!(refresh.note(at(2_000), 10 * MS, Some(500_000)), Due::Span(_)));
    assert_eq!(refresh.note(at(2_010), 10 * MS, Some(500_000)), Due::Later);
}

#[test]
fn a_late_read_does_not_stretch_one_refresh_and_shrink_the_next() {
    let mut refresh = catalogued(1_000 * MS);
    let mut spans = Vec::new();
    let mut shown = 0;
    for millis in (0..=9_900).step_by(100).filter(|millis| !(4_000..4_600).contains(millis)) {
        let weight = (millis / 1_000 > shown).then_some(1_000_000);
        shown = millis / 1_000;
        if let Due::Span(span) = refresh.note(at(millis), 100 * MS, weight) {
            spans.push(span);
        }
    }
    assert_eq!(spans, vec![1_000 * MS; 8]);
}

#[test]
fn a_period_that_is_a_little_off_keeps_to_the_reads() {
    for period in [995, 1_005] {
        let mut refresh = catalogued(1_000 * MS);
        let judged = run(&mut refresh, 60 * MS, 2_000, staircase(period * MS));
        let total: Duration = judged.iter().map(|(_, span)| *span).sum();
        let last = judged.last().unwrap().0;
        assert!(last.abs_diff(total + period * MS) <= 100 * MS, "{total:?} of {last:?}");
        assert!(judged.iter().all(|(_, span)| span.abs_diff(period * MS) <= 60 * MS), "{judged:?}");
    }
}

#[test]
fn a_source_of_unknown_freshness_is_judged_at_its_jumps_from_the_beginning() {
    for (period, interval) in [(100 * MS, MS), (100 * MS, 10 * MS), (250 * MS, 100 * MS)] {
        let mut refresh = Refresh::default();
        let judged = run(&mut refresh, interval, 3_000, staircase(period));
        assert!(judged.first().unwrap().0 <= period * 3, "{judged:?}");
        for (at, span) in judged {
            assert!(span.abs_diff(period) < interval, "{span:?} judged at {at:?}");
        }
        let learned = refresh.period().unwrap();
        assert!(learned.abs_diff(period) <= interval / 4, "{learned:?} for {period:?}");
    }
}

#[test]
fn a_fresh_source_of_unknown_freshness_that_falls_silent_is_judged_soon() {
    let mut refresh = Refresh::default();
    let judged = run(&mut refresh, 10 * MS, 200, |at| at.min(1_000 * MS).as_micros() as u64);
    let calm: Vec<Duration> =
        judged.iter().filter(|(at, _)| *at > 1_000 * MS).map(|(_, span)| *span).collect();
    assert_eq!(calm.first(), Some(&(20 * MS)), "one repeat says nothing yet");
    assert!(calm.iter().skip(1).all(|span| *span == 10 * MS), "{calm:?}");
}

#[test]
fn reads_as_slow_as_the_refresh_see_old_values() {
    let mut refresh = Refresh::default();
    // Each tenth read comes a little early and sees nothing new.
    let at = |tick: u32| Monotonic::ZERO.plus(100 * MS * tick);
    for tick in 0..30 {
        let weight = (tick % 10 != 9).then_some(1_000_000);
        refresh.note(at(tick), 100 * MS, weight);
    }
    assert_eq!(refresh.period(), None);
    assert_eq!(refresh.doubt(100 * MS, 90 * MS), 150 * MS);
    assert_eq!(refresh.doubt(100 * MS, 300 * MS), 300 * MS);
    let slow = catalogued(1_000 * MS);
    assert_eq!(slow.doubt(60 * MS, 50 * MS), 90 * MS);
    assert_eq!(slow.doubt(60 * MS, 2_000 * MS), 1_000 * MS);
}

#[test]
fn late_reads_do_not_shift_the_period() {
    for announced in [Announced::Unknown, Announced::Every(100 * MS)] {
        let mut refresh = Refresh { announced, period: announced.period(), ..Refresh::default() };
        let mut shown = 0;
        for millis in 0_u32..5_000 {
            // 8 ms without a read, just when there is a refresh.
            if (500..508).contains(&(millis % 1_000)) {
                continue;
            }
            let weight = (millis / 100 > shown).then_some(1_000_000);
            shown = millis / 100;
            refresh.note(Monotonic::ZERO.plus(millis * MS), MS, weight);
            if millis > 2_000 {
                assert_eq!(refresh.period(), Some(100 * MS), "at {millis} ms");
            }
        }
    }
}

fn at(millis: u32) -> Monotonic {
    Monotonic::ZERO.plus(millis * MS)
}

/// A staircase of one second, read each 10 ms until a refresh was judged at 3,000 ms, and then until `last`.
fn read_until(last: u32) -> Refresh {
    let mut refresh = catalogued(1_000 * MS);
    for millis in (0..=last).step_by(10) {
        let jumps = millis % 1_000 == 0 && millis <= 3_000;
        let due = refresh.note(at(millis), 10 * MS, jumps.then_some(5_000));
        assert!(millis != 3_000 || due == Due::Span(1_000 * MS), "{due:?}");
    }
    assert_eq!(refresh.judged_to(), Some(at(3_000)));
    refresh
}

#[test]
fn a_jump_is_judged_by_how_long_after_the_last_refresh_it_comes() {
    for (jump, due) in [
        (3_490, Due::Later),
        (3_500, Due::Span(500 * MS)),
        (3_740, Due::Span(740 * MS)),
        // A little early: the refresh before was seen late.
        (3_750, Due::Span(1_000 * MS)),
        (4_000, Due::Span(1_000 * MS)),
        (4_250, Due::Span(1_240 * MS)),
        (4_260, Due::Span(1_250 * MS)),
        // After a silence: of one period.
        (4_270, Due::Span(1_000 * MS)),
    ] {
        let mut refresh = read_until(jump - 10);
        assert_eq!(refresh.note(at(jump), 10 * MS, Some(5_000)), due, "at {jump} ms");
    }
    for (seen, jump, span) in [(4_000, 4_250, 1_000), (4_000, 4_490, 1_000), (3_900, 5_400, 2_000)]
    {
        let mut refresh = read_until(seen);
        let due = refresh.note(at(jump), 10 * MS, Some(5_000));
        assert_eq!(due, Due::Span(span * MS), "at {jump} ms, after a read at {seen} ms");
    }
    let mut silent = read_until(4_490);
    assert_eq!(silent.note(at(4_500), 10 * MS, None), Due::Span(1_000 * MS));
    assert_eq!(silent.judged_to(), Some(at(4_000)));
}

/// Notes jumps of `weight` that are so many milliseconds apart, with a read each 10 ms, and tells when the last was.
fn note_jumps(refresh: &mut Refresh, weight: u64, gaps: &[u32]) -> u32 {
    let mut now = 0;
    refresh.note(at(now), 10 * MS, None);
    for gap in gaps {
        for _ in 1..gap / 10 {
            now += 10;
            refresh.note(at(now), 10 * MS, None);
        }
        now += 10;
        refresh.note(at(now), 10 * MS, Some(weight));
    }
    now
}

/// The period after these jumps.
fn learned(mut refresh: Refresh, weight: u64, gaps: &[u32]) -> Option<Duration> {
    note_jumps(&mut refresh, weight, gaps);
    refresh.period()
}

#[test]
fn a_period_is_learned_from_eight_weighty_jumps_about_as_far_apart() {
    let unknown = Refresh::default;
    let live = || Refresh { announced: Announced::Live, ..Refresh::default() };
    assert_eq!(learned(unknown(), 1_000, &[100; 7]), None);
    assert_eq!(learned(unknown(), 1_000, &[100; 8]), Some(100 * MS));
    assert_eq!(learned(unknown(), 999, &[100; 30]), None, "a trickle");
    assert_eq!(learned(unknown(), 1_000, &[20; 8]), Some(20 * MS));
    assert_eq!(learned(live(), 1_000, &[30; 8]), None, "a fresh source has to show more");
    assert_eq!(learned(live(), 1_000, &[40; 8]), Some(40 * MS));
    let uneven = |most| [100, 100, 100, 100, 100, 100, 100, most];
    assert_eq!(learned(unknown(), 1_000, &uneven(170)), Some(Duration::from_micros(108_750)));
    assert_eq!(learned(unknown(), 1_000, &uneven(180)), None);
    assert_eq!(learned(unknown(), 1_000, &[8_000; 8]), Some(LONGEST));
    let given_up = |last| [40, 40, 40, 40, 40, 40, 40, 40, last];
    assert_eq!(learned(live(), 1_000, &given_up(20)), None);
    assert_eq!(learned(live(), 1_000, &given_up(30)), Some(40 * MS));
    assert_eq!(learned(unknown(), 1_000, &given_up(10)), None);
}

#[test]
fn a_catalogued_period_is_corrected_within_bounds() {
    let second = || catalogued(1_000 * MS);
    for (gap, period) in [(1_250, 1_250), (1_260, 1_000), (250, 250), (30, 30)] {
        assert_eq!(learned(second(), 5_000, &[gap; 10]), Some(period * MS), "{gap} ms apart");
    }
    assert_eq!(learned(second(), 5_000, &[20; 10]), None, "a driver that turns out fresh");
    let uneven = |most| [200, 200, 200, 200, 200, 200, 200, most];
    assert_eq!(learned(second(), 5_000, &uneven(300)), Some(Duration::from_micros(212_500)));
    assert_eq!(learned(second(), 5_000, &uneven(310)), Some(1_000 * MS));
    for (interval, period) in [(333, None), (334, Some(1_000 * MS))] {
        let mut refresh = second();
        run(&mut refresh, interval * MS, 30, |at| at.as_micros() as u64);
        assert_eq!(refresh.period(), period, "read each {interval} ms");
    }
}

#[test]
fn a_value_is_as_old_as_its_period_or_its_reads() {
    assert_eq!(catalogued(1_000 * MS).age(10 * MS), 1_000 * MS);
    assert_eq!(Refresh::default().age(10 * MS), 15 * MS);
    for announced in [Announced::Live, Announced::Every(1_000 * MS)] {
        let fresh = Refresh { announced, ..Refresh::default() };
        assert_eq!(fresh.age(10 * MS), Duration::ZERO, "{announced:?} without a period");
    }
}

#[test]
fn a_busy_source_that_falls_silent_is_waited_for() {
    // Two jumps say nothing of a period; then a second passes, or half as much again as the longest gap.
    let silent_until = |gaps: &[u32]| {
        let mut refresh = Refresh::default();
        let mut now = note_jumps(&mut refresh, 1_000, gaps);
        let jumped = now;
        while refresh.note(at(now + 10), 10 * MS, None) == Due::Later {
            now += 10;
        }
        now + 10 - jumped
    };
    assert_eq!(silent_until(&[100]), 150);
    assert_eq!(silent_until(&[100, 200, 60]), 300);
    let mut refresh = Refresh::default();
    refresh.note(at(0), 10 * MS, None);
    assert_eq!(refresh.note(at(990), 10 * MS, None), Due::Later);
    assert_eq!(refresh.note(at(1_000), 10 * MS, None), Due::Span(1_000 * MS));
}

#[test]
fn a_plan_s_pause_counters_say_how_fresh_it_is_and_what_was_learned_stays() {
    use crate::engine::hand_driven_nic::{Kind, plan_of};
    let second = Freshness::Every(1_000 * MS);
    let of = |pause, bytes| {
        let mut plan = Plan::clone(&plan_of(Kind::FramesAndBytes, &[3], bytes));
        for counter in &mut plan.counters {
            if counter.key.quantity == Quantity::PfcPauseFrames {
                counter.freshness = pause;
            }
        }
        Refresh::of(&plan)
    };
    assert_eq!(of(Freshness::Live, second).period(), None);
    assert_eq!(of(second, Freshness::Live).period(), Some(1_000 * MS));
    let mut no_pause = Plan::clone(&plan_of(Kind::FramesAndBytes, &[3], second));
    no_pause.counters.retain(|own| own.key.quantity == Quantity::Bytes);
    assert_eq!(Refresh::of(&no_pause).period(), Some(1_000 * MS));
    let before = read_until(3_010);
    assert_eq!(of(second, second).continuing(&before).judged_to(), Some(at(3_000)));
    assert_eq!(of(Freshness::Live, second).continuing(&before).judged_to(), None);
    assert_eq!(of(second, second).continuing(&catalogued(1_000 * MS)).judged_to(), None);
}
