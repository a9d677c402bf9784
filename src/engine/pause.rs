//! One priority and direction: from the steps of its counters to ratio, peaks, bursts and storms.
//!
//! Pause time beats frames. With a duration counter the ratio is exact; with frames alone there is only an
//! upper bound, which never poses as a ratio. Where a driver's tx duration is ambiguous (mlx5, mlx4), it counts
//! as pause sent only while pause frames are sent.

use std::time::Duration;

use super::delta::{Ledger, Step};
use super::history::{Cell, StormNow};
use super::snapshot::{
    BURST_SECONDS_BOUNDS, Basis, PauseFigures, SAMPLE_RATIO_BOUNDS, StormFigures,
};
use super::storm::{Evidence, Judged, PausedBefore, Storm, StormSettings};
use super::window::{Sums, TrailingPeak, TrailingSums};
use crate::model::{
    BitsPerSecond, Direction, Histogram, Index, LinkFacts, Monotonic, Plan, Priority, Quantity,
    Unit, saturating_nanos,
};

/// The trailing window of ratios.
pub const RATIO_WINDOW: Duration = Duration::from_secs(10);
/// A ratio may pass 1 by this much and by what the reads' own time can shift; more is a wrong unit or a reset.
const RATIO_TOLERANCE: f64 = 0.05;
/// How far apart two reads' delays can be.
const READ_JITTER_SECONDS: f64 = 0.002;
/// The longest pause of one frame at 10 Gbit/s, for a link of unknown speed.
const LONGEST_PAUSE_SECONDS: f64 = 0.003_4;
/// Traffic that may pass in a priority said to be held, as a share of line rate.
const TRAFFIC_TOLERANCE: f64 = 0.01;

/// Where in the plan the counters of a track are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Places {
    time: Option<(usize, Unit)>,
    frames: Option<usize>,
    /// Bytes that a pause would stop: of the opposite direction.
    traffic: Option<usize>,
}

/// What moved since the last judged instant.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    paused_nanos: u64,
    frames: u64,
    traffic: Option<u64>,
    /// Some step in it is not known.
    broken: bool,
}

/// Why a judged span of a track was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// A counter had no usable step.
    Missing,
    /// The ratio was far above 1.
    OutOfRange,
}

/// The instant and the span of a judgement, and what surrounds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// When it is judged.
    pub(super) now: Monotonic,
    /// End of the span.
    pub(super) ended: Monotonic,
    /// Its length.
    pub(super) length: Duration,
    /// The length that was meant: longer ones have lost samples in them.
    pub(super) nominal: Duration,
    /// How old values may be when they are read.
    pub(super) age: Duration,
    /// The same, where there are signs that they are old.
    pub(super) doubt: Duration,
    /// Whether a storm may be declared on it.
    pub(super) verdict: bool,
    /// The link during it.
    pub(super) link: LinkFacts,
}

/// One priority and direction.
#[derive(Clone, Debug)]
pub(super) struct Track {
    priority: Priority,
    direction: Direction,
    places: Places,
    moved: Moved,
    sums: Sums,
    window: TrailingSums,
    ratio_peak: TrailingPeak,
    rate_peak: TrailingPeak,
    sample_ratio: Histogram<9>,
    burst_seconds: Histogram<10>,
    burst: Duration,
    before: PausedBefore,
    last_ratio: f64,
    last_frame: Option<Monotonic>,
    /// Pause that frames of earlier spans may still cause, in seconds.
    reach: f64,
    storm: Storm,
    storm_start_unix: Option<f64>,
    has_paused: bool,
    /// What the last sample showed.
    newest: Cell,
}

impl Track {
    /// The track of `priority` and `direction`, if the plan has pause counters for it.
    #[must_use]
    pub(super) fn of(plan: &Plan, priority: Priority, direction: Direction) -> Option<Self> {
        let places = Places::of(plan, priority, direction)?;
        Some(Self {
            priority,
            direction,
            places,
            moved: Moved::default(),
            sums: Sums::default(),
            window: TrailingSums::new(RATIO_WINDOW),
            ratio_peak: TrailingPeak::new(),
            rate_peak: TrailingPeak::new(),
            sample_ratio: Histogram::new(&SAMPLE_RATIO_BOUNDS),
            burst_seconds: Histogram::new(&BURST_SECONDS_BOUNDS),
            burst: Duration::ZERO,
            before: PausedBefore::default(),
            last_ratio: 0.0,
            last_frame: None,
            reach: 0.0,
            storm: Storm::new(),
            storm_start_unix: None,
            has_paused: false,
            newest: Cell::NONE,
        })
    }

