//! Pure judgement: state and a sample in, figures out. No I/O and no clock of its own.
//!
//! [`FeedEngine`] is all that is remembered of one feed. It refuses to judge what it cannot: a first sample, a
//! reset, a gap, a link that is down; those spans are left out and counted by reason.

mod asymmetry;
pub mod checks;
mod delta;
pub mod history;
mod pause;
mod refresh;
mod snapshot;
mod storm;
mod suspicion;
mod window;

pub use delta::{Ledger, Step};
pub use pause::RATIO_WINDOW;
pub use snapshot::{
    BURST_SECONDS_BOUNDS, Basis, CounterFigures, FeedFigures, PauseFigures, PauseSummary,
    READ_SECONDS_BOUNDS, SAMPLE_RATIO_BOUNDS, SamplingFigures, Skip, Snapshot, StormFigures,
};
pub use storm::StormSettings;

use std::sync::Arc;
use std::time::Duration;

use asymmetry::Windows;
use history::{FeedHistory, PriorityNow};
use pause::{LeftOut, Span, Track};
use refresh::{Due, Refresh};

use crate::model::{Direction, Index, LinkFacts, Monotonic, Plan, Priority, Quantity, Sample};

/// A gap of more than this many intervals allows no verdict on storms.
const MOST_INTERVALS: u32 = 3;

/// What surrounds a sample.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// The link when the sample was taken.
    pub link: LinkFacts,
    /// The interval that the sampler meant to keep.
    pub interval: Duration,
    /// Unix time of the sample, for the start of episodes.
    pub unix_seconds: f64,
}

/// All that is remembered of one feed between its samples.
#[derive(Clone, Debug, Default)]
pub struct FeedEngine {
    settings: StormSettings,
    ledger: Ledger,
    raw: Vec<Option<u64>>,
    refresh: Refresh,
    tracks: Vec<Track>,
    /// Places of the NIC's own stall counters.
    stalls: Vec<usize>,
    /// Priorities whose pause counters exist while those of others do not: how mlx5 and mlx4 show PFC.
    shown: u8,
    link: LinkFacts,
    last_sample: Option<Monotonic>,
    /// The wall clock at the last sample.
    unix_seconds: f64,
    /// End and length of what the last sample had judged, if anything.
    judged: Option<(Monotonic, Duration)>,
    skipped: [u64; Skip::ALL.len()],
}

