//! `rate_limit`: a bucket of `burst` requests that one more drops into every `interval`, for all clients together.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::file::RateSection;

#[derive(Debug)]
pub(super) struct RateLimit {
    interval: Duration,
    /// How far ahead of its even pace the traffic may run.
    slack: Duration,
    /// When the bucket is full again.
    full_at: Mutex<Instant>,
}

impl RateLimit {
    /// None where the interval is zero or absent, which sets no limit.
    ///
    /// # Errors
    /// A text that is no duration, or a limit that would let nothing through.
    pub(super) fn new(section: &RateSection) -> Result<Option<Self>, String> {
        let interval = match section.interval.as_deref() {
            None | Some("" | "0") => Duration::ZERO,
            Some(text) => humantime::parse_duration(text)
                .map_err(|error| format!("rate_limit.interval: {error}"))?,
        };
        if interval.is_zero() {
            return Ok(None);
        }
        let burst = section.burst.unwrap_or(0);
        if burst == 0 {
            return Err(
                "rate_limit.burst: must be at least 1, or nothing is let through".to_owned()
            );
        }
        let slack = interval.checked_mul(burst);
        let slack = slack.ok_or("rate_limit: interval times burst is too long")?;
        // Without this a far limit could lie beyond what an instant can hold.
        Instant::now().checked_add(slack).ok_or("rate_limit: interval times burst is too long")?;
        Ok(Some(Self { interval, slack, full_at: Mutex::new(Instant::now()) }))
    }

    /// Takes a request out of the bucket at `now`. False if there is none.
    pub(super) fn admits(&self, now: Instant) -> bool {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let next = (*full_at).max(now).checked_add(self.interval);
        match next {
            Some(next) if next.saturating_duration_since(now) <= self.slack => {
                *full_at = next;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RateLimit, RateSection};
    use std::time::{Duration, Instant};

    fn limit(interval: &str, burst: Option<u32>) -> Result<Option<RateLimit>, String> {
        RateLimit::new(&RateSection { interval: Some(interval.to_owned()), burst })
    }

    #[test]
    fn a_burst_and_then_the_pace() {
        let limit = limit("100ms", Some(3)).unwrap().unwrap();
        let start = Instant::now();
        let admitted = |at: u64| limit.admits(start + Duration::from_millis(at));
        assert_eq!([0, 0, 0, 0].map(admitted), [true, true, true, false]);
        assert_eq!([101, 101, 150, 202].map(admitted), [true, false, false, true]);
        assert_eq!([9000, 9000, 9000, 9000].map(admitted), [true, true, true, false]);
    }

    #[test]
    fn no_limit_and_bad_ones() {
        assert!(limit("0s", None).unwrap().is_none());
        assert!(limit("0", None).unwrap().is_none());
        assert!(limit("1s", None).unwrap_err().contains("burst"));
        assert!(limit("soon", Some(1)).unwrap_err().contains("interval"));
        assert!(limit("500000000years", Some(u32::MAX)).is_err());
    }
}
