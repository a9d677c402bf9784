//! The signals that a running server heeds: SIGTERM and SIGINT stop it, SIGHUP has it read its files again, SIGUSR1 has the
//! log say more and SIGUSR2 less.

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::log::LevelHandle;

/// The signals that matter.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    more: Signal,
    less: Signal,
    level: LevelHandle,
}

impl Signals {
    /// Catches them from now on.
    ///
    /// # Errors
    /// When they cannot be caught.
    pub(super) fn new(level: LevelHandle) -> anyhow::Result<Self> {
        let of = |kind| signal(kind).context("cannot catch signals");
        Ok(Self {
            terminate: of(SignalKind::terminate())?,
            interrupt: of(SignalKind::interrupt())?,
            hangup: of(SignalKind::hangup())?,
            more: of(SignalKind::user_defined1())?,
            less: of(SignalKind::user_defined2())?,
            level,
        })
    }

    /// Waits for the next that asks for something; the log's level is changed meanwhile.
    pub(super) async fn next(&mut self) -> Asked {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return Asked::Stop,
                _ = self.interrupt.recv() => return Asked::Stop,
                _ = self.hangup.recv() => return Asked::Reload,
                _ = self.more.recv() => self.level.step(true),
                _ = self.less.recv() => self.level.step(false),
            }
        }
    }
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// End the program.
    Stop,
    /// Read the files again.
    Reload,
}
