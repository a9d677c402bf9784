//! What sampling allocates once it is warm: nothing.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests: the shared modules serve several test crates, and a panic is a failed test"
)]

mod paused_nic;

use std::cell::Cell;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use allocation_counter::measure;
use paused_nic::{INTERVAL, PausedNic, circumstances, feed};
use roce_exporter::catalogue::Catalogue;
use roce_exporter::engine::history::{HistorySize, KEPT, Past};
use roce_exporter::engine::{FeedEngine, StormSettings};
use roce_exporter::model::{Feed, Monotonic, Plan, Priority, Reading, Reason, Sample};
use roce_exporter::sampler::{Board, ReadBudget, Slot, Tally};
use roce_exporter::source::{CounterSet, PlannedSource, RdmaSysfs, SysfsRoot};

const SAMPLES: u32 = 10_000;
/// Samples that the board keeps of a priority, fewer than are measured.
const RING: usize = 1_800;

/// The way of a sample from the kernel to the board.
struct Chain {
    source: PlannedSource,
    sample: Sample,
    engine: FeedEngine,
    tally: Tally,
    feed: Feed,
    board: Board,
    slot: Arc<Slot>,
    clock: Cell<Monotonic>,
}

impl Chain {
    fn new(nic: PausedNic) -> Self {
        let catalogue = Arc::new(Catalogue::embedded().unwrap());
        let board = Board::keeping(KEPT / u32::try_from(RING).unwrap());
        Self {
            source: nic.planned(&catalogue),
            sample: Sample::empty(Arc::new(Plan::default())),
            engine: FeedEngine::new(StormSettings::default()),
            tally: Tally::default(),
            feed: feed(0),
            slot: board.add(&feed(0), "mlx5_core"),
            board,
            clock: Cell::new(Monotonic::ZERO.plus(Duration::from_secs(1_000))),
        }
    }

    /// Half of the nominal interval passes, so that all samples of a test lie between two looks at the names.
    fn step(&mut self) {
        self.clock.set(self.clock.get().plus(INTERVAL / 2));
        self.source.read(&|| self.clock.get(), &mut self.sample).unwrap();
        self.engine.push(&self.sample, &circumstances());
        self.tally.note_plan(&self.sample.plan, self.source.cache_period());
        self.tally.note_sample(&self.feed, &self.sample);
        self.slot.publish(&self.engine, self.tally.figures());
    }
}

#[test]
fn a_sample_of_a_pausing_nic_allocates_nothing_on_its_way_to_the_board() {
    let mut chain = Chain::new(PausedNic::full(300));
    for _ in 0..1_000 {
        chain.step();
    }
    let allocated = measure(|| {
        for _ in 0..SAMPLES {
            chain.step();
        }
    });
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
    let snapshot = chain.board.snapshot(chain.clock.get());
    let figures = &snapshot.feeds[0];
    assert_eq!(figures.counters.plan.counters.len(), 106);
    assert_eq!(figures.pause.tracks.len(), 16, "the tracks were judged");
    assert!(figures.pause.tracks.iter().all(|track| track.ratio.is_some_and(|ratio| ratio > 0.9)));
    // The rings had been filled and went round, and all storms had begun.
    let kept = |priority| chain.board.samples("eth0", priority, Duration::from_mins(10));
    for priority in Priority::ALL {
        assert_eq!(kept(priority).map(|own| own.samples.len()), Some(RING), "{priority}");
    }
    assert_eq!(chain.board.storms().len(), 16);
    let size = chain.board.history_size();
    let expected = 8 * size.bytes_per_priority() + HistorySize::bytes_per_device();
    assert_eq!(size.bytes_in_use(), expected);
}

#[test]
fn the_past_of_a_nic_takes_the_memory_that_the_papers_say() {
    let mut chain = Chain::new(PausedNic::of_priorities());
    // All of them are lossless, so that the first sample sets everything aside.
    let first = measure(|| chain.step());
    let kept = 8 * 24 * RING + HistorySize::bytes_per_device();
    let kept = i64::try_from(kept).unwrap();
    assert!(HistorySize::bytes_per_device() < 210_000, "{}", HistorySize::bytes_per_device());
    assert!((kept..kept + 200_000).contains(&first.bytes_current), "{kept}: {first:?}");
    let rest = measure(|| (0..2 * RING).for_each(|_| chain.step()));
    assert_eq!(rest.count_total, 0, "{rest:?}");
}

#[test]
fn a_read_of_rdma_counters_allocates_nothing() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("class/infiniband/mlx5_0/ports/1/hw_counters");
    fs::create_dir_all(&directory).unwrap();
    for name in ["np_cnp_sent", "rp_cnp_handled", "rx_write_requests", "out_of_sequence"] {
        fs::write(directory.join(name), "42\n").unwrap();
    }
    let mut set = RdmaSysfs::new(SysfsRoot::new(root.path()), "mlx5_0".to_owned(), Some(1));
    assert_eq!(set.names().unwrap().len(), 4);
    let wanted = [0, 1, 2, 3];
    let mut readings = [Reading::Missing(Reason::Io); 4];
    set.read(&wanted, &mut readings).unwrap();
    let allocated = measure(|| {
        for _ in 0..SAMPLES {
            set.read(&wanted, &mut readings).unwrap();
        }
    });
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
    assert_eq!(readings, [Reading::Value(42); 4]);
}

#[test]
fn a_budget_that_is_overdrawn_allocates_nothing() {
    let budget = ReadBudget::new(0.1);
    let read_of = |id: u64| Duration::from_millis(id);
    let mut now = Monotonic::from_nanos(1_000_000_000);
    let mut waited = Duration::ZERO;
    let mut settle = |round: u64| {
        let took = read_of(round % 8);
        now = now.plus(took);
        waited += budget.settle(round % 8, now, took, INTERVAL).wait;
    };
    (0..8).for_each(&mut settle);
    let allocated = measure(|| (0..u64::from(SAMPLES)).for_each(&mut settle));
    assert!(waited > Duration::ZERO);
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
}
