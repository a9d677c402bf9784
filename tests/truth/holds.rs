//! Holds of every length on scripted NICs: no storm is missed, none is made up.

use std::time::Duration;

use roce_exporter::model::Direction;

use crate::bench::{MILLISECOND, SECOND, START};
use crate::findings::Findings;
use crate::scripted::{Habits, Script, play};

const LIVE: Habits = Habits { driver: "mlx5_core", refresh: 0, flood: 0 };
const SLOW: Habits = Habits { driver: "bnxt_en", refresh: SECOND, flood: 0 };
/// The catalogue does not know how often it is refreshed.
const UNKNOWN: Habits = Habits { driver: "ionic", refresh: 100 * MILLISECOND, flood: 0 };

/// Intervals in milliseconds, each with what it is worth to play, in seconds.
const INTERVALS: [(u64, u64); 3] = [(1, 40), (10, 300), (100, 1_800)];

/// Holds at random: many just too short for a storm, many just long enough, some much longer.
fn random_script(seed: u64, length: u64, longest: u64) -> Script {
    let mut chance = fastrand::Rng::with_seed(seed);
    let mut script = Script::default();
    let mut now = START + SECOND;
    while now < START + length {
        let hold = match chance.u32(0..4) {
            0 => chance.u64(5 * MILLISECOND..150 * MILLISECOND),
            1 => chance.u64(150 * MILLISECOND..190 * MILLISECOND),
            2 => chance.u64(195 * MILLISECOND..500 * MILLISECOND),
            _ => chance.u64(500 * MILLISECOND..longest),
        };
        let direction = if chance.bool() { Direction::Tx } else { Direction::Rx };
        script.hold(direction, now, now + hold);
        now += hold;
        now += match chance.u32(0..3) {
            0 => chance.u64(15 * MILLISECOND..400 * MILLISECOND),
            _ => chance.u64(400 * MILLISECOND..1_500 * MILLISECOND),
        };
    }
    script
}

fn holds_of(habits: Habits, title: &str) {
    for (millis, seconds) in INTERVALS {
        let mut findings = Findings::default();
        // A slow driver is read more seldom, and its storms are longer.
        let seconds = seconds + seconds * habits.refresh / (100 * MILLISECOND);
        let longest = 3 * SECOND + 5 * habits.refresh;
        let script = random_script(millis, seconds * SECOND, longest);
        let interval = Duration::from_millis(millis);
        play(&script, habits, interval, seconds * SECOND, &mut findings);
        let tried = findings.count("no storm is missed");
        assert!(tried > 5, "{title}: too little was tried");
        findings.conclude(&format!("{title} {millis} ms"));
    }
}

#[test]
fn c56_storms_of_a_live_driver_are_seen_in_time() {
    holds_of(LIVE, "live");
}

#[test]
fn c53_c56_storms_of_a_slow_driver_are_seen_in_time() {
    holds_of(SLOW, "slow");
}

#[test]
fn c53_c56_storms_of_a_driver_of_unknown_refresh_are_seen_in_time() {
    for refresh in [50, 100, 250, 1_000] {
        holds_of(
            Habits { refresh: refresh * MILLISECOND, ..UNKNOWN },
            &format!("unknown {refresh}"),
        );
    }
}

#[test]
fn c55_a_flood_of_frames_that_pause_nothing_is_no_storm() {
    for habits in [LIVE, SLOW] {
        for (millis, seconds) in INTERVALS {
            let habits = Habits { flood: 500_000, ..habits };
            let mut findings = Findings::default();
            let interval = Duration::from_millis(millis);
            let logs = play(&Script::default(), habits, interval, seconds * SECOND, &mut findings);
            assert!(logs.iter().all(|log| log.seen.is_empty()), "{logs:?}");
            findings.conclude("flood");
        }
    }
}

#[test]
fn c53_bursts_on_a_staircase_are_no_storm() {
    for refresh in [100, 250, 1_000] {
        for (millis, seconds) in INTERVALS {
            let mut script = Script::default();
            let mut chance = fastrand::Rng::with_seed(refresh + millis);
            for tick in 0..seconds * 2 {
                let from = START + tick * SECOND / 2 + chance.u64(0..100 * MILLISECOND);
                let length = chance.u64(100 * MILLISECOND..185 * MILLISECOND);
                script.hold(Direction::Rx, from, from + length);
            }
            let habits = Habits { refresh: refresh * MILLISECOND, ..UNKNOWN };
            let mut findings = Findings::default();
            let interval = Duration::from_millis(millis);
            let logs = play(&script, habits, interval, seconds * SECOND, &mut findings);
            assert!(logs.iter().all(|log| log.seen.is_empty()), "{logs:?}");
        }
    }
}

#[test]
fn breaks_of_a_hold_weigh_the_same_at_every_interval() {
    for (millis, seconds) in INTERVALS {
        let mut script = Script::default();
        for round in 0..seconds / 4 {
            // Free for 0.2 ms in each 10.2 ms, for a second.
            for piece in 0..98 {
                let from = START + round * 4 * SECOND + piece * 10_200_000 + SECOND;
                script.hold(Direction::Rx, from, from + 10_000_000);
            }
        }
        let mut findings = Findings::default();
        let interval = Duration::from_millis(millis);
        let logs = play(&script, LIVE, interval, seconds * SECOND, &mut findings);
        let rounds = usize::try_from(seconds / 4).unwrap();
        assert!(logs[1].seen.len().abs_diff(rounds) <= 1, "{} of {rounds}", logs[1].seen.len());
        findings.conclude(&format!("breaks {millis} ms"));
    }
}
