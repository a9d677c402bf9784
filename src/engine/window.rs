//! Fixed trailing windows, so that two Prometheus servers scraping the same exporter see the same.
//!
//! Sums run over judged time only: what could not be judged is neither pause nor calm. Samples seldom lie just where
//! the window begins, so the span that reaches across is cut in proportion.

use std::collections::VecDeque;
use std::time::Duration;

use crate::model::Monotonic;

/// Running sums of one priority and direction since the engine began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    /// Judged time, in nanoseconds.
    pub(super) judged_nanos: u64,
    /// Paused time within it, in nanoseconds.
    pub(super) paused_nanos: u64,
    /// Pause frames within it.
    pub(super) frames: u64,
}

impl Sums {
    /// Cuts `share` of the time since `earlier` off, and the pause in it. Frames stay, so that a bound made of them
    /// stays one.
    fn cut(self, earlier: Self, share: f64) -> Self {
        let part = |now: u64, then: u64| then.wrapping_add(scaled(now.wrapping_sub(then), share));
        Self {
            judged_nanos: part(self.judged_nanos, earlier.judged_nanos),
            paused_nanos: part(self.paused_nanos, earlier.paused_nanos),
            frames: earlier.frames,
        }
    }

    const fn since(self, earlier: Self) -> Self {
        Self {
            judged_nanos: self.judged_nanos.wrapping_sub(earlier.judged_nanos),
            paused_nanos: self.paused_nanos.wrapping_sub(earlier.paused_nanos),
            frames: self.frames.wrapping_sub(earlier.frames),
        }
    }
}

/// Running sums at an instant.
type Point = (Monotonic, Sums);

/// The sums over a trailing window. Between two points only this value itself is touched, not its list: at a
/// thousand samples a second what is not in the processor's cache is what costs.
#[derive(Clone, Debug)]
pub(super) struct TrailingSums {
    length: Duration,
    spacing: Duration,
    /// Points at least `spacing` apart; the first is the window's start.
    points: VecDeque<Point>,
    /// The first two of them: the span that reaches across the window's beginning.
    first: Option<Point>,
    second: Option<Point>,
    /// When a point is due.
    due: Monotonic,
    latest: Option<Point>,
    /// The window's end.
    now: Monotonic,
}

/// Points in a window; two more are at its edges.
const POINTS: u32 = 100;

impl TrailingSums {
    /// An empty window of `length`.
    #[must_use]
    pub(super) fn new(length: Duration) -> Self {
        Self {
            length,
            spacing: length / POINTS,
            points: VecDeque::with_capacity(POINTS as usize + 3),
            first: None,
            second: None,
            due: Monotonic::ZERO,
            latest: None,
            now: Monotonic::ZERO,
        }
    }

    /// Adds the running sums at `now`.
    pub(super) fn push(&mut self, now: Monotonic, sums: Sums) {
        self.latest = Some((now, sums));
        if now >= self.due {
            self.points.push_back((now, sums));
            self.due = now.plus(self.spacing);
            self.note_edge();
        }
        self.expire(now);
    }

    /// Lets what lies before the window go, though nothing new came.
    pub(super) fn expire(&mut self, now: Monotonic) {
        self.now = now;
        let left = |(at, _): Point| now >= at.plus(self.length);
        if self.latest.is_some_and(left) {
            self.points.clear();
            self.latest = None;
            self.due = Monotonic::ZERO;
            self.note_edge();
        } else if self.second.is_some_and(left) {
            while self.points.get(1).copied().is_some_and(left) {
                self.points.pop_front();
            }
            self.note_edge();
        }
    }

    fn note_edge(&mut self) {
        self.first = self.points.front().copied();
        self.second = self.points.get(1).copied();
    }

    /// The sums within the window; none while no time in it was judged. With `whole` the span that reaches across
    /// the window's beginning is in it as a whole.
    #[must_use]
    pub(super) fn get(&self, whole: bool) -> Option<Sums> {
        let (began, first) = self.first?;
        let (_, latest) = self.latest?;
        let (ended, next) = self.second.or(self.latest)?;
        let before = self.now.since(began).saturating_sub(self.length);
        let crossing = ended.since(began);
        let first = if whole || before.is_zero() || before >= crossing {
            first
        } else {
            next.cut(first, before.as_secs_f64() / crossing.as_secs_f64())
        };
        let sums = latest.since(first);
        (sums.judged_nanos > 0).then_some(sums)
    }
}

/// A share of a span of nanoseconds, rounded; spans in a window are far below 2^52 ns.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share between 0 and 1 of a positive whole number"
)]
fn scaled(nanos: u64, share: f64) -> u64 {
    // `round` is a call where the processor's oldest instructions must do.
    (nanos as f64 * share + 0.5) as u64
}

