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

#[path = "read/cost.rs"]
mod cost;
#[path = "../tests/network_namespace/mod.rs"]
mod network_namespace;

use std::fs;
use std::time::Duration;

use cost::{Bare, Planned, in_turns};
use criterion::Criterion;
use network_namespace::{add_veth, in_namespace, receive_packets};
use roce_exporter::source::{CounterSet, EthtoolSocket, EthtoolStatistics, KernelCalls, Request};

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
