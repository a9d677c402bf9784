//! Who holds whom: pause sent against pause received, per priority.
//!
//! +1: this port holds its peer. −1: the peer holds this port. Refuses to speak of noise: below 0.1 % of time
//! paused in both directions together there is no figure.

use super::pause::{Track, frames_share, paused_share};
use super::snapshot::Basis;
use super::window::Sums;
use crate::model::{Direction, LinkFacts, Priority};

/// The least sum of both ratios for which there is a figure.
const LEAST_RATIO: f64 = 0.001;

/// `(tx − rx) / (tx + rx)` of `priority` over the ratio window. Priorities of one traffic class can count in
/// unison (ice), so the class's highest figure stands for each of them, never the sum.
#[must_use]
pub(super) fn asymmetry(tracks: &[Track], priority: Priority, link: &LinkFacts) -> Option<f64> {
    let class_of =
        |own: Priority| link.traffic_class.and_then(|classes| classes.get(own.position()).copied());
    let class = class_of(priority);
    let mates = |own: Priority| own == priority || (class.is_some() && class_of(own) == class);
    let chosen = |direction: Direction| {
        tracks.iter().filter(move |own| own.direction() == direction && mates(own.priority()))
    };
    let exact = tracks
        .iter()
        .filter(|own| own.priority() == priority)
        .all(|own| own.basis() == Basis::Duration);
    let highest = |direction: Direction, figure: &dyn Fn(Sums) -> Option<f64>| {
        chosen(direction).filter_map(Track::window).filter_map(figure).reduce(f64::max)
    };
    let share = |direction: Direction| {
        let by_time = |sums: Sums| Some(paused_share(sums));
        let by_frames = |sums: Sums| frames_share(sums, link.speed);
        if exact { highest(direction, &by_time) } else { highest(direction, &by_frames) }
    };
    let (tx, rx) = (share(Direction::Tx)?, share(Direction::Rx)?);
    if tx + rx < LEAST_RATIO {
        return None;
    }
    let (tx, rx) = if exact {
        (tx, rx)
    } else {
        // The bounds are cut at 1; the frames themselves are not.
        let frames = |direction: Direction| highest(direction, &frame_rate);
        (frames(Direction::Tx)?, frames(Direction::Rx)?)
    };
    let both = tx + rx;
    (both > 0.0).then(|| ((tx - rx) / both).clamp(-1.0, 1.0))
}

#[allow(clippy::cast_precision_loss, reason = "a rate of frames needs no more than 53 bits")]
fn frame_rate(sums: Sums) -> Option<f64> {
    (sums.judged_nanos > 0).then(|| sums.frames as f64 / sums.judged_nanos as f64)
}
