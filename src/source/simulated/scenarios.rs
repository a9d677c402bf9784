//! The scenarios themselves. `docs/scenarios.md` tells the same in words.

use std::time::Duration;

use super::cast::Nic;
use super::scenario::{Change, Class, Cue, Micros, Scenario, Trouble};
use crate::model::Priority;

/// The `mlx5_core` NIC of the first host, the main character of most scenarios.
const MLX5: Nic = Nic { host: 0, place: 0 };
/// The `bnxt_en` NIC of the first host.
const BNXT: Nic = Nic { host: 0, place: 1 };
/// An `mlx5_core` NIC of the second host.
const PEER: Nic = Nic { host: 1, place: 0 };
/// The `i40e` NIC of the third host.
const I40E: Nic = Nic { host: 2, place: 0 };

/// The lossless priority unless a scenario moves it.
pub(super) const LOSSLESS: Priority = Priority::ALL[3];
/// Where a scenario moves it.
const OTHER_LOSSLESS: Priority = Priority::ALL[4];
/// Where a wrong map puts RDMA.
const MISMAPPED: Priority = Priority::ALL[5];

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn cue(at: Duration, change: Change) -> Cue {
    Cue { at, change }
}

const fn trouble(at: u64, trouble: Trouble) -> Cue {
    cue(seconds(at), Change::Reading { nic: MLX5, trouble })
}

/// What goes on in every scenario: the load of a healthy fabric, with its small accidents.
pub(super) const BACKGROUND: &[Change] = &[
    Change::Bursts {
        to: None,
        senders: 3,
        percent: 60,
        every: Micros(200_000, 800_000),
        lasts: Micros(500, 1_000),
    },
    Change::Stalls {
        nic: None,
        class: Class::Lossless,
        every: Micros(300_000, 1_200_000),
        lasts: Micros(150, 400),
    },
];

/// Everybody sends to one NIC at the same time.
const INCAST: Change = Change::Bursts {
    to: Some(PEER),
    senders: usize::MAX,
    percent: 80,
    every: Micros(2_000, 4_000),
    lasts: Micros(1_000, 2_000),
};

const WHOLE: Duration = Duration::ZERO;
const START: Duration = seconds(2);
const KEPT: Duration = seconds(3);
const MINUTE: Duration = seconds(60);

/// A scenario whose script is played once and whose effect then stays.
const fn lasting(
    name: &'static str,
    pattern: &'static str,
    summary: &'static str,
    script: &'static [Cue],
) -> Scenario {
    Scenario {
        name,
        summary,
        pattern,
        duration: MINUTE,
        repeat_from: KEPT,
        walk: Some(seconds(45)),
        script,
    }
}

/// A scenario that comes and goes.
const fn episodes(
    name: &'static str,
    pattern: &'static str,
    summary: &'static str,
    duration: Duration,
    script: &'static [Cue],
) -> Scenario {
    Scenario { name, summary, pattern, duration, repeat_from: WHOLE, walk: Some(duration), script }
}

