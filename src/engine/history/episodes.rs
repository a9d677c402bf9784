//! The latest storms of one NIC, with the samples around their onset and their end.
//!
//! Refuses to grow: memory for all of them is set aside at once, and the oldest storm makes room for the newest.

use std::time::Duration;

use super::ring::{PastSample, Ring, Row};
use crate::engine::Basis;
use crate::model::{Direction, Monotonic, Priority};

/// Storms that are kept of a NIC.
pub const EPISODES: usize = 16;
/// Samples around an onset, and around an end.
pub const SAMPLES_AROUND: usize = 256;
/// Of those the ones before it.
const BEFORE: usize = SAMPLES_AROUND / 2;

/// What a track says of its storms after a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StormNow {
    /// In a storm.
    pub(crate) active: bool,
    /// Storms since the engine began.
    pub(crate) episodes: u64,
    /// When the last one began, on both clocks.
    pub(crate) began: Option<(Monotonic, f64)>,
    /// The end of its last sample that was held.
    pub(crate) held_until: Monotonic,
}

/// One storm as it is kept.
#[derive(Debug)]
struct Kept {
    id: u64,
    priority: Priority,
    direction: Direction,
    basis: Option<Basis>,
    onset: Monotonic,
    onset_unix_seconds: f64,
    held_until: Monotonic,
    over: bool,
    peak_share: Option<f32>,
    peak_frame_rate: Option<f64>,
    at_onset: Vec<Row>,
    at_end: Vec<Row>,
}

/// One storm.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// Its number, which no other storm of this run has.
    pub id: u64,
    /// Which priority.
    pub priority: Priority,
    /// Which way.
    pub direction: Direction,
    /// What its shares are made of.
    pub basis: Option<Basis>,
    /// When it began.
    pub onset: Monotonic,
    /// The same as Unix time.
    pub onset_unix_seconds: f64,
    /// Whether it goes on.
    pub active: bool,
    /// From its onset to the end of its last held sample.
    pub lasted: Duration,
    /// The highest share of one sample.
    pub peak_share: Option<f32>,
    /// The most pause frames per second in one sample.
    pub peak_frame_rate: Option<f64>,
    /// The samples around its onset and its end, the oldest first.
    pub samples: Vec<PastSample>,
}

/// The storms of one NIC.
#[derive(Debug)]
pub(super) struct EpisodeLog {
    kept: Vec<Kept>,
    known: [[Known; 2]; Priority::COUNT],
}

/// What is known of a track.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    episodes: u64,
    /// The place of its latest storm, unless that was given to another.
    latest: Option<usize>,
}

impl EpisodeLog {
    /// Bytes of a log.
    pub(super) const BYTES: usize =
        EPISODES * (size_of::<Kept>() + 2 * SAMPLES_AROUND * size_of::<Row>());

    /// Sets the memory aside.
    pub(super) fn new() -> Self {
        let kept = (0..EPISODES).map(|_| Kept::vacant()).collect();
        Self { kept, known: [[Known::default(); 2]; Priority::COUNT] }
    }

    /// Takes in what a track says now. `newest` is the row of the sample, if it was judged.
    pub(super) fn note(
        &mut self,
        (priority, direction): (Priority, Direction),
        storm: StormNow,
        ring: &Ring,
        newest: Option<&Row>,
        next_id: impl FnOnce() -> u64,
    ) {
        let side = usize::from(direction == Direction::Rx);
        let known = self.known.get_mut(priority.position()).and_then(|own| own.get_mut(side));
        let Some(known) = known else { return };
        let before = std::mem::replace(&mut known.episodes, storm.episodes);
        if storm.episodes != before {
            let latest = self.kept.get_mut(known.latest.unwrap_or(usize::MAX));
            // An engine that began anew knows nothing of the storm that its forerunner was in.
            if let Some(own) = latest.filter(|own| own.is_of(priority, direction)) {
                own.over = true;
            }
        }
        if storm.episodes > before
            && let Some((onset, unix)) = storm.began
        {
            let oldest = self.kept.iter_mut().enumerate().min_by_key(|(_, own)| own.id);
            if let Some((place, own)) = oldest {
                known.latest = Some(place);
                own.begin(next_id(), (priority, direction), (onset, unix), ring);
            }
        }
        // Most tracks never had a storm; this is all that they cost.
        let Some(place) = known.latest else { return };
        match self.kept.get_mut(place).filter(|own| own.is_of(priority, direction)) {
            Some(own) if own.over => own.add_after_end(newest),
            Some(own) => own.go_on(storm, ring, newest),
            // A newer storm of another has taken its place.
            None => known.latest = None,
        }
    }

