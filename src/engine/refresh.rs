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
/// A jump smaller than this many counts in all may be a trickle of single packets on a fresh source.
const WEIGHTY: u64 = 1_000;

/// The refresh period of one source.
#[derive(Clone, Debug, Default)]
pub(super) struct Refresh {
    catalogued: Option<Duration>,
    period: Option<Duration>,
    /// When something last changed.
    last_jump: Option<Monotonic>,
    /// Up to where time has been judged.
    judged_to: Option<Monotonic>,
    last_seen: Option<Monotonic>,
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
        let period = |freshness: Freshness| match freshness {
            Freshness::Every(period) => Some(period),
            Freshness::Live | Freshness::Unknown => None,
        };
        let counters = || plan.counters.iter();
        let of_pause = counters().filter(|own| pause(own.key.quantity));
        let of_pause = of_pause.map(|own| period(own.freshness)).max();
        let catalogued =
            of_pause.unwrap_or_else(|| counters().map(|own| period(own.freshness)).max().flatten());
        Self { catalogued, period: catalogued, ..Self::default() }
    }

    /// Goes on where `before` stood, unless the catalogue now says something else.
    #[must_use]
    pub(super) fn continuing(self, before: &Self) -> Self {
        let same = self.catalogued == before.catalogued && before.last_jump.is_some();
        if same { before.clone() } else { self }
    }

    /// The period in use; none where each read is fresh.
    #[must_use]
    pub(super) const fn period(&self) -> Option<Duration> {
        self.period
    }

    /// Forgets what was judged so far, as after a reset or a change of link; the learned period stays.
    pub(super) fn begin_anew(&mut self, now: Monotonic) {
        self.last_jump = Some(now);
        self.judged_to = Some(now);
    }

    /// Notes a sample in which everything repeated (`weight` none) or jumped (by `weight` counts in all), read
    /// at the nominal `interval`. Returns the time that is now to be judged, if any.
    pub(super) fn note(
        &mut self,
        now: Monotonic,
        interval: Duration,
        weight: Option<u64>,
    ) -> Option<Duration> {
        let seen_before = self.last_seen.replace(now);
        let (Some(last_jump), Some(judged_to)) = (self.last_jump, self.judged_to) else {
            self.begin_anew(now);
            return None;
        };
        if let Some(weight) = weight {
            self.learn(now.since(last_jump), interval, weight);
            self.last_jump = Some(now);
        }
        let since_judged = now.since(judged_to);
        let Some(period) = self.period else {
            self.judged_to = Some(now);
            return Some(since_judged);
        };
        if weight.is_none() {
            // Nothing new for more than a period and a half: nothing happened in one of them.
            let silent = since_judged >= period + period / 2;
            return silent.then(|| {
                self.judged_to = Some(judged_to.plus(period));
                period
            });
        }
        if since_judged < period / 2 {
            // The rest of a refresh that was read half done; it is judged with the next.
            return None;
        }
        self.judged_to = Some(now);
        let stalled = seen_before.is_some_and(|seen| now.since(seen) > period / 4);
        // What jumped after a silence belongs to one period, unless we ourselves were away.
        let all = stalled || since_judged <= period + period / 4;
        Some(if all { since_judged } else { period })
    }

    fn learn(&mut self, gap: Duration, interval: Duration, weight: u64) {
        let Some(catalogued) = self.catalogued else {
            if gap <= interval * 2 {
                self.period = None;
                self.known_gaps = 0;
            } else if weight < WEIGHTY {
                self.known_gaps = 0;
            } else if let Some((least, median, most)) = self.remember(gap)
                && least > interval * 3
                && most <= least + least / 2
            {
                self.period = Some(median.min(LONGEST));
            }
            return;
        };
        if interval * 3 > catalogued {
            self.period = Some(catalogued);
        } else if let Some((least, median, most)) = self.remember(gap) {
            if median <= interval * 2 {
                self.period = None;
            } else if most <= least + least / 2 && median <= catalogued + catalogued / 4 {
                self.period = Some(median);
            }
        }
    }

    /// Keeps a gap; once enough are known, gives the least, the median and the most of them.
    fn remember(&mut self, gap: Duration) -> Option<(Duration, Duration, Duration)> {
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
        Some((least, sorted.get(GAPS / 2).copied().unwrap_or(least), most))
    }
}

#[cfg(test)]
#[path = "refresh_tests.rs"]
mod tests;
