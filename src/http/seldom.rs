//! What would fill the log if it were said each time.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines of one kind.
const PAUSE: Duration = Duration::from_mins(1);

/// Whether a line that many clients could cause is due again.
#[derive(Debug, Default)]
pub(super) struct Seldom(Mutex<Option<Instant>>);

impl Seldom {
    /// True the first time, and then once a minute at most.
    pub(super) fn is_due(&self) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let due = said.is_none_or(|said| now.saturating_duration_since(said) >= PAUSE);
        if due {
            *said = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::Seldom;

    #[test]
    fn once_is_enough() {
        let said = Seldom::default();
        assert!(said.is_due());
        assert!(!said.is_due());
    }
}
