//! When a sampling thread wakes: a grid with jitter, from which ticks are lost.

use std::time::Duration;

/// A tick is off by up to this share of the interval.
const JITTER: f64 = 0.2;
/// Percent of ticks that are lost.
const LOST_PERCENT: u32 = 2;
/// One in this many ticks begins a longer loss.
const LONG_LOSS_EVERY: u32 = 400;
/// Ticks in such a loss.
const LONG_LOSS: u32 = 5;

/// The ticks of one feed.
pub(crate) struct Ticks {
    grid: u64,
    chance: fastrand::Rng,
}

impl Ticks {
    pub(crate) fn new(start: u64, seed: u64) -> Self {
        Self { grid: start, chance: fastrand::Rng::with_seed(seed) }
    }

    /// The next tick at `interval`, not before `earliest`.
    pub(crate) fn next(&mut self, interval: Duration, earliest: u64) -> u64 {
        let step = interval.as_nanos() as u64;
        loop {
            self.grid += step;
            if self.chance.u32(..LONG_LOSS_EVERY) == 0 {
                self.grid += step * u64::from(LONG_LOSS - 1);
                continue;
            }
            if self.chance.u32(..100) < LOST_PERCENT {
                continue;
            }
            let jitter = (self.chance.f64() * 2.0 - 1.0) * JITTER * step as f64;
            let at = self.grid.saturating_add_signed(jitter as i64);
            if at >= earliest {
                return at;
            }
        }
    }
}

#[test]
fn ticks_advance_are_off_and_get_lost() {
    let mut ticks = Ticks::new(0, 1);
    let interval = Duration::from_millis(10);
    let at: Vec<u64> = (0..10_000).map(|_| ticks.next(interval, 0)).collect();
    let gaps: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap >= 6_000_000), "time goes on");
    let longer = |intervals: u64| gaps.iter().filter(|gap| **gap > intervals * 10_000_000).count();
    // Two losses in a row make a gap of three intervals.
    assert!((150..350).contains(&(longer(1_500_000 / 1_000_000 + 1) + longer(5))), "{}", longer(2));
    assert!((10..60).contains(&longer(5)), "{}", longer(5));
}
