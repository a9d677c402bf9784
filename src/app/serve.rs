//! `roce_exporter`: samples hosts and serves them, until a signal says stop.
//!
//! SIGTERM and SIGINT stop within 5 s. SIGHUP reads the settings file, the policy and the catalogue file again: a bad
//! file keeps the running settings and says so. A service manager is told of all that.

use std::ffi::OsString;
use std::io;
use std::net::{self, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::signals::{Asked, Signals};
use super::{listen, load_catalogue, sampler_options, service_manager};
use crate::build_info::BuildInfo;
use crate::catalogue::Catalogue;
use crate::config::{Cli, Settings};
use crate::http::{self, Door, ServerState};
use crate::log::LevelHandle;
use crate::model::Monotonic;
use crate::record::{Recording, Start};
use crate::sampler::{Board, Sampler};
use crate::source::{Host, monotonic_now, unix_seconds_now};

/// HTTP needs little; sampling has threads of its own.
const WORKERS: usize = 2;
/// Scrapes that are encoded at the same time.
const BLOCKING_THREADS: usize = 4;

/// For the server to answer the watchdog.
const PATIENCE: Duration = Duration::from_secs(2);

/// Makes a host from settings; called again when they change.
pub(super) type MakeHost = Box<dyn Fn(&Settings, &Arc<Catalogue>) -> Arc<dyn Host> + Send>;

/// One host that is sampled, with its board.
struct Served {
    make_host: MakeHost,
    board: Arc<Board>,
    sampler: Option<Sampler>,
    recording: Option<Recording>,
}

/// What is there before anything is served.
pub(super) struct Running {
    /// The log's level.
    pub(super) level: LevelHandle,
    /// Who may talk to the servers.
    pub(super) door: Arc<Door>,
    /// Sockets to listen on, instead of the addresses of the settings.
    pub(super) sockets: Option<Vec<net::TcpListener>>,
}

/// The servers of all boards, and what stops them.
pub(super) struct Servers {
    door: Arc<Door>,
    /// Those that no server has taken yet.
    sockets: Option<Vec<net::TcpListener>>,
    /// Where the servers listen.
    addresses: Vec<SocketAddr>,
    tasks: JoinSet<io::Result<()>>,
    stop: watch::Sender<bool>,
}

/// Tells the time of a board's snapshots.
pub(super) type Clock = Arc<dyn Fn() -> Monotonic + Send + Sync>;

/// Serves `hosts`: the first on the addresses of the settings, each further one a port higher.
///
/// # Errors
/// When an address cannot be bound or a thread cannot be started.
pub(super) fn serve(
    hosts: Vec<MakeHost>,
    cli: &Cli,
    settings: &Settings,
    catalogue: &Arc<Catalogue>,
    running: Running,
) -> anyhow::Result<()> {
    on_runtime(serve_all(hosts, cli, settings, catalogue, running))
}

/// Runs a command that serves.
///
/// # Errors
/// Those of the command; also when no runtime can be started.
pub(super) fn on_runtime(command: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()
        .context("cannot start the HTTP runtime")?;
    let result = runtime.block_on(command);
    runtime.shutdown_background();
    result
}

async fn serve_all(
    hosts: Vec<MakeHost>,
    cli: &Cli,
    settings: &Settings,
    catalogue: &Arc<Catalogue>,
    started: Running,
) -> anyhow::Result<()> {
    greet();
    let Running { level, door, sockets } = started;
    let mut signals = Signals::new(level.clone())?;
    let mut servers = Servers::new(&door, sockets);
    let mut served = Vec::new();
    for (offset, make_host) in (0_u16..).zip(hosts) {
        let board = Arc::new(Board::keeping(settings.sampler.interval));
        servers.serve(settings, offset, &board, Arc::new(monotonic_now)).await?;
        let recording = settings.record.as_deref().map(|path| record(path, offset));
        let recording = recording.transpose()?;
        served.push(Served { make_host, board, sampler: None, recording });
    }
    start_all(&mut served, settings, catalogue)?;
    service_manager::ready();
    let mut running = settings.clone();
    let boards: Vec<_> = served.iter().map(|one| Arc::clone(&one.board)).collect();
    let answers = servers.answer();
    let watchdog = service_manager::feed_watchdog(move || standstill(&boards).or_else(&answers));
    let following = Arc::clone(&door).follow();
    tokio::pin!(following, watchdog);
    loop {
        tokio::select! {
            () = &mut following => {}
            () = &mut watchdog => {}
            asked = signals.next() => match asked {
                Asked::Stop => break,
                Asked::Reload => {
                    service_manager::reloading();
                    reload(cli, &mut running, &mut served, &level);
                    service_manager::ready();
                }
            },
            failure = servers.failure() => return Err(failure),
        }
    }
    tracing::info!("stopping");
    service_manager::stopping();
    servers.stop();
    stop_all(&mut served);
    for recording in served.into_iter().filter_map(|one| one.recording) {
        recording.finish();
    }
    servers.ended().await
}

/// What of the sampling stands still, if anything does. Puts a snapshot together as a scrape does.
fn standstill(boards: &[Arc<Board>]) -> Option<String> {
    boards.iter().find_map(|board| {
        let now = monotonic_now();
        drop(board.snapshot(now));
        board.standstill(now)
    })
}

impl Servers {
    /// None yet. They will listen on `sockets`, if there are such.
    pub(super) fn new(door: &Arc<Door>, sockets: Option<Vec<net::TcpListener>>) -> Self {
        Self {
            door: Arc::clone(door),
            sockets,
            addresses: Vec::new(),
            tasks: JoinSet::new(),
            stop: watch::channel(false).0,
        }
    }

    /// Serves a board on the addresses of the settings, each `offset` ports higher; its snapshots are of the time
    /// that `clock` tells.
    ///
    /// # Errors
    /// When an address cannot be bound.
    pub(super) async fn serve(
        &mut self,
        settings: &Settings,
        offset: u16,
        board: &Arc<Board>,
        clock: Clock,
    ) -> anyhow::Result<()> {
        let listeners = match &mut self.sockets {
            Some(sockets) => listen::adopt(sockets, offset)?,
            None => listen::bind(&settings.web.listen, offset).await?,
        };
        for listener in &listeners {
            self.addresses.push(listener.local_addr()?);
            let address = listener.local_addr()?.to_string();
            tracing::info!(address, path = settings.web.telemetry_path, "listening");
        }
        let router = http::router(state_of(settings, board, clock));
        self.tasks.spawn(http::serve(
            listeners,
            router,
            Arc::clone(&self.door),
            self.stop.subscribe(),
        ));
        Ok(())
    }

    /// Looks for a server of these that does not answer.
    pub(super) fn answer(&self) -> impl Fn() -> Option<String> + Send + Sync + 'static {
        let addresses = self.addresses.clone();
        move || {
            let silent = addresses.iter().find(|address| !http::answers(**address, PATIENCE));
            silent.map(|address| format!("the server at {address}"))
        }
    }

    /// Waits until a server ends by itself, which none should.
    pub(super) async fn failure(&mut self) -> anyhow::Error {
        match self.tasks.join_next().await {
            None => anyhow::anyhow!("nothing to serve"),
            Some(Ok(Ok(()))) => anyhow::anyhow!("the server ended"),
            Some(Ok(Err(error))) => error.into(),
            Some(Err(error)) => anyhow::Error::new(error).context("the server failed"),
        }
    }

    /// Tells all servers to stop.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until all have stopped.
    ///
    /// # Errors
    /// The first failure.
    pub(super) async fn ended(mut self) -> anyhow::Result<()> {
        while let Some(ended) = self.tasks.join_next().await {
            ended.context("the server failed")??;
        }
        Ok(())
    }
}