    /// Goes on with another plan. Returns false if that plan has no pause counters for this track.
    pub(super) fn adopt(&mut self, plan: &Plan) -> bool {
        let places = Places::of(plan, self.priority, self.direction);
        self.places = places.unwrap_or_default();
        self.moved.broken = true;
        places.is_some()
    }

    /// Which priority it is.
    #[must_use]
    pub(super) const fn priority(&self) -> Priority {
        self.priority
    }

    /// Which way.
    #[must_use]
    pub(super) const fn direction(&self) -> Direction {
        self.direction
    }

    /// What its ratios are made of.
    #[must_use]
    pub(super) const fn basis(&self) -> Basis {
        if self.places.time.is_some() { Basis::Duration } else { Basis::Frames }
    }

    /// Whether its figures are of interest: it has paused since the engine began, or pauses by design.
    #[must_use]
    pub(super) const fn has_paused(&self) -> bool {
        self.has_paused
    }

    /// The ratio of the last judged span, or its upper bound.
    #[must_use]
    pub(super) const fn last_ratio(&self) -> f64 {
        self.last_ratio
    }

    /// Forgets what the last sample showed.
    pub(super) const fn begin_sample(&mut self) {
        self.newest = Cell::NONE;
    }

    /// What the last sample showed, and where it leaves the storms.
    #[must_use]
    pub(super) fn now(&self) -> (Cell, StormNow) {
        (self.newest, self.storm.now(self.storm_start_unix))
    }

    /// Sums of the trailing window; of whole spans on request.
    #[must_use]
    pub(super) fn window(&self, whole: bool) -> Option<Sums> {
        self.window.get(whole)
    }

    /// Takes the ledger's last steps in; to be judged later.
    pub(super) fn gather(&mut self, ledger: &Ledger) {
        if let Some((place, unit)) = self.places.time {
            match ledger.step(place) {
                Step::By(growth) => {
                    let nanos = in_nanos(growth, unit);
                    self.moved.paused_nanos = self.moved.paused_nanos.saturating_add(nanos);
                }
                _ => self.moved.broken = true,
            }
        }
        if let Some(place) = self.places.frames {
            if let Step::By(growth) = ledger.step(place) {
                self.moved.frames = self.moved.frames.saturating_add(growth);
            } else {
                // Without them sent pause cannot be told from received pause.
                let needed = self.places.time.is_none() || self.direction == Direction::Tx;
                self.moved.broken |= needed;
            }
        }
        if let Some(place) = self.places.traffic {
            let growth = ledger.step(place).growth();
            self.moved.traffic =
                growth.map(|growth| self.moved.traffic.unwrap_or(0).saturating_add(growth));
        }
    }

    /// Judges what was gathered over `span`. Returns whether more was paused than there was time: then the value
    /// before was an old one.
    ///
    /// # Errors
    /// Why the span is left out of ratios and storms.
    pub(super) fn judge(
        &mut self,
        settings: &StormSettings,
        span: &Span,
        unix_now: f64,
    ) -> Result<bool, LeftOut> {
        let moved = std::mem::take(&mut self.moved);
        let seconds = span.length.as_secs_f64();
        if moved.broken || seconds <= 0.0 {
            self.leave_out(span.now);
            return Err(LeftOut::Missing);
        }
        self.has_paused |= moved.frames > 0 || moved.paused_nanos > 0;
        if moved.frames > 0 {
            self.last_frame = Some(span.now);
        }
        let exact = self.places.time.is_some();
        let paused = self.paused_nanos(&moved, span);
        let (share, upper_bound) = if exact {
            (Some(nanos_to_seconds(paused) / seconds), false)
        } else {
            (self.bound(moved.frames, seconds, span.link.speed), true)
        };
        let most = 1.0 + RATIO_TOLERANCE + READ_JITTER_SECONDS / seconds;
        let with_age = most + span.age.as_secs_f64() / seconds;
        if exact && share.is_some_and(|share| share > with_age) {
            self.leave_out(span.now);
            return Err(LeftOut::OutOfRange);
        }
        self.add_up(span, paused, moved.frames);
        self.note_peaks(span.now, seconds, &moved, share.filter(|_| exact));
        let paused_at_all = if exact { paused > 0 } else { moved.frames > 0 };
        self.note_burst(paused_at_all, span.length);
        let frames = self.places.frames.map(|_| moved.frames);
        self.newest = Cell::new(share.map(|share| share.min(1.0)), frames);
        if let Some(share) = share {
            let ratio = share.min(1.0);
            self.last_ratio = ratio;
            let judged = Judged {
                ended: span.ended,
                span: span.length,
                ratio,
                paused: span.length.mul_f64(share),
                doubt: span.doubt,
                upper_bound,
                evidence: evidence(moved.traffic, ratio, seconds, span.link.speed),
                before: self.before,
            };
            self.advance_storm(settings, &judged, span, unix_now);
            self.before = PausedBefore::of(span.length, span.nominal, ratio);
        }
        Ok(exact && share.is_some_and(|share| share > most))
    }

