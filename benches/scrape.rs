//! What a scrape costs: the figures of NICs put together and written, in both formats.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "benchmarks: the shared module serves several crates, and a panic is a failed run"
)]

#[path = "../tests/paused_nic/mod.rs"]
mod paused_nic;

use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use paused_nic::{PausedNic, advance, circumstances, facts, feed};
use roce_exporter::build_info::BuildInfo;
use roce_exporter::catalogue::Catalogue;
use roce_exporter::engine::{FeedEngine, SamplingFigures, StormSettings};
use roce_exporter::export::{Format, encode};
use roce_exporter::model::Monotonic;
use roce_exporter::sampler::Board;

/// A board with this many NICs of which all priorities pause: the most series that a NIC can have.
fn board(nics: usize) -> (Board, Monotonic) {
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let board = Board::default();
    let mut now = Monotonic::ZERO;
    for number in 0..nics {
        let (mut sample, growth) = PausedNic::full(300).first_sample(&catalogue);
        let mut engine = FeedEngine::new(StormSettings::default());
        let slot = board.add(&feed(number), "mlx5_core");
        for _ in 0..1_100 {
            advance(&mut sample, &growth);
            engine.push(&sample, &circumstances());
        }
        let mut sampling = SamplingFigures::new();
        sampling.samples = 1_100;
        sampling.last_sample = Some(sample.taken_at);
        slot.publish(&engine, &sampling);
        now = sample.taken_at;
    }
    board.set_devices((0..nics).map(facts).collect());
    (board, now)
}

fn scrape(criterion: &mut Criterion) {
    let build = BuildInfo::current();
    for (name, format) in [("openmetrics", Format::OpenMetrics100), ("text", Format::Text004)] {
        let mut group = criterion.benchmark_group(format!("scrape/{name}"));
        for nics in [1, 8, 64] {
            let (board, now) = board(nics);
            let mut text = String::new();
            encode(&board.snapshot(now), &build, None, format, &mut text).unwrap();
            let series = text.lines().filter(|line| !line.starts_with('#')).count();
            group.throughput(Throughput::Elements(series as u64));
            group.bench_function(BenchmarkId::from_parameter(nics), |bencher| {
                bencher.iter(|| {
                    let mut text = String::new();
                    encode(&board.snapshot(now), &build, None, format, &mut text).unwrap();
                    text
                });
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = scrape
}
criterion_main!(benches);
