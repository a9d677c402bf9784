//! What must hold whatever the scenario: the same course for a seed, no byte lost, time that adds up.

use proptest::prelude::*;
use roce_exporter::model::{Direction, SourceKind};
use roce_exporter::source::simulated::{Balance, Scenario};

use crate::bench::{BNXT, Bench, ICE, MILLISECOND, MLX5, PEER, Reader, SECOND, THREE};

#[test]
fn the_same_seed_gives_the_same_course() {
    let course = |seed| {
        let bench = Bench::new("incast", seed);
        for step in 1..=300 {
            bench.advance(step * 13 * MILLISECOND);
        }
        bench.truths()
    };
    assert_eq!(course(3), course(3));
    assert_ne!(course(3), course(4));
}

#[test]
fn time_never_goes_back() {
    let bench = Bench::new("calm", 1);
    bench.advance(SECOND);
    let before = bench.truths();
    bench.advance(SECOND / 2);
    assert_eq!(bench.truths(), before);
}

#[test]
fn no_byte_is_lost_and_no_pause_is_longer_than_time_in_any_scenario() {
    for scenario in Scenario::all() {
        let bench = Bench::new(scenario.name, 2);
        let mut before = bench.truths();
        let mut last = 0;
        for step in 1..=150 {
            let now = step * 31 * MILLISECOND + step * step;
            bench.advance(now);
            let Balance { offered, delivered, queued, dropped } = bench.balance();
            assert_eq!(offered, delivered + queued + dropped, "{}", scenario.name);
            let truths = bench.truths();
            for (truth, earlier) in truths.iter().zip(&before) {
                for direction in Direction::ALL {
                    for (one, was) in truth.priorities.iter().zip(&earlier.priorities) {
                        let paused =
                            one.pause(direction).paused_ns - was.pause(direction).paused_ns;
                        assert!(paused <= now - last, "{}", scenario.name);
                    }
                }
            }
            (before, last) = (truths, now);
        }
        assert!(bench.balance().delivered > 0);
    }
}

#[test]
fn the_edges_add_up_to_the_paused_time() {
    let bench = Bench::new("straggler", 8);
    bench.advance(10 * SECOND);
    let fabric = bench.simulation.fabric();
    let fabric = fabric.lock().unwrap();
    let mut total = 0;
    let mut began = None;
    let edges = fabric.edges(BNXT.0, BNXT.1).unwrap().iter();
    for edge in edges.filter(|edge| edge.direction == Direction::Tx && edge.priority == Some(THREE))
    {
        if edge.paused {
            began = Some(edge.at);
        } else if let Some(began) = began.take() {
            total += u64::try_from(edge.at.since(began).as_nanos()).unwrap();
        }
    }
    assert_eq!(began, None, "a pause is still on");
    assert_eq!(total, fabric.truth(BNXT.0, BNXT.1).unwrap().priority(THREE).tx.paused_ns);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Whoever reads when: counters only grow, bytes stay in balance.
    #[test]
    fn counters_only_grow(
        scenario in prop::sample::select(vec!["calm", "incast", "nic-storm", "victim", "chatter"]),
        seed in any::<u64>(),
        steps in prop::collection::vec(1_u64..80 * MILLISECOND, 20..60),
    ) {
        let bench = Bench::new(scenario, seed);
        let nics = [(MLX5, SourceKind::Ethtool), (ICE, SourceKind::Ethtool), (PEER, SourceKind::RdmaSysfs)];
        let mut readers: Vec<Reader> =
            nics.into_iter().map(|(nic, source)| bench.reader(nic, source)).collect();
        let mut before: Vec<Vec<u64>> =
            readers.iter_mut().map(|reader| reader.read_all().unwrap()).collect();
        let mut now = 0;
        for step in steps {
            now += step;
            bench.set(now);
            for (reader, last) in readers.iter_mut().zip(&mut before) {
                let values = reader.read_all().unwrap();
                for ((name, value), was) in reader.names.iter().zip(&values).zip(last.iter()) {
                    // A gauge.
                    if name != "outbound_pci_stalled_wr" {
                        prop_assert!(value >= was, "{} fell from {} to {}", name, was, value);
                    }
                }
                *last = values;
            }
            let Balance { offered, delivered, queued, dropped } = bench.balance();
            prop_assert_eq!(offered, delivered + queued + dropped);
        }
    }
}
