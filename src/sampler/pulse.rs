//! Whether the thread that looks after the sampling turns, for who has to decide that the program must start anew.
//!
//! A thread inside the kernel counts as alive, however long it takes: a new process would wait for the same lock,
//! and the old one could not even end. Refuses to judge a device.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::model::Monotonic;

/// Silence beyond what was to be expected that means a standstill.
pub(super) const LONGEST_SILENCE: Duration = Duration::from_secs(30);

/// The signs of life of one thread.
#[derive(Debug)]
pub(super) struct Pulse {
    /// When the thread last turned, in nanoseconds of the monotonic clock; 0 after its end.
    beat: AtomicU64,
    in_kernel: AtomicBool,
}

impl Pulse {
    /// Of a thread that starts at `now`.
    pub(super) fn new(now: Monotonic) -> Self {
        Self { beat: AtomicU64::new(now.as_nanos().max(1)), in_kernel: AtomicBool::new(false) }
    }

    /// The thread turns.
    pub(super) fn beat(&self, now: Monotonic) {
        self.beat.store(now.as_nanos().max(1), Ordering::Relaxed);
    }

    /// Does what may take the kernel any time.
    pub(super) fn in_kernel<T>(&self, ask: impl FnOnce() -> T) -> T {
        self.in_kernel.store(true, Ordering::Release);
        let answer = ask();
        self.in_kernel.store(false, Ordering::Release);
        answer
    }

    /// The thread has ended.
    pub(super) fn end(&self) {
        self.in_kernel.store(false, Ordering::Release);
        self.beat.store(0, Ordering::Relaxed);
    }

    /// Whether the thread lives at `now`.
    pub(super) fn beats(&self, now: Monotonic) -> bool {
        let last = self.beat.load(Ordering::Relaxed);
        let silence = now.since(Monotonic::from_nanos(last));
        last > 0 && (self.in_kernel.load(Ordering::Acquire) || silence < LONGEST_SILENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_lives_while_it_turns_or_is_in_the_kernel() {
        let at = |seconds: u64| Monotonic::from_nanos(seconds * 1_000_000_000);
        let pulse = Pulse::new(at(100));
        assert!(pulse.beats(at(129)));
        assert!(!pulse.beats(at(130)));
        pulse.in_kernel(|| assert!(pulse.beats(at(10_000))));
        // It has not turned since, but soon will: the caller's next beat.
        pulse.beat(at(10_000));
        assert!(pulse.beats(at(10_001)));
        pulse.end();
        assert!(!pulse.beats(at(10_001)));
    }
}
