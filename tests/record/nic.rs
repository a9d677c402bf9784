//! A NIC with mlx5's names whose counters are set by hand, and a sampler of it on a clock that is set by hand.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use roce_exporter::app::replay::{PlayRules, Player};
use roce_exporter::catalogue::{Catalogue, RawSelection, Table, ethtool_text};
use roce_exporter::engine::{Circumstances, FeedEngine, Snapshot, StormSettings};
use roce_exporter::export::{BuildInfo, Format, encode};
use roce_exporter::model::{
    BitsPerSecond, Buffers, Dcb, DeviceFacts, EcnSettings, Ets, Feed, GidType, LinkFacts,
    LinkLayer, LinkPause, Monotonic, OptionalCounter, PcieLink, Pfc, Plan, PortDetails, PortRole,
    PortSettings, Priority, RdmaCm, RdmaPort, Reading, Reason, Sample, SourceKind, StandardPause,
    Trust, Upper,
};
use roce_exporter::record::{FeedRecorder, Recorder, Start, Taken};
use roce_exporter::sampler::{Board, Slot, Tally};
use roce_exporter::source::{CounterSet, PlanRules, PlannedSource, SourceError};

pub const MS: Duration = Duration::from_millis(1);
pub const INTERVAL: Duration = Duration::from_millis(10);
/// The instant at which recordings of these tests begin.
pub const BEGIN: Monotonic = Monotonic::from_nanos(77_000_000_123);
const READ_TIME: Duration = Duration::from_micros(180);
const FULL: &str = include_str!("../fixtures/mlx5_core-full/ethtool-S.txt");

/// All names of mlx5's statistics.
pub fn mlx5_names() -> Vec<String> {
    ethtool_text::parse(FULL).names
}

pub fn catalogue() -> Arc<Catalogue> {
    static SHIPPED: LazyLock<Arc<Catalogue>> =
        LazyLock::new(|| Arc::new(Catalogue::embedded().unwrap()));
    Arc::clone(&SHIPPED)
}

pub fn rules(catalogue: &Arc<Catalogue>) -> PlayRules {
    PlayRules {
        catalogue: Arc::clone(catalogue),
        raw: RawSelection::default(),
        storm: StormSettings::default(),
    }
}

pub fn start() -> Start {
    Start {
        at: BEGIN,
        unix: Duration::new(1_790_000_000, 123_456_789),
        program: "a test".to_owned(),
    }
}

pub fn feed_of(device: &str) -> Feed {
    Feed { device: device.into(), rdma_device: None, port: None, source: SourceKind::Ethtool }
}

pub fn facts(device: &str) -> DeviceFacts {
    DeviceFacts {
        device: device.into(),
        incarnation: 7,
        driver: "mlx5_core".to_owned(),
        firmware: "28.39.1002".to_owned(),
        pci_address: "0000:3b:00.0".to_owned(),
        master: "bond0".to_owned(),
        rdma_ports: vec![RdmaPort {
            rdma_device: "mlx5_0".into(),
            port: 1,
            link_layer: Some(LinkLayer::Ethernet),
            gid_types: vec![GidType::V1, GidType::V2],
            optional_counters: vec![OptionalCounter {
                name: "cc_rx_cnp_pkts".to_owned(),
                enabled: true,
            }],
        }],
        link: LinkFacts {
            up: Some(true),
            speed: Some(BitsPerSecond(100_000_000_000)),
            lossless: Some(0b1000),
            traffic_class: Some([0, 1, 2, 3, 4, 5, 6, 7]),
        },
        netns: "blue".to_owned(),
        role: PortRole::VirtualFunction,
        physical_port: "b83f".to_owned(),
        settings: settings(),
        details: details(),
        peer: None,
    }
}

/// Every part set, each with a value of its own.
fn details() -> PortDetails {
    PortDetails {
        ecn: EcnSettings {
            notification_point: Some(0b0000_1000),
            reaction_point: Some(0b1111_1111),
            cnp_dscp: Some(46),
        },
        pcie: PcieLink {
            lanes: Some(8),
            most_lanes: Some(16),
            megatransfers: Some(16_000),
            most_megatransfers: Some(32_000),
        },
        fec: Some("rs".to_owned()),
        uppers: vec![
            Upper { name: "bond0".to_owned(), mtu_bytes: 9_000 },
            Upper { name: "storage".to_owned(), mtu_bytes: 1_500 },
        ],
        rdma_cm: vec![RdmaCm {
            rdma_device: "mlx5_0".to_owned(),
            port: 1,
            default_gid: Some(GidType::V2),
            default_tos: Some(106),
        }],
    }
}

