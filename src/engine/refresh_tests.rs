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
    let at = |millis: u32| Monotonic::ZERO.plus(millis * MS);
    assert!(matches!(refresh.note(at(2_000), 10 * MS, Some(500_000)), Due::Span(_)));
    assert_eq!(refresh.note(at(2_010), 10 * MS, Some(500_000)), Due::Later);
}

#[test]
fn a_late_read_does_not_stretch_one_refresh_and_shrink_the_next() {
    let mut refresh = catalogued(1_000 * MS);
    let at = |millis: u32| Monotonic::ZERO.plus(millis * MS);
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
