//! What was: the last minutes of samples and the latest storms, in bounded memory.
//!
//! A ring for each NIC and priority that is lossless or has paused, and a list of storms for each NIC that has such a
//! priority. Their sizes are fixed at start; memory is set aside when a priority shows up, out of an allowance for
//! all NICs together, and nothing is allocated after that. Refuses to judge: it keeps what the engine found.

mod episodes;
mod ring;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use episodes::EpisodeLog;
pub(super) use episodes::StormNow;
pub use episodes::{EPISODES, Episode, SAMPLES_AROUND};
pub(super) use ring::Cell;
pub use ring::{KEPT, PastPause, PastSample, rows_for};
use ring::{Ring, Row};

use super::Basis;
use super::pause::Track;
use crate::model::{Direction, Monotonic, Priority};

/// Bytes that all NICs of a host together may take for what was: enough for all priorities of 8 NICs at 10 ms, and with
/// room left below the limits that `deploy/` sets.
pub const ALLOWANCE: usize = 32 << 20;

/// How much is kept of each priority, and what is left for further ones; one for all NICs of a host.
#[derive(Debug)]
pub struct HistorySize {
    rows: usize,
    left: AtomicUsize,
    last_id: AtomicU64,
}

impl HistorySize {
    /// For samples that are `interval` apart.
    #[must_use]
    pub fn of(interval: Duration) -> Self {
        Self {
            rows: rows_for(interval),
            left: AtomicUsize::new(ALLOWANCE),
            last_id: AtomicU64::new(0),
        }
    }

    /// Bytes of the ring of a priority.
    #[must_use]
    pub const fn bytes_per_priority(&self) -> usize {
        Ring::bytes(self.rows)
    }

    /// Bytes of the list of storms of a NIC.
    #[must_use]
    pub const fn bytes_per_device() -> usize {
        EpisodeLog::BYTES
    }

    /// Bytes that are in use.
    #[must_use]
    pub fn bytes_in_use(&self) -> usize {
        ALLOWANCE.saturating_sub(self.left.load(Ordering::Relaxed))
    }

    fn take(&self, bytes: usize) -> bool {
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.is_ok()
    }

    fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Default for HistorySize {
    /// For the interval that is kept where nobody set another.
    fn default() -> Self {
        Self::of(Duration::from_millis(10))
    }
}

/// One priority after one sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct PriorityNow {
    pub(super) priority: Priority,
    /// What each direction's shares are made of, tx before rx; none where it has no counters.
    pub(super) basis: [Option<Basis>; 2],
    pub(super) cells: [Cell; 2],
    pub(super) storms: [Option<StormNow>; 2],
}

impl PriorityNow {
    pub(super) const fn nothing_of(priority: Priority) -> Self {
        Self { priority, basis: [None; 2], cells: [Cell::NONE; 2], storms: [None; 2] }
    }

    /// Adds one direction.
    pub(super) fn add(&mut self, track: &Track) {
        let place = usize::from(track.direction() == Direction::Rx);
        let (cell, storm) = track.now();
        if let (Some(basis), Some(own), Some(storms)) =
            (self.basis.get_mut(place), self.cells.get_mut(place), self.storms.get_mut(place))
        {
            (*basis, *own, *storms) = (Some(track.basis()), cell, Some(storm));
        }
    }
}

/// What was of one NIC.
#[derive(Debug)]
pub struct FeedHistory {
    size: Arc<HistorySize>,
    rings: [Option<Ring>; Priority::COUNT],
    log: Option<EpisodeLog>,
    /// The time of the last sample, on both clocks.
    newest: Option<(Monotonic, f64)>,
}

/// The samples of one priority.
#[derive(Clone, Debug, PartialEq)]
pub struct PastSamples {
    /// What each direction's shares are made of, tx before rx.
    pub basis: [Option<Basis>; 2],
    /// The oldest first.
    pub samples: Vec<PastSample>,
    /// The time of the NIC's last sample.
    pub newest: Monotonic,
    /// The same as Unix time.
    pub newest_unix_seconds: f64,
}

impl PastSamples {
    /// Unix time of a moment on the samples' clock.
    #[must_use]
    pub fn unix_seconds(&self, at: Monotonic) -> f64 {
        self.newest_unix_seconds + at.since(self.newest).as_secs_f64()
            - self.newest.since(at).as_secs_f64()
    }
}

impl FeedHistory {
    /// Nothing yet.
    #[must_use]
    pub const fn new(size: Arc<HistorySize>) -> Self {
        Self { size, rings: [const { None }; Priority::COUNT], log: None, newest: None }
    }

    /// The time of a sample, whether it was judged or not.
    pub(super) const fn note_time(&mut self, now: Monotonic, unix_seconds: f64) {
        self.newest = Some((now, unix_seconds));
    }

    /// Takes a priority in after a sample; `span` is the end and the length of what was judged, if anything was. Where
    /// the allowance is spent, nothing is kept of a priority that is new.
    pub(super) fn note(&mut self, now: &PriorityNow, span: Option<(Monotonic, Duration)>) {
        let Self { size, rings, log, .. } = self;
        let Some(place) = rings.get_mut(now.priority.position()) else { return };
        if log.is_none() && size.take(EpisodeLog::BYTES) {
            *log = Some(EpisodeLog::new());
        }
        if place.is_none() && size.take(size.bytes_per_priority()) {
            *place = Some(Ring::new(size.rows));
        }
        let Some(ring) = place else { return };
        let row = span.map(|(ended, length)| (ended, Row::new(ended, length, now.cells)));
        if let Some((ended, row)) = row {
            ring.push(ended, row, now.basis);
        }
        let Some(log) = log else { return };
        for (direction, storm) in Direction::ALL.into_iter().zip(now.storms) {
            if let Some(storm) = storm {
                let row = row.as_ref().map(|(_, row)| row);
                log.note((now.priority, direction), storm, ring, row, || size.next_id());
            }
        }
    }

    /// The samples of a priority in the last `reach` before the NIC's newest sample; none where nothing is kept of it.
    #[must_use]
    pub fn samples(&self, priority: Priority, reach: Duration) -> Option<PastSamples> {
        let ring = self.rings.get(priority.position())?.as_ref()?;
        let (newest, newest_unix_seconds) = self.newest?;
        let since = newest.minus(reach);
        let mut samples = Vec::with_capacity(ring.len());
        samples.extend(ring.after(since).map(|row| row.sample(ring.newest())));
        Some(PastSamples { basis: ring.basis(), samples, newest, newest_unix_seconds })
    }

    /// The latest storms, the newest first.
    #[must_use]
    pub fn episodes(&self) -> Vec<Episode> {
        self.log.as_ref().map(EpisodeLog::episodes).unwrap_or_default()
    }
}

impl Drop for FeedHistory {
    fn drop(&mut self) {
        let rings = self.rings.iter().flatten().count() * self.size.bytes_per_priority();
        let log = if self.log.is_some() { EpisodeLog::BYTES } else { 0 };
        self.size.left.fetch_add(rings + log, Ordering::Relaxed);
    }
}

/// Who keeps the past of a host's devices. Both may be asked at any time and hold no NIC up.
pub trait Past: Send + Sync {
    /// The samples of a priority in the last `reach`; none where nothing is kept of it.
    fn samples(&self, device: &str, priority: Priority, reach: Duration) -> Option<PastSamples>;

    /// The latest storms with their devices, the newest first.
    fn storms(&self) -> Vec<(Arc<str>, Episode)>;
}
