//! What putting a scrape together costs, plain and compressed, by NICs: with one lossless priority that is calm, and
//! with all of them pausing, which is the most that a NIC can have.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use roce_exporter::build_info::BuildInfo;
use roce_exporter::catalogue::Catalogue;
use roce_exporter::engine::{FeedEngine, SamplingFigures, StormSettings};
use roce_exporter::export::{Format, encode};
use roce_exporter::model::Monotonic;
use roce_exporter::sampler::Board;
use rustix::time::{ClockId, clock_gettime};

use crate::cost::median;
use crate::paused_nic::{PausedNic, advance, circumstances, facts, feed};
use crate::report::{Report, Target};

const SCRAPES: usize = 101;

pub fn measure(report: &mut Report) {
    report.section("A scrape, put together and compressed");
    for (pausing, told) in [(false, "one calm lossless priority"), (true, "all priorities pausing")]
    {
        for nics in [1, 8, 64] {
            one(report, nics, pausing, told);
        }
    }
}

fn one(report: &mut Report, nics: usize, pausing: bool, told: &str) {
    let (board, now) = board(nics, pausing);
    let build = BuildInfo::current();
    let (mut walls, mut plain, mut packed) = (Vec::new(), Vec::new(), Vec::new());
    let mut series = 0;
    for _ in 0..SCRAPES {
        let (wall, before) = (Instant::now(), processor_time());
        let mut text = String::new();
        encode(&board.snapshot(now), &build, None, Format::OpenMetrics100, &mut text).unwrap();
        plain.push(processor_time().saturating_sub(before).as_secs_f64() * 1e3);
        walls.push(wall.elapsed().as_secs_f64() * 1e3);
        let before = processor_time();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        gzip.finish().unwrap();
        packed.push(processor_time().saturating_sub(before).as_secs_f64() * 1e3);
        series = text.lines().filter(|line| !line.starts_with('#')).count();
    }
    let what = |part: &str| format!("{nics} NICs, {told}, {series} series: {part}");
    let cost = median(&mut plain);
    match (nics, pausing) {
        (8, false) => report.hold(what("processor time"), cost, "ms", Target::Most(1.0)),
        _ => report.add(what("processor time"), cost, "ms"),
    }
    report.add(what("time"), median(&mut walls), "ms");
    report.add(what("gzip on top"), median(&mut packed), "ms");
}

/// Of this thread.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}

fn board(nics: usize, pausing: bool) -> (Board, Monotonic) {
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let board = Board::default();
    let mut now = Monotonic::ZERO;
    let mut around = circumstances();
    around.link.lossless = Some(if pausing { u8::MAX } else { 1 << 3 });
    for number in 0..nics {
        let (mut sample, mut growth) = PausedNic::full(300).first_sample(&catalogue);
        if !pausing {
            growth.fill(0);
        }
        let mut engine = FeedEngine::new(StormSettings::default());
        let slot = board.add(&feed(number), "mlx5_core");
        for _ in 0..1_100 {
            advance(&mut sample, &growth);
            engine.push(&sample, &around);
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
