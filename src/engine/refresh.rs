//! How often a source has new values, learned from the values.
//!
//! Some drivers serve figures that firmware or a timer refreshes every 250 ms or every second. A fast reader
//! then sees a staircase: everything repeats, then jumps. A jump belongs to the time since the jump before, and
//! nothing may be judged over less than that. The catalogue says what to begin with; the data corrects it.
//! An idle port repeats too, so a period is only learned from jumps that carry weight.

use std::time::Duration;

use crate::model::{Freshness, Monotonic, Plan, Quantity};

/// Gaps between jumps that are remembered.
const GAPS: usize = 8;
/// The longest period that is learned without the catalogue's word.
const LONGEST: Duration = Duration::from_secs(5);
/// How long a source of which nothing is known yet may repeat its values before that means that nothing happens.
const FIRST_PATIENCE: Duration = Duration::from_secs(1);
/// A jump smaller than this many counts in all may be a trickle of single packets on a fresh source.
const WEIGHTY: u64 = 1_000;
/// Jumps for which a repeat on a busy port is remembered as a sign of staleness.
const STALE_JUMPS: u32 = 64;

/// What is to be done with what moved since the last judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing yet: it belongs to a refresh that is not complete.
    Later,
    /// To be dropped: from when on it moved is not known.
    Nothing,
    /// To be judged over this time.
    Span(Duration),
}

/// What the catalogue says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Announced {
    /// Each read is fresh. The data may still show another.
    Live,
    /// It does not know.
    #[default]
    Unknown,
    /// Refreshed on this period.
    Every(Duration),
}

/// The refresh period of one source.
#[derive(Clone, Debug, Default)]
pub(super) struct Refresh {
    announced: Announced,
    period: Option<Duration>,
    /// When something last changed.
    last_jump: Option<Monotonic>,
    /// Whether that change was weighty.
    busy: bool,
    /// Whether that change was read late, so that the gaps around it say little.
    read_late: bool,
    /// Up to where time has been judged.
    judged_to: Option<Monotonic>,
    /// Whether that is where a refresh ended.
    aligned: bool,
    last_seen: Option<Monotonic>,
    /// Jumps for which the source still counts as stale though its period is not known.
    stale_jumps: u32,
    gaps: [Duration; GAPS],
    known_gaps: usize,
    next_gap: usize,
}

impl Refresh {
    /// Begins with what the catalogue says of a plan's pause counters, or of all where there are none.
    #[must_use]
    pub(super) fn of(plan: &Plan) -> Self {
        let pause =
            |quantity| matches!(quantity, Quantity::PfcPauseTime | Quantity::PfcPauseFrames);
        let counters = || plan.counters.iter();
        let of_pause = counters().filter(|own| pause(own.key.quantity));
        let of_pause = of_pause.map(|own| Announced::from(own.freshness)).max();
        let of_all = || counters().map(|own| Announced::from(own.freshness)).max();
        let announced = of_pause.or_else(of_all).unwrap_or_default();
        Self { announced, period: announced.period(), ..Self::default() }
    }

    /// Goes on where `before` stood, unless the catalogue now says something else.
    #[must_use]
    pub(super) fn continuing(self, before: &Self) -> Self {
        let same = self.announced == before.announced && before.last_jump.is_some();
        if same { before.clone() } else { self }
    }

    /// The period in use; none where each read is fresh, or nothing is known.
    #[must_use]
    pub(super) const fn period(&self) -> Option<Duration> {
        self.period
    }

    /// When the refresh took place up to which time was judged.
    #[must_use]
    pub(super) const fn judged_to(&self) -> Option<Monotonic> {
        self.judged_to
    }

    /// How old a value may be when it is read at the nominal `interval`. A period that is not seen is no longer than
    /// the time between two reads.
    #[must_use]
    pub(super) fn age(&self, interval: Duration) -> Duration {
        match (self.period, self.announced) {
            (Some(period), _) => period,
            (None, Announced::Unknown) => interval + interval / 2,
            (None, Announced::Live | Announced::Every(_)) => Duration::ZERO,
        }
    }

