//! One device as a page shows it: how it is set up and what it has counted.

use std::collections::BTreeMap;

use super::exposition::Sample;
use crate::model::{Direction, Priority};

/// A value per priority, where the page has one.
pub(super) type PerPriority<T> = [Option<T>; Priority::COUNT];

/// What a device has counted of pause.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PauseCounters {
    /// PFC frames, XOFF and XON, by direction (tx, rx) and priority.
    pub(super) frames: [PerPriority<u64>; 2],
    /// Paused seconds, likewise.
    pub(super) seconds: [PerPriority<f64>; 2],
}

/// A device of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Port {
    pub(super) counters: PauseCounters,
    /// Whether PFC is on.
    pub(super) pfc: PerPriority<bool>,
    /// Settings by what they are called in reports; those that the page does not tell are not in it.
    pub(super) settings: BTreeMap<&'static str, BTreeMap<String, String>>,
    /// Host and port at the other end, where the exporter knows.
    pub(super) peer: Option<(String, String)>,
    /// The exporter has not read it lately.
    pub(super) stale: bool,
    /// Period on which its counters are refreshed, in seconds.
    pub(super) refresh_seconds: f64,
}

/// Settings that must agree along a link: name in reports, metric, and the labels or the value that tell.
const SETTINGS: &[(&str, &str, &[&str])] = &[
    ("pfc", "roce_pfc_enabled", &["priority"]),
    ("trust", "roce_trust_info", &["mode"]),
    ("dscp", "roce_dscp_priority", &["dscp"]),
    ("mtu", "roce_mtu_bytes", &[]),
    ("link-pause", "roce_link_pause_enabled", &["direction"]),
    ("ecn", "roce_ecn_enabled", &["priority", "role"]),
    ("speed", "roce_port_speed_bytes", &[]),
];

/// Names of the settings that are compared.
pub(super) fn setting_names() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|(name, _, _)| *name)
}

/// The place of a direction in the counters.
pub(super) const fn way(direction: Direction) -> usize {
    match direction {
        Direction::Tx => 0,
        Direction::Rx => 1,
    }
}

/// The device's part of a page; none where the page does not know the device.
pub(super) fn of_page(page: &[Sample], device: &str) -> Option<Port> {
    let mut port = Port::default();
    let mut known = false;
    for sample in page.iter().filter(|sample| sample.label("device") == device) {
        known = true;
        match sample.name.as_str() {
            "roce_pfc_pause_frames_total" | "roce_pfc_resume_frames_total" => {
                let count = whole(&sample.value);
                if let Some((slot, count)) = slot(&mut port.counters.frames, sample).zip(count) {
                    *slot = Some(slot.unwrap_or(0).saturating_add(count));
                }
            }
            "roce_pfc_pause_seconds_total" => {
                if let Some(slot) = slot(&mut port.counters.seconds, sample) {
                    *slot = real(&sample.value);
                }
            }
            "roce_link_peer_info" => {
                let of = |label| sample.label(label).to_owned();
                port.peer = Some((of("peer"), of("peer_device")));
            }
            "roce_device_stale" => port.stale |= sample.value == "1",
            "roce_counter_refresh_seconds" => {
                if let Some(seconds) = real(&sample.value) {
                    port.refresh_seconds = port.refresh_seconds.max(seconds);
                }
            }
            _ => add_setting(&mut port, sample),
        }
    }
    known.then_some(port)
}

fn add_setting(port: &mut Port, sample: &Sample) {
    let row = SETTINGS.iter().find(|(_, metric, _)| *metric == sample.name);
    let Some((name, metric, labels)) = row else { return };
    let key: Vec<&str> = labels.iter().map(|label| sample.label(label)).collect();
    if *name == "pfc"
        && let Some(on) = key.first().and_then(|text| priority(text))
        && let Some(slot) = port.pfc.get_mut(on.position())
    {
        *slot = Some(sample.value == "1");
    }
    // What an info metric tells stands in its label.
    let (key, value) = if metric.ends_with("_info") {
        (String::new(), key.join(" "))
    } else {
        (key.join(" "), sample.value.clone())
    };
    port.settings.entry(name).or_default().insert(key, value);
}

fn slot<'counters, T>(
    counters: &'counters mut [PerPriority<T>; 2],
    sample: &Sample,
) -> Option<&'counters mut Option<T>> {
    let direction = match sample.label("direction") {
        "tx" => Direction::Tx,
        "rx" => Direction::Rx,
        _ => return None,
    };
    let priority = priority(sample.label("priority"))?;
    counters.get_mut(way(direction))?.get_mut(priority.position())
}

fn priority(text: &str) -> Option<Priority> {
    text.parse().ok().and_then(|number: u8| Priority::new(number).ok())
}

fn whole(text: &str) -> Option<u64> {
    text.parse().ok()
}

fn real(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)
}

/// The devices that a page knows, for a message to whoever named another.
pub(super) fn devices(page: &[Sample]) -> Vec<String> {
    let mut all: Vec<String> = page
        .iter()
        .filter(|sample| sample.name == "roce_device_info")
        .map(|sample| sample.label("device").to_owned())
        .filter(|device| !device.is_empty())
        .collect();
    all.sort();
    all.dedup();
    all
}