    /// Paused time that counts: sent pause only while pause frames are sent, since a tx duration alone may be
    /// the time this port was held itself.
    fn paused_nanos(&self, moved: &Moved, span: &Span) -> u64 {
        let gated = self.direction == Direction::Tx && self.places.frames.is_some();
        let reach =
            span.link.speed.map_or(LONGEST_PAUSE_SECONDS, BitsPerSecond::longest_pause_seconds);
        let framed = self.last_frame.is_some_and(|at| {
            span.now.since(at).as_secs_f64() <= span.length.as_secs_f64() + reach
        });
        if gated && !framed { 0 } else { moved.paused_nanos }
    }

    /// The most that `frames` can have paused within `seconds`.
    fn bound(&mut self, frames: u64, seconds: f64, speed: Option<BitsPerSecond>) -> Option<f64> {
        let each = speed?.longest_pause_seconds();
        let most = self.reach + count(frames) * each;
        self.reach = if frames > 0 { each } else { (self.reach - seconds).max(0.0) };
        Some((most / seconds).min(1.0))
    }

    fn add_up(&mut self, span: &Span, paused: u64, frames: u64) {
        if self.sums == Sums::default() {
            self.window.push(span.now.minus(span.length), self.sums);
        }
        let length = saturating_nanos(span.length);
        self.sums.judged_nanos = self.sums.judged_nanos.wrapping_add(length);
        self.sums.paused_nanos = self.sums.paused_nanos.wrapping_add(paused);
        self.sums.frames = self.sums.frames.wrapping_add(frames);
        self.window.push(span.now, self.sums);
    }

    fn note_peaks(&mut self, now: Monotonic, seconds: f64, moved: &Moved, share: Option<f64>) {
        if let Some(share) = share {
            self.ratio_peak.note(now, share.min(1.0));
            self.sample_ratio.observe(share.min(1.0));
        }
        if self.places.frames.is_some() {
            self.rate_peak.note(now, count(moved.frames) / seconds);
        }
    }

    fn note_burst(&mut self, paused: bool, length: Duration) {
        if paused {
            self.burst += length;
        } else {
            self.end_burst();
        }
    }

    fn end_burst(&mut self) {
        let burst = std::mem::take(&mut self.burst);
        if burst > Duration::ZERO {
            self.burst_seconds.observe(burst.as_secs_f64());
        }
    }

    fn advance_storm(
        &mut self,
        settings: &StormSettings,
        judged: &Judged,
        span: &Span,
        unix_now: f64,
    ) {
        let episodes = self.storm.episodes();
        if span.verdict {
            self.storm.judge(settings, judged);
        } else {
            self.storm.pass_gap(settings, judged);
        }
        self.date_storm(episodes, span.now, unix_now);
    }

    /// Gives a storm that just began its place on the wall clock.
    fn date_storm(&mut self, episodes_before: u64, now: Monotonic, unix_now: f64) {
        if self.storm.episodes() > episodes_before {
            let began = self.storm.last_start().unwrap_or(now);
            self.storm_start_unix = Some(unix_now - now.since(began).as_secs_f64());
        }
    }

    /// The NIC's stall detector fired for this track.
    pub(super) fn stalled(&mut self, now: Monotonic, unix_now: f64) {
        let episodes = self.storm.episodes();
        self.storm.stalled(now);
        self.has_paused = true;
        self.date_storm(episodes, now, unix_now);
    }

    /// Drops what was gathered: the interval cannot be judged.
    pub(super) fn leave_out(&mut self, now: Monotonic) {
        self.moved = Moved::default();
        self.before = PausedBefore::default();
        self.storm.no_verdict();
        self.end_burst();
        self.pass(now);
    }

    /// Drops what was gathered: it began at an unknown time.
    pub(super) fn drop_gathered(&mut self, now: Monotonic) {
        let moved = std::mem::take(&mut self.moved);
        self.has_paused |= moved.frames > 0 || moved.paused_nanos > 0;
        self.pass(now);
    }

