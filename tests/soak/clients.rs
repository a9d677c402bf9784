//! Clients that scrape a program again and again, and remember what it said.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use roce_exporter::export::Format;

use crate::strict_parser::{ParsedSample, parse};

/// How many there are, and how often each asks.
pub const CLIENTS: u64 = 4;
const PERIOD: Duration = Duration::from_millis(500);
/// What is the kernel's own count, on which a reload has no hold.
const OF_THE_KERNEL: [&str; 7] = [
    "roce_pfc_pause_frames_total",
    "roce_pfc_pause_seconds_total",
    "roce_pfc_pause_transitions_total",
    "roce_priority_",
    "roce_traffic_class_",
    "process_cpu_seconds_total",
    "roce_config_changes_total",
];

type Key = (String, BTreeMap<String, String>);

/// Reloads that began and that ended, added up: odd while one is going on.
#[derive(Default)]
pub struct Reloads(AtomicU64);

impl Reloads {
    pub fn begins(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub fn ended(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

pub fn parsed(text: &str) -> Vec<ParsedSample> {
    let families = parse(text, Format::Text004).into_iter();
    families.flat_map(|family| family.samples).collect()
}

/// What one server of a program said last.
pub struct Memory {
    /// Which devices come and go: one that goes may be taken up once more, and its counts then begin anew.
    passing: fn(&str) -> bool,
    counters: BTreeMap<Key, f64>,
    reloads: u64,
}

impl Memory {
    pub const fn new(passing: fn(&str) -> bool) -> Self {
        Self { passing, counters: BTreeMap::new(), reloads: 0 }
    }

    /// Asks once. Panics when a counter went back.
    pub fn ask(&mut self, reloads: &Reloads, ask: impl Fn() -> String) {
        let begun = reloads.count();
        let text = ask();
        let quiet = begun.is_multiple_of(2) && reloads.count() == begun && self.reloads == begun;
        self.reloads = begun;
        let counts = ["_total", "_bucket", "_count", "_sum"];
        let samples = parsed(&text).into_iter();
        let now: BTreeMap<Key, f64> = samples
            .filter(|sample| counts.iter().any(|end| sample.name.ends_with(end)))
            .filter(|sample| !sample.labels.get("device").is_some_and(|own| (self.passing)(own)))
            .map(|sample| ((sample.name, sample.labels), sample.value.parse().unwrap()))
            .collect();
        for (key, value) in &now {
            let own = OF_THE_KERNEL.iter().any(|start| key.0.starts_with(start));
            let Some(last) = self.counters.get(key) else { continue };
            let back = value < last && (quiet || own) && !was_reset(&self.counters, &now, &key.1);
            assert!(!back, "{key:?} went back from {last} to {value}");
        }
        self.counters = now;
    }
}

/// Asks each server in turn until the time is over. Returns how many answers there were.
pub fn ask_until(
    until: Instant,
    reloads: &Reloads,
    passing: fn(&str) -> bool,
    asks: &[&dyn Fn() -> String],
) -> u64 {
    let mut memories: Vec<Memory> = asks.iter().map(|_| Memory::new(passing)).collect();
    let mut answers = 0;
    while Instant::now() < until {
        for (memory, ask) in memories.iter_mut().zip(asks) {
            memory.ask(reloads, ask);
            answers += 1;
        }
        std::thread::sleep(PERIOD);
    }
    answers
}

/// Whether the program itself counted that the device's counters began anew.
fn was_reset(
    before: &BTreeMap<Key, f64>,
    now: &BTreeMap<Key, f64>,
    labels: &BTreeMap<String, String>,
) -> bool {
    let resets = |of: &BTreeMap<Key, f64>| -> f64 {
        let device = labels.get("device");
        let counted = of.iter().filter(|((name, own), _)| {
            name == "roce_counter_resets_total" && own.get("device") == device
        });
        counted.map(|(_, value)| value).sum()
    };
    resets(now) > resets(before)
}
