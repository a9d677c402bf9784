//! Each scenario of traffic shows its pattern in the truth.

use roce_exporter::model::Direction;
use roce_exporter::source::simulated::NicTruth;

use crate::bench::{BNXT, Bench, FIVE, ICE, MILLISECOND, MLX5, PEER, SECOND, THREE};

/// Paused time of the worst priority, or of the link where that is worse.
fn paused_ns(truth: &NicTruth, direction: Direction) -> u64 {
    let priorities = truth.priorities.iter().map(|one| one.pause(direction).paused_ns);
    let link = if direction == Direction::Tx { truth.link_tx.paused_ns } else { 0 };
    priorities.max().unwrap_or(0).max(link)
}

/// A NIC over a whole course.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    truth: NicTruth,
    /// Share of the course, and of the worst window.
    ratio: [f64; 2],
    peak: [f64; 2],
    /// Longest time of windows in a row with at least 95 %.
    storm_ms: [u64; 2],
}

const WINDOW_MS: u64 = 50;

/// Plays a scenario and gives the figures of each NIC, in the order of `Fabric::nics`.
fn play(scenario: &str, seconds: u64) -> Vec<((usize, usize), Figures)> {
    let bench = Bench::new(scenario, 11);
    let nics: Vec<(usize, usize)> = bench.simulation.fabric().lock().unwrap().nics().collect();
    let mut figures = vec![Figures::default(); nics.len()];
    let mut storms = vec![[0; 2]; nics.len()];
    for window in 1..=seconds * 1_000 / WINDOW_MS {
        bench.advance(window * WINDOW_MS * MILLISECOND);
        for ((one, storm), truth) in figures.iter_mut().zip(&mut storms).zip(bench.truths()) {
            for direction in Direction::ALL {
                let side = direction as usize;
                let before = paused_ns(&one.truth, direction);
                let now = paused_ns(&truth, direction);
                let ratio = (now - before) as f64 / (WINDOW_MS * MILLISECOND) as f64;
                storm[side] = if ratio >= 0.95 { storm[side] + WINDOW_MS } else { 0 };
                one.peak[side] = one.peak[side].max(ratio);
                one.storm_ms[side] = one.storm_ms[side].max(storm[side]);
                one.ratio[side] = now as f64 / (seconds * SECOND) as f64;
            }
            one.truth = truth;
        }
    }
    nics.into_iter().zip(figures).collect()
}

const TX: usize = Direction::Tx as usize;
const RX: usize = Direction::Rx as usize;

fn of(course: &[((usize, usize), Figures)], nic: (usize, usize)) -> Figures {
    course.iter().find(|(known, _)| *known == nic).unwrap().1
}

fn others(course: &[((usize, usize), Figures)], nic: (usize, usize)) -> Vec<Figures> {
    course.iter().filter(|(known, _)| *known != nic).map(|(_, figures)| *figures).collect()
}

#[test]
fn an_hour_of_calm_has_short_pauses_and_no_storm() {
    let course = play("calm", 3_600);
    for (nic, figures) in course {
        assert_eq!(figures.storm_ms, [0, 0], "{nic:?}");
        assert!(figures.truth.priority(THREE).tx.starts > 0, "{nic:?} never paused");
        assert!(figures.ratio[TX] < 0.000_5 && figures.ratio[RX] < 0.000_5, "{nic:?}: {figures:?}");
        assert!(figures.peak[TX] < 0.02 && figures.peak[RX] < 0.1, "{nic:?}: {figures:?}");
        assert_eq!(figures.truth.priority(THREE).discarded_bytes, 0, "{nic:?}");
    }
}

#[test]
fn chatter_is_many_frames_in_little_time() {
    let figures = of(&play("chatter", 20), MLX5);
    let tx = figures.truth.priority(THREE).tx;
    assert!(tx.frames() > 20 * 150 && tx.edges() > 20 * 150, "{tx:?}");
    assert!(figures.ratio[TX] < 0.001, "{tx:?}");
}

#[test]
fn incast_pauses_the_senders_while_ecn_works_and_is_no_storm() {
    let course = play("incast", 20);
    for figures in others(&course, PEER) {
        assert_eq!(figures.storm_ms, [0, 0]);
    }
    let sender = of(&course, MLX5);
    assert!((0.01..0.3).contains(&sender.ratio[RX]), "{}", sender.ratio[RX]);
    assert!(sender.ratio[TX] < 0.001);
    assert!(sender.truth.rdma.cnp_handled > 1_000);
    let receiver = of(&course, PEER).truth.rdma;
    assert!(receiver.ecn_marked > receiver.cnp_sent && receiver.cnp_sent > 1_000);
}

#[test]
fn without_marks_or_cnps_pause_has_to_do_all_the_work() {
    let marked = of(&play("incast", 6), MLX5).ratio[RX];
    for (scenario, cnps) in [("ecn-off", false), ("cnp-lost", true)] {
        let course = play(scenario, 6);
        let sender = of(&course, MLX5);
        assert!(sender.ratio[RX] > 5.0 * marked, "{scenario}: {}", sender.ratio[RX]);
        assert_eq!(sender.storm_ms, [0, 0], "{scenario}");
        assert!(sender.truth.rdma.cnp_handled < 100, "{scenario}");
        let receiver = of(&course, PEER).truth.rdma;
        assert_eq!(receiver.cnp_sent > 10_000, cnps, "{scenario}");
        assert_eq!(receiver.ecn_marked > 10_000, cnps, "{scenario}");
    }
}

