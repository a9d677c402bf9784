//! The last minutes of one priority, span by span, in memory that is set aside once.
//!
//! A row is 24 bytes: times in whole microseconds, the share of each direction as a 32-bit real. Refuses to grow: when
//! it is full, or a row is older than [`KEPT`], the oldest goes.

use std::collections::VecDeque;
use std::time::Duration;

use crate::engine::Basis;
use crate::model::{Direction, Monotonic};

/// How far back samples are kept, where there is room for so many.
pub const KEPT: Duration = Duration::from_mins(3);
/// The most rows of a ring: at intervals below 2.75 ms they reach less far back than [`KEPT`].
const MOST_ROWS: usize = 65_536;
/// The least, however long the interval.
const LEAST_ROWS: usize = 64;

/// A cell's share where it has none.
const NO_SHARE: f32 = f32::NAN;
/// A cell's frames where the driver counts none. As many do not fit in a span.
const NO_FRAMES: u32 = u32::MAX;

/// Rows of a ring whose samples are this far apart.
#[must_use]
pub fn rows_for(interval: Duration) -> usize {
    let rows = KEPT.as_nanos() / interval.as_nanos().max(1);
    usize::try_from(rows).unwrap_or(MOST_ROWS).clamp(LEAST_ROWS, MOST_ROWS)
}

/// One direction of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    share: f32,
    frames: u32,
}

impl Cell {
    /// Nothing was judged.
    pub(crate) const NONE: Self = Self { share: NO_SHARE, frames: NO_FRAMES };

    /// What a span showed.
    #[allow(clippy::cast_possible_truncation, reason = "a share of 1 needs no more than 24 bits")]
    pub(crate) fn new(share: Option<f64>, frames: Option<u64>) -> Self {
        let frames = frames.map_or(NO_FRAMES, |own| u32::try_from(own).unwrap_or(NO_FRAMES));
        Self { share: share.map_or(NO_SHARE, |own| own as f32), frames }
    }

    pub(super) fn share(self) -> Option<f32> {
        Some(self.share).filter(|share| !share.is_nan())
    }

    pub(super) fn frames(self) -> Option<u32> {
        Some(self.frames).filter(|frames| *frames != NO_FRAMES)
    }
}

/// One judged span. Its time is told against a moment that is at most half an hour away.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    ended_micros: u32,
    span_micros: u32,
    tx: Cell,
    rx: Cell,
}

impl Row {
    pub(super) fn new(ended: Monotonic, span: Duration, [tx, rx]: [Cell; 2]) -> Self {
        let span_micros = u32::try_from(span.as_micros()).unwrap_or(u32::MAX);
        Self { ended_micros: wrapped_micros(ended), span_micros, tx, rx }
    }

    /// Its end, where `moment` is near.
    pub(super) fn ended(&self, moment: Monotonic) -> Monotonic {
        let ahead = self.ended_micros.wrapping_sub(wrapped_micros(moment)).cast_signed();
        let distance = Duration::from_micros(ahead.unsigned_abs().into());
        if ahead < 0 { moment.minus(distance) } else { moment.plus(distance) }
    }

    pub(super) const fn cell(&self, direction: Direction) -> Cell {
        match direction {
            Direction::Tx => self.tx,
            Direction::Rx => self.rx,
        }
    }

    pub(super) fn span(&self) -> Duration {
        Duration::from_micros(self.span_micros.into())
    }

    pub(super) fn sample(&self, moment: Monotonic) -> PastSample {
        let of = |cell: Cell| PastPause { share: cell.share(), frames: cell.frames() };
        PastSample {
            ended: self.ended(moment),
            span: self.span(),
            tx: of(self.tx),
            rx: of(self.rx),
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "wraps by design, after 71 minutes")]
const fn wrapped_micros(at: Monotonic) -> u32 {
    (at.as_nanos() / 1_000) as u32
}

/// One judged span of a priority.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PastSample {
    /// When it ended, to the microsecond.
    pub ended: Monotonic,
    /// Its length, in whole microseconds.
    pub span: Duration,
    /// Sent by this port.
    pub tx: PastPause,
    /// Received by this port.
    pub rx: PastPause,
}

/// One direction of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PastPause {
    /// Share of the span that was paused, or an upper bound of it, by the basis; none where nothing was judged.
    pub share: Option<f32>,
    /// Pause frames in the span; none where the driver counts none.
    pub frames: Option<u32>,
}

/// The rows of one priority.
#[derive(Debug)]
pub(super) struct Ring {
    rows: VecDeque<Row>,
    most: usize,
    newest: Monotonic,
    basis: [Option<Basis>; 2],
}

impl Ring {
    /// Bytes of a ring with this many rows.
    pub(super) const fn bytes(rows: usize) -> usize {
        rows * size_of::<Row>()
    }

    /// Sets the memory aside.
    pub(super) fn new(rows: usize) -> Self {
        let newest = Monotonic::ZERO;
        Self { rows: VecDeque::with_capacity(rows), most: rows, newest, basis: [None; 2] }
    }

