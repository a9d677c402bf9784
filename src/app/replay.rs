//! `roce_exporter replay`: serves a recording as if it were live, on the recorded time line.
//!
//! After the last record it goes on serving the last state, which then ages as it would live. A recording that is
//! damaged is played up to the damage. Refuses to read settings again while it runs: a replay has one outcome.

mod clock;
mod player;

pub use player::{PlayRules, Player};

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, sleep};
use std::time::Duration;

use anyhow::Context;
use clock::ReplayClock;

use super::serve::{Running, Servers, greet, on_runtime};
use super::service_manager;
use super::signals::{Asked, Signals};
use crate::catalogue::Catalogue;
use crate::config::{ReplaySettings, Settings};
use crate::model::Monotonic;
use crate::record::Reader;
use crate::sampler::Board;
use crate::source::monotonic_now;

/// The longest sleep without a look at the stop signal.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// Serves a recording until a signal says stop.
///
/// # Errors
/// When the file is no recording, an address cannot be bound or a thread cannot be started.
pub(super) fn replay(
    replay: &ReplaySettings,
    settings: &Settings,
    catalogue: &Arc<Catalogue>,
    running: Running,
) -> anyhow::Result<()> {
    let file = replay.file.display();
    let reader = Reader::open(&replay.file).with_context(|| file.to_string())?;
    greet();
    let start = reader.start().clone();
    let recorded_at = humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + start.unix);
    tracing::info!(%file, %recorded_at, by = start.program, speed = replay.speed, "replaying");
    let rules = PlayRules {
        catalogue: Arc::clone(catalogue),
        raw: super::raw_selection(settings),
        storm: settings.storm,
    };
    let board = Arc::new(Board::default());
    board.set_policy(Arc::clone(&settings.policy), super::sampling_wanted(settings));
    let deck = Deck {
        clock: Arc::new(ReplayClock::new(start.at, replay.speed, monotonic_now())),
        player: Player::new(rules, start, Arc::clone(&board)),
        reader,
        stop: Arc::default(),
    };
    on_runtime(serve(deck, settings, &board, running))
}

async fn serve(
    mut deck: Deck,
    settings: &Settings,
    board: &Arc<Board>,
    running: Running,
) -> anyhow::Result<()> {
    let Running { level, door, sockets } = running;
    let mut signals = Signals::new(level)?;
    let mut servers = Servers::new(&door, sockets);
    let clock = Arc::clone(&deck.clock);
    servers.serve(settings, 0, board, Arc::new(move || clock.now(monotonic_now()))).await?;
    let stop = Arc::clone(&deck.stop);
    let thread = Builder::new().name("replay".to_owned()).spawn(move || deck.run());
    let thread = thread.context("cannot start the replay")?;
    service_manager::ready();
    let watchdog = service_manager::feed_watchdog(servers.answer());
    let following = Arc::clone(&door).follow();
    tokio::pin!(following, watchdog);
    loop {
        tokio::select! {
            () = &mut following => {}
            () = &mut watchdog => {}
            asked = signals.next() => match asked {
                Asked::Stop => break,
                Asked::Reload => tracing::warn!("a replay keeps the settings that it began with"),
            },
            failure = servers.failure() => return Err(failure),
        }
    }
    tracing::info!("stopping");
    service_manager::stopping();
    servers.stop();
    stop.store(true, Ordering::Release);
    if thread.join().is_err() {
        tracing::error!("the replay had failed");
    }
    servers.ended().await
}

/// Plays a recording on a clock.
struct Deck {
    reader: Reader<BufReader<File>>,
    player: Player,
    clock: Arc<ReplayClock>,
    stop: Arc<AtomicBool>,
}

impl Deck {
    fn run(&mut self) {
        let damage = loop {
            match self.reader.next() {
                Some(Ok(event)) => {
                    self.clock.set_due(event.at(), monotonic_now());
                    if !self.sleep_until(event.at()) {
                        return;
                    }
                    self.player.play(event);
                }
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        };
        self.clock.run_on(monotonic_now());
        if let Some(error) = damage {
            tracing::error!(%error, "the recording cannot be read further");
        }
        if let Some(bytes) = self.reader.torn() {
            tracing::warn!(bytes, "the recording ends within a record, which is left out");
        }
        let usable = self.reader.usable();
        tracing::info!(
            samples = usable.samples,
            span = ?usable.span,
            "the recording has ended; its last state is served from now on"
        );
    }

    /// Sleeps until a record of `at` is due. Returns false when told to stop.
    fn sleep_until(&self, at: Monotonic) -> bool {
        loop {
            if self.stop.load(Ordering::Acquire) {
                return false;
            }
            let wait = self.clock.wait(at, monotonic_now());
            if wait == Duration::ZERO {
                return true;
            }
            sleep(wait.min(LONGEST_SLEEP));
        }
    }
}
