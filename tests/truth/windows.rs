//! Figures over the trailing window, against the truth of the same window.

use roce_exporter::engine::{Basis, PauseFigures};
use roce_exporter::model::{Direction, Priority};

use crate::bench::{MILLISECOND, Moment, SECOND, refresh_of};
use crate::course::Course;
use crate::findings::Findings;
use crate::judge::{Lane, Past};
use crate::spans::SpanKind;

/// The window of ratios and asymmetry.
const WINDOW: u64 = 10 * SECOND;
/// The largest error of a ratio over the window.
const RATIO_TOLERANCE: f64 = 0.005;
/// The largest error of an asymmetry.
const ASYMMETRY_TOLERANCE: f64 = 0.02;
/// Windows that are tried where it is not known exactly where one begins.
const CUTS: u64 = 8;
/// Points of the engine's window are this far apart, or as far as samples are.
const SPACING: u64 = 100 * MILLISECOND;

impl Past {
    /// Compares ratios, bounds and asymmetry.
    pub(crate) fn windows(&mut self, moment: &Moment<'_>, findings: &mut Findings) {
        let tracks = std::mem::take(&mut self.pause.tracks);
        for figures in &tracks {
            let lane = (figures.priority, figures.direction);
            match figures.basis {
                Basis::Duration => self.ratio(moment, figures, lane, findings),
                Basis::Frames => self.bound(moment, figures, lane, findings),
            }
        }
        self.pause.tracks = tracks;
        for priority in Priority::ALL {
            if let Some(figure) = self.pause.asymmetry[priority.position()] {
                self.asymmetry(moment, priority, figure, findings);
            }
        }
    }

    /// The true share of a window.
    fn share(&self, moment: &Moment<'_>, lane: Lane, begin: u64, end: u64) -> Option<f64> {
        let (paused, judged) = self.sums(moment.course.lane(lane.0, lane.1), begin, end);
        (judged > 0).then(|| paused as f64 / judged as f64)
    }

    /// Where the window ends, and where it begins at the earliest and at the latest. Slow drivers have windows of
    /// whole refreshes; where samples are far apart, it is not known what of a span lies before the beginning.
    fn window_of(&self, moment: &Moment<'_>, lane: Lane) -> Option<(u64, [u64; 2])> {
        let since = *self.since.get(&lane)?;
        let end = match refresh_of(&self.driver) {
            Some(_) => moment.shown.kept_at,
            None => moment.now,
        };
        let begin = end.saturating_sub(WINDOW);
        let longest = self.spans.length_at(begin);
        let (more, less) = match refresh_of(&self.driver) {
            Some(period) => (period + SPACING + longest, longest),
            None => (SPACING + longest, SPACING + longest),
        };
        let begins = [begin.saturating_sub(more), begin + less].map(|begin| begin.max(since));
        (begins[1] < end).then_some((end, begins))
    }

    /// The least and the most that `figure` of the true times paused and judged is, over all windows that there
    /// may be.
    fn range(
        &self,
        moment: &Moment<'_>,
        lane: Lane,
        figure: impl Fn(u64, u64) -> Option<f64>,
    ) -> Option<(f64, f64)> {
        let (end, [first, last]) = self.window_of(moment, lane)?;
        let mut range = None;
        for step in 0..=CUTS {
            let Some(figure) = figure(first + (last - first) / CUTS * step, end) else { continue };
            let (least, most) = range.unwrap_or((figure, figure));
            range = Some((figure.min(least), figure.max(most)));
        }
        range
    }

    /// Time paused and time judged of a window, in truth.
    fn sums(&self, course: &Course, begin: u64, end: u64) -> (u64, u64) {
        let (mut paused, mut judged) = (course.paused(begin, end), end - begin);
        for span in self.spans.since(begin).iter().filter(|span| span.kind == SpanKind::LeftOut) {
            let (from, to) = (span.from.max(begin), span.to.min(end));
            if from < to {
                judged -= to - from;
                paused -= course.paused(from, to);
            }
        }
        (paused, judged)
    }