    /// Adds a row. Shares on another basis than before mean something else: what was kept goes.
    pub(super) fn push(&mut self, ended: Monotonic, row: Row, basis: [Option<Basis>; 2]) {
        let odd = ended < self.newest || basis != self.basis;
        if odd || ended.since(self.newest) >= KEPT {
            self.rows.clear();
        }
        while self.rows.front().is_some_and(|own| ended.since(own.ended(self.newest)) > KEPT) {
            self.rows.pop_front();
        }
        if self.rows.len() >= self.most {
            self.rows.pop_front();
        }
        self.rows.push_back(row);
        (self.newest, self.basis) = (ended, basis);
    }

    pub(super) const fn newest(&self) -> Monotonic {
        self.newest
    }

    pub(super) const fn basis(&self) -> [Option<Basis>; 2] {
        self.basis
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows that ended after `since`, the oldest first.
    pub(super) fn after(&self, since: Monotonic) -> impl Iterator<Item = &Row> {
        self.rows.range(self.place_after(since)..)
    }

    /// Up to `before` rows that ended by `moment`, and up to `most` in all.
    pub(super) fn around(
        &self,
        moment: Monotonic,
        before: usize,
        most: usize,
    ) -> impl Iterator<Item = &Row> {
        let first = self.place_after(moment).saturating_sub(before);
        self.rows.range(first..).take(most)
    }

    fn place_after(&self, since: Monotonic) -> usize {
        self.rows.partition_point(|row| row.ended(self.newest) <= since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Monotonic {
        Monotonic::from_nanos(millis * 1_000_000)
    }

    fn push(ring: &mut Ring, millis: u64, share: f64) {
        let cells = [Cell::new(Some(share), Some(1)), Cell::NONE];
        let row = Row::new(at(millis), Duration::from_millis(10), cells);
        ring.push(at(millis), row, [Some(Basis::Duration), None]);
    }

    fn ends(ring: &Ring, since: u64) -> Vec<u64> {
        let nanos = |row: &Row| row.ended(ring.newest()).as_nanos();
        ring.after(at(since)).map(|row| nanos(row) / 1_000_000).collect()
    }

    #[test]
    fn a_row_is_as_small_as_the_papers_say() {
        assert_eq!(size_of::<Row>(), 24);
        assert_eq!(Ring::bytes(rows_for(Duration::from_millis(10))), 432_000);
        assert_eq!(Ring::bytes(rows_for(Duration::from_millis(1))), 1_572_864);
        assert_eq!(rows_for(Duration::ZERO), MOST_ROWS);
        assert_eq!(rows_for(Duration::from_hours(1)), LEAST_ROWS);
    }

    #[test]
    fn a_full_ring_lets_the_oldest_go_and_takes_no_more_memory() {
        let mut ring = Ring::new(100);
        let capacity = ring.rows.capacity();
        // Across the moment at which microseconds of 32 bits begin anew.
        for tick in 0..600_000 {
            push(&mut ring, tick * 10, 0.5);
        }
        assert_eq!((ring.len(), ring.rows.capacity()), (100, capacity));
        assert_eq!(ends(&ring, 5_999_970), [5_999_980, 5_999_990]);
        assert_eq!(ends(&ring, 0).first(), Some(&5_999_000));
    }

    #[test]
    fn what_is_older_than_it_keeps_goes_with_and_without_a_gap() {
        let mut ring = Ring::new(100);
        push(&mut ring, 1_000, 0.5);
        push(&mut ring, 170_000, 0.5);
        push(&mut ring, 182_000, 0.5);
        assert_eq!(ends(&ring, 0), [170_000, 182_000]);
        push(&mut ring, 10_000_000, 0.5);
        assert_eq!(ends(&ring, 0), [10_000_000]);
    }

    #[test]
    fn a_ring_never_mixes_two_bases_or_two_orders_of_time() {
        let mut ring = Ring::new(100);
        push(&mut ring, 1_000, 0.5);
        let row = Row::new(at(1_010), Duration::from_millis(10), [Cell::NONE; 2]);
        ring.push(at(1_010), row, [Some(Basis::Frames), None]);
        assert_eq!(ends(&ring, 0), [1_010]);
        ring.push(at(500), row, [Some(Basis::Frames), None]);
        assert_eq!(ring.len(), 1);
    }

    #[test]
    fn absent_stays_absent() {
        let row = Row::new(
            at(7),
            Duration::from_micros(9_999),
            [Cell::new(None, Some(0)), Cell::new(Some(0.0), None)],
        );
        let sample = row.sample(at(8));
        assert_eq!((sample.ended, sample.span), (at(7), Duration::from_micros(9_999)));
        assert_eq!(sample.tx, PastPause { share: None, frames: Some(0) });
        assert_eq!(sample.rx, PastPause { share: Some(0.0), frames: None });
    }
}
