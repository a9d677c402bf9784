//! Every kind of step, by table, and any sequence of readings.

use super::*;
use crate::model::{
    CounterKey, Direction, Freshness, Index, Priority, Quantity, Reason, Unit, Width,
};

fn counter(quantity: Quantity, priority: u8, width: Width) -> PlanCounter {
    PlanCounter {
        key: CounterKey {
            quantity,
            direction: Some(Direction::Rx),
            index: Index::Priority(Priority::new(priority).unwrap()),
            detail: None,
        },
        kind: ReadingKind::Counter,
        unit: Unit::Count,
        width,
        freshness: Freshness::Live,
    }
}

fn plan(counters: Vec<PlanCounter>) -> Arc<Plan> {
    let terms = counters.iter().map(|_| Vec::new()).collect();
    Arc::new(Plan { counters, terms, ..Plan::default() })
}

fn push(ledger: &mut Ledger, plan: &Arc<Plan>, readings: &[Reading]) {
    let mut sample = Sample::empty(Arc::clone(plan));
    sample.readings.copy_from_slice(readings);
    ledger.push(&sample);
}

fn totals(ledger: &Ledger) -> Vec<Option<u64>> {
    ledger.totals().collect()
}

use Reading::{Missing, Value};

const NARROW: Width = Width { bits: 32, saturates: false };
const SATURATING: Width = Width { bits: 16, saturates: true };

#[test]
fn steps_by_table() {
    let wide = Width::FULL;
    let missing = Missing(Reason::Io);
    for (width, before, now, step, total) in [
        (wide, Value(5), Value(9), Step::By(4), Some(9)),
        (wide, Value(5), Value(5), Step::By(0), Some(5)),
        (wide, Value(5), Value(4), Step::Reset, Some(4)),
        (wide, missing, Value(4), Step::First, Some(4)),
        (wide, Value(4), missing, Step::Missing, None),
        (NARROW, Value(0xffff_fff0), Value(0x10), Step::By(0x20), Some(0x1_0000_0010)),
        (NARROW, Value(0x8000_0000), Value(0x10), Step::Reset, Some(0x10)),
        (NARROW, Value(100), Value(10), Step::Reset, Some(10)),
        (
            NARROW,
            Value(u32::MAX.into()),
            Value((1 << 30) - 1),
            Step::By(1 << 30),
            Some((5 << 30) - 1),
        ),
        (NARROW, Value(u32::MAX.into()), Value(1 << 30), Step::Reset, Some(1 << 30)),
        (SATURATING, Value(9), Value(11), Step::By(2), Some(11)),
        (SATURATING, Value(9), Value(0xffff), Step::Saturated, Some(0xffff)),
        (SATURATING, Value(0xffff), Value(0xffff), Step::Saturated, Some(0xffff)),
        (SATURATING, Value(0xffff), Value(3), Step::Reset, Some(3)),
    ] {
        let plan = plan(vec![counter(Quantity::PfcPauseFrames, 3, width)]);
        let mut ledger = Ledger::default();
        push(&mut ledger, &plan, &[before]);
        push(&mut ledger, &plan, &[now]);
        assert_eq!(ledger.step(0), step, "{width:?} {before:?} {now:?}");
        assert_eq!(totals(&ledger), [total], "{width:?} {before:?} {now:?}");
        assert_eq!(ledger.resets(), u64::from(step == Step::Reset));
    }
}

#[test]
fn every_wrap_counts() {
    let plan = plan(vec![counter(Quantity::PfcPauseFrames, 3, NARROW)]);
    let mut ledger = Ledger::default();
    for value in [0xffff_ff00, 0x100, 0x8000_0000, 0xffff_ff00, 0x200] {
        push(&mut ledger, &plan, &[Value(value)]);
    }
    assert_eq!((ledger.step(0), totals(&ledger)), (Step::By(0x300), vec![Some(0x2_0000_0200)]));
    push(&mut ledger, &plan, &[Value(1)]);
    assert_eq!(totals(&ledger), [Some(1)], "after a reset there are no wraps");
}

#[test]
fn a_gauge_goes_up_and_down_and_has_no_steps() {
    let mut gauge = counter(Quantity::PfcPauseFrames, 3, NARROW);
    gauge.kind = ReadingKind::Gauge;
    let plan = plan(vec![gauge]);
    let mut ledger = Ledger::default();
    for value in [u64::from(u32::MAX), 3, 70] {
        push(&mut ledger, &plan, &[Value(value)]);
        assert_eq!((ledger.step(0), totals(&ledger)), (Step::First, vec![Some(value)]));
        assert_eq!((ledger.resets(), ledger.weight()), (0, None));
    }
}

