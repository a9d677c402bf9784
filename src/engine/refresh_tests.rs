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
        if let Some(span) = refresh.note(now, interval, weight) {
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
    Refresh { catalogued: Some(period), period: Some(period), ..Refresh::default() }
}

#[test]
fn a_fresh_source_is_judged_at_each_read() {
    let mut refresh = Refresh::default();
    let judged = run(&mut refresh, 10 * MS, 500, |at| at.as_micros() as u64);
    assert_eq!(refresh.period(), None);
    assert_eq!(judged.len(), 499);
    assert!(judged.iter().all(|(_, span)| *span == 10 * MS));
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
    let mut now = Monotonic::ZERO.plus(41_000 * MS);
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
    let span = refresh.note(back, 10 * MS, Some(5_000_000)).unwrap();
    assert!(span >= 4_900 * MS, "{span:?}");
}

#[test]
fn a_refresh_read_half_done_is_judged_with_the_next() {
    let mut refresh = catalogued(1_000 * MS);
    run(&mut refresh, 10 * MS, 200, staircase(1_000 * MS));
    let at = |millis: u32| Monotonic::ZERO.plus(millis * MS);
    assert!(refresh.note(at(2_000), 10 * MS, Some(500_000)).is_some());
    assert_eq!(refresh.note(at(2_010), 10 * MS, Some(500_000)), None);
}
