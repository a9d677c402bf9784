//! Storms: a priority held shut for so long that it stalls whoever is behind it.
//!
//! One state machine per priority and direction. The ratio of paused time decides, not the presence of frames:
//! XON frames are frames too. Refuses a verdict where an interval could not be judged.

use std::time::Duration;

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
    /// What makes a storm unless it is said otherwise.
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
    /// The sample's time, which is the end of the judged span.
    pub now: Monotonic,
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
    /// Paused time in the judged span just before, up to which this one's pause may reach back.
    pub paused_before: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Calm,
    Suspect(Suspicion),
    Storm { quiet: Duration },
}

/// Suspect samples in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Suspicion {
    since: Monotonic,
    time: Duration,
    paused: Duration,
    samples: u32,
}

/// A sample that counts old values can show this much less than was paused and still begin a suspicion.
const LEAST_DOUBTFUL_RATIO: f64 = 0.5;

impl Suspicion {
    /// What a sample begins, if it is suspect by itself.
    fn begin(settings: &StormSettings, judged: &Judged) -> Option<Self> {
        let doubtful = !judged.doubt.is_zero() && judged.ratio >= LEAST_DOUBTFUL_RATIO;
        if judged.ratio < settings.suspect_ratio && !doubtful {
            return None;
        }
        let time = judged.span + judged.paused_before;
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let since = Monotonic::from_nanos(judged.now.as_nanos().saturating_sub(nanos));
        Some(Self { since, time, paused: judged.paused + judged.paused_before, samples: 1 })
    }

    /// Whether all of it may have been paused, with the sample that came last.
    fn is_held(&self, settings: &StormSettings, judged: &Judged) -> bool {
        let free = self.time.saturating_sub(self.paused);
        let may_be_old =
            self.time.mul_f64(1.0 - settings.suspect_ratio.clamp(0.0, 1.0)) + judged.doubt;
        judged.ratio >= settings.suspect_ratio || (!judged.doubt.is_zero() && free <= may_be_old)
    }
}

/// The storm state of one priority and direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storm {
    phase: Phase,
    episodes: u64,
    time: Duration,
    last_start: Option<Monotonic>,
}

impl Storm {
    /// Calm, nothing seen.
    #[must_use]
    pub(super) const fn new() -> Self {
        Self { phase: Phase::Calm, episodes: 0, time: Duration::ZERO, last_start: None }
    }

    /// Whether a storm is on. It is, too, while it is quiet but not for long enough.
    #[must_use]
    pub(super) const fn is_active(&self) -> bool {
        matches!(self.phase, Phase::Storm { .. })
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

    /// Takes a judged sample.
    pub(super) fn judge(&mut self, settings: &StormSettings, judged: &Judged) {
        match self.phase {
            Phase::Storm { quiet } => self.go_on(settings, judged, quiet),
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
        let joined = self.joined(judged).filter(|own| own.is_held(settings, judged));
        let Some(suspicion) = joined.or_else(|| Suspicion::begin(settings, judged)) else {
            self.phase = Phase::Calm;
            return;
        };
        let Suspicion { since, time, paused, samples } = suspicion;
        // Where values may be old, the pause itself must have been counted, too.
        let counted = judged.doubt.is_zero()
            || paused >= settings.detection.mul_f64(settings.suspect_ratio.clamp(0.0, 1.0));
        if time >= settings.detection && samples >= settings.least_samples && counted {
            self.begin(since);
            self.time += time;
        } else {
            self.phase = Phase::Suspect(suspicion);
        }
    }

    /// The present suspicion with one more sample.
    fn joined(&self, judged: &Judged) -> Option<Suspicion> {
        let Phase::Suspect(own) = self.phase else { return None };
        Some(Suspicion {
            time: own.time + judged.span,
            paused: own.paused + judged.paused,
            samples: own.samples + 1,
            ..own
        })
    }

    fn go_on(&mut self, settings: &StormSettings, judged: &Judged, quiet: Duration) {
        if judged.ratio >= settings.over_ratio {
            self.time += quiet + judged.span;
            self.phase = Phase::Storm { quiet: Duration::ZERO };
        } else if quiet + judged.span >= settings.recovery {
            self.phase = Phase::Calm;
        } else {
            self.phase = Phase::Storm { quiet: quiet + judged.span };
        }
    }

    fn begin(&mut self, since: Monotonic) {
        self.phase = Phase::Storm { quiet: Duration::ZERO };
        self.episodes += 1;
        self.last_start = Some(since);
    }

    /// The NIC's own stall detector fired: an episode, whatever the ratio says.
    pub(super) fn stalled(&mut self, now: Monotonic) {
        match self.phase {
            Phase::Storm { .. } => self.phase = Phase::Storm { quiet: Duration::ZERO },
            Phase::Calm | Phase::Suspect(_) => self.begin(now),
        }
    }

    /// A sample after a long gap. It begins no storm and lends a suspicion no time, but does not end one either if
    /// all of it was paused.
    pub(super) fn pass_gap(&mut self, settings: &StormSettings, judged: &Judged) {
        match self.phase {
            Phase::Storm { quiet } => self.go_on(settings, judged, quiet),
            Phase::Suspect(_) if judged.ratio >= settings.suspect_ratio => {}
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
