//! Storms as they were raised, against holds as they were.

use std::time::Duration;

use roce_exporter::engine::StormFigures;

use crate::bench::{EPOCH, MILLISECOND, SECOND};
use crate::course::{Course, Hold};
use crate::findings::Findings;
use crate::judge::Lane;
use crate::spans::{Span, SpanKind};

const DETECTION: u64 = 200 * MILLISECOND;
const RECOVERY: u64 = 400 * MILLISECOND;
/// The least hold that may be called a storm: what passes for full in the detection time.
const LEAST_HOLD: u64 = DETECTION / 100 * 95;
/// Breaks of a hold that are none at any interval; they are also at most 4 % of what is held before.
const BREAK: u64 = MILLISECOND / 5;
/// Breaks of which the engine may think so.
const LONGEST_BREAK: u64 = 10 * MILLISECOND;

/// A storm as it was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// When it was first shown.
    pub(crate) raised: u64,
    /// When it was first no longer shown.
    pub(crate) over: Option<u64>,
    /// When it began, as the figures say, in nanoseconds of the clock.
    pub(crate) dated: u64,
    /// Time in it.
    pub(crate) seconds: f64,
}

/// All storms of a lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct StormLog {
    pub(crate) seen: Vec<Seen>,
    last: StormFigures,
}

impl StormLog {
    pub(crate) fn note(&mut self, now: u64, figures: &StormFigures) {
        if figures.episodes > self.last.episodes {
            let dated = figures.last_start_unix_seconds.unwrap() - EPOCH;
            self.seen.push(Seen {
                raised: now,
                over: None,
                dated: (dated * 1e9) as u64,
                seconds: -self.last.seconds,
            });
        }
        if let Some(last) = self.seen.last_mut().filter(|last| last.over.is_none())
            && !figures.active
        {
            last.over = Some(now);
            last.seconds += figures.seconds;
        }
        self.last = *figures;
    }
}

/// How much later a storm may be seen where reads are too slow to show how often values are refreshed and the catalogue
/// does not know: so many refreshes that what a read misses is within what a suspect ratio allows.
pub(crate) fn unknown_refresh(driver: &str, refresh: u64, interval: Duration) -> u64 {
    let seen = 2 * refresh >= 3 * interval.as_nanos() as u64;
    if driver == "ionic" && !seen { 20 * refresh } else { 0 }
}

/// The circumstances of a lane's storms.
pub(crate) struct Case<'run> {
    pub(crate) driver: &'run str,
    pub(crate) lane: Lane,
    pub(crate) course: &'run Course,
    pub(crate) log: &'run StormLog,
    pub(crate) spans: &'run [Span],
    /// How often values are refreshed; zero where each read is fresh.
    pub(crate) refresh: u64,
    /// See [`unknown_refresh`].
    pub(crate) unknown: u64,
    /// The interval that was meant.
    pub(crate) interval: u64,
}

