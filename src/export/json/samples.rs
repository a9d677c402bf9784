//! The last minutes of a priority: each sample, or each second with its mean and its peak.

use serde::Serialize;

use super::{Share, to_micros};
use crate::engine::Basis;
use crate::engine::history::{PastPause, PastSample, PastSamples};
use crate::model::{Direction, Monotonic};

/// The samples of one priority.
#[derive(Serialize)]
pub(crate) struct Samples<'a> {
    device: &'a str,
    priority: u8,
    samples: Vec<Sample>,
}

#[derive(Serialize)]
pub(super) struct Sample {
    ended_unix_seconds: f64,
    span_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tx: Option<Side>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rx: Option<Side>,
}

#[derive(Serialize)]
struct Side {
    #[serde(flatten)]
    share: Share,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_frames: Option<u32>,
}

/// The last minutes of one priority by the second.
#[derive(Serialize)]
pub(crate) struct Trend {
    device: String,
    priority: u8,
    seconds: Vec<Second>,
}

/// All samples that ended in one second.
#[derive(Serialize)]
struct Second {
    unix_second: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tx: Option<MeanAndPeak>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rx: Option<MeanAndPeak>,
}

#[derive(Clone, Copy, Serialize)]
struct MeanAndPeak {
    mean: f64,
    peak: f32,
}

/// The samples of a priority.
pub(crate) fn samples<'a>(device: &'a str, priority: u8, past: &PastSamples) -> Samples<'a> {
    let of = |own| sample(own, past.basis, |at| past.unix_seconds(at));
    Samples { device, priority, samples: past.samples.iter().map(of).collect() }
}

pub(super) fn sample(
    own: &PastSample,
    [tx, rx]: [Option<Basis>; 2],
    unix: impl Fn(Monotonic) -> f64,
) -> Sample {
    let side = |pause: PastPause, basis| {
        let judged = pause.share.is_some() || pause.frames.is_some();
        judged.then(|| Side { share: Share::new(pause.share, basis), pause_frames: pause.frames })
    };
    Sample {
        ended_unix_seconds: to_micros(unix(own.ended)),
        span_seconds: to_micros(own.span.as_secs_f64()),
        tx: side(own.tx, tx),
        rx: side(own.rx, rx),
    }
}

/// A priority by the second. A second in which no sample ended is not there.
pub(crate) fn trend(device: &str, priority: u8, past: &PastSamples) -> Trend {
    let second_of = |own: &PastSample| whole_second(past.unix_seconds(own.ended));
    let seconds = past.samples.chunk_by(|one, other| second_of(one) == second_of(other));
    let seconds = seconds.filter_map(|own| {
        let unix_second = second_of(own.first()?);
        let (tx, rx) = (summed(own, Direction::Tx), summed(own, Direction::Rx));
        Some(Second { unix_second, tx, rx })
    });
    Trend { device: device.to_owned(), priority, seconds: seconds.collect() }
}

fn summed(samples: &[PastSample], direction: Direction) -> Option<MeanAndPeak> {
    let (mut time, mut paused, mut peak) = (0.0, 0.0, None::<f32>);
    for own in samples {
        let pause = if direction == Direction::Tx { own.tx } else { own.rx };
        let Some(share) = pause.share else { continue };
        let span = own.span.as_secs_f64();
        time += span;
        paused += span * f64::from(share);
        peak = Some(peak.map_or(share, |own| own.max(share)));
    }
    let peak = peak.filter(|_| time > 0.0)?;
    Some(MeanAndPeak { mean: to_micros(paused / time), peak })
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates; Unix time is positive"
)]
const fn whole_second(unix_seconds: f64) -> u64 {
    unix_seconds as u64
}
