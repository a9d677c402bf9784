//! The clocks, as the kernel keeps them.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use crate::model::Monotonic;

/// `CLOCK_MONOTONIC` now. Steps of the wall clock do not move it.
#[must_use]
pub fn monotonic_now() -> Monotonic {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
    Monotonic::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

/// Wall time now, in seconds since 1970. Only for the start of an episode; never for a difference.
#[must_use]
pub fn unix_seconds_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