impl Case<'_> {
    /// Compares all storms with all holds.
    pub(crate) fn compare(&self, findings: &mut Findings) {
        let (Some(first), Some(last)) = (self.spans.first(), self.spans.last()) else { return };
        let begun = first.from + 2 * self.refresh;
        for hold in self.course.joined(BREAK, 4, last.to) {
            let from = hold.from.max(begun);
            if from < hold.to {
                self.is_seen_in_time(Hold { from, to: hold.to }, from == hold.from, findings);
            }
        }
        let holds = self.course.joined(LONGEST_BREAK, 4, last.to);
        for seen in &self.log.seen {
            let reach = self.detection() + 2 * (self.refresh + self.longest(seen.raised));
            let whole = holds.iter().any(|hold| {
                let around = hold.from < seen.raised && hold.to + reach >= seen.raised;
                around && hold.length() >= LEAST_HOLD
            });
            // Breaks as short as a refresh of which nothing is known are not seen.
            let in_all = self.course.paused(seen.raised.saturating_sub(reach), seen.raised);
            let real = whole || (self.unknown > 0 && in_all >= LEAST_HOLD);
            findings.holds("storms are real", self.driver, real, || self.told(seen, None));
        }
    }

    fn detection(&self) -> u64 {
        DETECTION.max(2 * self.refresh)
    }

    /// Whether a hold that lasts was seen as a storm within the bound, and was dated, timed and ended well.
    fn is_seen_in_time(&self, hold: Hold, whole: bool, findings: &mut Findings) {
        let Some(latest) = self.latest(hold.from).filter(|latest| *latest <= hold.to) else {
            return;
        };
        let going_on =
            |seen: &&Seen| seen.raised <= latest && seen.over.is_none_or(|over| over > hold.from);
        let Some(seen) = self.log.seen.iter().rev().find(going_on) else {
            findings.holds("no storm is missed", self.driver, false, || {
                format!("{:?} {hold:?} of {} ms", self.lane, hold.length() / MILLISECOND)
            });
            return;
        };
        let told = || self.told(seen, Some(hold));
        let (delay, bound) =
            (seconds(seen.raised.max(hold.from) - hold.from), seconds(latest - hold.from));
        findings.within("storm seen after, s", self.driver, delay, bound, told);
        findings.holds("no storm is missed", self.driver, true, String::new);
        if !whole || seen.raised < hold.from || self.unknown > 0 {
            return;
        }
        // When in a refresh a pause was is not known, so that one just before may seem the same.
        let near = self.longest(hold.from);
        let before = hold.from - 2 * (near + self.refresh);
        if self.course.share(before, hold.from) < 0.01 {
            let off = seconds(seen.dated.abs_diff(hold.from));
            let read = near.max(self.longest(seen.raised));
            // Periods are learned to a percent or two.
            let fine = seconds(read + self.refresh.min(2 * read) + self.refresh / 50);
            findings.within("storm dated, s", self.driver, off, fine, told);
        }
        let Some(over) = seen.over else { return };
        let near = self.longest(hold.to).max(self.longest(hold.to + RECOVERY));
        let quiet = RECOVERY + 2 * (self.refresh + near);
        if self.course.share(hold.to, hold.to + quiet) > 0.01 {
            return;
        }
        let after = seconds(over) - seconds(hold.to + RECOVERY);
        let bound = seconds(2 * self.refresh + 2 * near);
        findings.within("storm over after recovery, s", self.driver, after, bound, told);
        findings.within("storm over too early, s", self.driver, -after, seconds(near), told);
        let lasted = (seen.seconds - seconds(hold.length())).abs();
        findings.within("storm seconds", self.driver, lasted, bound, told);
    }

    /// When a hold that begins at `from` must have been seen at the latest: one interval after the detection time and
    /// one refresh are over. A late read may leave open in which refresh the hold began.
    fn latest(&self, from: u64) -> Option<u64> {
        let read = self.longest(from);
        let bound = self.detection() + self.refresh + read + read.min(self.refresh) + self.unknown;
        let mut last = None;
        let begun = self.spans.partition_point(|span| span.to <= from);
        let mut due = from + bound + self.late(&self.spans[begun..]);
        for span in &self.spans[begun..] {
            match span.kind {
                // Suspicion begins anew.
                SpanKind::LeftOut => due = span.to + bound,
                SpanKind::Gap => due += span.to - span.from.max(from),
                SpanKind::Judged => {}
            }
            if span.to > due {
                return last;
            }
            last = Some(span.to);
        }
        None
    }

    /// By how much the first of these came late. Pause in a late sample may be older than the hold, so that much of it
    /// does not count for the detection time.
    fn late(&self, spans: &[Span]) -> u64 {
        let first = spans.first().filter(|_| self.refresh == 0);
        first.map_or(0, |span| (span.to - span.from).saturating_sub(self.interval))
    }

    /// The longest span between samples within half a second of an instant.
    fn longest(&self, at: u64) -> u64 {
        let begun = self.spans.partition_point(|span| span.to + SECOND / 2 <= at);
        let near = self.spans[begun..].iter().take_while(|span| span.from <= at + SECOND / 2);
        near.map(|span| span.to - span.from).max().unwrap_or(0)
    }

    fn told(&self, seen: &Seen, hold: Option<Hold>) -> String {
        format!("{:?} {seen:?}, truly {hold:?}", self.lane)
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
