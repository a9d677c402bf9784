//! Links that come and go all the time, beside a device that is sampled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use regex::Regex;
use roce_exporter::catalogue::{Catalogue, RawSelection};
use roce_exporter::engine::StormSettings;
use roce_exporter::model::{DeviceFilter, Feed};
use roce_exporter::sampler::{Board, Sampler, SamplerOptions};
use roce_exporter::source::{
    CounterSet, Discovery, Host, MachineHost, OnChange, SourceError, SysfsRoot, Watch,
};

use crate::alone;
use crate::exporter::{Exporter, Scrape, named_statistics};
use crate::network_namespace::{add_veth, ip, receive_packets};

/// Makes and deletes a pair of this name until the time is over. Returns how often.
fn churn(device: &str, time: Duration) -> u32 {
    let since = Instant::now();
    let mut rounds = 0;
    while since.elapsed() < time {
        ip(&format!("link add {device} type veth peer name {device}-peer"));
        ip(&format!("link del {device}"));
        rounds += 1;
    }
    rounds
}

#[test]
fn churn_loses_no_device_and_leaves_no_series() {
    alone("churn", |namespace| {
        add_veth("veth0", 4);
        receive_packets("veth0", 0, 80);
        let exporter = Exporter::start(namespace, &[]);
        exporter.wait_for_statistics("veth0");
        // Reads wait for the lock under which links change, and the budget charges that wait as if the read had held
        // it, so that many deadlines pass. Others on this machine hold the lock too: one good round of three counts.
        let kept = (0..3).map(|_| round(&exporter)).find(|kept| *kept > 0.15);
        assert!(kept.is_some(), "hardly read at all");
        exporter.wait_for_statistics("veth0");
        assert_eq!(exporter.scrape().statistics("veth0"), named_statistics("veth0"));
    });
}

/// Five seconds of churn. Returns the share of the samples at 10 ms that were taken meanwhile.
fn round(exporter: &Exporter) -> f64 {
    let (before, since) = (exporter.scrape(), Instant::now());
    let done = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&done);
    let churning = std::thread::spawn(move || {
        let pairs = churn("veth7", Duration::from_secs(5));
        ended.store(true, Ordering::Release);
        pairs
    });
    while !done.load(Ordering::Acquire) {
        assert_eq!(exporter.scrape().received("veth0"), 80, "lost after {:?}", since.elapsed());
        std::thread::sleep(Duration::from_millis(20));
    }
    let pairs = churning.join().unwrap();
    let over = Instant::now();
    let knows = |scrape: &Scrape| scrape.knows("veth7") || scrape.knows("veth7-peer");
    exporter.wait_for("end of veth7", || !knows(&exporter.scrape()));
    println!("{pairs} pairs came and went; no series of them {:?} later", over.elapsed());
    assert!(over.elapsed() < crate::BOUND, "{:?}", over.elapsed());
    let (after, due) = (exporter.scrape(), since.elapsed().as_secs_f64() / 0.01);
    let of = |name| after.value(name, "veth0").unwrap() - before.value(name, "veth0").unwrap();
    let (samples, missed) = (of("roce_sampler_samples_total"), of("roce_sampler_missed_total"));
    println!("{samples} of {due:.0} samples at 10 ms, {missed} deadlines missed");
    samples / due
}

/// This machine, with a count of how often it was looked at.
struct Counted {
    host: MachineHost,
    looks: AtomicUsize,
}

impl Host for Counted {
    fn discover(&self) -> Discovery {
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.host.discover()
    }

    fn open(&self, feed: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        self.host.open(feed)
    }

    fn names_epoch(&self, feed: &Feed) -> Arc<std::sync::atomic::AtomicU64> {
        self.host.names_epoch(feed)
    }

    fn watch(&self, on_change: OnChange) -> Option<Watch> {
        self.host.watch(on_change)
    }
}

/// How often the host is looked at while pairs of this name come and go for two seconds, and how many do.
fn looks_while_churning(device: &str) -> (usize, u32) {
    let include = Some(Regex::new("^(?:veth.*)$").unwrap());
    let filter = DeviceFilter { include, exclude: None };
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let key = |driver: &str, _: &str| driver.to_owned();
    let host = MachineHost::new(SysfsRoot::new("/sys"), filter, Box::new(key));
    let host = Arc::new(Counted { host, looks: AtomicUsize::new(0) });
    let options = SamplerOptions {
        interval: Duration::from_millis(10),
        rtnl_budget: 0.1,
        storm: StormSettings::default(),
        raw: RawSelection::default(),
        discovery_period: Duration::from_secs(5),
        recorder: None,
    };
    let board = Arc::new(Board::default());
    let watched: Arc<dyn Host> = Arc::clone(&host) as Arc<dyn Host>;
    let sampler = Sampler::start(watched, catalogue, options, Arc::clone(&board)).unwrap();
    while !board.is_ready() {
        std::thread::sleep(Duration::from_millis(5));
    }
    // What making the devices before had to say may still come.
    std::thread::sleep(Duration::from_millis(200));
    let before = host.looks.load(Ordering::Relaxed);
    let rounds = churn(device, Duration::from_secs(2));
    std::thread::sleep(Duration::from_millis(200));
    let looks = host.looks.load(Ordering::Relaxed) - before;
    sampler.stop();
    (looks, rounds)
}

#[test]
fn churn_is_looked_at_in_groups_and_not_at_all_where_no_pattern_admits_it() {
    alone("looks", |_| {
        add_veth("veth0", 4);
        let (looks, rounds) = looks_while_churning("other");
        println!("{rounds} pairs that no pattern admits: {looks} looks");
        assert!(rounds > 5);
        assert_eq!(looks, 0);
        let (looks, rounds) = looks_while_churning("veth7");
        println!("{rounds} pairs that are admitted: {looks} looks in 2.2 s");
        assert!((1..=110).contains(&looks), "{looks} looks");
    });
}
