//! Tables of figures and what they come to.

use std::time::Duration;

use super::*;

const NAMES: [&str; 2] = ["a/eth0", "b/swp1"];

/// An end that counted these frames sent and received on priority 3, with PFC there.
fn end(sent: Option<u64>, received: Option<u64>) -> (Port, Counted) {
    let (mut port, mut counted) = (Port::default(), Counted::default());
    port.pfc = [Some(false); 8];
    port.pfc[3] = Some(true);
    counted.growth.frames[0][3] = sent;
    counted.growth.frames[1][3] = received;
    (port, counted)
}

fn judged(one: (Port, Counted), other: (Port, Counted)) -> Finding {
    let measurement = Measurement {
        ports: [one.0, other.0],
        counted: [one.1, other.1],
        span: Duration::from_mins(1),
        skew: Duration::from_millis(10),
    };
    judge(&measurement, NAMES, Vec::new())
}

#[test]
fn frames_of_both_ends_tell_what_gets_lost() {
    for (one, other, verdict, outcome) in [
        ((1000, 0), (0, 1000), Verdict::Symmetric, Outcome::Good),
        ((1000, 0), (0, 960), Verdict::Symmetric, Outcome::Good),
        ((1000, 500), (500, 1000), Verdict::Symmetric, Outcome::Good),
        ((1000, 0), (0, 0), Verdict::OneSided, Outcome::Bad),
        ((1000, 0), (0, 600), Verdict::OneSided, Outcome::Bad),
        ((1000, 0), (500, 1000), Verdict::OneSided, Outcome::Bad),
        ((0, 0), (0, 0), Verdict::Quiet, Outcome::Warning),
        ((19, 0), (0, 0), Verdict::Quiet, Outcome::Warning),
        ((0, 0), (0, 1000), Verdict::Incomparable, Outcome::Warning),
    ] {
        let of = |(sent, received)| end(Some(sent), Some(received));
        let finding = judged(of(one), of(other));
        let found = (finding.verdict, finding.outcome);
        assert_eq!(found, (verdict, outcome), "{one:?} {other:?}: {finding:?}");
    }
}

#[test]
fn the_reason_names_who_asks_and_who_misses_it() {
    let finding = judged(end(Some(10), Some(0)), end(Some(1000), Some(10)));
    assert_eq!(finding.reason, "priority 3: b/swp1 asks and a/eth0 misses 100 % of it");
}

#[test]
fn what_is_not_counted_is_not_zero() {
    let finding = judged(end(Some(1000), Some(0)), end(Some(0), None));
    assert_eq!(finding.verdict, Verdict::Incomparable);
    assert!(finding.reason.contains("not counted per priority at b/swp1"), "{}", finding.reason);
}

#[test]
fn a_driver_without_rows_for_a_priority_without_pfc_hears_nothing_there() {
    let mut deaf = end(None, None);
    deaf.0.pfc[3] = Some(false);
    deaf.0.pfc[4] = Some(true);
    deaf.1.growth.frames[1][4] = Some(0);
    assert_eq!(judged(end(Some(1000), Some(0)), deaf).verdict, Verdict::OneSided);
}

#[test]
fn ends_that_pause_on_different_priorities_are_told_apart_from_one_sided_ones() {
    let mut one = end(Some(1000), Some(0));
    one.1.growth.frames[0][4] = Some(0);
    one.1.growth.frames[1][4] = Some(0);
    let mut other = end(Some(0), Some(0));
    other.1.growth.frames[0][4] = Some(800);
    other.1.growth.frames[1][4] = Some(0);
    let finding = judged(one.clone(), other);
    assert_eq!((finding.verdict, finding.outcome), (Verdict::OtherPriority, Outcome::Bad));
    assert!(finding.reason.contains("a/eth0 pauses on priority 3, b/swp1 on priority 4"));
    // Sent on 3, arrives on 4.
    let mut other = end(Some(0), Some(0));
    other.1.growth.frames[0][4] = Some(0);
    other.1.growth.frames[1][4] = Some(1000);
    assert_eq!(judged(one, other).verdict, Verdict::OtherPriority);
}

#[test]
fn time_stands_in_where_frames_are_missing() {
    let mut one = end(None, None);
    one.1.growth.seconds[0][3] = Some(6.0);
    let mut other = end(Some(0), Some(900));
    other.1.growth.seconds[1][3] = Some(5.9);
    let finding = judged(one.clone(), other.clone());
    assert_eq!(finding.verdict, Verdict::Symmetric, "{finding:?}");
    assert_eq!(finding.priorities[0].flows[0].basis, Basis::Seconds);
    other.1.growth.seconds[1][3] = Some(0.0);
    assert_eq!(judged(one, other).verdict, Verdict::OneSided);
}

#[test]
fn resets_and_stale_devices_are_not_compared() {
    for spoil in [|own: &mut Counted| own.reset = true, |own: &mut Counted| own.stale = true] {
        let mut other = end(Some(0), Some(0));
        spoil(&mut other.1);
        let finding = judged(end(Some(1000), Some(0)), other);
        assert_eq!(finding.verdict, Verdict::Incomparable);
        assert!(finding.reason.ends_with("at b/swp1"), "{}", finding.reason);
    }
}

#[test]
fn slow_counters_may_differ_by_what_their_refresh_hides() {
    let mut slow = end(Some(1000), Some(0));
    slow.0.refresh_seconds = 3.0;
    assert_eq!(judged(slow, end(Some(0), Some(910))).verdict, Verdict::Symmetric);
    assert_eq!(
        judged(end(Some(1000), Some(0)), end(Some(0), Some(910))).verdict,
        Verdict::OneSided
    );
}

#[test]
fn a_good_link_that_is_set_up_differently_is_a_warning() {
    let (one, other) = (end(Some(1000), Some(0)), end(Some(0), Some(1000)));
    let measurement = Measurement {
        ports: [one.0, other.0],
        counted: [one.1, other.1],
        span: Duration::from_mins(1),
        skew: Duration::ZERO,
    };
    let differ = Difference { setting: "mtu", part: String::new(), values: Default::default() };
    let finding = judge(&measurement, NAMES, vec![differ]);
    assert_eq!((finding.verdict, finding.outcome), (Verdict::Symmetric, Outcome::Warning));
}

#[test]
fn two_ends_without_pfc_have_nothing_to_compare() {
    let bare = || (Port::default(), Counted::default());
    assert_eq!(judged(bare(), bare()).verdict, Verdict::Incomparable);
}