/// Every part set, each with a value of its own.
fn settings() -> PortSettings {
    PortSettings {
        dcb: Some(Dcb {
            pfc: Some(Pfc {
                capability: 8,
                enabled: 0b1000,
                delay: 7,
                requests: [1, 2, 3, 4, 5, 6, 7, 8],
                indications: [9, 10, 11, 12, 13, 14, 15, 16],
            }),
            ets: Some(Ets {
                willing: true,
                traffic_class: [0, 1, 2, 3, 4, 5, 6, 7],
                bandwidth: [10, 20, 30, 40, 0, 0, 0, 0],
                algorithm: [2, 2, 2, 2, 0, 0, 0, 0],
            }),
            dscp: Some(vec![(26, Priority::ALL[3]), (48, Priority::ALL[6])]),
            buffers: Some(Buffers {
                buffer: [0, 0, 0, 1, 0, 0, 0, 0],
                bytes: [100, 200, 0, 0, 0, 0, 0, 0],
                total_bytes: 300,
            }),
            max_rate: Some([8, 7, 6, 5, 4, 3, 2, 1]),
            trust: Some(Trust::Pcp),
            dcbx: Some(9),
        }),
        trust: Some(Trust::Dscp),
        link_pause: Some(LinkPause { negotiated: true, rx: false, tx: true }),
        stall_prevention: Some(Duration::from_secs(8)),
        statistics_period: Some(Duration::from_millis(250)),
        mtu_bytes: Some(9_000),
        standard_pause: Some(StandardPause {
            rx_frames: Some(17),
            tx_frames: None,
            link_only: true,
        }),
    }
}

pub fn text_of(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    encode(snapshot, &BuildInfo::current(), None, Format::Text004, &mut text).unwrap();
    text
}

/// What a NIC has and does.
#[derive(Debug, Default)]
pub struct State {
    pub names: Vec<String>,
    pub values: BTreeMap<String, u64>,
    /// Names that cannot be read.
    pub missing: BTreeMap<String, Reason>,
    /// What the next reads fail with.
    pub failure: Option<SourceError>,
    pub cache_period: Option<Duration>,
}

impl State {
    pub fn add(&mut self, name: &str, growth: u64) {
        let value = self.values.get_mut(name).unwrap();
        *value = value.wrapping_add(growth);
    }
}

/// The counters of a NIC, as a kernel would give them; a read takes its time.
pub struct Counters {
    pub state: Arc<Mutex<State>>,
    pub now: Arc<AtomicU64>,
}

impl CounterSet for Counters {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        Ok(self.state.lock().unwrap().names.clone())
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        self.now.fetch_add(READ_TIME.as_nanos() as u64, Ordering::Relaxed);
        let state = self.state.lock().unwrap();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        for (reading, position) in readings.iter_mut().zip(wanted) {
            let name = &state.names[*position as usize];
            let value = state.values.get(name).copied().unwrap_or(0);
            let missing = state.missing.get(name);
            *reading = missing.map_or(Reading::Value(value), |reason| Reading::Missing(*reason));
        }
        Ok(())
    }

    fn cache_period(&self) -> Option<Duration> {
        self.state.lock().unwrap().cache_period
    }
}

/// Samples one NIC on a clock that is set by hand, as a sampling thread does.
pub struct Bench {
    pub state: Arc<Mutex<State>>,
    pub link: LinkFacts,
    pub board: Arc<Board>,
    pub recorder: FeedRecorder,
    pub missed: u64,
    now: Arc<AtomicU64>,
    names_epoch: Arc<AtomicU64>,
    source: PlannedSource,
    sample: Sample,
    engine: FeedEngine,
    tally: Tally,
    slot: Arc<Slot>,
    feed: Feed,
}

