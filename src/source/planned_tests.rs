//! The hot path: gathering by plan, all-ones, factors, and what happens when names move.

use std::sync::Mutex;

use super::*;
use crate::model::{
    CounterKey, Direction, Freshness, Index, PlanCounter, Priority, Quantity, ReadingKind, Unit,
    Width,
};

/// What becomes of counters of this width made of these terms.
fn made_of(bits: u8, counters: &[&[(u32, u64)]], gathered: &[Reading]) -> Vec<Reading> {
    let counter = PlanCounter {
        key: CounterKey {
            quantity: Quantity::RdmaBytes,
            direction: None,
            index: Index::None,
            detail: None,
        },
        kind: ReadingKind::Counter,
        unit: Unit::Count,
        width: Width { bits, saturates: false },
        freshness: Freshness::Live,
    };
    let plan = Plan {
        counters: vec![counter; counters.len()],
        terms: counters.iter().map(|terms| terms.to_vec()).collect(),
        ..Plan::default()
    };
    let mut readings = vec![Reading::Missing(Reason::Io); counters.len()];
    add_up(&parts_of(&plan), gathered, &mut readings);
    readings
}

#[test]
fn c36_all_ones_is_no_value_at_its_width() {
    for (bits, raw, reading) in [
        (64, u64::MAX, Reading::Missing(Reason::AllOnes)),
        (32, 0xffff_ffff, Reading::Missing(Reason::AllOnes)),
        (32, u64::MAX, Reading::Missing(Reason::AllOnes)),
        (64, 0xffff_ffff, Reading::Value(0xffff_ffff)),
        (12, 0xfff, Reading::Value(0xfff)),
        (32, 0, Reading::Value(0)),
    ] {
        assert_eq!(made_of(bits, &[&[(0, 1)]], &[Reading::Value(raw)]), [reading], "{bits} {raw}");
    }
}

#[test]
fn c09_words_become_octets_once() {
    assert_eq!(made_of(64, &[&[(0, 4)]], &[Reading::Value(10)]), [Reading::Value(40)]);
    let largest = [Reading::Value(u64::MAX - 1)];
    assert_eq!(made_of(64, &[&[(0, 4)]], &largest), [Reading::Missing(Reason::OutOfRange)]);
}

#[test]
fn a_sum_with_a_missing_part_is_missing_and_leaves_the_others_alone() {
    let readings = [Reading::Value(1), Reading::Value(2), Reading::Missing(Reason::Busy)];
    let counters: [&[(u32, u64)]; 6] =
        [&[(0, 1), (1, 10)], &[(2, 1), (0, 1)], &[(0, 1), (2, 1)], &[], &[(7, 1)], &[(1, 1)]];
    let expected = [
        Reading::Value(21),
        Reading::Missing(Reason::Busy),
        Reading::Missing(Reason::Busy),
        Reading::Missing(Reason::NamesChanged),
        Reading::Missing(Reason::NamesChanged),
        Reading::Value(2),
    ];
    assert_eq!(made_of(64, &counters, &readings), expected);
    let large = [Reading::Value(u64::MAX - 1)];
    let overflow = made_of(64, &[&[(0, 1), (0, 1)]], &large);
    assert_eq!(overflow, [Reading::Missing(Reason::OutOfRange)]);
}

/// An mlx5 whose PFC moves between priorities.
struct Moving {
    now: Arc<Mutex<u8>>,
    /// Moves the epoch during the next read, as an event that arrives meanwhile.
    moves: Option<(u8, Arc<AtomicU64>)>,
}

impl CounterSet for Moving {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        let priority = *self.now.lock().unwrap();
        Ok(vec![format!("rx_prio{priority}_pause"), format!("tx_prio{priority}_pause")])
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        let priority = u64::from(*self.now.lock().unwrap());
        for (reading, position) in readings.iter_mut().zip(wanted) {
            *reading = Reading::Value(priority * 100 + u64::from(*position));
        }
        if let Some((priority, epoch)) = self.moves.take() {
            *self.now.lock().unwrap() = priority;
            epoch.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }
}

fn source_of(set: Moving, epoch: &Arc<AtomicU64>) -> PlannedSource {
    let rules = PlanRules {
        catalogue: Arc::new(Catalogue::embedded().unwrap()),
        table: Table::Ethtool,
        driver: "mlx5_core".to_owned(),
        raw: RawSelection::default(),
    };
    PlannedSource::new(Box::new(set), rules, Arc::clone(epoch))
}

fn priorities(sample: &Sample) -> Vec<(Index, Option<Direction>, Reading)> {
    let counters = sample.plan.counters.iter().zip(&sample.readings);
    counters.map(|(own, reading)| (own.key.index, own.key.direction, *reading)).collect()
}

fn expected(priority: u8) -> Vec<(Index, Option<Direction>, Reading)> {
    let index = Index::Priority(Priority::new(priority).unwrap());
    let value = u64::from(priority) * 100;
    vec![
        (index, Some(Direction::Tx), Reading::Value(value + 1)),
        (index, Some(Direction::Rx), Reading::Value(value)),
    ]
}

#[test]
fn c30_a_sample_across_a_change_of_names_is_dropped() {
    let epoch = Arc::new(AtomicU64::new(0));
    let now = Arc::new(Mutex::new(3));
    let set = Moving { now: Arc::clone(&now), moves: Some((4, Arc::clone(&epoch))) };
    let mut source = source_of(set, &epoch);
    let mut sample = Sample::empty(Arc::default());
    let time = || Monotonic::from_nanos(5);
    assert_eq!(source.read(&time, &mut sample), Err(SourceError::NamesChanged));
    source.read(&time, &mut sample).unwrap();
    assert_eq!(priorities(&sample), expected(4));
    *now.lock().unwrap() = 3;
    epoch.fetch_add(1, Ordering::AcqRel);
    source.read(&time, &mut sample).unwrap();
    assert_eq!(priorities(&sample), expected(3));
}

#[test]
fn names_are_looked_at_again_without_an_event_at_a_slow_period() {
    let epoch = Arc::new(AtomicU64::new(0));
    let now = Arc::new(Mutex::new(3));
    let mut source = source_of(Moving { now: Arc::clone(&now), moves: None }, &epoch);
    let mut sample = Sample::empty(Arc::default());
    source.read(&|| Monotonic::ZERO, &mut sample).unwrap();
    let plan = Arc::clone(&sample.plan);
    let later = Monotonic::ZERO.plus(NAMES_PERIOD);
    source.read(&|| later, &mut sample).unwrap();
    assert!(Arc::ptr_eq(&plan, &sample.plan), "the same names keep the same plan");
    *now.lock().unwrap() = 4;
    source.read(&|| later.plus(NAMES_PERIOD), &mut sample).unwrap();
    assert_eq!(priorities(&sample), expected(4));
}
