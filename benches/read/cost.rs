//! The two sides of a read, and how they are timed: the bare system call, and what the program does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use regex::Regex;
use roce_exporter::catalogue::{Catalogue, RawSelection, Table};
use roce_exporter::model::{Plan, Sample};
use roce_exporter::source::{
    EthtoolSocket, EthtoolStatistics, KernelCalls, PlanRules, PlannedSource, Request, monotonic_now,
};

/// As many counters as a NIC with PFC has, of the first queues.
pub const CATALOGUE: &str = "\
source,driver,template,quantity,direction,index,unit,width,freshness_ms,detail,combine,factor,note
ethtool,veth,rx_queue_{n}_xdp_packets,packets,rx,buffer:0-54,count,64,live,,,,
ethtool,veth,rx_queue_{n}_xdp_bytes,bytes,rx,buffer:0-54,bytes,64,live,,,,
";
/// How many times each side is timed.
const ROUNDS: usize = 400;
/// How long one side is timed at a time: short against what disturbs a machine, long against the clock.
const TURN: Duration = Duration::from_micros(500);

/// The least that must be done: one system call into a buffer that is there.
pub struct Bare<'a> {
    pub device: &'a str,
    pub socket: EthtoolSocket,
    pub count: u32,
    pub request: Request,
}

impl Bare<'_> {
    pub fn read(&mut self) {
        let given = self.socket.statistics(self.device, self.count, &mut self.request).unwrap();
        assert_eq!(given, self.count);
    }
}

/// What the program does.
pub struct Planned {
    source: PlannedSource,
    pub sample: Sample,
}

impl Planned {
    pub fn new(device: &str, driver: &str) -> Self {
        let catalogue = Catalogue::embedded().unwrap().with_file(CATALOGUE, "veth.csv").unwrap();
        // A driver without a single counter in the catalogue is read as it is.
        let raw = Regex::new(if driver == "veth" { "peer_ifindex" } else { ".*" }).unwrap();
        let rules = PlanRules {
            catalogue: Arc::new(catalogue),
            table: Table::Ethtool,
            driver: driver.to_owned(),
            raw: RawSelection { pattern: Some(raw), cap: 1_000 },
        };
        let set = EthtoolStatistics::new(KernelCalls::open().unwrap(), device.to_owned());
        let source = PlannedSource::new(Box::new(set), rules, Arc::default());
        let mut planned = Self { source, sample: Sample::empty(Arc::new(Plan::default())) };
        planned.read();
        planned
    }

    pub fn read(&mut self) {
        self.source.read(&monotonic_now, &mut self.sample).unwrap();
    }
}

/// The medians of both, in microseconds, timed in turns so that what disturbs one disturbs the other.
pub fn in_turns(one: &mut dyn FnMut(), other: &mut dyn FnMut()) -> (f64, f64) {
    let started = Instant::now();
    let mut calls = 0_u32;
    while started.elapsed() < TURN {
        one();
        calls += 1;
    }
    let time = |work: &mut dyn FnMut()| {
        let started = Instant::now();
        for _ in 0..calls {
            work();
        }
        started.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
    };
    let (mut of_one, mut of_other): (Vec<f64>, Vec<f64>) =
        (0..ROUNDS).map(|_| (time(one), time(other))).unzip();
    (median(&mut of_one), median(&mut of_other))
}

pub fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
