//! Scrapes at a fixed rate of a server whose sampler reads 8 made-up NICs every millisecond.

use std::io::BufReader;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use roce_exporter::catalogue::{Catalogue, RawSelection};
use roce_exporter::engine::StormSettings;
use roce_exporter::http::ServerState;
use roce_exporter::model::Feed;
use roce_exporter::sampler::{Board, Sampler, SamplerOptions};
use roce_exporter::source::{CounterSet, Discovery, Host, SourceError, monotonic_now};

use crate::paused_nic::{PausedNic, discovery};
use crate::web::client::{connect, get, receive, send};
use crate::web::{Server, state};

pub const NICS: usize = 8;
pub const INTERVAL: Duration = Duration::from_millis(1);
const CLIENTS: u32 = 4;

/// 8 NICs of 106 counters of which all priorities pause.
struct MadeUpHost;

impl Host for MadeUpHost {
    fn discover(&self) -> Discovery {
        discovery(NICS)
    }

    fn open(&self, _: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        Ok(PausedNic::full(300).read_more_often(10).counter_set())
    }
}

/// What was seen.
pub struct Report {
    /// From when a scrape was due to its last byte, sorted.
    pub took: Vec<Duration>,
    /// Bytes of an answer.
    pub bytes: usize,
    pub series: usize,
    pub samples: f64,
    pub missed: f64,
}

impl Report {
    pub fn quantile(&self, per_mille: usize) -> Duration {
        self.took.get(self.took.len() * per_mille / 1_000).copied().unwrap_or_default()
    }
}

/// The sampler and its server.
pub struct Host8 {
    server: Server,
    sampler: Sampler,
}

impl Host8 {
    pub fn start() -> Self {
        let board = Arc::new(Board::keeping(INTERVAL));
        let options = SamplerOptions {
            interval: INTERVAL,
            rtnl_budget: 1.0,
            storm: StormSettings::default(),
            raw: RawSelection::default(),
            discovery_period: Duration::from_secs(5),
            recorder: None,
        };
        let catalogue = Arc::new(Catalogue::embedded().unwrap());
        let sampler =
            Sampler::start(Arc::new(MadeUpHost), catalogue, options, Arc::clone(&board)).unwrap();
        let shown = Arc::clone(&board);
        let snapshot = Arc::new(move || shown.snapshot(monotonic_now()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let state = ServerState { snapshot, past: board, ..state() };
        Self { server: Server::start_on(vec![listener], state), sampler }
    }

    /// Scrapes for so long, `rate` times a second. What a start costs is not what is measured.
    pub fn scrape(&self, time: Duration, rate: u32, headers: &[(&str, &str)]) -> Report {
        let address = self.server.address;
        let before = self.tallies();
        let start = Instant::now() + Duration::from_millis(100);
        let all: Vec<(Vec<Duration>, usize)> = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|own| scope.spawn(move || client(address, start, own, (time, rate), headers)))
                .collect();
            clients.into_iter().map(|own| own.join().unwrap()).collect()
        });
        let after = self.tallies();
        let bytes = all.first().map_or(0, |(_, bytes)| *bytes);
        let mut took: Vec<Duration> = all.into_iter().flat_map(|(took, _)| took).collect();
        took.sort_unstable();
        let [samples, missed] = [after.0 - before.0, after.1 - before.1];
        Report { took, bytes, series: after.2, samples, missed }
    }

    /// Samples, missed deadlines and series so far.
    fn tallies(&self) -> (f64, f64, usize) {
        let reply = get(self.server.address, "/metrics");
        let lines: Vec<&str> = reply.text().lines().filter(|own| !own.starts_with('#')).collect();
        let sum = |name: &str| -> f64 {
            let own = lines.iter().filter(|line| line.starts_with(name));
            own.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
        };
        let samples = sum("roce_sampler_samples_total{");
        (samples, sum("roce_sampler_missed_total{"), lines.len())
    }

    pub fn stop(self) {
        self.server.stop();
        self.sampler.stop();
    }
}

/// Every [`CLIENTS`]th scrape, over one connection. A late one does not make the next one later.
fn client(
    address: SocketAddr,
    start: Instant,
    own: u32,
    (time, rate): (Duration, u32),
    headers: &[(&str, &str)],
) -> (Vec<Duration>, usize) {
    let mut stream = connect(address);
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut took, mut bytes) = (Vec::new(), 0);
    for number in (own..).step_by(usize::try_from(CLIENTS).unwrap()) {
        let offset = Duration::from_secs(1) * number / rate;
        if offset >= time {
            break;
        }
        let due = start + offset;
        sleep(due.saturating_duration_since(Instant::now()));
        send(&mut stream, "GET", "/metrics", headers);
        let reply = receive(&mut reader, "GET");
        took.push(due.elapsed());
        assert_eq!(reply.status, 200);
        bytes = reply.body.len();
    }
    (took, bytes)
}