impl FeedEngine {
    /// An engine that has seen nothing.
    #[must_use]
    pub fn new(settings: StormSettings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Takes a sample. Allocates only when the plan or the link changed.
    pub fn push(&mut self, sample: &Sample, around: &Circumstances) {
        if self.ledger.push(sample) {
            self.adopt(&sample.plan, sample.raw.len());
        }
        for (kept, reading) in self.raw.iter_mut().zip(&sample.raw) {
            *kept = reading.value();
        }
        let now = sample.taken_at;
        let before = self.last_sample.replace(now);
        self.unix_seconds = around.unix_seconds;
        self.judged = None;
        self.tracks.iter_mut().for_each(Track::begin_sample);
        if self.tracks.is_empty() {
            return;
        }
        if let Some(skip) = self.obstacle(before, around) {
            self.count(skip);
            self.refresh.begin_anew(now);
            for track in &mut self.tracks {
                if matches!(skip, Skip::LinkDown | Skip::LinkChange) {
                    track.new_epoch(now);
                } else {
                    track.leave_out(now);
                }
            }
            return;
        }
        self.judge(now, before, around);
    }

    fn adopt(&mut self, plan: &Arc<Plan>, raw: usize) {
        self.raw.clear();
        self.raw.resize(raw, None);
        let learned = self.refresh.clone();
        self.refresh = Refresh::of(plan).continuing(&learned);
        let mut before = std::mem::take(&mut self.tracks);
        for priority in Priority::ALL {
            for direction in Direction::ALL {
                let known = before
                    .iter()
                    .position(|own| own.priority() == priority && own.direction() == direction);
                match known.map(|place| before.swap_remove(place)) {
                    Some(mut track) => {
                        if track.adopt(plan) {
                            self.tracks.push(track);
                        }
                    }
                    None => self.tracks.extend(Track::of(plan, priority, direction)),
                }
            }
        }
        let counters = plan.counters.iter().enumerate();
        let stalls = counters.filter(|(_, own)| own.key.quantity == Quantity::PfcStallEvents);
        self.stalls = stalls.map(|(place, _)| place).collect();
        self.shown = shown_priorities(plan);
    }

    /// What forbids a judgement of the span that ends with this sample.
    fn obstacle(&mut self, before: Option<Monotonic>, around: &Circumstances) -> Option<Skip> {
        let link = std::mem::replace(&mut self.link, around.link);
        if before.is_none() {
            return Some(Skip::First);
        }
        if around.link.up == Some(false) {
            return Some(Skip::LinkDown);
        }
        let changed =
            |was: Option<u64>, is: Option<u64>| was.is_some() && is.is_some() && was != is;
        let speed = |link: &LinkFacts| link.speed.map(|own| own.0);
        let came_up = link.up == Some(false);
        if came_up || changed(speed(&link), speed(&around.link)) {
            return Some(Skip::LinkChange);
        }
        self.ledger.reset_now().then_some(Skip::Reset)
    }

    fn judge(&mut self, now: Monotonic, before: Option<Monotonic>, around: &Circumstances) {
        for track in &mut self.tracks {
            track.gather(&self.ledger);
        }
        self.note_stalls(now, around.unix_seconds);
        let length = match self.refresh.note(now, around.interval, self.ledger.weight()) {
            Due::Span(length) => length,
            Due::Later => {
                self.tracks.iter_mut().for_each(|track| track.pass(now));
                return;
            }
            Due::Nothing => {
                self.tracks.iter_mut().for_each(|track| track.drop_gathered(now));
                return;
            }
        };
        let since = before.map_or(Duration::ZERO, |before| now.since(before));
        let nominal = around.interval.max(self.refresh.period().unwrap_or_default());
        let verdict = since <= nominal * MOST_INTERVALS;
        if !verdict {
            self.count(Skip::Gap);
        }
        let span = Span {
            now,
            ended: self.refresh.judged_to().unwrap_or(now),
            length,
            nominal,
            age: self.refresh.age(around.interval),
            doubt: self.refresh.doubt(around.interval, since),
            verdict,
            link: around.link,
        };
        self.judged = Some((span.ended, span.length));
        let (mut missing, mut out_of_range) = (false, false);
        for track in &mut self.tracks {
            match track.judge(&self.settings, &span, around.unix_seconds) {
                Ok(false) => {}
                Ok(true) => self.refresh.note_old_value(),
                Err(LeftOut::Missing) => missing = true,
                Err(LeftOut::OutOfRange) => out_of_range = true,
            }
        }
        if missing {
            self.count(Skip::Missing);
        }
        if out_of_range {
            self.count(Skip::OutOfRange);
        }
    }

    /// The stall counters are of the port. The episode goes to the lossless priority that sends most pause.
    fn note_stalls(&mut self, now: Monotonic, unix_seconds: f64) {
        let fired = self.stalls.iter().any(|place| self.ledger.step(*place).has_grown());
        if !fired {
            return;
        }
        let lossless = self.lossless();
        let sending = self
            .tracks
            .iter_mut()
            .filter(|track| track.direction() == Direction::Tx && has(lossless, track.priority()));
        if let Some(track) = sending.max_by(|a, b| a.last_ratio().total_cmp(&b.last_ratio())) {
            track.stalled(now, unix_seconds);
        }
    }

    /// Priorities with PFC, as far as known: by DCB, else by which counters the driver shows.
    fn lossless(&self) -> u8 {
        self.link.lossless.unwrap_or(self.shown)
    }

    fn count(&mut self, skip: Skip) {
        if let Some(count) = self.skipped.get_mut(skip.position()) {
            *count += 1;
        }
    }

    /// The refresh period in use; none where each read is fresh.
    #[must_use]
    pub const fn refresh_period(&self) -> Option<Duration> {
        self.refresh.period()
    }

    /// Copies the counters' figures out; allocates only when the plan changed.
    pub fn copy_counters(&self, figures: &mut CounterFigures) {
        if !Arc::ptr_eq(&figures.plan, self.ledger.plan()) {
            figures.plan = Arc::clone(self.ledger.plan());
            figures.totals.resize(figures.plan.counters.len(), None);
            figures.raw.resize(figures.plan.raw.len(), None);
        }
        for (figure, total) in figures.totals.iter_mut().zip(self.ledger.totals()) {
            *figure = total;
        }
        for (figure, value) in figures.raw.iter_mut().zip(&self.raw) {
            *figure = *value;
        }
        figures.resets = self.ledger.resets();
    }

    /// Copies the judged pause out; allocates only when a priority shows up for the first time.
    pub fn copy_pause(&self, summary: &mut PauseSummary) {
        let lossless = self.lossless();
        // A refresh is never cut: what happened when in it is not known.
        let whole = self.refresh.period().is_some();
        summary.tracks.clear();
        let mut windows = Windows::default();
        let mut shown = 0;
        for track in &self.tracks {
            let window = track.window(whole);
            windows.note(track, window);
            if track.has_paused() || has(lossless, track.priority()) {
                shown |= mask_of(track.priority());
                summary.tracks.push(track.figures(window, self.link.speed));
            }
        }
        summary.asymmetry = windows.asymmetries(&self.link, shown);
        let exact = self.tracks.iter().any(|own| own.basis() == Basis::Duration);
        summary.basis = match (self.tracks.is_empty(), exact) {
            (true, _) => None,
            (false, true) => Some(Basis::Duration),
            (false, false) => Some(Basis::Frames),
        };
        summary.skipped = self.skipped;
    }

    /// Adds the last sample to what is kept of earlier ones; allocates only when a priority shows up for the first
    /// time.
    pub fn copy_history(&self, history: &mut FeedHistory) {
        let Some(now) = self.last_sample.filter(|_| !self.tracks.is_empty()) else { return };
        history.note_time(now, self.unix_seconds);
        let lossless = self.lossless();
        for both in self.tracks.chunk_by(|one, other| one.priority() == other.priority()) {
            let Some(priority) = both.first().map(Track::priority) else { continue };
            if !has(lossless, priority) && !both.iter().any(Track::has_paused) {
                continue;
            }
            let mut now = PriorityNow::nothing_of(priority);
            for own in both {
                now.add(own);
            }
            history.note(&now, self.judged);
        }
    }
}

const fn has(mask: u8, priority: Priority) -> bool {
    mask >> priority.number() & 1 == 1
}

const fn mask_of(priority: Priority) -> u8 {
    1 << priority.number()
}

/// Priorities that have PFC counters in a plan in which others have none; none in a plan with all.
fn shown_priorities(plan: &Plan) -> u8 {
    let with_pause = plan.counters.iter().filter_map(|own| match own.key.index {
        Index::Priority(priority) if own.key.quantity == Quantity::PfcPauseFrames => Some(priority),
        _ => None,
    });
    let mask = with_pause.fold(0, |mask, priority| mask | mask_of(priority));
    if mask == u8::MAX { 0 } else { mask }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;

#[cfg(test)]
mod edge_tests;
#[cfg(test)]
mod hand_driven_nic;
#[cfg(test)]
mod history_tests;
