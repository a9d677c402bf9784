//! Storms now and lately.

use std::sync::Arc;

use serde::Serialize;

use super::samples::{Sample, sample};
use super::{Share, meaning, to_micros};
use crate::engine::Basis;
use crate::engine::history::Episode;

/// One storm.
#[derive(Serialize)]
pub(crate) struct Storm<'a> {
    id: u64,
    device: &'a str,
    priority: u8,
    direction: &'static str,
    meaning: &'static str,
    active: bool,
    onset_unix_seconds: f64,
    /// The end of its last held sample; none while it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_unix_seconds: Option<f64>,
    lasted_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    basis: Option<&'static str>,
    peak: Peak,
}

#[derive(Serialize)]
struct Peak {
    #[serde(flatten)]
    share: Share,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_frame_rate: Option<f64>,
}

/// One storm with the samples around its onset and its end.
#[derive(Serialize)]
pub(crate) struct StormWithSamples<'a> {
    #[serde(flatten)]
    storm: Storm<'a>,
    samples: Vec<Sample>,
}

/// All storms that are kept, in the order given.
pub(crate) fn storms(all: &[(Arc<str>, Episode)]) -> Vec<Storm<'_>> {
    all.iter().map(|(device, own)| one(device, own)).collect()
}

/// One storm with its samples.
pub(crate) fn storm<'a>(device: &'a str, own: &'a Episode) -> StormWithSamples<'a> {
    let unix = |at| {
        own.onset_unix_seconds + crate::model::Monotonic::since(at, own.onset).as_secs_f64()
            - own.onset.since(at).as_secs_f64()
    };
    let of = |past| sample(past, [own.basis; 2], unix);
    StormWithSamples { storm: one(device, own), samples: own.samples.iter().map(of).collect() }
}

fn one<'a>(device: &'a str, own: &Episode) -> Storm<'a> {
    let lasted = own.lasted.as_secs_f64();
    Storm {
        id: own.id,
        device,
        priority: own.priority.number(),
        direction: own.direction.as_str(),
        meaning: meaning(own.direction),
        active: own.active,
        onset_unix_seconds: to_micros(own.onset_unix_seconds),
        end_unix_seconds: (!own.active).then(|| to_micros(own.onset_unix_seconds + lasted)),
        lasted_seconds: to_micros(lasted),
        basis: own.basis.map(Basis::as_str),
        peak: Peak {
            share: Share::new(own.peak_share, own.basis),
            pause_frame_rate: own.peak_frame_rate,
        },
    }
}