impl Bench {
    pub fn new(device: &str, recorder: &Recorder, names: Vec<String>) -> Self {
        let values = names.iter().map(|name| (name.clone(), 1_000_000)).collect();
        let state = Arc::new(Mutex::new(State { names, values, ..State::default() }));
        let now = Arc::new(AtomicU64::new(BEGIN.as_nanos()));
        let names_epoch = Arc::new(AtomicU64::new(0));
        let counters = Counters { state: Arc::clone(&state), now: Arc::clone(&now) };
        let rules = PlanRules {
            catalogue: catalogue(),
            table: Table::Ethtool,
            driver: "mlx5_core".to_owned(),
            raw: RawSelection::default(),
        };
        let (board, feed) = (Arc::new(Board::default()), feed_of(device));
        let slot = board.add(&feed, "mlx5_core");
        board.set_devices(vec![facts(device)]);
        recorder.devices(BEGIN, &[facts(device)]);
        let mut feed_recorder = recorder.feed(&feed, "mlx5_core");
        feed_recorder.begin(BEGIN);
        Self {
            state,
            link: facts(device).link,
            board,
            recorder: feed_recorder,
            missed: 0,
            now,
            source: PlannedSource::new(Box::new(counters), rules, Arc::clone(&names_epoch)),
            names_epoch,
            sample: Sample::empty(Arc::new(Plan::default())),
            engine: FeedEngine::new(StormSettings::default()),
            tally: Tally::default(),
            slot,
            feed,
        }
    }

    pub fn now(&self) -> Monotonic {
        Monotonic::from_nanos(self.now.load(Ordering::Relaxed))
    }

    /// Sets the driver's names, which an event tells.
    pub fn rename(&mut self, names: Vec<String>) {
        self.state.lock().unwrap().names = names;
        self.names_epoch.fetch_add(1, Ordering::Release);
    }

    pub fn add(&self, name: &str, growth: u64) {
        self.state.lock().unwrap().add(name, growth);
    }

    /// Takes a sample after `interval`; the one after it is meant to follow after `next`.
    pub fn step(&mut self, interval: Duration, next: Duration) {
        self.now.fetch_add(interval.saturating_sub(READ_TIME).as_nanos() as u64, Ordering::Relaxed);
        let now = Arc::clone(&self.now);
        let clock = move || Monotonic::from_nanos(now.load(Ordering::Relaxed));
        let read = self.source.read(&clock, &mut self.sample);
        if let Err(error) = read {
            self.fail(error.reason());
            return;
        }
        self.tally.note_plan(&self.sample.plan, self.source.cache_period());
        let unix_seconds = start().unix_seconds(self.sample.taken_at);
        self.engine.push(&self.sample, &Circumstances { link: self.link, interval, unix_seconds });
        self.tally.note_sample(&self.feed, &self.sample);
        self.tally.note_refresh(self.engine.refresh_period());
        self.tally.set_missed(self.missed);
        self.slot.set_target(next);
        self.slot.publish(&self.engine, self.tally.figures());
        self.recorder.sample(&Taken {
            names: self.source.names(),
            cache_period: self.source.cache_period(),
            sample: &self.sample,
            readings: self.source.gathered(),
            link: self.link,
            interval,
            next_interval: next,
            missed: self.missed,
        });
    }

    /// A read fails.
    pub fn fail(&mut self, reason: Reason) {
        if reason == Reason::Panicked {
            self.engine = FeedEngine::new(StormSettings::default());
        }
        self.tally.note_failure(reason);
        self.slot.publish_sampling(self.tally.figures());
        self.recorder.failed(self.now(), reason, self.missed);
    }

    pub fn snapshot(&self) -> Snapshot {
        self.board.snapshot(self.now())
    }

    /// What the kernel gave at the last sample.
    pub fn readings(&self) -> Vec<Reading> {
        self.source.gathered().to_vec()
    }
}

/// Plays events to a new board.
pub fn player(catalogue: &Arc<Catalogue>) -> (Player, Arc<Board>) {
    let board = Arc::new(Board::default());
    (Player::new(rules(catalogue), start(), Arc::clone(&board)), board)
}

/// Compares two expositions line by line, so that a difference can be read. How long a read has been under way is
/// of the moment, not of the samples.
pub fn assert_same(one: &str, other: &str, when: &str) {
    let of_samples = |line: &&str| !line.starts_with("roce_sampler_read_in_progress_seconds");
    for (one, other) in one.lines().filter(of_samples).zip(other.lines().filter(of_samples)) {
        assert_eq!(one, other, "{when}");
    }
    assert_eq!(one.lines().count(), other.lines().count(), "{when}");
}