pub(super) const ALL: &[Scenario] = &[
    lasting("calm", "healthy", "healthy load with short pauses and no storm", &[]),
    lasting(
        "incast",
        "congestion that ECN handles",
        "everybody sends to one NIC in bursts; the senders are paused now and then",
        &[cue(START, INCAST)],
    ),
    lasting(
        "slow-receiver",
        "host holds the fabric",
        "one NIC takes in less than it is sent and pauses the switch for most of the time",
        &[
            cue(START, Change::Offer { from: PEER, to: MLX5, class: Class::Lossless, percent: 20 }),
            cue(START, Change::Drain { nic: MLX5, percent: 25 }),
        ],
    ),
    episodes(
        "nic-storm",
        "NIC storm",
        "the receive side of one NIC dies; it pauses without end until its stall detector gives up",
        seconds(40),
        &[
            cue(seconds(5), Change::Drain { nic: MLX5, percent: 0 }),
            cue(seconds(15), Change::DrainAll { nic: MLX5 }),
        ],
    ),
    lasting(
        "victim",
        "held by the fabric",
        "a NIC elsewhere stalls again and again; those who send to it are held, other traffic too",
        &[
            cue(START, Change::Offer { from: MLX5, to: PEER, class: Class::Lossless, percent: 10 }),
            cue(
                START,
                Change::Stalls {
                    nic: Some(PEER),
                    class: Class::Lossless,
                    every: Micros(60_000, 120_000),
                    lasts: Micros(30_000, 60_000),
                },
            ),
        ],
    ),
    episodes(
        "deadlock",
        "deadlock",
        "switches hold each other in a circle; all senders are held and nobody is to blame",
        seconds(40),
        &[cue(seconds(5), Change::Stuck(true)), cue(seconds(30), Change::Stuck(false))],
    ),
    lasting(
        "ecn-off",
        "PFC without ECN",
        "incast on a switch that does not mark, so that only pause holds the senders back",
        &[cue(START, Change::Marking(false)), cue(START, INCAST)],
    ),
    lasting(
        "cnp-lost",
        "ECN loop open",
        "receivers send CNPs which never arrive, so that no sender slows down",
        &[cue(START, Change::CnpDelivery(false)), cue(START, INCAST)],
    ),
    lasting(
        "wrong-priority",
        "pause on a wrong priority",
        "a wrong map puts RDMA on priority 5, which got PFC of its own; pause shows up there",
        &[
            cue(START, Change::ExtraPfc { nic: MLX5, priority: MISMAPPED }),
            cue(START, Change::ExtraPfc { nic: BNXT, priority: MISMAPPED }),
            cue(
                START,
                Change::Offer { from: PEER, to: MLX5, class: Class::Fixed(MISMAPPED), percent: 20 },
            ),
            cue(
                START,
                Change::Offer { from: PEER, to: BNXT, class: Class::Fixed(MISMAPPED), percent: 20 },
            ),
            cue(
                START,
                Change::Stalls {
                    nic: Some(MLX5),
                    class: Class::Fixed(MISMAPPED),
                    every: Micros(8_000, 12_000),
                    lasts: Micros(300, 900),
                },
            ),
            cue(
                START,
                Change::Stalls {
                    nic: Some(BNXT),
                    class: Class::Fixed(MISMAPPED),
                    every: Micros(8_000, 12_000),
                    lasts: Micros(300, 900),
                },
            ),
        ],
    ),
    lasting(
        "one-sided",
        "one-sided PFC",
        "a NIC asks for pause and its switch port ignores it; the NIC drops",
        &[
            cue(START, Change::PeerIgnores { nic: MLX5 }),
            cue(
                START,
                Change::Stalls {
                    nic: Some(MLX5),
                    class: Class::Lossless,
                    every: Micros(15_000, 25_000),
                    lasts: Micros(800, 2_000),
                },
            ),
        ],
    ),
    lasting(
        "deaf-nic",
        "one-sided PFC",
        "a NIC without PFC sends on through the pause of its switch port, which drops",
        &[
            cue(START, Change::Ignores { nic: BNXT }),
            cue(START, Change::Offer { from: BNXT, to: PEER, class: Class::Lossless, percent: 40 }),
            cue(
                START,
                Change::Stalls {
                    nic: Some(PEER),
                    class: Class::Lossless,
                    every: Micros(15_000, 25_000),
                    lasts: Micros(1_200, 2_400),
                },
            ),
        ],
    ),
    lasting(
        "priority-mismatch",
        "pause on different priorities",
        "a NIC has PFC on priority 3 and its switch port on priority 4; neither hears the other",
        &[
            cue(START, Change::PeerPfc { nic: MLX5, priority: OTHER_LOSSLESS }),
            cue(START, Change::ExtraPfc { nic: PEER, priority: OTHER_LOSSLESS }),
            cue(
                START,
                Change::Offer {
                    from: MLX5,
                    to: PEER,
                    class: Class::Fixed(OTHER_LOSSLESS),
                    percent: 20,
                },
            ),
            cue(
                START,
                Change::Stalls {
                    nic: Some(PEER),
                    class: Class::Fixed(OTHER_LOSSLESS),
                    every: Micros(8_000, 12_000),
                    lasts: Micros(300, 900),
                },
            ),
            cue(
                START,
                Change::Stalls {
                    nic: Some(MLX5),
                    class: Class::Lossless,
                    every: Micros(15_000, 25_000),
                    lasts: Micros(800, 2_000),
                },
            ),
        ],
    ),
    lasting(
        "mtu-mismatch",
        "MTU differs along the link",
        "one NIC has an MTU of 1500 and its switch port one of 9000; pause works at both ends",
        &[
            cue(START, Change::Mtu { nic: MLX5, bytes: 1_500 }),
            cue(
                START,
                Change::Stalls {
                    nic: Some(MLX5),
                    class: Class::Lossless,
                    every: Micros(15_000, 25_000),
                    lasts: Micros(800, 2_000),
                },
            ),
        ],
    ),
    lasting(
        "link-pause",
        "802.3x with PFC",
        "a NIC uses 802.3x pause beside PFC; a fifth of its line rate is gone for all priorities",
        &[
            cue(START, Change::LinkPause { nic: MLX5 }),
            cue(
                START,
                Change::Stalls {
                    nic: Some(MLX5),
                    class: Class::Lossless,
                    every: Micros(3_000, 5_000),
                    lasts: Micros(600, 1_400),
                },
            ),
        ],
    ),
    lasting(
        "lossless-drops",
        "drops on a lossless priority",
        "a switch port obeys pause too late for the headroom of the NIC; it drops all the same",
        &[
            cue(START, Change::PeerLags { nic: MLX5, micros: 400 }),
            cue(
                START,
                Change::Stalls {
                    nic: Some(MLX5),
                    class: Class::Lossless,
                    every: Micros(15_000, 25_000),
                    lasts: Micros(600, 1_500),
                },
            ),
        ],
    ),
    lasting(
        "straggler",
        "straggler rail",
        "one NIC pauses some percent of the time while its siblings do not",
        &[cue(
            START,
            Change::Stalls {
                nic: Some(BNXT),
                class: Class::Lossless,
                every: Micros(8_000, 12_000),
                lasts: Micros(400, 1_000),
            },
        )],
    ),
    lasting(
        "chatter",
        "chatter",
        "many pause frames and edges, each pause over at once",
        &[cue(
            START,
            Change::Stalls {
                nic: Some(MLX5),
                class: Class::Lossless,
                every: Micros(300, 500),
                lasts: Micros(24, 35),
            },
        )],
    ),
    episodes(
        "reset",
        "counters go back",
        "all counters of one NIC start from 0 again",
        seconds(30),
        &[trouble(15, Trouble::Reset)],
    ),
    Scenario {
        walk: None,
        repeat_from: seconds(1),
        ..lasting(
            "wrap",
            "counters wrap",
            "counters of 32 bits pass their end",
            &[
                cue(WHOLE, Change::Reading { nic: MLX5, trouble: Trouble::NearWrap }),
                cue(WHOLE, Change::Reading { nic: I40E, trouble: Trouble::NearWrap }),
                cue(
                    WHOLE,
                    Change::Stalls {
                        nic: Some(I40E),
                        class: Class::Lossless,
                        every: Micros(500, 1_500),
                        lasts: Micros(50, 150),
                    },
                ),
            ],
        )
    },
    Scenario {
        walk: None,
        ..episodes(
            "unplug",
            "device gone and back",
            "one NIC goes away and comes back as a new device",
            seconds(40),
            &[trouble(10, Trouble::Unplugged), trouble(20, Trouble::Plugged)],
        )
    },
    Scenario {
        walk: None,
        ..episodes(
            "rename",
            "device renamed",
            "one NIC gets another name, and its old one back",
            seconds(40),
            &[trouble(10, Trouble::Renamed("storage0")), trouble(25, Trouble::Renamed("eth0"))],
        )
    },
    episodes(
        "slow-read",
        "slow reads",
        "each read of one NIC takes 20 ms",
        seconds(30),
        &[trouble(5, Trouble::Slow(Duration::from_millis(20))), trouble(20, Trouble::Cured)],
    ),
    episodes(
        "stale",
        "blind",
        "the counters of one NIC stand still, then cannot be read at all",
        seconds(40),
        &[trouble(5, Trouble::Frozen), trouble(15, Trouble::Failing), trouble(25, Trouble::Cured)],
    ),
    episodes(
        "pfc-moved",
        "names change under the reader",
        "PFC moves from priority 3 to 4: other names at the same places, and as many as before",
        seconds(40),
        &[
            cue(
                WHOLE,
                Change::Stalls {
                    nic: Some(MLX5),
                    class: Class::Lossless,
                    every: Micros(8_000, 12_000),
                    lasts: Micros(300, 900),
                },
            ),
            cue(seconds(10), Change::LosslessPriority(OTHER_LOSSLESS)),
            cue(seconds(25), Change::LosslessPriority(LOSSLESS)),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let names: HashSet<&str> = ALL.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), ALL.len());
        for scenario in Scenario::all() {
            assert!(std::ptr::eq(Scenario::by_name(scenario.name).unwrap(), scenario));
        }
        assert!(Scenario::by_name("no-such").is_none());
    }

    #[test]
    fn scripts_are_in_order_and_end_within_a_pass() {
        for scenario in ALL {
            let times: Vec<Duration> = scenario.script.iter().map(|cue| cue.at).collect();
            assert!(times.is_sorted(), "{}", scenario.name);
            assert!(times.iter().all(|at| *at < scenario.duration), "{}", scenario.name);
            assert!(scenario.repeat_from < scenario.duration, "{}", scenario.name);
        }
    }

    #[test]
    fn what_stays_is_not_piled_up_by_the_next_pass() {
        for scenario in ALL.iter().filter(|scenario| !scenario.repeat_from.is_zero()) {
            for cue in scenario.script {
                assert!(cue.at < scenario.repeat_from, "{}", scenario.name);
            }
        }
    }
}
