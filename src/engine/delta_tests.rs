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