#[test]
fn a_slow_receiver_holds_the_fabric_without_a_storm() {
    let figures = of(&play("slow-receiver", 20), MLX5);
    assert!((0.1..0.9).contains(&figures.ratio[TX]), "{}", figures.ratio[TX]);
    assert!(figures.ratio[RX] < 0.01);
    assert_eq!(figures.storm_ms, [0, 0]);
    assert!(figures.truth.pcie_stalled_seconds >= 15);
}

#[test]
fn a_nic_storm_makes_victims_until_the_stall_detector_gives_up() {
    let course = play("nic-storm", 20);
    let culprit = of(&course, MLX5);
    assert!((7_500..=8_100).contains(&culprit.storm_ms[TX]), "{}", culprit.storm_ms[TX]);
    assert_eq!((culprit.truth.stall_warnings, culprit.truth.stall_errors), (1, 1));
    assert!(culprit.truth.priority(THREE).discarded_bytes > 0);
    let victims = others(&course, MLX5).iter().filter(|one| one.storm_ms[RX] >= 1_000).count();
    assert!(victims >= 3, "{victims} victims");
    assert!(others(&course, MLX5).iter().all(|one| one.storm_ms[TX] == 0));
    let timeouts: u64 = course.iter().map(|(_, one)| one.truth.rdma.timeouts).sum();
    assert!(timeouts > 100, "{timeouts} timeouts");
}

#[test]
fn a_victim_is_held_for_what_another_does() {
    let course = play("victim", 20);
    let victim = of(&course, MLX5);
    assert!((0.1..0.8).contains(&victim.ratio[RX]), "{}", victim.ratio[RX]);
    assert!(victim.ratio[TX] < 0.01);
    assert!(victim.storm_ms[RX] < 200, "{}", victim.storm_ms[RX]);
    assert!(of(&course, PEER).ratio[TX] > 0.1);
}

#[test]
fn in_a_deadlock_all_are_held_and_nobody_holds() {
    let course = play("deadlock", 20);
    for (nic, figures) in course {
        assert!(figures.storm_ms[RX] >= 10_000, "{nic:?}: {}", figures.storm_ms[RX]);
        assert!(figures.peak[TX] < 0.05, "{nic:?}");
    }
}

#[test]
fn pause_shows_up_on_a_wrong_priority() {
    let course = play("wrong-priority", 10);
    for nic in [MLX5, BNXT] {
        let five = of(&course, nic).truth.priority(FIVE);
        assert!(five.tx.paused_ns > SECOND / 100 && five.rx_bytes > 0, "{five:?}");
    }
    assert_eq!(of(&course, ICE).truth.priority(FIVE).tx.frames(), 0);
}

#[test]
fn one_sided_pfc_pauses_nobody_and_drops() {
    let bench = Bench::new("one-sided", 6);
    bench.advance(10 * SECOND);
    let truth = bench.truth(MLX5).priority(THREE);
    let fabric = bench.simulation.fabric();
    let held = fabric.lock().unwrap().switch_held(MLX5.0, MLX5.1, THREE).unwrap();
    assert!(truth.tx.paused_ns > SECOND / 10, "{truth:?}");
    assert!(truth.discarded_bytes > 0);
    assert!(held.paused_ns < truth.tx.paused_ns / 100, "{held:?}");
    assert_eq!(truth.peer_held_ns, held.paused_ns);
}

#[test]
fn a_deaf_nic_is_not_held_and_the_switch_drops() {
    let bench = Bench::new("deaf-nic", 6);
    bench.advance(10 * SECOND);
    let fabric = bench.simulation.fabric();
    let asked = fabric.lock().unwrap().switch_asked(BNXT.0, BNXT.1, THREE).unwrap();
    let felt = bench.truth(BNXT).priority(THREE);
    assert!(asked.paused_ns > SECOND / 100 && asked.xoff_frames > 100, "{asked:?}");
    assert!(felt.rx.xoff_frames < asked.xoff_frames / 50, "{felt:?} {asked:?}");
    assert_eq!(felt.tx.frames(), 0, "it has PFC off");
    assert!(bench.balance().dropped > 0, "what does not fit is dropped");
}

#[test]
fn a_late_peer_holds_and_the_nic_drops_all_the_same() {
    let bench = Bench::new("lossless-drops", 6);
    bench.advance(10 * SECOND);
    let truth = bench.truth(MLX5);
    let three = truth.priority(THREE);
    assert!(three.discarded_bytes > 0);
    assert!(three.peer_held_ns > 0 && three.peer_held_ns < three.tx.paused_ns, "{three:?}");
    assert!(truth.rdma.out_of_sequence > 0);
}

#[test]
fn link_pause_costs_a_fifth_and_is_no_pfc() {
    let figures = of(&play("link-pause", 20), MLX5);
    let link = figures.truth.link_tx;
    assert!((0.1..0.3).contains(&figures.ratio[TX]), "{}", figures.ratio[TX]);
    assert!(link.xoff_frames > 1_000);
    // Only what was before the change.
    assert!(figures.truth.priority(THREE).tx.frames() < 100);
}

#[test]
fn a_straggler_stands_out_of_its_group() {
    let course = play("straggler", 20);
    let straggler = of(&course, BNXT).ratio[TX];
    assert!(straggler > 0.01, "{straggler}");
    for figures in others(&course, BNXT) {
        assert!(figures.ratio[TX] < straggler / 5.0, "{}", figures.ratio[TX]);
    }
}
