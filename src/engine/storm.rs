//! Storms: a priority held shut for so long that it stalls whoever is behind it.
//!
//! One state machine per priority and direction. The ratio of paused time decides, not the presence of frames:
//! XON frames are frames too. Refuses a verdict where an interval could not be judged.

use std::time::Duration;

use super::history::StormNow;
use super::suspicion::{Quiet, Suspicion};
use crate::model::Monotonic;

/// What makes a storm. Every figure is a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StormSettings {
    /// A sample with at least this ratio is suspect.
    pub suspect_ratio: f64,
    /// Suspect time, without a break, that makes a storm.
    pub detection: Duration,
    /// Suspect samples (refreshes, where a driver refreshes slowly) that a storm needs at least.
    pub least_samples: u32,
    /// A sample below this ratio is quiet.
    pub over_ratio: f64,
    /// Quiet time that ends a storm.
    pub recovery: Duration,
}

impl StormSettings {
    /// The figures that hold where nobody set others.
    pub const DEFAULT: Self = Self {
        suspect_ratio: 0.95,
        detection: Duration::from_millis(200),
        least_samples: 2,
        over_ratio: 0.05,
        recovery: Duration::from_millis(400),
    };
}

impl Default for StormSettings {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What the traffic counters say of a suspected storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// No data moved that a held priority would not have moved.
    Agrees,
    /// Data moved as if nothing was held.
    Contradicts,
    /// There is no such counter, or no scale for it.
    Unknown,
}

/// One judged sample, as a storm sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    /// The end of the judged span.
    pub ended: Monotonic,
    /// The judged span.
    pub span: Duration,
    /// Share of the span that was paused, or an upper bound of it.
    pub ratio: f64,
    /// Paused time that was counted over the span: more than the span where the value before was an old one.
    pub paused: Duration,
    /// How much older than their read values may be.
    pub doubt: Duration,
    /// Whether the ratio is only an upper bound, which needs evidence to mean anything.
    pub upper_bound: bool,
    /// What the traffic says.
    pub evidence: Evidence,
    /// The judged span just before, into which this one's pause may reach back.
    pub before: PausedBefore,
}

/// The pause of a span, as the one after it sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PausedBefore {
    /// All of it: most likely the end of the span.
    pub paused: Duration,
    /// What of it counts for the detection time. When in a span it was paused is not known. In one of the meant length
    /// the error is within the bound of one interval; what a late read adds to the span may all have been a pause of
    /// its own.
    pub counted: Duration,
}

impl PausedBefore {
    /// Of a span that was meant to be of `nominal` length.
    #[must_use]
    pub(super) fn of(span: Duration, nominal: Duration, ratio: f64) -> Self {
        let paused = span.mul_f64(ratio);
        let late = span.saturating_sub(nominal);
        Self { paused, counted: paused.saturating_sub(late) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Calm,
    Suspect(Suspicion),
    Storm(Quiet),
}

/// The storm state of one priority and direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storm {
    phase: Phase,
    episodes: u64,
    time: Duration,
    last_start: Option<Monotonic>,
    /// The end of the last sample that belongs to a storm.
    held_until: Monotonic,
}

impl Storm {
    /// Calm, nothing seen.
    #[must_use]
    pub(super) const fn new() -> Self {
        Self {
            phase: Phase::Calm,
            episodes: 0,
            time: Duration::ZERO,
            last_start: None,
            held_until: Monotonic::ZERO,
        }
    }

    /// Whether a storm is on. It is, too, while it is quiet but not for long enough.
    #[must_use]
    pub(super) const fn is_active(&self) -> bool {
        matches!(self.phase, Phase::Storm(_))
    }

    /// Storms since the engine began.
    #[must_use]
    pub(super) const fn episodes(&self) -> u64 {
        self.episodes
    }

    /// Time in storms, without the quiet that ended them.
    #[must_use]
    pub(super) const fn time(&self) -> Duration {
        self.time
    }

    /// When the last storm began.
    #[must_use]
    pub(super) const fn last_start(&self) -> Option<Monotonic> {
        self.last_start
    }

    /// Where it stands, for the list of storms; `start_unix` is when the last one began on the wall clock.
    #[must_use]
    pub(super) fn now(&self, start_unix: Option<f64>) -> StormNow {
        StormNow {
            active: self.is_active(),
            episodes: self.episodes,
            began: self.last_start.zip(start_unix),
            held_until: self.held_until,
        }
    }

    /// Takes a judged sample.
    pub(super) fn judge(&mut self, settings: &StormSettings, judged: &Judged) {
        match self.phase {
            Phase::Storm(quiet) => self.go_on(settings, judged, quiet),
            Phase::Calm | Phase::Suspect(_) => self.suspect(settings, judged),
        }
    }

    fn suspect(&mut self, settings: &StormSettings, judged: &Judged) {
        let certain = match judged.evidence {
            Evidence::Agrees => true,
            Evidence::Unknown => !judged.upper_bound,
            Evidence::Contradicts => false,
        };
        if !certain {
            self.phase = Phase::Calm;
            return;
        }
        let before = match self.phase {
            Phase::Suspect(suspicion) => suspicion,
            Phase::Calm | Phase::Storm(_) => Suspicion::default(),
        };
        let suspicion = before.joined(settings, judged);
        if let Some((since, time)) = suspicion.storm(settings) {
            self.begin(since);
            self.held_until = judged.ended;
            self.time += time;
        } else if suspicion.is_none() {
            self.phase = Phase::Calm;
        } else {
            self.phase = Phase::Suspect(suspicion);
        }
    }

    fn go_on(&mut self, settings: &StormSettings, judged: &Judged, quiet: Quiet) {
        self.phase = match quiet.joined(settings, judged) {
            None => {
                self.time += quiet.time() + judged.span;
                self.held_until = judged.ended;
                Phase::Storm(Quiet::default())
            }
            Some(longer) if longer.time() >= settings.recovery => Phase::Calm,
            Some(longer) => Phase::Storm(longer),
        };
    }

    fn begin(&mut self, since: Monotonic) {
        self.phase = Phase::Storm(Quiet::default());
        self.episodes += 1;
        self.last_start = Some(since);
    }

    /// The NIC's own stall detector fired: an episode, whatever the ratio says.
    pub(super) fn stalled(&mut self, now: Monotonic) {
        self.held_until = now;
        match self.phase {
            Phase::Storm(_) => self.phase = Phase::Storm(Quiet::default()),
            Phase::Calm | Phase::Suspect(_) => self.begin(now),
        }
    }

    /// A sample after a long gap. It begins no storm and lends a suspicion no time, but does not end one either if
    /// all of it was paused.
    pub(super) fn pass_gap(&mut self, settings: &StormSettings, judged: &Judged) {
        match self.phase {
            Phase::Storm(quiet) => self.go_on(settings, judged, quiet),
            Phase::Suspect(own) if judged.ratio >= settings.suspect_ratio => {
                self.phase = Phase::Suspect(own.past_gap(judged.span));
            }
            Phase::Calm | Phase::Suspect(_) => self.phase = Phase::Calm,
        }
    }

    /// An interval could not be judged: suspicion ends, a storm goes on.
    pub(super) fn no_verdict(&mut self) {
        if matches!(self.phase, Phase::Suspect(_)) {
            self.phase = Phase::Calm;
        }
    }

    /// The link went down or changed: what was before is over.
    pub(super) fn new_epoch(&mut self) {
        self.phase = Phase::Calm;
    }
}

impl Default for Storm {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
#[path = "storm_tests.rs"]
mod tests;
