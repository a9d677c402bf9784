//! What systemd, or whoever else started the program in its way, is told of it: readiness, reloads, the stop, and the
//! watchdog's signs of life. Without such a parent all of it does nothing.
//!
//! The only place that reads the environment, and of it only what a service manager sets. Refuses to say that the
//! program lives without having looked.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};

/// The program serves from now on.
pub(super) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// The files are read again from now on, until [`ready`].
pub(super) fn reloading() {
    let now = NotifyState::monotonic_usec_now();
    tell(&[Some(NotifyState::Reloading), now.ok()].into_iter().flatten().collect::<Vec<_>>());
}

/// The program stops from now on.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Tells the watchdog, if there is one, at half of its time that the program lives, as long as `standstill` finds
/// nothing that stands still. Never ends by itself.
pub(super) async fn feed_watchdog(standstill: impl Fn() -> Option<String> + Send + Sync + 'static) {
    let Some(limit) = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero()) else {
        return std::future::pending().await;
    };
    let standstill = Arc::new(standstill);
    let mut ticks = interval((limit / 2).max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let standstill = Arc::clone(&standstill);
        // Where the looks themselves come to no end, the watchdog hears nothing.
        let looked = tokio::task::spawn_blocking(move || match standstill() {
            None => tell(&[NotifyState::Watchdog]),
            Some(what) => tracing::error!(what, "stands still; the watchdog is not told to wait"),
        });
        if let Err(error) = looked.await {
            tracing::error!(%error, "the look at the program failed; the watchdog is not told to wait");
        }
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager cannot be told");
    }
}
