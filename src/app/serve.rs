//! `roce_exporter`: samples hosts and serves them, until a signal says stop.
//!
//! SIGTERM and SIGINT stop within 5 s. SIGHUP reads the settings file and the catalogue file again: a bad file
//! keeps the running settings and says so.

use std::sync::Arc;

use anyhow::Context;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::{listen, load_catalogue, sampler_options};
use crate::build_info::BuildInfo;
use crate::catalogue::Catalogue;
use crate::config::{Cli, Settings};
use crate::http::{self, ServerState};
use crate::log::LevelHandle;
use crate::sampler::{Board, Sampler};
use crate::source::{Host, monotonic_now};

/// HTTP needs little; sampling has threads of its own.
const WORKERS: usize = 2;
/// Scrapes that are encoded at the same time.
const BLOCKING_THREADS: usize = 4;

/// Makes a host from settings; called again when they change.
pub(super) type MakeHost = Box<dyn Fn(&Settings, &Arc<Catalogue>) -> Arc<dyn Host> + Send>;

/// One host that is sampled, with its board.
struct Served {
    make_host: MakeHost,
    board: Arc<Board>,
    sampler: Option<Sampler>,
}

/// Serves `hosts`: the first on the addresses of the settings, each further one a port higher.
///
/// # Errors
/// When an address cannot be bound or a thread cannot be started.
pub(super) fn serve(
    hosts: Vec<MakeHost>,
    cli: &Cli,
    settings: &Settings,
    catalogue: &Arc<Catalogue>,
    level: LevelHandle,
) -> anyhow::Result<()> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()
        .context("cannot start the HTTP runtime")?;
    let result = runtime.block_on(serve_all(hosts, cli, settings, catalogue, level));
    runtime.shutdown_background();
    result
}

async fn serve_all(
    hosts: Vec<MakeHost>,
    cli: &Cli,
    settings: &Settings,
    catalogue: &Arc<Catalogue>,
    level: LevelHandle,
) -> anyhow::Result<()> {
    greet();
    let mut signals = Signals::new()?;
    let (stop, stopped) = watch::channel(false);
    let mut servers = tokio::task::JoinSet::new();
    let mut served = Vec::new();
    for (offset, make_host) in (0_u16..).zip(hosts) {
        let listeners = listen::bind(&settings.web.listen, offset).await?;
        for listener in &listeners {
            let address = listener.local_addr()?.to_string();
            tracing::info!(address, path = settings.web.telemetry_path, "listening");
        }
        let board = Arc::new(Board::default());
        let router = http::router(state_of(settings, &board));
        servers.spawn(http::serve(listeners, router, stopped.clone()));
        served.push(Served { make_host, board, sampler: None });
    }
    start_all(&mut served, settings, catalogue)?;
    let mut running = settings.clone();
    loop {
        tokio::select! {
            asked = signals.next() => match asked {
                Asked::Stop => break,
                Asked::Reload => reload(cli, &mut running, &mut served, &level),
            },
            ended = servers.join_next() => {
                let result = ended.context("nothing to serve")?;
                return Ok(result.context("the server failed")??);
            }
        }
    }
    tracing::info!("stopping");
    let _ = stop.send(true);
    stop_all(&mut served);
    while let Some(ended) = servers.join_next().await {
        ended.context("the server failed")??;
    }
    Ok(())
}

fn greet() {
    let build = BuildInfo::current();
    tracing::info!(version = build.version, revision = build.revision, "starting");
    if rustix::process::geteuid().is_root() {
        tracing::warn!("running as root, which is not needed: any user can read these counters");
    }
}

fn start_all(
    served: &mut [Served],
    settings: &Settings,
    catalogue: &Arc<Catalogue>,
) -> anyhow::Result<()> {
    for one in served {
        let host = (one.make_host)(settings, catalogue);
        let board = Arc::clone(&one.board);
        let sampler = Sampler::start(host, Arc::clone(catalogue), sampler_options(settings), board);
        one.sampler = Some(sampler.context("cannot start sampling")?);
    }
    Ok(())
}

fn stop_all(served: &mut [Served]) {
    for one in served {
        if let Some(sampler) = one.sampler.take() {
            sampler.stop();
        }
    }
}

fn state_of(settings: &Settings, board: &Arc<Board>) -> ServerState {
    let (shown, asked) = (Arc::clone(board), Arc::clone(board));
    ServerState {
        snapshot: Arc::new(move || shown.snapshot(monotonic_now())),
        ready: Arc::new(move || asked.is_ready()),
        build: BuildInfo::current(),
        telemetry_path: settings.web.telemetry_path.clone(),
        process_root: settings.web.exporter_metrics.then(|| settings.procfs.clone()),
        max_requests: settings.web.max_requests.map_or(0, std::num::NonZero::get),
    }
}

/// Applies changed files. What is bound at start stays as it is: addresses and paths.
fn reload(cli: &Cli, running: &mut Settings, served: &mut [Served], level: &LevelHandle) {
    let settings = match Settings::load(cli) {
        Ok(settings) => settings,
        Err(errors) => {
            tracing::error!(%errors, "reload refused; the running settings stay");
            return;
        }
    };
    let catalogue = match load_catalogue(&settings) {
        Ok(catalogue) => Arc::new(catalogue),
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "reload refused; the catalogue stays");
            return;
        }
    };
    if let Err(error) = level.set(settings.log.level) {
        tracing::warn!(%error, "the log level stays");
    }
    if settings.web != running.web {
        tracing::warn!("changes below `web` take effect at the next start");
    }
    stop_all(served);
    if let Err(error) = start_all(served, &settings, &catalogue) {
        tracing::error!(error = format!("{error:#}"), "sampling did not start again");
    }
    *running = settings;
    tracing::info!("settings read again");
}

/// The signals that matter.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let of = |kind| signal(kind).context("cannot catch signals");
        Ok(Self {
            terminate: of(SignalKind::terminate())?,
            interrupt: of(SignalKind::interrupt())?,
            hangup: of(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Stop,
            _ = self.interrupt.recv() => Asked::Stop,
            _ = self.hangup.recv() => Asked::Reload,
        }
    }
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Stop,
    Reload,
}