    /// The storms, the newest first.
    pub(super) fn episodes(&self) -> Vec<Episode> {
        let mut all: Vec<Episode> =
            self.kept.iter().filter(|own| own.id > 0).map(Kept::episode).collect();
        all.sort_by_key(|own| std::cmp::Reverse(own.id));
        all
    }
}

impl Kept {
    /// A place without a storm; numbers begin with 1.
    fn vacant() -> Self {
        Self {
            id: 0,
            priority: Priority::ALL[0],
            direction: Direction::Tx,
            basis: None,
            onset: Monotonic::ZERO,
            onset_unix_seconds: 0.0,
            held_until: Monotonic::ZERO,
            over: true,
            peak_share: None,
            peak_frame_rate: None,
            at_onset: Vec::with_capacity(SAMPLES_AROUND),
            at_end: Vec::with_capacity(SAMPLES_AROUND),
        }
    }

    fn is_of(&self, priority: Priority, direction: Direction) -> bool {
        self.priority == priority && self.direction == direction
    }

    fn begin(
        &mut self,
        id: u64,
        (priority, direction): (Priority, Direction),
        (onset, unix): (Monotonic, f64),
        ring: &Ring,
    ) {
        let [tx, rx] = ring.basis();
        (self.id, self.priority, self.direction) = (id, priority, direction);
        self.basis = if direction == Direction::Tx { tx } else { rx };
        (self.onset, self.onset_unix_seconds) = (onset, unix);
        (self.held_until, self.over) = (onset, false);
        (self.peak_share, self.peak_frame_rate) = (None, None);
        self.at_end.clear();
        self.at_onset.clear();
        // The newest row comes with the sample that declared the storm.
        let rows = ring.around(onset, BEFORE, SAMPLES_AROUND);
        self.at_onset.extend(rows.filter(|row| row.ended(ring.newest()) < ring.newest()));
        for row in ring.after(onset) {
            self.note_peak(row);
        }
    }

    fn go_on(&mut self, storm: StormNow, ring: &Ring, newest: Option<&Row>) {
        self.held_until = self.held_until.max(storm.held_until);
        if let Some(row) = newest {
            self.note_peak(row);
            if self.at_onset.len() < SAMPLES_AROUND {
                self.at_onset.push(*row);
            }
        }
        if !storm.active {
            self.over = true;
            self.at_end.extend(ring.around(self.held_until, BEFORE, SAMPLES_AROUND));
        }
    }

    fn add_after_end(&mut self, row: Option<&Row>) {
        if self.at_end.len() < SAMPLES_AROUND {
            self.at_end.extend(row);
        }
    }

    fn note_peak(&mut self, row: &Row) {
        let cell = row.cell(self.direction);
        let higher = |own: Option<f32>, new: f32| Some(own.map_or(new, |own| own.max(new)));
        if let Some(share) = cell.share() {
            self.peak_share = higher(self.peak_share, share);
        }
        let seconds = row.span().as_secs_f64();
        if let Some(frames) = cell.frames().filter(|_| seconds > 0.0) {
            let rate = f64::from(frames) / seconds;
            self.peak_frame_rate = Some(self.peak_frame_rate.map_or(rate, |own| own.max(rate)));
        }
    }

    fn episode(&self) -> Episode {
        let mut samples: Vec<PastSample> =
            self.at_onset.iter().map(|row| row.sample(self.onset)).collect();
        let last = samples.last().map_or(Monotonic::ZERO, |own| own.ended);
        let at_end = self.at_end.iter().map(|row| row.sample(self.held_until));
        samples.extend(at_end.filter(|own| own.ended > last));
        Episode {
            id: self.id,
            priority: self.priority,
            direction: self.direction,
            basis: self.basis,
            onset: self.onset,
            onset_unix_seconds: self.onset_unix_seconds,
            active: !self.over,
            lasted: self.held_until.since(self.onset),
            peak_share: self.peak_share,
            peak_frame_rate: self.peak_frame_rate,
            samples,
        }
    }
}
