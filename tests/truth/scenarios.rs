//! Every scenario, sampled at each interval.

use std::time::Duration;

use crate::bench::{BNXT, Bench, I40E, ICE, IONIC, MLX5, Nic, PEER, SECOND, Setup};
use crate::judge::Judge;

const NICS: [Nic; 8] = [MLX5, BNXT, ICE, PEER, IONIC, I40E, (2, 1), (3, 0)];
const ONE_OF_EACH: [Nic; 6] = [MLX5, BNXT, ICE, PEER, IONIC, I40E];
/// A slow read holds everybody up here, so that it is not seen when others refresh.
const READ_LIVE: [Nic; 4] = [MLX5, ICE, PEER, I40E];

/// Samples a scenario from one time to another and compares.
fn play(scenario: &str, millis: u64, from_tenths: u64, until_tenths: u64) {
    let mut bench = Bench::new(Setup {
        scenario,
        seed: 17,
        interval: Duration::from_millis(millis),
        from: from_tenths * SECOND / 10,
        nics: match scenario {
            "slow-read" => &READ_LIVE,
            _ if millis == 1 => &ONE_OF_EACH,
            _ => &NICS,
        },
        rdma: false,
        link: None,
    });
    let mut judge = Judge::new(scenario);
    bench.run(until_tenths * SECOND / 10, &mut |moment| judge.look(moment));
    judge.conclude(&bench, &format!("{scenario} {millis} ms"));
}

macro_rules! scenarios {
    ($($name:ident: $scenario:literal, $fast:expr, $middle:expr, $slow:expr;)+) => {
        $(mod $name {
            #[test]
            fn at_1_ms() { super::play($scenario, 1, $fast.0, $fast.1); }
            #[test]
            fn at_10_ms() { super::play($scenario, 10, $middle.0, $middle.1); }
            #[test]
            fn at_100_ms() { super::play($scenario, 100, $slow.0, $slow.1); }
        })+
        const PLAYED: &[&str] = &[$($scenario),+];
    };
}

scenarios! {
    calm: "calm", (0, 30), (0, 150), (0, 600);
    incast: "incast", (15, 40), (0, 140), (0, 300);
    slow_receiver: "slow-receiver", (15, 40), (0, 140), (0, 300);
    nic_storm: "nic-storm", (40, 145), (0, 260), (0, 500);
    victim: "victim", (15, 45), (0, 140), (0, 400);
    deadlock: "deadlock", (45, 70), (0, 330), (0, 450);
    ecn_off: "ecn-off", (15, 40), (0, 140), (0, 300);
    cnp_lost: "cnp-lost", (15, 40), (0, 140), (0, 300);
    wrong_priority: "wrong-priority", (15, 40), (0, 140), (0, 300);
    one_sided: "one-sided", (15, 40), (0, 140), (0, 300);
    deaf_nic: "deaf-nic", (15, 40), (0, 140), (0, 300);
    priority_mismatch: "priority-mismatch", (15, 40), (0, 140), (0, 300);
    mtu_mismatch: "mtu-mismatch", (15, 40), (0, 140), (0, 300);
    link_pause: "link-pause", (15, 40), (0, 140), (0, 300);
    lossless_drops: "lossless-drops", (15, 40), (0, 140), (0, 300);
    straggler: "straggler", (15, 40), (0, 140), (0, 300);
    chatter: "chatter", (15, 40), (0, 140), (0, 300);
    reset: "reset", (140, 165), (50, 300), (0, 500);
    wrap: "wrap", (0, 40), (0, 140), (0, 300);
    unplug: "unplug", (90, 115), (60, 300), (0, 500);
    rename: "rename", (90, 115), (60, 300), (0, 500);
    slow_read: "slow-read", (40, 70), (40, 240), (0, 300);
    stale: "stale", (40, 65), (40, 280), (0, 500);
    pfc_moved: "pfc-moved", (95, 125), (60, 280), (0, 500);
}

#[test]
fn every_scenario_is_played() {
    let all: Vec<&str> =
        roce_exporter::source::simulated::Scenario::all().iter().map(|own| own.name).collect();
    assert_eq!(PLAYED, all);
}
