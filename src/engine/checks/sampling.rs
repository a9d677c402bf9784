//! Whether this exporter can see what it is there for: the counters it needs, as often as it was told.

use std::time::Duration;

use super::evidence::{Evidence, list};
use super::verdict::{Status, Verdict};
use crate::model::Quantity;

/// What matters most, with its name for people.
const NEEDED: [(Quantity, &str); 4] = [
    (Quantity::PfcPauseFrames, "pause frames"),
    (Quantity::PfcPauseTime, "pause time"),
    (Quantity::Bytes, "bytes"),
    (Quantity::Discards, "discards"),
];

/// The driver counts pause per priority. Without time, ratios are upper bounds.
pub(super) fn counters(port: &Evidence<'_>) -> Option<Verdict> {
    const WANTED: &str = "pause frames and pause time per priority, bytes, discards";
    let read = port.netdev_feed().is_some_and(|feed| !feed.counters.totals.is_empty());
    if !read {
        return Some(Verdict::unknown("its statistics cannot be read", WANTED));
    }
    let lacking = NEEDED.iter().filter(|(quantity, _)| !port.has(*quantity));
    let lacking: Vec<&str> = lacking.map(|(_, words)| *words).collect();
    let found = match lacking.as_slice() {
        [] => "all".to_owned(),
        some => format!("lacks {}", list(some.iter().copied())),
    };
    let pause = port.has(Quantity::PfcPauseFrames) || port.has(Quantity::PfcPauseTime);
    Some(Verdict::unless(pause, Status::Warning, found, WANTED))
}

/// The interval is reached; before there is one, what reads cost says whether it could be.
pub(super) fn sampler(port: &Evidence<'_>) -> Option<Verdict> {
    let interval = port.sampling.interval;
    let wanted = format!("every {interval:?}");
    let Some(feed) = port.netdev_feed() else {
        return Some(Verdict::unknown("its statistics are not read", wanted));
    };
    let rounded =
        |time: Duration| Duration::from_micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    if let Some(reached) = feed.sampling.interval {
        let found = format!("every {:?}", rounded(reached));
        // Reading more often than the driver renews its values shows nothing more.
        let enough = (interval * 2).max(feed.sampling.refresh.unwrap_or_default());
        return Some(Verdict::unless(reached <= enough, Status::Warning, found, wanted));
    }
    let under_rtnl = port.growth.now.iter().filter(|own| own.feed.source.holds_rtnl());
    let seconds: f64 = under_rtnl.map(|own| own.sampling.read_seconds.sum()).sum();
    if feed.sampling.samples == 0 || feed.sampling.samples > 1 || seconds <= 0.0 {
        return Some(Verdict::unknown("not sampled yet", wanted));
    }
    let possible = Duration::try_from_secs_f64(seconds / port.sampling.rtnl_budget);
    let possible = possible.unwrap_or(Duration::MAX);
    let found = format!("every {:?} is possible, by one read of each NIC", rounded(possible));
    Some(Verdict::unless(possible <= interval * 2, Status::Warning, found, wanted).inferred())
}
