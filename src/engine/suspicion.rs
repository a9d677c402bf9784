//! What speaks for a storm before it is one, and for calm before it is over.
//!
//! Samples of a few milliseconds are judged together with their neighbours, so that a break of some microseconds
//! weighs the same at every interval. Values can be old when they are read; then a single sample may show less than
//! was paused and the next one more. Refuses a storm of which all samples together do not show enough.

use std::time::Duration;

use super::storm::{Judged, PausedBefore, StormSettings};
use crate::model::Monotonic;

/// Samples closer than this are judged together.
const TOGETHER: Duration = Duration::from_millis(10);

/// The least ratio at which a sample of old values can be one that was paused from some time on.
const LEAST_DOUBTFUL_RATIO: f64 = 0.5;

/// Suspect samples in a row, followed twice: as each sample shows it, and with the doubt in old values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Suspicion {
    plain: Option<Run>,
    doubtful: Option<Run>,
}

impl Suspicion {
    /// With one more sample. What it breaks, it may begin anew.
    #[must_use]
    pub(super) fn joined(self, settings: &StormSettings, judged: &Judged) -> Self {
        let follow = |run: Option<Run>, doubt| {
            let joined = run.and_then(|run| run.joined(settings, judged, doubt));
            joined.or_else(|| Run::begin(settings, judged, doubt))
        };
        let old = !judged.doubt.is_zero();
        Self {
            plain: follow(self.plain, Duration::ZERO),
            doubtful: old.then(|| follow(self.doubtful, judged.doubt)).flatten(),
        }
    }

    /// Past a gap that was held, too, and lends no time.
    #[must_use]
    pub(super) fn past_gap(self, span: Duration) -> Self {
        let past = |run: Run| Run { gaps: run.gaps + span, ..run };
        Self { plain: self.plain.map(past), doubtful: self.doubtful.map(past) }
    }

    /// Whether nothing is suspect.
    #[must_use]
    pub(super) const fn is_none(&self) -> bool {
        self.plain.is_none() && self.doubtful.is_none()
    }

    /// When the storm that it has become began, and its time so far; none if it is none yet.
    #[must_use]
    pub(super) fn storm(&self, settings: &StormSettings) -> Option<(Monotonic, Duration)> {
        let plain = self.plain.filter(|run| run.lasts(settings));
        let shown = |run: &Run| run.paused >= run.time.mul_f64(share(settings.suspect_ratio));
        let doubtful = self.doubtful.filter(|run| run.lasts(settings) && shown(run));
        plain.or(doubtful).map(|run| (run.since, run.time + run.gaps))
    }
}

/// Samples in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    since: Monotonic,
    time: Duration,
    /// What of that time may have been a pause of its own, before this one.
    uncounted: Duration,
    paused: Duration,
    /// Free time beyond what a suspect ratio allows.
    debt: Duration,
    /// Time in gaps, which makes no storm but belongs to one.
    gaps: Duration,
    samples: u32,
}

impl Run {
    /// What a sample begins, if it is suspect by itself.
    fn begin(settings: &StormSettings, judged: &Judged, doubt: Duration) -> Option<Self> {
        let suspect = judged.ratio >= settings.suspect_ratio;
        let doubtful = !doubt.is_zero() && judged.ratio >= LEAST_DOUBTFUL_RATIO;
        if !suspect && !doubtful {
            return None;
        }
        // The pause began before a sample that is all paused, or within one that is not.
        let (own, before) = if suspect {
            (judged.span, judged.before)
        } else {
            (judged.paused, PausedBefore::default())
        };
        let time = own + before.paused;
        Some(Self {
            since: judged.ended.minus(time),
            time,
            uncounted: before.paused.saturating_sub(before.counted),
            paused: judged.paused + before.paused,
            debt: Duration::ZERO,
            gaps: Duration::ZERO,
            // The sample in which it began has shown it, too.
            samples: 1 + u32::from(!before.paused.is_zero()),
        })
    }

    /// With one more sample; none if that breaks it.
    fn joined(self, settings: &StormSettings, judged: &Judged, doubt: Duration) -> Option<Self> {
        let free_share = share(1.0 - settings.suspect_ratio);
        let allowed = judged.paused + judged.span.mul_f64(free_share);
        let debt = (self.debt + judged.span).saturating_sub(allowed);
        let most = doubt.max(leeway(judged.span, free_share));
        let by_itself = doubt.is_zero() && judged.ratio >= settings.suspect_ratio;
        let held = by_itself || (!most.is_zero() && debt <= most);
        held.then(|| Self {
            time: self.time + judged.span,
            paused: self.paused + judged.paused,
            debt,
            samples: self.samples + 1,
            ..self
        })
    }

    /// Whether it has lasted for as long as a storm does.
    fn lasts(&self, settings: &StormSettings) -> bool {
        self.time.saturating_sub(self.uncounted) >= settings.detection
            && self.samples >= settings.least_samples
    }
}

/// Quiet samples in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Quiet {
    time: Duration,
    /// Paused time beyond what a quiet ratio allows.
    excess: Duration,
}

impl Quiet {
    /// How long it has been quiet.
    #[must_use]
    pub(super) const fn time(&self) -> Duration {
        self.time
    }

    /// With one more sample; none if that breaks it.
    #[must_use]
    pub(super) fn joined(self, settings: &StormSettings, judged: &Judged) -> Option<Self> {
        let paused_share = share(settings.over_ratio);
        let paused = judged.span.mul_f64(judged.ratio);
        let excess = (self.excess + paused).saturating_sub(judged.span.mul_f64(paused_share));
        let most = leeway(judged.span, paused_share);
        let quiet = judged.ratio < settings.over_ratio || (!most.is_zero() && excess <= most);
        quiet.then(|| Self { time: self.time + judged.span, excess })
    }
}

/// What a sample may be off by, if its neighbours make up for it.
fn leeway(span: Duration, share: f64) -> Duration {
    if span < TOGETHER { TOGETHER.mul_f64(share) } else { Duration::ZERO }
}

const fn share(ratio: f64) -> f64 {
    ratio.clamp(0.0, 1.0)
}
