//! The real sampler, recorded: its threads, its clock, its supervisor.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use roce_exporter::engine::StormSettings;
use roce_exporter::model::{Feed, Monotonic, Reading, Reason, SourceKind};
use roce_exporter::record::{Event, Reader, Recording, Start};
use roce_exporter::sampler::{Board, Sampler, SamplerOptions};
use roce_exporter::source::{
    CounterSet, Discovery, FoundFeed, Host, SourceError, monotonic_now, unix_seconds_now,
};

use super::nic::{assert_same, catalogue, facts, feed_of, mlx5_names, rules, text_of};
use super::tape::Memory;

/// Reads per feed until its counters stand still in a read that does not return.
const READS: u64 = 120;

/// A host with a netdev and an RDMA port; every feed's reads come to rest after a while.
#[derive(Default)]
struct RestingHost {
    reads: Arc<Mutex<BTreeMap<Feed, u64>>>,
    /// Whether the reads that rest may go on.
    released: Arc<(Mutex<bool>, Condvar)>,
}

fn rdma_feed() -> Feed {
    Feed {
        device: "eth0".into(),
        rdma_device: Some("mlx5_0".into()),
        port: Some(1),
        source: SourceKind::RdmaSysfs,
    }
}

impl RestingHost {
    fn wait_for_rest(&self) {
        let started = Instant::now();
        let resting = || self.reads.lock().unwrap().values().all(|reads| *reads > READS);
        while self.reads.lock().unwrap().len() < 2 || !resting() {
            assert!(started.elapsed() < Duration::from_mins(1), "the reads go on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn release(&self) {
        *self.released.0.lock().unwrap() = true;
        self.released.1.notify_all();
    }
}

impl Host for RestingHost {
    fn discover(&self) -> Discovery {
        let found =
            |feed, driver: &str| FoundFeed { feed, incarnation: 7, driver: driver.to_owned() };
        let feeds = vec![found(feed_of("eth0"), "mlx5_core"), found(rdma_feed(), "mlx5_ib")];
        Discovery { devices: vec![facts("eth0")], feeds }
    }

    fn open(&self, feed: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        Ok(Box::new(RestingCounters {
            feed: feed.clone(),
            reads: Arc::clone(&self.reads),
            released: Arc::clone(&self.released),
        }))
    }
}

struct RestingCounters {
    feed: Feed,
    reads: Arc<Mutex<BTreeMap<Feed, u64>>>,
    released: Arc<(Mutex<bool>, Condvar)>,
}

impl CounterSet for RestingCounters {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        if self.feed.source.is_rdma() {
            let names = ["np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "else"];
            return Ok(names.map(str::to_owned).to_vec());
        }
        Ok(mlx5_names())
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        let mut all = self.reads.lock().unwrap();
        let reads = all.entry(self.feed.clone()).or_default();
        *reads += 1;
        let read = *reads;
        drop(all);
        match read {
            // The first read of all under a plan fails as well.
            1 | 40 => return Err(SourceError::Nonsense("a short answer".to_owned())),
            60 => return Err(SourceError::NamesChanged),
            80 => panic!("a fault of a source"),
            121.. => {
                let mut released = self.released.0.lock().unwrap();
                while !*released {
                    released = self.released.1.wait(released).unwrap();
                }
            }
            _ => {}
        }
        for (reading, position) in readings.iter_mut().zip(wanted) {
            let position = u64::from(*position);
            *reading = match position {
                7 if read.is_multiple_of(9) => Reading::Missing(Reason::Io),
                _ => Reading::Value(1_000 * position + read * read * (position % 5)),
            };
        }
        Ok(())
    }

    fn cache_period(&self) -> Option<Duration> {
        self.feed.source.is_rdma().then_some(Duration::from_millis(12))
    }
}

#[test]
fn what_the_sampler_records_replays_to_what_it_served() {
    let memory = Memory::default();
    let start = Start {
        at: monotonic_now(),
        unix: Duration::from_secs_f64(unix_seconds_now()),
        program: "a test".to_owned(),
    };
    let recording = Recording::write_to(memory.clone(), start).unwrap();
    let host = Arc::new(RestingHost::default());
    let board = Arc::new(Board::default());
    let options = SamplerOptions {
        interval: Duration::from_millis(5),
        rtnl_budget: 1.0,
        storm: StormSettings::default(),
        raw: rules(&catalogue()).raw,
        discovery_period: Duration::from_millis(100),
        recorder: Some(recording.recorder()),
    };
    let sampler = Sampler::start(
        Arc::clone(&host) as Arc<dyn Host>,
        catalogue(),
        options,
        Arc::clone(&board),
    )
    .unwrap();
    host.wait_for_rest();
    let now = monotonic_now();
    let served = text_of(&board.snapshot(now));
    recording.finish();
    host.release();
    sampler.stop();
    let (replayed, starts) = apart(&replayed(&memory.bytes(), now));
    let (served, served_starts) = apart(&served);
    assert_same(&replayed, &served, "at the end");
    assert_eq!(starts.len(), served_starts.len());
    for (start, served) in starts.iter().zip(served_starts) {
        assert!((start - served).abs() < 1.0, "{start} {served}");
    }
    for part in [r#"reason="panicked""#, "roce_cnp_sent_total{", "roce_pfc_pause_seconds_total{"] {
        assert!(served.contains(part), "no {part} in {served}");
    }
}

/// The exposition without the dates of storms, and these. Live they are told by the wall clock just after a read,
/// replayed by the one at the start of the recording.
fn apart(exposition: &str) -> (String, Vec<f64>) {
    let date = "roce_pfc_storm_last_start_timestamp_seconds{";
    let (dates, rest): (Vec<_>, Vec<_>) =
        exposition.lines().partition(|line| line.starts_with(date));
    let dates = dates.iter().map(|line| line.rsplit(' ').next().unwrap().parse().unwrap());
    (rest.join("\n"), dates.collect())
}

/// What is exported at `now` after all of a recording.
fn replayed(bytes: &[u8], now: Monotonic) -> String {
    let reader = Reader::new(bytes).unwrap();
    let board = Arc::new(Board::default());
    let rules = rules(&catalogue());
    let mut player =
        roce_exporter::app::replay::Player::new(rules, reader.start().clone(), Arc::clone(&board));
    for event in reader {
        player.play(event.unwrap());
    }
    text_of(&board.snapshot(now))
}

/// A host whose only NIC is there at first and gone later.
#[derive(Default)]
struct LosingHost(Mutex<u32>);

impl Host for LosingHost {
    fn discover(&self) -> Discovery {
        let mut looks = self.0.lock().unwrap();
        *looks += 1;
        if *looks > 3 {
            return Discovery::default();
        }
        RestingHost::default().discover()
    }

    fn open(&self, feed: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        RestingHost::default().open(feed)
    }
}

#[test]
fn a_device_that_goes_is_gone_in_the_replay_too_and_the_end_of_a_run_is_not() {
    let memory = Memory::default();
    let recording = Recording::write_to(memory.clone(), super::nic::start()).unwrap();
    let board = Arc::new(Board::default());
    let options = SamplerOptions {
        interval: Duration::from_millis(5),
        rtnl_budget: 1.0,
        storm: StormSettings::default(),
        raw: rules(&catalogue()).raw,
        discovery_period: Duration::from_millis(50),
        recorder: Some(recording.recorder()),
    };
    let host = Arc::new(LosingHost::default());
    let sampler = Sampler::start(host, catalogue(), options, Arc::clone(&board)).unwrap();
    let started = Instant::now();
    while !board.is_ready() || !board.snapshot(monotonic_now()).feeds.is_empty() {
        assert!(started.elapsed() < Duration::from_mins(1), "the device stays");
        std::thread::sleep(Duration::from_millis(5));
    }
    recording.finish();
    sampler.stop();
    let bytes = memory.bytes();
    let events: Vec<Event> = Reader::new(bytes.as_slice()).unwrap().map(Result::unwrap).collect();
    let count = |wanted: fn(&Event) -> bool| events.iter().filter(|event| wanted(event)).count();
    assert_eq!(count(|event| matches!(event, Event::FeedBegan { .. })), 2);
    assert_eq!(count(|event| matches!(event, Event::FeedEnded { .. })), 2);
    assert_eq!(count(|event| matches!(event, Event::Devices { .. })), 2);
    assert!(!replayed(&bytes, monotonic_now()).contains("eth0"));
}
