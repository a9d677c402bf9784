//! The threads that sample: one for all feeds under rtnl, and one for each feed that does without.
//!
//! Reads under rtnl wait for one another in the kernel, however many threads ask, so they lose nothing by one thread
//! and save the wake-ups, which cost more than the reads. Where a read does not need that lock, a thread of its
//! own keeps a device that hangs from its neighbours. Refuses to know what a read does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::Timespec;

use super::sampled_feed::{Course, SampledFeed};
use crate::model::Monotonic;
use crate::source::monotonic_now;

/// The longest sleep without a look at the stop signal.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);
/// The same where feeds may join meanwhile and wait for their first read.
const LONGEST_SLEEP_TOGETHER: Duration = Duration::from_millis(20);

/// Samples one feed until it is told to stop or is over.
pub(super) fn sample_alone(mut feed: SampledFeed) {
    be_punctual();
    while feed.is_wanted() {
        let now = monotonic_now();
        if feed.deadline() > now {
            sleep(now, feed.deadline().min(now.plus(LONGEST_SLEEP)));
        } else if feed.sample() == Course::IsOver {
            break;
        }
    }
}

/// Feeds that share a thread.
#[derive(Default)]
pub(super) struct SharedThread {
    joining: Mutex<Vec<SampledFeed>>,
    /// Told when a feed joins, and at the end.
    changed: Condvar,
}

impl SharedThread {
    /// Adds a feed; the thread reads it from its first deadline on, or from up to 20 ms later.
    pub(super) fn join(&self, feed: SampledFeed) {
        self.joining.lock().unwrap_or_else(PoisonError::into_inner).push(feed);
        self.changed.notify_one();
    }

    /// Has the thread look at its stop signal, should it have no feed.
    pub(super) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Samples the feeds that join until `stop_all`.
    pub(super) fn run(&self, stop_all: &AtomicBool) {
        be_punctual();
        let mut feeds = Vec::new();
        while !stop_all.load(Ordering::Acquire) {
            self.take_in(&mut feeds, stop_all);
            feeds.retain(SampledFeed::is_wanted);
            let now = monotonic_now();
            match turn(&feeds, now) {
                Turn::Of(place) => sample_at(&mut feeds, place),
                Turn::Nobody(earliest) => {
                    sleep(now, earliest.min(now.plus(LONGEST_SLEEP_TOGETHER)));
                }
            }
        }
    }

    /// Takes in those who joined; waits for one where there is nothing else to do.
    fn take_in(&self, feeds: &mut Vec<SampledFeed>, stop_all: &AtomicBool) {
        let mut joining = self.joining.lock().unwrap_or_else(PoisonError::into_inner);
        while feeds.is_empty() && joining.is_empty() && !stop_all.load(Ordering::Acquire) {
            let waited = self.changed.wait_timeout(joining, LONGEST_SLEEP);
            joining = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        feeds.append(&mut joining);
    }
}

fn sample_at(feeds: &mut Vec<SampledFeed>, place: usize) {
    let course = feeds.get_mut(place).map(SampledFeed::sample);
    if course == Some(Course::IsOver) {
        feeds.swap_remove(place);
    }
}

/// Whose turn it is.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    Of(usize),
    /// None is due before this.
    Nobody(Monotonic),
}

/// Of the feeds that are due, the one that can wait least: a thousand that are read once a second delay one that
/// is read each millisecond by one read at most.
fn turn(feeds: &[SampledFeed], now: Monotonic) -> Turn {
    turn_among(feeds.iter().map(|feed| (feed.deadline(), feed.latest())), now)
}

/// The same for pairs of when a feed is due and when it must have been read.
fn turn_among(feeds: impl Iterator<Item = (Monotonic, Monotonic)>, now: Monotonic) -> Turn {
    let (mut most_urgent, mut earliest) = (None, now.plus(LONGEST_SLEEP));
    for (place, (due, latest)) in feeds.enumerate() {
        if due > now {
            earliest = earliest.min(due);
        } else if most_urgent.is_none_or(|(_, least)| latest < least) {
            most_urgent = Some((place, latest));
        }
    }
    most_urgent.map_or(Turn::Nobody(earliest), |(place, _)| Turn::Of(place))
}

fn be_punctual() {
    if let Err(errno) = set_current_timer_slack(std::num::NonZeroU64::MIN.into()) {
        tracing::debug!(%errno, "timer slack stays as it is");
    }
}

/// Sleeps until `until` on the monotonic clock. A signal ends the sleep early; the caller looks again.
fn sleep(now: Monotonic, until: Monotonic) {
    let nanos = until.as_nanos();
    let seconds = i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX);
    let rest = i64::try_from(nanos % 1_000_000_000).unwrap_or(0);
    let until_time = Timespec { tv_sec: seconds, tv_nsec: rest };
    match clock_nanosleep_absolute(ClockId::Monotonic, &until_time) {
        Ok(()) | Err(Errno::INTR) => {}
        Err(_) => std::thread::sleep(until.since(now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whose(feeds: &[(u64, u64)], now: u64) -> Turn {
        let at = Monotonic::from_nanos;
        turn_among(feeds.iter().map(|(due, latest)| (at(*due), at(*latest))), at(now))
    }

    #[test]
    fn the_feed_that_can_wait_least_is_first() {
        let nobody = |until| Turn::Nobody(Monotonic::from_nanos(until));
        let slow = (100, 1_100);
        assert_eq!(whose(&[slow, slow, (110, 120)], 105), Turn::Of(0), "only the slow are due");
        assert_eq!(whose(&[slow, slow, (110, 120)], 110), Turn::Of(2));
        assert_eq!(whose(&[(110, 120), (100, 119)], 110), Turn::Of(1), "longer due");
        assert_eq!(whose(&[slow, (500, 510)], 99), nobody(100));
        assert_eq!(whose(&[], 7), nobody(7 + 100_000_000));
    }

    #[test]
    fn none_is_left_waiting_for_ever_by_quicker_ones() {
        // A quick feed that is due again after each read, and a slow one: the slow one's turn comes in time.
        let slow = (0, 1_000);
        let turns = (0..).map(|tick| whose(&[(tick, tick + 10), slow], tick));
        assert!(turns.take(1_001).any(|turn| turn == Turn::Of(1)));
    }
}