    /// How far a judged span may be from the time that its values are of, where there are signs that they are old.
    /// Of a known period it is known to which read it belongs; `gap` is the time since the read before.
    #[must_use]
    pub(super) fn doubt(&self, interval: Duration, gap: Duration) -> Duration {
        let reads = gap.max(interval + interval / 2);
        match self.period {
            Some(period) => period.min(reads),
            None if self.stale_jumps > 0 && self.announced == Announced::Unknown => reads,
            None => Duration::ZERO,
        }
    }

    /// The values themselves show that a read gave old ones.
    pub(super) fn note_old_value(&mut self) {
        self.stale_jumps = STALE_JUMPS;
    }

    /// Forgets what was judged so far, as after a reset or a change of link; the learned period stays.
    pub(super) fn begin_anew(&mut self, now: Monotonic) {
        self.last_jump = Some(now);
        self.judged_to = Some(now);
        self.aligned = false;
    }

    /// Notes a sample in which everything repeated (`weight` none) or jumped (by `weight` counts in all), read
    /// at the nominal `interval`. Returns what is now to be judged.
    pub(super) fn note(&mut self, now: Monotonic, interval: Duration, weight: Option<u64>) -> Due {
        let seen_before = self.last_seen.replace(now);
        let (Some(last_jump), Some(judged_to)) = (self.last_jump, self.judged_to) else {
            self.begin_anew(now);
            return Due::Nothing;
        };
        let Some(weight) = weight else {
            return self.note_repeat(now, interval, last_jump, judged_to);
        };
        let seen = seen_before.unwrap_or(judged_to);
        let late = now.since(seen) > interval * 2;
        if !std::mem::replace(&mut self.read_late, late) && !late {
            self.learn(now.since(last_jump), interval, weight);
        }
        self.last_jump = Some(now);
        self.busy = weight >= WEIGHTY;
        let aligned = std::mem::replace(&mut self.aligned, true);
        let Some(period) = self.period else {
            self.judged_to = Some(now);
            let whole = aligned || self.announced == Announced::Live;
            return if whole { Due::Span(now.since(judged_to)) } else { Due::Nothing };
        };
        if !aligned {
            self.judged_to = Some(now);
            return Due::Nothing;
        }
        if now.since(judged_to) < period / 2 {
            // The rest of a refresh that was read half done; it is judged with the next.
            return Due::Later;
        }
        let ended = refreshed_at(judged_to, period, seen, now);
        self.judged_to = Some(ended);
        let length = ended.since(judged_to);
        let away = now.since(seen) > period / 4;
        // What jumped after a silence belongs to one period, unless we ourselves were away. What jumped a little
        // early does, too: the refresh before was seen late.
        let long = length > period + period / 4 && !away;
        let early = length < period && length >= period / 4 * 3;
        Due::Span(if long || early { period } else { length })
    }

    fn note_repeat(
        &mut self,
        now: Monotonic,
        interval: Duration,
        last_jump: Monotonic,
        judged_to: Monotonic,
    ) -> Due {
        let since_judged = now.since(judged_to);
        let Some(period) = self.period else {
            // On a busy port a fresh source does not repeat. It is no sign of calm, if it does not last.
            if self.announced == Announced::Unknown && (self.busy || !self.aligned) {
                if self.busy && now.since(last_jump) <= interval * 2 {
                    self.stale_jumps = STALE_JUMPS;
                }
                let patience = self.longest_gap().map_or(FIRST_PATIENCE, |gap| gap + gap / 2);
                if now.since(last_jump) < patience {
                    return Due::Later;
                }
            }
            self.judged_to = Some(now);
            return Due::Span(since_judged);
        };
        // Nothing new for more than a period and a half: nothing happened in one of them.
        if since_judged < period + period / 2 {
            return Due::Later;
        }
        self.judged_to = Some(judged_to.plus(period));
        self.aligned = true;
        Due::Span(period)
    }

