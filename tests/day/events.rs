//! What happens once in a day, and the alerts that it has to lead to.
//!
//! What is expected follows from the runbooks: who is to blame, who is held, and how long a rule waits. What is over before
//! a rule has made sure of it leads to nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use roce_exporter::source::simulated::{Scenario, Scene};

use crate::series::Question;

/// Time without an event, before each and after the last: averages, what is kept, and what checks remember have
/// forgotten the event before. A NIC's own stall detector counts for ten minutes.
pub const REST: Duration = minutes(12);

/// A scenario for a time, and the alerts that fire: `NAME/c` or `NAME/w` for the severity, and where, if one can say who is
/// to blame: `NAME/c HOST/DEVICE ...`, there and nowhere else. Those that inform are not in it.
#[derive(Clone, Copy)]
pub struct Event {
    pub scenario: &'static str,
    lasts: Duration,
    slowed: u32,
    /// The exporter of one host does not answer meanwhile.
    pub unanswered: bool,
    alerts: &'static [&'static str],
}

const fn minutes(minutes: u64) -> Duration {
    Duration::from_mins(minutes)
}

const fn event(scenario: &'static str, lasts: Duration, alerts: &'static [&'static str]) -> Event {
    Event { scenario, lasts, slowed: 1, unanswered: false, alerts }
}

/// What lasts seconds in the scenario lasts minutes here.
const fn slow(slowed: u32, event: Event) -> Event {
    Event { slowed, ..event }
}

/// One pass of what comes and goes.
const PASS: Duration = Duration::from_secs(40);
/// Longer than the rules wait that look back for five minutes and then wait for ten, or the other way round.
const LONG: Duration = minutes(17);

pub const EVENTS: &[Event] = &[
    event(
        "nic-storm",
        PASS,
        &[
            "RoceStormSent/c host0/eth0",
            "RoceStormReceived/c",
            "RoceNicStallDetected/c host0/eth0",
            "RoceNicStallDetected/w host0/eth0",
            "RoceLosslessDrops/c host0/eth0",
            "RocePauseSentHigh/w host0/eth0",
            "RocePauseReceivedHigh/w",
        ],
    ),
    Event { unanswered: true, ..event("calm", minutes(8), &["RoceExporterDown/w"]) },
    event("incast", minutes(5), &["RocePauseReceivedHigh/w"]),
    event(
        "slow-receiver",
        minutes(9),
        &[
            "RocePauseSentHigh/c host0/eth0",
            "RocePauseSentHigh/w host0/eth0",
            "RoceStragglerRail/w host0/eth0",
            "RocePauseReceivedHigh/c",
            "RocePauseReceivedHigh/w",
        ],
    ),
    event(
        "victim",
        minutes(9),
        &[
            "RocePauseSentHigh/c host1/eth0",
            "RocePauseSentHigh/w host1/eth0",
            "RoceStragglerRail/w host1/eth0",
            "RocePauseReceivedHigh/c",
            "RocePauseReceivedHigh/w",
        ],
    ),
    event("deadlock", PASS, DEADLOCK),
    event("deadlock", minutes(4), DEADLOCK),
    slow(12, event("deadlock", minutes(8), DEADLOCK)),
    event(
        "ecn-off",
        minutes(12),
        &["RocePauseWithoutEcn/w", "RocePauseReceivedHigh/c", "RocePauseReceivedHigh/w"],
    ),
    event(
        "cnp-lost",
        LONG,
        &["RoceCnpLoopOpen/w", "RocePauseReceivedHigh/c", "RocePauseReceivedHigh/w"],
    ),
    event("wrong-priority", minutes(12), WRONG_PRIORITY),
    event("one-sided", LONG, ONE_SIDED),
    event("deaf-nic", LONG, DEAF_NIC),
    event("priority-mismatch", LONG, PRIORITY_MISMATCH),
    event(
        "mtu-mismatch",
        minutes(9),
        &[
            "RoceCheckFailed/w host0/eth0",
            "RoceConfigurationDrift/w",
            "RocePauseSentHigh/w host0/eth0",
            "RoceStragglerRail/w host0/eth0",
            "RocePauseReceivedHigh/w",
        ],
    ),
    event(
        "link-pause",
        minutes(9),
        &[
            "RoceLinkPauseBesidePfc/c host0/eth0",
            "RoceLinkPauseBesidePfc/w host0/eth0",
            "RoceCheckFailed/c host0/eth0",
            "RoceConfigurationDrift/w",
            "RocePauseReceivedHigh/c",
            "RocePauseReceivedHigh/w",
        ],
    ),
    event(
        "lossless-drops",
        minutes(9),
        &[
            "RoceLosslessDrops/c host0/eth0",
            "RocePauseSentHigh/w host0/eth0",
            "RoceStragglerRail/w host0/eth0",
            "RocePauseReceivedHigh/w",
        ],
    ),
    event(
        "straggler",
        minutes(9),
        &[
            "RocePauseSentHigh/w host0/eth1",
            "RoceStragglerRail/w host0/eth1",
            "RocePauseReceivedHigh/w",
        ],
    ),
    event("chatter", minutes(9), &[]),
    event("reset", minutes(2), &[]),
    // The NIC counts frames alone, so its switch port says it.
    event("wrap", minutes(5), &["RocePauseReceivedHigh/w switch0/swp6"]),
    event("unplug", minutes(4), &[]),
    slow(18, event("unplug", minutes(12), &["RoceDeviceGone/w host0/eth0"])),
    event("slow-read", minutes(4), &[]),
    slow(
        24,
        event(
            "slow-read",
            minutes(12),
            &["RoceSamplerSlow/w host0/eth0", "RoceCheckFailed/w host0/eth0"],
        ),
    ),
    event("stale", minutes(4), &[]),
    slow(18, event("stale", minutes(12), &["RoceDeviceStale/w host0/eth0"])),
    event("pfc-moved", PASS, &["RocePauseSentHigh/w host0/eth0", "RocePauseReceivedHigh/w"]),
    // Until PFC would move back.
    slow(32, event("pfc-moved", Duration::from_secs(800), PFC_MOVED)),
    // The last, since a name that is gone is told of for half an hour.
    event("rename", PASS, &["RoceDeviceGone/w host0/storage0"]),
];

const DEADLOCK: &[&str] = &[
    "RoceDeadlockSuspected/c",
    "RoceStormReceived/c",
    "RocePauseReceivedHigh/c",
    "RocePauseReceivedHigh/w",
];
/// PFC on one priority more at two NICs, and pause there; what their peer sends is mostly not lossless.
const WRONG_PRIORITY: &[&str] = &[
    "RocePfcMaskNotWanted/w host0/eth0 host0/eth1",
    "RoceRdmaOnLossyPriority/w",
    "RocePauseOnLossyPriority/w host0/eth0 host0/eth1 switch0/swp1 switch0/swp2",
    "RoceConfigurationDrift/w",
    "RoceCheckFailed/w host0/eth0 host0/eth1 switch0/swp1 switch0/swp2",
    "RocePauseSentHigh/w host0/eth0 host0/eth1",
    "RocePauseReceivedHigh/w switch0/swp1 switch0/swp2",
];
/// The end that asks in vain tells of the link, and the other does not once more.
const ONE_SIDED: &[&str] = &[
    "RoceOneSidedPfc/c host0/eth0",
    "RoceOneSidedPfc/w host0/eth0",
    "RoceLosslessDrops/c host0/eth0",
    "RocePauseSentHigh/w host0/eth0",
    "RoceStragglerRail/w host0/eth0",
];
const DEAF_NIC: &[&str] = &[
    "RoceOneSidedPfc/w switch0/swp2",
    "RocePfcMaskNotWanted/w host0/eth1",
    "RoceConfigurationDrift/w",
    "RoceCheckFailed/c host0/eth1",
    "RocePauseSentHigh/w host1/eth0",
    "RoceStragglerRail/w host1/eth0",
    "RocePauseReceivedHigh/w",
];
const PRIORITY_MISMATCH: &[&str] = &[
    "RoceOneSidedPfc/c host0/eth0",
    "RoceOneSidedPfc/w host0/eth0",
    "RoceLosslessDrops/c host0/eth0",
    "RocePfcMaskNotWanted/w host1/eth0",
    "RoceConfigurationDrift/w",
    "RoceCheckFailed/c switch0/swp1",
    "RoceCheckFailed/w host1/eth0 switch0/swp1 switch0/swp4",
    "RocePauseOnLossyPriority/w",
    "RoceRdmaOnLossyPriority/w",
    "RocePauseSentHigh/w host0/eth0 host1/eth0",
    "RoceStragglerRail/w host0/eth0",
    "RocePauseReceivedHigh/w switch0/swp4",
];
/// For eight minutes PFC is on another priority everywhere, and one NIC stalls all the time.
const PFC_MOVED: &[&str] = &[
    "RocePfcMaskNotWanted/w",
    "RoceCheckFailed/c",
    "RoceCheckFailed/w",
    "RoceRdmaOnLossyPriority/w",
    "RocePauseOnLossyPriority/w",
    "RocePauseSentHigh/w host0/eth0",
    "RoceStragglerRail/w host0/eth0",
    "RocePauseReceivedHigh/w",
];

impl Event {
    pub fn scene(&self) -> Scene {
        let scenario = Scenario::by_name(self.scenario).unwrap();
        Scene { scenario, lasts: self.lasts, slowed: self.slowed }
    }

    pub const fn lasts(&self) -> Duration {
        self.lasts
    }

    /// What is asked at the end of a span of scrapes that begins with the event.
    pub fn questions(&self, began: Duration, ends: Duration) -> [Question; 3] {
        let span = ends.saturating_sub(began).as_secs();
        let at = Duration::from_secs(ends.as_secs().saturating_sub(15) / 15 * 15);
        let firing = r#"ALERTS{alertstate="firing",severity!="info"}"#;
        // As many evaluations as there are between the first and the last: it fired in one go.
        let when = format!("timestamp({firing})[{span}s:15s]");
        let broken = format!(
            "(max_over_time({when}) - min_over_time({when})) / 15 + 1 > count_over_time({firing}[{span}s])"
        );
        let fired = format!("group by (alertname, severity) (max_over_time({firing}[{span}s]))");
        let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut expected = Vec::new();
        for alert in self.alerts {
            let (alert, at) = alert.split_once(' ').unwrap_or((alert, ""));
            let (name, severity) = alert.split_once('/').unwrap();
            let severity = if severity == "c" { "critical" } else { "warning" };
            let labels = format!(r#"alertname="{name}", severity="{severity}""#);
            expected.push(format!("{{{labels}}}"));
            for place in at.split_whitespace() {
                let (host, device) = place.split_once('/').unwrap();
                let place = format!(r#"{{{labels}, instance="{host}", device="{device}"}}"#);
                places.entry(name).or_default().push(place);
            }
        }
        let named = places.keys().copied().collect::<Vec<_>>().join("|");
        let blamed = firing.replace('{', &format!(r#"{{alertname=~"{named}","#));
        // An alert on a link has a host in place of an instance.
        let blamed = format!(
            r#"group by (alertname, severity, instance, device) (label_replace(max_over_time({blamed}[{span}s]), "instance", "$1", "host", "(.+)"))"#
        );
        let places = places.into_values().flatten().collect();
        [
            Question { expression: fired, at, expected },
            Question { expression: blamed, at, expected: places },
            Question { expression: broken, at, expected: Vec::new() },
        ]
    }
}