    /// Time passes without a judgement.
    pub(super) fn pass(&mut self, now: Monotonic) {
        self.window.expire(now);
        self.ratio_peak.expire(now);
        self.rate_peak.expire(now);
    }

    /// The link changed: what was before is over.
    pub(super) fn new_epoch(&mut self, now: Monotonic) {
        self.leave_out(now);
        self.storm.new_epoch();
        self.window = TrailingSums::new(RATIO_WINDOW);
        self.sums = Sums::default();
        self.last_ratio = 0.0;
        self.reach = 0.0;
    }

    /// The figures now, with those of what the trailing `window` holds.
    #[must_use]
    pub(super) fn figures(
        &self,
        window: Option<Sums>,
        speed: Option<BitsPerSecond>,
    ) -> PauseFigures {
        let exact = self.places.time.is_some();
        PauseFigures {
            priority: self.priority,
            direction: self.direction,
            basis: self.basis(),
            ratio: window.filter(|_| exact).map(paused_share),
            upper_bound: window.filter(|_| !exact).and_then(|sums| frames_share(sums, speed)),
            ratio_peak: self.ratio_peak.get(),
            frame_rate_peak: self.rate_peak.get(),
            sample_ratio: exact.then_some(self.sample_ratio),
            burst_seconds: self.burst_seconds,
            storm: StormFigures {
                active: self.storm.is_active(),
                episodes: self.storm.episodes(),
                seconds: self.storm.time().as_secs_f64(),
                last_start_unix_seconds: self.storm_start_unix,
            },
        }
    }
}

impl Places {
    fn of(plan: &Plan, priority: Priority, direction: Direction) -> Option<Self> {
        let find = |quantity, direction| {
            plan.counters.iter().position(|own| {
                own.key.quantity == quantity
                    && own.key.direction == Some(direction)
                    && own.key.index == Index::Priority(priority)
            })
        };
        let time = find(Quantity::PfcPauseTime, direction);
        let frames = find(Quantity::PfcPauseFrames, direction);
        let opposite = match direction {
            Direction::Tx => Direction::Rx,
            Direction::Rx => Direction::Tx,
        };
        let unit = time.and_then(|place| plan.counters.get(place)).map(|own| own.unit);
        let places =
            Self { time: time.zip(unit), frames, traffic: find(Quantity::Bytes, opposite) };
        (time.is_some() || frames.is_some()).then_some(places)
    }
}

/// Whether traffic moved that a priority held for `ratio` of the time would not have let through.
fn evidence(
    bytes: Option<u64>,
    ratio: f64,
    seconds: f64,
    speed: Option<BitsPerSecond>,
) -> Evidence {
    match (bytes, speed) {
        (Some(0), _) => Evidence::Agrees,
        (None, _) | (Some(_), None) => Evidence::Unknown,
        (Some(bytes), Some(BitsPerSecond(speed))) => {
            let free = (1.0 - ratio + TRAFFIC_TOLERANCE) * count(speed) / 8.0 * seconds;
            if count(bytes) <= free { Evidence::Agrees } else { Evidence::Contradicts }
        }
    }
}

/// Share of judged time that was paused.
#[must_use]
pub(super) fn paused_share(sums: Sums) -> f64 {
    (count(sums.paused_nanos) / count(sums.judged_nanos)).min(1.0)
}

/// The most that the frames of a window can have paused of it.
#[must_use]
pub(super) fn frames_share(sums: Sums, speed: Option<BitsPerSecond>) -> Option<f64> {
    let each = speed?.longest_pause_seconds();
    // A frame just before the window reaches into it.
    let frames = if sums.frames > 0 { sums.frames + 1 } else { 0 };
    Some((count(frames) * each / nanos_to_seconds(sums.judged_nanos)).min(1.0))
}

fn in_nanos(value: u64, unit: Unit) -> u64 {
    let factor = match unit {
        Unit::Microseconds => 1_000,
        Unit::Milliseconds => 1_000_000,
        Unit::Seconds => 1_000_000_000,
        Unit::Count | Unit::Bytes | Unit::Percent => 0,
    };
    value.saturating_mul(factor)
}

fn nanos_to_seconds(nanos: u64) -> f64 {
    count(nanos) / 1e9
}

#[allow(clippy::cast_precision_loss, reason = "differences far below 2^53, or bounds of shares")]
const fn count(value: u64) -> f64 {
    value as f64
}
