//! What one sample costs after the read: judged and published, one NIC and many.

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
use paused_nic::{PausedNic, advance, circumstances, feed};
use roce_exporter::catalogue::Catalogue;
use roce_exporter::engine::{FeedEngine, SamplingFigures, StormSettings};
use roce_exporter::model::Sample;
use roce_exporter::sampler::{Board, Slot};

/// A NIC's state between its samples.
struct Nic {
    sample: Sample,
    growth: Vec<u64>,
    engine: FeedEngine,
    sampling: SamplingFigures,
    slot: Arc<Slot>,
}

impl Nic {
    fn new((sample, growth): (Sample, Vec<u64>), board: &Board, number: usize) -> Self {
        Self {
            sample,
            growth,
            engine: FeedEngine::new(StormSettings::default()),
            sampling: SamplingFigures::new(),
            slot: board.add(&feed(number), "mlx5_core"),
        }
    }

    fn step(&mut self) {
        advance(&mut self.sample, &self.growth);
        self.engine.push(&self.sample, &circumstances());
        self.slot.publish(&self.engine, &self.sampling);
    }
}

/// NICs whose windows are full.
fn warm_nics(count: usize, sample: impl Fn() -> (Sample, Vec<u64>)) -> Vec<Nic> {
    let board = Board::default();
    let mut nics: Vec<Nic> = (0..count).map(|number| Nic::new(sample(), &board, number)).collect();
    for nic in &mut nics {
        for _ in 0..2_000 {
            nic.step();
        }
    }
    nics
}

fn one_nic(criterion: &mut Criterion) {
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let of_priorities = || PausedNic::of_priorities().first_sample(&catalogue);
    let full = || PausedNic::full(300).first_sample(&catalogue);
    let still = || {
        let (sample, growth) = full();
        (sample, vec![0; growth.len()])
    };
    let mut group = criterion.benchmark_group("engine/one_nic");
    for (name, sample) in [
        ("48_counters_all_paused", &of_priorities as &dyn Fn() -> (Sample, Vec<u64>)),
        ("106_counters_all_paused", &full),
        ("106_counters_nothing_moves", &still),
    ] {
        let mut nics = warm_nics(1, sample);
        group.bench_function(name, |bencher| bencher.iter(|| nics.iter_mut().for_each(Nic::step)));
    }
    group.finish();
}

fn many_nics(criterion: &mut Criterion) {
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let mut group = criterion.benchmark_group("engine/many_nics");
    for count in [1, 8, 64] {
        let mut nics = warm_nics(count, || PausedNic::full(300).first_sample(&catalogue));
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| nics.iter_mut().for_each(Nic::step));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = one_nic, many_nics
}
criterion_main!(benches);