#[test]
fn the_weight_is_all_growth_together_and_none_where_everything_repeats() {
    let plan = plan(vec![
        counter(Quantity::PfcPauseFrames, 3, Width::FULL),
        counter(Quantity::Bytes, 3, Width::FULL),
    ]);
    let mut ledger = Ledger::default();
    let mut weight = |readings: [Reading; 2]| {
        push(&mut ledger, &plan, &readings);
        (ledger.weight(), ledger.step(0).has_grown(), ledger.step(1).has_grown())
    };
    assert_eq!(weight([Value(10), Value(100)]), (None, false, false));
    assert_eq!(weight([Value(10), Value(100)]), (None, false, false));
    assert_eq!(weight([Value(12), Value(107)]), (Some(9), true, true));
    assert_eq!(weight([Missing(Reason::Io), Value(108)]), (Some(1), false, true));
    assert_eq!(weight([Value(17), Value(108)]), (Some(5), true, false));
    assert_eq!(weight([Value(u64::MAX), Value(u64::MAX)]).0, Some(u64::MAX), "not around");
}

#[test]
fn a_counter_of_another_width_begins_anew() {
    let of = |width| plan(vec![counter(Quantity::PfcPauseFrames, 3, width)]);
    let mut ledger = Ledger::default();
    push(&mut ledger, &of(NARROW), &[Value(0xffff_fff0)]);
    push(&mut ledger, &of(Width::FULL), &[Value(0x10)]);
    assert_eq!((ledger.step(0), ledger.resets()), (Step::First, 0));
}

#[test]
fn a_wrap_beside_a_reset_is_a_reset() {
    let plan = plan(vec![
        counter(Quantity::PfcPauseFrames, 0, NARROW),
        counter(Quantity::PfcPauseFrames, 1, NARROW),
    ]);
    let mut ledger = Ledger::default();
    push(&mut ledger, &plan, &[Value(0xffff_ffff - 1), Value(1_000)]);
    push(&mut ledger, &plan, &[Value(0), Value(0)]);
    assert_eq!(totals(&ledger), [Some(0), Some(0)]);
    assert_eq!((ledger.step(0), ledger.step(1), ledger.resets()), (Step::Reset, Step::Reset, 1));
}

#[test]
fn a_gap_in_readings_is_bridged() {
    let plan = plan(vec![counter(Quantity::PfcPauseFrames, 0, Width::FULL)]);
    let mut ledger = Ledger::default();
    push(&mut ledger, &plan, &[Value(10)]);
    push(&mut ledger, &plan, &[Missing(Reason::Busy)]);
    push(&mut ledger, &plan, &[Value(15)]);
    assert_eq!((ledger.step(0), totals(&ledger)), (Step::Overdue(5), vec![Some(15)]));
}

#[test]
fn c30_counters_keep_their_past_by_key_when_names_change() {
    let three = plan(vec![
        counter(Quantity::PfcPauseFrames, 3, NARROW),
        counter(Quantity::Bytes, 3, Width::FULL),
    ]);
    let four = plan(vec![
        counter(Quantity::PfcPauseFrames, 4, NARROW),
        counter(Quantity::Bytes, 3, Width::FULL),
    ]);
    let mut ledger = Ledger::default();
    push(&mut ledger, &three, &[Value(0xffff_fff0), Value(100)]);
    push(&mut ledger, &three, &[Value(0x10), Value(200)]);
    push(&mut ledger, &four, &[Value(7), Value(300)]);
    assert_eq!((ledger.step(0), ledger.step(1)), (Step::First, Step::By(100)));
    assert_eq!(totals(&ledger), [Some(7), Some(300)]);
    assert_eq!(ledger.resets(), 0);
}

#[test]
fn any_readings_never_panic_and_totals_fall_only_with_a_reset() {
    use proptest::prelude::*;
    let reading = prop_oneof![
        3 => any::<u32>().prop_map(|value| Value(u64::from(value))),
        1 => any::<u64>().prop_map(Value),
        1 => Just(Missing(Reason::Io)),
    ];
    let width = prop_oneof![Just(Width::FULL), Just(NARROW), Just(SATURATING)];
    proptest!(|(width in width, readings in prop::collection::vec(reading, 1..50))| {
        let plan = plan(vec![counter(Quantity::PfcPauseFrames, 3, width)]);
        let mut ledger = Ledger::default();
        let (mut seen, mut resets) = (None::<u64>, 0);
        for reading in readings {
            push(&mut ledger, &plan, &[reading]);
            let total = totals(&ledger)[0];
            if let (Some(before), Some(now)) = (seen, total) {
                let saturated = ledger.step(0) == Step::Saturated;
                prop_assert!(now >= before || ledger.resets() > resets || saturated);
            }
            resets = ledger.resets();
            seen = total.or(seen);
        }
    });
}