/// Begins the recording of the host of this `offset`; each host but the first has its number added to the name.
fn record(path: &Path, offset: u16) -> anyhow::Result<Recording> {
    let mut name = OsString::from(path);
    if offset > 0 {
        name.push(format!(".{}", u32::from(offset) + 1));
    }
    let (path, build) = (PathBuf::from(name), BuildInfo::current());
    let start = Start {
        at: monotonic_now(),
        unix: Duration::try_from_secs_f64(unix_seconds_now()).unwrap_or_default(),
        program: format!("{} {}", build.version, build.revision),
    };
    let recording = Recording::create(&path, start);
    let recording = recording.with_context(|| format!("cannot record to {}", path.display()))?;
    tracing::info!(file = %path.display(), "recording");
    Ok(recording)
}

/// The first line of the log, and a hint.
pub(super) fn greet() {
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
        one.board.set_policy(Arc::clone(&settings.policy), super::sampling_wanted(settings));
        let board = Arc::clone(&one.board);
        let mut options = sampler_options(settings);
        options.recorder = one.recording.as_ref().map(Recording::recorder);
        let sampler = Sampler::start(host, Arc::clone(catalogue), options, board);
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

fn state_of(settings: &Settings, board: &Arc<Board>, clock: Clock) -> ServerState {
    let (shown, asked) = (Arc::clone(board), Arc::clone(board));
    ServerState {
        snapshot: Arc::new(move || shown.snapshot(clock())),
        ready: Arc::new(move || asked.is_ready()),
        past: Arc::<Board>::clone(board),
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