    fn learn(&mut self, gap: Duration, interval: Duration, weight: u64) {
        self.stale_jumps = self.stale_jumps.saturating_sub(1);
        if let Announced::Every(catalogued) = self.announced {
            self.correct(catalogued, gap, interval);
            return;
        }
        // A source that the catalogue calls fresh has to show more before it counts as stale.
        let (fresh, stale) = if self.announced == Announced::Live {
            (interval * 2, interval * 3)
        } else {
            (interval + interval / 2, interval + interval / 2)
        };
        if gap <= fresh {
            self.period = None;
            self.known_gaps = 0;
        }
        if weight < WEIGHTY {
            self.known_gaps = 0;
        } else if let Some(gaps) = self.remember(gap)
            && gaps.least > stale
            && gaps.most <= gaps.least + gaps.least / 2 + interval * 2
        {
            self.period = Some(gaps.mean.min(LONGEST));
        }
    }

    /// Corrects the period that the catalogue gives.
    fn correct(&mut self, catalogued: Duration, gap: Duration, interval: Duration) {
        if interval * 3 > catalogued {
            self.period = Some(catalogued);
        } else if let Some(gaps) = self.remember(gap) {
            if gaps.median <= interval * 2 {
                self.period = None;
            } else if gaps.most <= gaps.least + gaps.least / 2
                && gaps.median <= catalogued + catalogued / 4
            {
                self.period = Some(gaps.mean);
            }
        }
    }

    fn longest_gap(&self) -> Option<Duration> {
        self.gaps.iter().take(self.known_gaps).copied().max()
    }

    /// Keeps a gap; gives all of them once enough are known.
    fn remember(&mut self, gap: Duration) -> Option<Gaps> {
        if self.known_gaps == 0 {
            self.next_gap = 0;
        }
        if let Some(slot) = self.gaps.get_mut(self.next_gap) {
            *slot = gap;
        }
        self.next_gap = (self.next_gap + 1) % GAPS;
        self.known_gaps = (self.known_gaps + 1).min(GAPS);
        if self.known_gaps < GAPS {
            return None;
        }
        let mut sorted = self.gaps;
        sorted.sort_unstable();
        let [least, .., most] = sorted;
        let sum: Duration = sorted.iter().sum();
        let median = sorted.get(GAPS / 2).copied().unwrap_or(least);
        let mean = sum / u32::try_from(sorted.len()).unwrap_or(1);
        Some(Gaps { least, median, most, mean })
    }
}

/// The remembered gaps.
struct Gaps {
    least: Duration,
    median: Duration,
    most: Duration,
    mean: Duration,
}

/// When the refresh took place that a read at `now` saw and one at `seen` did not. Refreshes keep their distance, so
/// that a late read does not stretch one and shrink the next.
fn refreshed_at(before: Monotonic, period: Duration, seen: Monotonic, now: Monotonic) -> Monotonic {
    let whole = now.since(before).as_nanos().checked_div(period.as_nanos()).unwrap_or(0);
    match u32::try_from(whole) {
        // Too early for the period: it is a little shorter, or was dated late before.
        Ok(0) | Err(_) => now,
        Ok(whole) => before.plus(period.saturating_mul(whole)).max(seen),
    }
}

impl From<Freshness> for Announced {
    fn from(freshness: Freshness) -> Self {
        match freshness {
            Freshness::Live => Self::Live,
            Freshness::Unknown => Self::Unknown,
            Freshness::Every(period) => Self::Every(period),
        }
    }
}

impl Announced {
    const fn period(self) -> Option<Duration> {
        match self {
            Self::Every(period) => Some(period),
            Self::Live | Self::Unknown => None,
        }
    }
}

#[cfg(test)]
#[path = "refresh_tests.rs"]
mod tests;
