//! Who holds whom: pause sent against pause received, per priority.
//!
//! +1: this port holds its peer. −1: the peer holds this port. Refuses to speak of noise: below 0.1 % of time
//! paused in both directions together there is no figure.

use super::pause::{Track, frames_share, paused_share};
use super::snapshot::Basis;
use super::window::Sums;
use super::{has, mask_of};
use crate::model::{Direction, LinkFacts, Priority};

/// The least sum of both ratios for which there is a figure.
const LEAST_RATIO: f64 = 0.001;

/// What the ratio window holds per priority, for one direction.
type Side = [Option<Sums>; Priority::COUNT];

/// What the ratio window holds per priority and direction.
#[derive(Debug, Default)]
pub(super) struct Windows {
    tx: Side,
    rx: Side,
    /// Priorities of which some figure is made of frames.
    inexact: u8,
}

impl Windows {
    /// Takes in what the window of a track holds.
    pub(super) fn note(&mut self, track: &Track, window: Option<Sums>) {
        let side = match track.direction() {
            Direction::Tx => &mut self.tx,
            Direction::Rx => &mut self.rx,
        };
        if let Some(own) = side.get_mut(track.priority().position()) {
            *own = window;
        }
        if track.basis() == Basis::Frames {
            self.inexact |= mask_of(track.priority());
        }
    }

    /// `(tx − rx) / (tx + rx)` over the ratio window, for each priority of the mask `shown`.
    ///
    /// Frames of priorities of one traffic class can be counted in unison (ice), so the class's highest figure
    /// stands for each of them, never the sum. Pause time is each priority's own.
    #[must_use]
    pub(super) fn asymmetries(
        &self,
        link: &LinkFacts,
        shown: u8,
    ) -> [Option<f64>; Priority::COUNT] {
        Priority::ALL.map(|priority| {
            let exact = !has(self.inexact, priority);
            let mates = if exact { mask_of(priority) } else { mates(priority, link) };
            // A mate's frames alone are none of this priority's.
            let paused =
                exact || [&self.tx, &self.rx].iter().any(|side| has_frames(side, priority));
            let speaks = has(shown, priority) && paused;
            speaks.then(|| between(&self.tx, &self.rx, mates, exact, link)).flatten()
        })
    }
}

fn has_frames(side: &Side, priority: Priority) -> bool {
    side.get(priority.position()).is_some_and(|own| own.is_some_and(|sums| sums.frames > 0))
}

/// The mask of the priorities whose frames may be counted as this one's: those of its traffic class.
fn mates(priority: Priority, link: &LinkFacts) -> u8 {
    let Some(classes) = link.traffic_class else { return mask_of(priority) };
    let class_of = |own: Priority| classes.get(own.position());
    let alike = Priority::ALL.into_iter().filter(|own| class_of(*own) == class_of(priority));
    alike.fold(0, |mask, own| mask | mask_of(own))
}

fn between(tx: &Side, rx: &Side, mates: u8, exact: bool, link: &LinkFacts) -> Option<f64> {
    let by_time = |sums: Sums| Some(paused_share(sums));
    let by_frames = |sums: Sums| frames_share(sums, link.speed);
    let share =
        |side| if exact { highest(side, mates, by_time) } else { highest(side, mates, by_frames) };
    let (tx_share, rx_share) = (share(tx)?, share(rx)?);
    if tx_share + rx_share < LEAST_RATIO {
        return None;
    }
    let (tx, rx) = if exact {
        (tx_share, rx_share)
    } else {
        // The bounds are cut at 1; the frames themselves are not.
        (highest(tx, mates, frame_rate)?, highest(rx, mates, frame_rate)?)
    };
    let both = tx + rx;
    (both > 0.0).then(|| ((tx - rx) / both).clamp(-1.0, 1.0))
}

/// The highest `figure` of the priorities in the mask.
fn highest(side: &Side, mask: u8, figure: impl Fn(Sums) -> Option<f64>) -> Option<f64> {
    let chosen = Priority::ALL.iter().zip(side).filter(|(priority, _)| has(mask, **priority));
    chosen.filter_map(|(_, window)| figure((*window)?)).reduce(f64::max)
}

#[allow(clippy::cast_precision_loss, reason = "a rate of frames needs no more than 53 bits")]
fn frame_rate(sums: Sums) -> Option<f64> {
    (sums.judged_nanos > 0).then(|| sums.frames as f64 / sums.judged_nanos as f64)
}
