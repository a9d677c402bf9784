//! The settings of storms, each by itself and all against each other.
//!
//! Refuses figures with which a storm could not be told from a single read, or could not end.

use std::time::Duration;

use super::check::Checker;
use super::cli::StormFlags;
use super::duration::{self, show};
use super::file::Storm;
use super::settings::{
    DEFAULT_STORM, LEAST_DETECTION_INTERVALS, LEAST_SAMPLES, OVER_RATIO, STORM_TIME, SUSPECT_RATIO,
    Settings,
};
use super::value;
use crate::engine::StormSettings;

/// Each setting by itself. Times that nobody set grow with an interval that is long for them.
pub(super) fn settings(
    checker: &mut Checker<'_>,
    flags: &StormFlags,
    keys: &Storm,
    interval: Duration,
) -> StormSettings {
    let suspect_ratio = checker.optional(
        "storm.suspect-ratio",
        flags.suspect_ratio.as_deref(),
        keys.suspect_ratio.as_ref(),
        |text| value::share(text, &SUSPECT_RATIO),
    );
    let detection = checker.optional(
        "storm.detection",
        flags.detection.as_deref(),
        keys.detection.as_ref(),
        |text| duration::parse(text, &STORM_TIME),
    );
    let least_samples = checker.optional(
        "storm.least-samples",
        flags.least_samples.as_deref(),
        keys.least_samples.as_ref(),
        |text| value::number(text, &LEAST_SAMPLES),
    );
    let over_ratio = checker.optional(
        "storm.over-ratio",
        flags.over_ratio.as_deref(),
        keys.over_ratio.as_ref(),
        |text| value::share(text, &OVER_RATIO),
    );
    let recovery = checker.optional(
        "storm.recovery",
        flags.recovery.as_deref(),
        keys.recovery.as_ref(),
        |text| duration::parse(text, &STORM_TIME),
    );
    StormSettings {
        suspect_ratio: suspect_ratio.unwrap_or(DEFAULT_STORM.suspect_ratio),
        detection: detection
            .unwrap_or(DEFAULT_STORM.detection.max(interval * LEAST_DETECTION_INTERVALS)),
        least_samples: least_samples.unwrap_or(DEFAULT_STORM.least_samples),
        over_ratio: over_ratio.unwrap_or(DEFAULT_STORM.over_ratio),
        recovery: recovery.unwrap_or(DEFAULT_STORM.recovery.max(interval)),
    }
}

/// All of them together, and with the interval.
pub(super) fn fits(
    checker: &mut Checker<'_>,
    settings: &Settings,
    flags: &StormFlags,
    keys: &Storm,
) {
    let (storm, interval) = (&settings.storm, settings.sampler.interval);
    let least = interval * LEAST_DETECTION_INTERVALS;
    if checker.all_good(&["sampler.interval", "storm.detection"]) && storm.detection < least {
        let (flag, key) = (flags.detection.as_deref(), keys.detection.as_ref());
        let place = checker.place("storm.detection", flag, key);
        checker.refuse(place, show(storm.detection), shorter_than(least, "two", interval));
    }
    if checker.all_good(&["storm.over-ratio", "storm.suspect-ratio"])
        && storm.over_ratio >= storm.suspect_ratio
    {
        let (flag, key) = (flags.over_ratio.as_deref(), keys.over_ratio.as_ref());
        let place = checker.place("storm.over-ratio", flag, key);
        let message =
            format!("must be below storm.suspect-ratio, which is {}", storm.suspect_ratio);
        checker.refuse(place, storm.over_ratio.to_string(), message);
    }
    if checker.all_good(&["sampler.interval", "storm.recovery"]) && storm.recovery < interval {
        let (flag, key) = (flags.recovery.as_deref(), keys.recovery.as_ref());
        let place = checker.place("storm.recovery", flag, key);
        checker.refuse(place, show(storm.recovery), shorter_than(interval, "one", interval));
    }
}

fn shorter_than(least: Duration, count: &str, interval: Duration) -> String {
    let plural = if count == "one" { "" } else { "s" };
    format!(
        "must be {count} interval{plural} at least, {} where sampler.interval is {}",
        show(least),
        show(interval)
    )
}
