//! How well a program kept its deadlines, and what it keeps of the past: from its own figures.

use std::collections::BTreeMap;

use crate::strict_parser::ParsedSample;

/// The share of deadlines that must be kept for storms to be seen for certain: gaps are then two intervals on average,
/// and the engine forgives three.
const ENOUGH: f64 = 0.5;
/// Bytes of a sample in a ring, the most samples of one, and the bytes of a storm in the list of a device.
const SAMPLE_BYTES: u64 = 24;
const MOST_SAMPLES: u64 = 65_536;
const STORM_BYTES: u64 = 2 * 256 * SAMPLE_BYTES;
/// Storms of a device that are kept.
const MOST_STORMS: u64 = 16;

/// The looks at one program.
#[derive(Default)]
pub struct Pace {
    /// When a look certainly had begun and ended, with deadlines kept and missed by then, of each device.
    looks: BTreeMap<String, Vec<Look>>,
}

#[derive(Clone, Copy)]
struct Look {
    from: u64,
    to: u64,
    kept: f64,
    missed: f64,
}

impl Pace {
    /// Takes in what was shown between two instants.
    pub fn note(&mut self, samples: &[ParsedSample], (from, to): (u64, u64)) {
        for kept in series(samples, "roce_sampler_samples_total") {
            if kept.labels["source"] != "ethtool" {
                continue;
            }
            let missed = series(samples, "roce_sampler_missed_total")
                .find(|missed| missed.labels == kept.labels)
                .map_or(0.0, number);
            let looks = self.looks.entry(kept.labels["device"].clone()).or_default();
            looks.push(Look { from, to, kept: number(kept), missed });
        }
    }

    /// Whether for some time between two instants enough deadlines were kept.
    pub fn kept_up(&self, device: &str, (from, to): (u64, u64)) -> bool {
        let looks = self.looks.get(device).map_or(&[][..], Vec::as_slice);
        looks.windows(2).any(|pair| {
            let (kept, missed) = (pair[1].kept - pair[0].kept, pair[1].missed - pair[0].missed);
            let within = pair[0].from >= from && pair[1].to <= to;
            within && kept > 0.0 && kept >= ENOUGH * (kept + missed)
        })
    }
}

/// Bytes of as many rings as there are, when they are full.
pub fn ring_bytes(samples: &[ParsedSample]) -> u64 {
    rings(samples).len() as u64 * MOST_SAMPLES * SAMPLE_BYTES
}

/// Bytes that the program says it keeps of the past. They grow by design until the rings are full.
pub fn kept_bytes(samples: &[ParsedSample]) -> u64 {
    let mut storms: BTreeMap<&str, u64> = BTreeMap::new();
    for series in series(samples, "roce_pfc_storms_total") {
        *storms.entry(&series.labels["device"]).or_default() += number(series) as u64;
    }
    let rings = rings(samples);
    let of_rings: u64 = rings.values().map(|rows| (*rows).min(MOST_SAMPLES) * SAMPLE_BYTES).sum();
    let of_storms: u64 = storms.values().map(|own| (*own).min(MOST_STORMS) * STORM_BYTES).sum();
    of_rings + of_storms
}

/// How many samples each device and priority that has a past put into its ring at most.
fn rings(samples: &[ParsedSample]) -> BTreeMap<(&String, &String), u64> {
    let taken = |device: &str| {
        let own = series(samples, "roce_sampler_samples_total");
        let own = own.filter(|series| series.labels["device"] == device);
        own.map(|series| number(series) as u64).max().unwrap_or(0)
    };
    let judged = series(samples, "roce_pfc_storms_total");
    let keys = judged.map(|series| (&series.labels["device"], &series.labels["priority"]));
    keys.map(|key| (key, taken(key.0))).collect()
}

fn series<'a>(
    samples: &'a [ParsedSample],
    name: &'a str,
) -> impl Iterator<Item = &'a ParsedSample> {
    samples.iter().filter(move |sample| sample.name == name)
}

fn number(sample: &ParsedSample) -> f64 {
    sample.value.parse().unwrap()
}