    fn ratio(
        &self,
        moment: &Moment<'_>,
        figures: &PauseFigures,
        lane: Lane,
        findings: &mut Findings,
    ) {
        let Some(ratio) = figures.ratio else { return };
        let Some((end, _)) = self.window_of(moment, lane) else { return };
        let told = |truth: &str| format!("{ratio} of {lane:?}, truly {truth} at {}", moment.now);
        if refresh_of(&self.driver).is_none() {
            let begin = end.saturating_sub(WINDOW).max(self.since[&lane]);
            let Some(truth) = self.share(moment, lane, begin, end) else { return };
            let edge = self.spans.length_at(begin) + SPACING;
            // Of a span that reaches into the window only a part is in it, and nobody knows which.
            let unknown = edge as f64 / 4.0 / WINDOW as f64;
            let error = (ratio - truth).abs();
            let tolerance = RATIO_TOLERANCE.max(unknown);
            findings.within("ratio over 10 s", &self.driver, error, tolerance, || {
                told(&truth.to_string())
            });
        }
        let share = |begin, end| self.share(moment, lane, begin, end);
        let Some((least, most)) = self.range(moment, lane, share) else { return };
        let error = (least - ratio).max(ratio - most).max(0.0);
        let claim = "ratio, of windows that may be";
        let begin = end.saturating_sub(WINDOW).max(self.since[&lane]);
        let tolerance = RATIO_TOLERANCE + most * self.dating(moment) / (end - begin) as f64;
        findings
            .within(claim, &self.driver, error, tolerance, || told(&format!("{least} to {most}")));
    }

    /// How far a refresh may be from where the engine dates it, at both ends of a window together: reads are as far
    /// apart as the interval and its jitter, unless refreshes are closer.
    pub(crate) fn dating(&self, moment: &Moment<'_>) -> f64 {
        let reads = moment.watched.interval.as_nanos() as u64 * 14 / 10;
        refresh_of(&self.driver).map_or(0.0, |period| period.min(reads) as f64)
    }

    fn bound(
        &self,
        moment: &Moment<'_>,
        figures: &PauseFigures,
        lane: Lane,
        findings: &mut Findings,
    ) {
        let Some(bound) = figures.upper_bound else { return };
        let Some((end, _)) = self.window_of(moment, lane) else { return };
        let begin = end.saturating_sub(WINDOW).max(self.since[&lane]);
        let Some(truth) = self.share(moment, lane, begin, end) else { return };
        let below = (truth - bound).max(0.0);
        findings.within("upper bound below the truth", &self.driver, below, 1e-9, || {
            format!("{bound} of {lane:?}, truly {truth} at {}", moment.now)
        });
    }

    fn asymmetry(
        &self,
        moment: &Moment<'_>,
        priority: Priority,
        figure: f64,
        findings: &mut Findings,
    ) {
        let lane = (priority, Direction::Tx);
        let exact = self.pause.basis == Some(Basis::Duration);
        let of_time = |begin, end| self.asymmetry_of_time(moment, priority, begin, end);
        let of_frames = |begin, _| self.asymmetry_of_frames(priority, begin);
        let range = if exact {
            self.range(moment, lane, of_time)
        } else {
            self.range(moment, lane, of_frames)
        };
        let Some((least, most)) = range else { return };
        let told =
            || format!("{figure} of {priority:?}, truly {least} to {most} at {}", moment.now);
        if least > 0.05 || most < -0.05 {
            let right = figure.signum() == least.signum();
            findings.holds("sign of the asymmetry", &self.driver, right, told);
        }
        let error = (least - figure).max(figure - most).max(0.0);
        findings.within("asymmetry", &self.driver, error, ASYMMETRY_TOLERANCE, told);
    }

    fn asymmetry_of_time(
        &self,
        moment: &Moment<'_>,
        priority: Priority,
        begin: u64,
        end: u64,
    ) -> Option<f64> {
        let paused = |direction| {
            let course = moment.course.lane(priority, direction);
            self.sums(course, begin, end).0 as f64
        };
        let (tx, rx) = (paused(Direction::Tx), paused(Direction::Rx));
        (tx + rx > 0.0).then(|| (tx - rx) / (tx + rx))
    }

    /// Of the XOFF frames since the last sample before `begin`; none where other priorities have frames, too, which
    /// may be of the same traffic class.
    fn asymmetry_of_frames(&self, priority: Priority, begin: u64) -> Option<f64> {
        let since = |frames: &Vec<(u64, u64)>| {
            let first = frames.partition_point(|(at, _)| *at <= begin).saturating_sub(1);
            Some((frames.last()?.1 - frames.get(first)?.1) as f64)
        };
        let mut own = [0.0, 0.0];
        for ((other, direction), frames) in &self.frames {
            let grown = since(frames)?;
            if *other == priority {
                own[*direction as usize] = grown;
            } else if grown > 0.0 && self.driver != "ice" {
                return None;
            }
        }
        let [tx, rx] = own;
        (tx + rx > 0.0).then(|| (tx - rx) / (tx + rx))
    }
}
