//! The time line of a replay: the recorded clock, run at a speed.
//!
//! It never passes a record that was not delivered yet, so a machine that is too slow for the speed gives a slower
//! replay and not a stale one. Refuses to look at a clock itself: the real time comes in.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::model::Monotonic;

/// A delivery that is late by no more than this, in real time, is caught up with; a longer delay shifts the rest.
const CAUGHT_UP: Duration = Duration::from_millis(100);

/// The recorded clock, run at a speed.
#[derive(Debug)]
pub(super) struct ReplayClock {
    speed: f64,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// At this real time it was `recorded` on the recorded clock.
    real: Monotonic,
    recorded: Monotonic,
    /// When the next record is due; none after the last.
    due: Option<Monotonic>,
}

impl ReplayClock {
    /// A clock that stands at `recorded`, the start of the recording, at `real` time.
    pub(super) const fn new(recorded: Monotonic, speed: f64, real: Monotonic) -> Self {
        Self { speed, state: Mutex::new(State { real, recorded, due: Some(recorded) }) }
    }

    /// The recorded time at `real` time.
    pub(super) fn now(&self, real: Monotonic) -> Monotonic {
        let state = *self.lock();
        let ideal = self.ideal(&state, real);
        state.due.map_or(ideal, |due| ideal.min(due))
    }

    /// Takes the next record's time, after the one before was delivered.
    pub(super) fn set_due(&self, next: Monotonic, real: Monotonic) {
        let mut state = self.lock();
        if let Some(due) = state.due {
            let late = self.ideal(&state, real).since(due);
            if late > CAUGHT_UP.mul_f64(self.speed) {
                (state.real, state.recorded) = (real, due);
            }
        }
        // Records of several threads can be out of order by a little; the clock never goes back.
        state.due = state.due.max(Some(next));
    }

    /// How long, in real time, until a record of `next` is due.
    pub(super) fn wait(&self, next: Monotonic, real: Monotonic) -> Duration {
        let state = *self.lock();
        let seconds = next.since(self.ideal(&state, real)).as_secs_f64() / self.speed;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// Goes on from the last record without a further one.
    pub(super) fn run_on(&self, real: Monotonic) {
        let mut state = self.lock();
        if let Some(due) = state.due.take() {
            let recorded = self.ideal(&state, real).min(due);
            (state.real, state.recorded) = (real, recorded);
        }
    }

    fn ideal(&self, state: &State, real: Monotonic) -> Monotonic {
        state.recorded.plus(real.since(state.real).mul_f64(self.speed))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Monotonic {
        Monotonic::from_nanos(millis * 1_000_000)
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn time_runs_at_the_speed_and_waits_for_each_record() {
        let clock = ReplayClock::new(at(1_000), 10.0, at(50));
        clock.set_due(at(1_200), at(50));
        assert_eq!(clock.now(at(50)), at(1_000));
        assert_eq!(clock.now(at(60)), at(1_100));
        assert_eq!(clock.wait(at(1_200), at(60)), 10 * MS);
        assert_eq!(clock.now(at(75)), at(1_200), "held at the record that is due");
        clock.set_due(at(1_300), at(75));
        assert_eq!(clock.now(at(75)), at(1_250), "a short delay is caught up with");
        clock.set_due(at(1_290), at(80));
        assert_eq!(
            clock.now(at(90)),
            at(1_300),
            "records a little out of order do not turn it back"
        );
    }

    #[test]
    fn a_machine_that_is_too_slow_makes_the_replay_slower() {
        let clock = ReplayClock::new(at(0), 1_000.0, at(0));
        for step in 1..=100 {
            // Each record takes 200 ms to deliver, and 10 ms of the recording lie between two.
            clock.set_due(at(step * 10), at((step - 1) * 200));
            assert_eq!(clock.now(at(step * 200)), at(step * 10));
            assert_eq!(clock.wait(at(step * 10), at(step * 200)), Duration::ZERO);
        }
        clock.run_on(at(20_000));
        assert_eq!(clock.now(at(20_000)), at(1_000), "no jump at the end");
        assert_eq!(clock.now(at(20_002)), at(3_000));
    }

    #[test]
    fn slow_motion_and_absurd_times_are_bounded() {
        let clock = ReplayClock::new(at(0), 0.1, at(0));
        clock.set_due(at(1_000), at(0));
        assert_eq!(clock.wait(at(1_000), at(0)), Duration::from_secs(10));
        assert!(clock.wait(Monotonic::from_nanos(u64::MAX), at(0)) > Duration::from_hours(24));
        assert_eq!(clock.now(Monotonic::from_nanos(u64::MAX)), at(1_000));
    }
}