/// The highest value of a trailing minute, by the second.
#[derive(Clone, Debug)]
pub(super) struct TrailingPeak {
    /// The highest of each second that is over.
    seconds: [Option<f64>; Self::SECONDS],
    second: u64,
    /// The highest of the running second, apart from the others so that noting it touches no more.
    running: Option<f64>,
    peak: Option<f64>,
}

impl TrailingPeak {
    /// A minute and the second that is still running.
    const SECONDS: usize = 61;

    /// An empty minute.
    #[must_use]
    pub(super) const fn new() -> Self {
        Self { seconds: [None; Self::SECONDS], second: 0, running: None, peak: None }
    }

    /// Notes a value at `now`.
    pub(super) fn note(&mut self, now: Monotonic, value: f64) {
        self.expire(now);
        let higher = |own: Option<f64>| Some(own.map_or(value, |own| own.max(value)));
        self.running = higher(self.running);
        self.peak = higher(self.peak);
    }

    /// Lets what is older than a minute go.
    pub(super) fn expire(&mut self, now: Monotonic) {
        let second = now.as_nanos() / 1_000_000_000;
        if second <= self.second {
            return;
        }
        let over = self.running.take();
        self.keep(self.second, over);
        let steps = (second - self.second).min(Self::SECONDS as u64);
        for step in 1..=steps {
            self.keep(second - steps + step, None);
        }
        self.second = second;
        self.peak = self.seconds.iter().flatten().copied().reduce(f64::max);
    }

    fn keep(&mut self, second: u64, value: Option<f64>) {
        let place = usize::try_from(second % Self::SECONDS as u64);
        if let Some(slot) = place.ok().and_then(|place| self.seconds.get_mut(place)) {
            *slot = value;
        }
    }

    /// The highest value; none where none was noted.
    #[must_use]
    pub(super) const fn get(&self) -> Option<f64> {
        self.peak
    }
}

impl Default for TrailingPeak {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Monotonic {
        Monotonic::from_nanos(millis * 1_000_000)
    }

    fn sums(millis: u64, paused: u64) -> Sums {
        Sums { judged_nanos: millis * 1_000_000, paused_nanos: paused * 1_000_000, frames: paused }
    }

    #[test]
    fn the_window_holds_its_length_and_no_more() {
        let mut window = TrailingSums::new(Duration::from_secs(10));
        let capacity = window.points.capacity();
        for tick in 0..6_000 {
            // Paused for half of the time, from second 30 on.
            let millis = tick * 10;
            window.push(at(millis), sums(millis, millis.saturating_sub(30_000) / 2));
        }
        let got = window.get(false).unwrap();
        assert_eq!((got.judged_nanos, got.paused_nanos), (10_000_000_000, 5_000_000_000));
        let whole = window.get(true).unwrap();
        assert!(whole.judged_nanos.abs_diff(10_000_000_000) <= 100_000_000, "{whole:?}");
        assert_eq!(window.points.capacity(), capacity, "nothing was allocated on the way");
    }

    #[test]
    fn a_span_across_the_beginning_is_cut_in_proportion_but_for_its_frames() {
        let mut window = TrailingSums::new(Duration::from_secs(10));
        window.push(at(0), sums(0, 0));
        window.push(at(800), sums(800, 400));
        window.push(at(10_200), sums(10_200, 400));
        let got = window.get(false).unwrap();
        assert_eq!((got.judged_nanos, got.paused_nanos), (10_000_000_000, 300_000_000));
        assert_eq!(got.frames, 400);
        assert_eq!(window.get(true).unwrap().judged_nanos, 10_200_000_000);
    }

    #[test]
    fn a_window_without_judged_time_is_empty() {
        let mut window = TrailingSums::new(Duration::from_secs(10));
        assert_eq!(window.get(false), None);
        window.push(at(0), sums(0, 0));
        assert_eq!(window.get(false), None);
        window.push(at(10), sums(10, 5));
        assert_eq!(window.get(false).unwrap().paused_nanos, 5_000_000);
        window.expire(at(10_011));
        assert_eq!(window.get(false), None);
    }

    #[test]
    fn a_peak_lives_for_a_minute() {
        let mut peak = TrailingPeak::new();
        assert_eq!(peak.get(), None);
        peak.note(at(1_500), 0.9);
        peak.note(at(2_500), 0.2);
        peak.note(at(61_400), 0.3);
        assert_eq!(peak.get(), Some(0.9));
        peak.note(at(62_000), 0.1);
        assert_eq!(peak.get(), Some(0.3));
        peak.expire(at(1_000_000));
        assert_eq!(peak.get(), None);
    }
}
