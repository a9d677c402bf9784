//! What a read by plan costs beside the bare system call, for the same device and in turns.
//!
//! Devices: this machine's NIC and, for root, veth devices with many statistics in a namespace of their own.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "benchmarks: the shared module serves several crates, and a panic is a failed run"
)]

#[path = "../tests/network_namespace/mod.rs"]
mod network_namespace;

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::Criterion;
use network_namespace::{add_veth, in_namespace, receive_packets};
use regex::Regex;
use roce_exporter::catalogue::{Catalogue, RawSelection, Table};
use roce_exporter::model::{Plan, Sample};
use roce_exporter::source::{
    CounterSet, EthtoolSocket, EthtoolStatistics, KernelCalls, PlanRules, PlannedSource, Request,
    monotonic_now,
};

/// As many counters as a NIC with PFC has, of the first queues.
const CATALOGUE: &str = "\
source,driver,template,quantity,direction,index,unit,width,freshness_ms,detail,combine,factor,note
ethtool,veth,rx_queue_{n}_xdp_packets,packets,rx,buffer:0-54,count,64,live,,,,
ethtool,veth,rx_queue_{n}_xdp_bytes,bytes,rx,buffer:0-54,bytes,64,live,,,,
";
/// How many times each side is timed.
const ROUNDS: usize = 400;
/// How long one side is timed at a time: short against what disturbs a machine, long against the clock.
const TURN: Duration = Duration::from_micros(500);

/// The least that must be done: one system call into a buffer that is there.
struct Bare<'a> {
    device: &'a str,
    socket: EthtoolSocket,
    count: u32,
    request: Request,
}

impl Bare<'_> {
    fn read(&mut self) {
        let given = self.socket.statistics(self.device, self.count, &mut self.request).unwrap();
        assert_eq!(given, self.count);
    }
}

/// What the program does.
struct Planned {
    source: PlannedSource,
    sample: Sample,
}

impl Planned {
    fn new(device: &str, driver: &str) -> Self {
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

    fn read(&mut self) {
        self.source.read(&monotonic_now, &mut self.sample).unwrap();
    }
}

fn compare(criterion: &mut Criterion, device: &str) {
    let socket = EthtoolSocket::open().unwrap();
    let driver = socket.driver_info(device).unwrap().driver;
    let count = socket.statistics_count(device).unwrap();
    let mut bare = Bare { device, socket, count, request: Request::default() };
    let mut planned = Planned::new(device, &driver);
    let plan = &planned.sample.plan;
    let label = format!("{driver}_{count}_statistics_{}_wanted", plan.wanted.len());
    let mut group = criterion.benchmark_group(format!("read/{label}"));
    group.bench_function("bare", |bencher| bencher.iter(|| bare.read()));
    group.bench_function("planned", |bencher| bencher.iter(|| planned.read()));
    let calls = KernelCalls::open().unwrap();
    let mut names = EthtoolStatistics::new(calls, device.to_owned());
    group.bench_function("names", |bencher| bencher.iter(|| names.names().unwrap()));
    group.finish();
    if std::env::args().any(|argument| argument == "--bench") {
        let (bare, planned) = in_turns(&mut || bare.read(), &mut || planned.read());
        println!(
            "ratio {label}: bare {bare:.2} µs, planned {planned:.2} µs, ratio of medians {:.2}",
            planned / bare
        );
    }
}

/// The medians of both, in microseconds, timed in turns so that what disturbs one disturbs the other.
fn in_turns(one: &mut dyn FnMut(), other: &mut dyn FnMut()) -> (f64, f64) {
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

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A netdev of this machine with a device behind it and with statistics.
fn physical_device() -> Option<String> {
    let socket = EthtoolSocket::open().ok()?;
    let netdevs = fs::read_dir("/sys/class/net").ok()?.flatten();
    let physical = netdevs.filter(|netdev| netdev.path().join("device").exists());
    let mut names = physical.filter_map(|netdev| netdev.file_name().into_string().ok());
    names.find(|name| socket.statistics_count(name).is_ok_and(|count| count > 0))
}

fn configured() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args()
}

fn main() {
    match physical_device() {
        Some(device) => compare(&mut configured(), &device),
        None => println!("SKIPPED: read/physical: needs a netdev with a device behind it"),
    }
    in_namespace("read", |_| {
        for (subnet, (device, queues)) in
            (0..).zip([("veth0", 64), ("veth1", 1_024), ("veth2", 2_048)])
        {
            add_veth(device, queues);
            receive_packets(device, subnet, 400);
            compare(&mut configured(), device);
        }
    });
    configured().final_summary();
}
