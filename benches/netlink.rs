//! What it costs to take an RDMA port's counters out of the kernel's answer.
//!
//! Also says whether the median is under a microsecond for 45 counters, as many as mlx5 has.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "benchmarks: a panic is a failed run"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::Criterion;
use roce_exporter::source::netlink::RequestBody;
use roce_exporter::source::netlink::rdma::parse_statistics;

const COUNTERS: usize = 45;
/// What the median may be.
const BOUND: Duration = Duration::from_micros(1);
/// How often the median's runs are timed, and how many parses each has.
const RUNS: usize = 1_001;
const PARSES: u32 = 100;

/// `RDMA_NLDEV_ATTR_STAT_HWCOUNTERS`, and within it an entry with its name and value.
const ENTRIES: u16 = 80;
const ENTRY: u16 = 81;
const NAME: u16 = 82;
const VALUE: u16 = 83;

fn names() -> Vec<String> {
    (0..COUNTERS).map(|number| format!("rp_cnp_handled_{number:02}")).collect()
}

fn reply(names: &[String]) -> RequestBody {
    let entries = names.iter().zip(30_458_349_u64..).map(|(name, value)| {
        RequestBody::default().text(NAME, name).attribute(VALUE, &value.to_ne_bytes())
    });
    let entries =
        entries.fold(RequestBody::default(), |entries, entry| entries.nested(ENTRY, &entry));
    // Device, its name, and the port come first.
    let head = RequestBody::default().number(1, 0).text(2, "mlx5_0").number(3, 1);
    head.nested(ENTRIES, &entries)
}

/// One read: each name is compared with the one expected in its place, and the value is kept.
fn read(payload: &[u8], names: &[String], values: &mut [u64]) -> usize {
    let mut place = 0;
    parse_statistics(payload, &mut |name, value| {
        if names.get(place).is_some_and(|expected| expected == name) {
            values[place] = value;
            place += 1;
        }
    });
    place
}

fn main() {
    let names = names();
    let reply = reply(&names);
    let mut values = [0; COUNTERS];
    assert_eq!(read(reply.bytes(), &names, &mut values), COUNTERS);
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    criterion.bench_function("netlink/45_counters", |bencher| {
        bencher.iter(|| read(black_box(reply.bytes()), &names, &mut values));
    });
    criterion.final_summary();
    if std::env::args().any(|argument| argument == "--bench") {
        let mut runs: Vec<Duration> = (0..RUNS)
            .map(|_| {
                let since = Instant::now();
                for _ in 0..PARSES {
                    black_box(read(black_box(reply.bytes()), &names, &mut values));
                }
                since.elapsed() / PARSES
            })
            .collect();
        runs.sort_unstable();
        let median = runs[RUNS / 2];
        println!("netlink/45_counters: median {median:?}, bound {BOUND:?}");
        assert!(median < BOUND, "{median:?}");
    }
}
