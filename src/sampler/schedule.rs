//! Deadlines on an absolute grid: missed ones are skipped and counted, never made up for in a burst.

use std::time::Duration;

use crate::model::Monotonic;

/// The grid of one feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    interval: Duration,
    deadline: Monotonic,
}

impl Schedule {
    /// A grid with its first deadline at `first`. An interval of zero counts as one nanosecond.
    #[must_use]
    pub fn new(first: Monotonic, interval: Duration) -> Self {
        Self { interval: interval.max(Duration::from_nanos(1)), deadline: first }
    }

    /// The next deadline.
    #[must_use]
    pub const fn deadline(&self) -> Monotonic {
        self.deadline
    }

    /// The nominal interval.
    #[must_use]
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Continues with another interval; the next deadline stays.
    pub fn set_interval(&mut self, interval: Duration) {
        self.interval = interval.max(Duration::from_nanos(1));
    }

    /// Moves to the first deadline of the grid that is after the current one and not before `earliest`.
    /// Returns how many deadlines between the two were passed over.
    pub fn advance(&mut self, earliest: Monotonic) -> u64 {
        let next = self.deadline.plus(self.interval);
        let late = earliest.since(next).as_nanos();
        let interval = self.interval.as_nanos();
        let skipped = u64::try_from(late.div_ceil(interval)).unwrap_or(u64::MAX);
        let step = u64::try_from(interval).unwrap_or(u64::MAX);
        self.deadline = next.plus(Duration::from_nanos(step.saturating_mul(skipped)));
        skipped
    }

    /// Moves on along the grid to the first deadline that is not before `earliest`, if there is need to.
    pub fn advance_to(&mut self, earliest: Monotonic) {
        if self.deadline < earliest {
            self.advance(earliest);
        }
    }
}

/// The interval of a feed in which nothing is catalogued: often enough to notice that counters appear.
const IDLE_INTERVAL: Duration = Duration::from_secs(1);
/// Reads within one refresh of a driver that refreshes slowly: a jump is dated to a sixteenth of it.
const READS_PER_REFRESH: u32 = 16;

/// The interval that makes sense for a feed, `wanted` at least. A feed without counters (`idle`) is only watched;
/// one that the kernel caches is not read within the cache's period; one whose driver refreshes slowly is read
/// often enough to see when it does.
pub(super) fn interval_for(
    wanted: Duration,
    idle: bool,
    cache: Option<Duration>,
    refresh: Option<Duration>,
) -> Duration {
    let least = if idle { IDLE_INTERVAL } else { Duration::ZERO };
    let of_refresh = refresh.map_or(Duration::ZERO, |period| period / READS_PER_REFRESH);
    wanted.max(least).max(cache.unwrap_or_default()).max(of_refresh)
}

/// How long a failing feed is left alone: its interval doubled with each failure in a row, up to 30 s.
#[must_use]
pub fn back_off(interval: Duration, failures: u32) -> Duration {
    const LONGEST: Duration = Duration::from_secs(30);
    interval.saturating_mul(1_u32 << failures.min(24)).min(LONGEST)
}

/// The interval as reached, averaged over about a second.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReachedInterval {
    started: Option<Monotonic>,
    samples: u32,
    settled: Option<Duration>,
}

impl ReachedInterval {
    const WINDOW: Duration = Duration::from_secs(1);

    /// Notes a good sample.
    pub fn note(&mut self, taken_at: Monotonic) {
        let Some(started) = self.started else {
            self.started = Some(taken_at);
            return;
        };
        self.samples += 1;
        let span = taken_at.since(started);
        let average = span / self.samples;
        if span >= Self::WINDOW {
            *self = Self { started: Some(taken_at), samples: 0, settled: Some(average) };
        } else if self.settled.is_none_or(|settled| average > settled * 2) {
            self.settled = Some(average);
        }
    }

    /// The average; none before the second sample.
    #[must_use]
    pub const fn get(&self) -> Option<Duration> {
        self.settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Monotonic {
        Monotonic::from_nanos(millis * 1_000_000)
    }

    const TEN: Duration = Duration::from_millis(10);

    #[test]
    fn deadlines_stay_on_the_grid_and_missed_ones_are_counted() {
        let mut schedule = Schedule::new(at(100), TEN);
        assert_eq!((schedule.advance(at(101)), schedule.deadline()), (0, at(110)));
        assert_eq!((schedule.advance(at(120)), schedule.deadline()), (0, at(120)));
        assert_eq!((schedule.advance(at(131)), schedule.deadline()), (1, at(140)));
        assert_eq!((schedule.advance(at(1_000)), schedule.deadline()), (85, at(1_000)));
    }

    #[test]
    fn any_time_and_interval_keep_the_grid() {
        proptest::proptest!(|(first: u64, interval in 0_u64..1 << 62, earliest: u64)| {
            let mut schedule =
                Schedule::new(Monotonic::from_nanos(first), Duration::from_nanos(interval));
            schedule.advance(Monotonic::from_nanos(earliest));
            let deadline = schedule.deadline();
            proptest::prop_assert!(
                deadline >= Monotonic::from_nanos(earliest) || deadline.as_nanos() == u64::MAX
            );
            proptest::prop_assert!(deadline.as_nanos() > first || first == u64::MAX);
        });
    }

    #[test]
    fn c78_what_the_kernel_caches_is_not_read_within_the_cache_s_period() {
        let ms = Duration::from_millis;
        for (idle, cache, refresh, expected) in [
            (false, None, None, TEN),
            (false, Some(ms(12)), None, ms(12)),
            (false, Some(ms(5)), None, TEN),
            (false, None, Some(ms(1_600)), ms(100)),
            (false, None, Some(ms(100)), TEN),
            (true, Some(ms(12)), None, ms(1_000)),
        ] {
            assert_eq!(
                interval_for(TEN, idle, cache, refresh),
                expected,
                "{idle} {cache:?} {refresh:?}"
            );
        }
    }

    #[test]
    fn back_off_doubles_up_to_its_limit() {
        assert_eq!(back_off(TEN, 0), TEN);
        assert_eq!(back_off(TEN, 3), TEN * 8);
        assert_eq!(back_off(TEN, u32::MAX), Duration::from_secs(30));
    }

    #[test]
    fn the_reached_interval_is_the_average_of_what_happened() {
        let mut reached = ReachedInterval::default();
        assert_eq!(reached.get(), None);
        for tick in 0..=200 {
            reached.note(at(tick * 10 + tick % 2));
        }
        let average = reached.get().unwrap();
        assert!(average.abs_diff(TEN) < Duration::from_micros(50), "{average:?}");
        reached.note(at(2_000 + 500));
        assert!(reached.get().unwrap() > TEN * 2, "a stall shows at once");
    }
}
