//! The sampler's threads over a host whose NICs hang, panic, fail and vanish at a word.
//!
//! One mutex stands for the kernel's rtnl lock: whoever reads driver statistics holds it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests: a panic is the failure report"
)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use roce_exporter::catalogue::{Catalogue, RawSelection};
use roce_exporter::engine::{FeedFigures, StormSettings};
use roce_exporter::model::{Feed, Reading, Reason, SourceKind};
use roce_exporter::sampler::{Board, Sampler, SamplerOptions};
use roce_exporter::source::{CounterSet, Discovery, FoundFeed, Host, SourceError, monotonic_now};
use rustix::io::Errno;

const INTERVAL: Duration = Duration::from_millis(5);
/// The sampler tells a device stale after this, or after three intervals if they are longer.
const STALE: Duration = Duration::from_millis(100);

/// What a NIC does when it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Answers,
    /// Answers after so long.
    Takes(Duration),
    /// Takes so long once, then answers at once.
    HangsOnce(Duration),
    PanicsOnce,
    Fails,
    Vanishes,
    /// Has other names at each read.
    Renames,
}

#[derive(Clone)]
struct Nic {
    feed: Feed,
    manner: Arc<Mutex<Manner>>,
    reads: Arc<AtomicU64>,
    rtnl: Option<Arc<Mutex<()>>>,
}

impl Nic {
    fn behaves(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }
}

impl CounterSet for Nic {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        Ok(vec![match self.feed.source {
            SourceKind::Ethtool => "rx_prio3_pause".to_owned(),
            _ => "np_cnp_sent".to_owned(),
        }])
    }

    fn read(&mut self, _wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        let rtnl = self.rtnl.clone();
        let _held = rtnl.as_ref().map(|rtnl| rtnl.lock().unwrap_or_else(PoisonError::into_inner));
        let manner = *self.manner.lock().unwrap();
        match manner {
            Manner::Answers => {}
            Manner::Takes(time) => sleep(time),
            Manner::HangsOnce(time) => {
                self.behaves(Manner::Answers);
                sleep(time);
            }
            Manner::PanicsOnce => {
                self.behaves(Manner::Answers);
                panic!("as told");
            }
            Manner::Fails => return Err(refused(Errno::INVAL)),
            Manner::Renames => return Err(SourceError::NamesChanged),
            Manner::Vanishes => return Err(refused(Errno::NODEV)),
        }
        let count = self.reads.fetch_add(1, Ordering::Relaxed);
        readings.fill(Reading::Value(count));
        Ok(())
    }
}

fn refused(errno: Errno) -> SourceError {
    SourceError::Kernel { call: "as told".to_owned(), errno }
}

struct TestHost(Vec<Nic>);

/// A host that is never found out about.
#[derive(Clone, Copy)]
enum BadHost {
    Hangs,
    Panics,
}

impl Host for BadHost {
    fn discover(&self) -> Discovery {
        match self {
            Self::Hangs => sleep(Duration::from_secs(2)),
            Self::Panics => panic!("as told"),
        }
        Discovery { devices: Vec::new(), feeds: Vec::new() }
    }

    fn open(&self, _: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        Err(refused(Errno::NODEV))
    }
}

impl Host for TestHost {
    fn discover(&self) -> Discovery {
        let found = |nic: &Nic| FoundFeed {
            feed: nic.feed.clone(),
            incarnation: 1,
            driver: if nic.feed.source.is_rdma() { "mlx5_ib" } else { "mlx5_core" }.to_owned(),
        };
        Discovery { devices: Vec::new(), feeds: self.0.iter().map(found).collect() }
    }

    fn open(&self, feed: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        let nic =
            self.0.iter().find(|nic| nic.feed == *feed).ok_or_else(|| refused(Errno::NODEV))?;
        Ok(Box::new(nic.clone()))
    }
}

fn sample(host: impl Host + 'static, rtnl_budget: f64) -> (Sampler, Arc<Board>) {
    let options = SamplerOptions {
        interval: INTERVAL,
        rtnl_budget,
        storm: StormSettings::default(),
        raw: RawSelection::default(),
        discovery_period: Duration::from_millis(50),
        recorder: None,
    };
    let board = Arc::new(Board::default());
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let sampler = Sampler::start(Arc::new(host), catalogue, options, Arc::clone(&board)).unwrap();
    (sampler, board)
}

/// A sampler over `eth0`, `eth1`, ... and one RDMA device.
struct Running {
    nics: Vec<Nic>,
    rdma: Nic,
    board: Arc<Board>,
    sampler: Sampler,
}

impl Running {
    fn start(ethernet: usize, rtnl_budget: f64) -> Self {
        let rtnl = Arc::new(Mutex::new(()));
        let nic = |device: &str, source, rtnl| Nic {
            feed: Feed {
                device: device.into(),
                rdma_device: (source == SourceKind::RdmaNetlink).then(|| "mlx5_0".into()),
                port: (source == SourceKind::RdmaNetlink).then_some(1),
                source,
            },
            manner: Arc::new(Mutex::new(Manner::Answers)),
            reads: Arc::default(),
            rtnl,
        };
        let nics: Vec<Nic> = (0..ethernet)
            .map(|number| {
                nic(&format!("eth{number}"), SourceKind::Ethtool, Some(Arc::clone(&rtnl)))
            })
            .collect();
        let rdma = nic("eth0", SourceKind::RdmaNetlink, None);
        let host = TestHost(nics.iter().cloned().chain([rdma.clone()]).collect());
        let (sampler, board) = sample(host, rtnl_budget);
        let running = Self { nics, rdma, board, sampler };
        running.wait("first samples", |running| {
            running.nics.iter().chain([&running.rdma]).all(|nic| nic.reads() > 2)
        });
        running
    }

    fn wait(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let since = Instant::now();
        while !condition(self) {
            assert!(since.elapsed() < Duration::from_secs(20), "{what} did not come");
            sleep(Duration::from_millis(2));
        }
    }

    /// The figures of a NIC, while it is on the board.
    fn figures(&self, nic: &Nic) -> Option<FeedFigures> {
        let feeds = self.board.snapshot(monotonic_now()).feeds;
        feeds.into_iter().find(|figures| figures.feed == nic.feed)
    }

    fn is_stale(&self, nic: &Nic) -> bool {
        self.figures(nic).is_none_or(|figures| figures.sampling.stale)
    }

    /// Waits until every NIC was read again.
    fn wait_for_all(&self) {
        let before: Vec<u64> = self.nics.iter().map(Nic::reads).collect();
        self.wait("a read of each", |running| {
            running.nics.iter().zip(&before).all(|(nic, before)| nic.reads() > *before)
        });
    }
}

#[test]
fn c40_a_hang_under_rtnl_names_its_culprit_and_leaves_rdma_alone() {
    let running = Running::start(3, 0.1);
    let culprit = &running.nics[1];
    let hang = Duration::from_millis(1_500);
    culprit.behaves(Manner::HangsOnce(hang));
    running
        .wait("all of rtnl stale", |running| running.nics.iter().all(|nic| running.is_stale(nic)));
    let in_progress = |nic: &Nic| running.figures(nic).unwrap().sampling.read_in_progress;
    assert!(in_progress(culprit) >= STALE / 2, "the culprit's read is the one under way");
    assert_eq!(in_progress(&running.nics[0]) + in_progress(&running.nics[2]), Duration::ZERO);
    let rdma_reads = running.rdma.reads();
    running.wait("RDMA reads meanwhile", |running| running.rdma.reads() > rdma_reads + 10);
    assert!(running.is_stale(culprit), "the hang was over too soon to show anything");
    assert!(!running.is_stale(&running.rdma));

    running.wait("end of the hang", |_| in_progress(culprit) == Duration::ZERO);
    let (of_culprit, of_other) = (culprit.reads(), running.nics[0].reads());
    running.wait("others read on", |running| running.nics[0].reads() > of_other + 20);
    assert!(culprit.reads() <= of_culprit + 1, "who hung is asked less often");
    running.wait("its recovery", |running| !running.is_stale(culprit));
    running.sampler.stop();
}

#[test]
fn a_panic_or_a_failure_of_one_nic_stays_with_it() {
    let running = Running::start(3, 1.0);
    running.nics[1].behaves(Manner::PanicsOnce);
    running.nics[2].behaves(Manner::Fails);
    let errors = |nic: &Nic, reason: Reason| {
        running.figures(nic).map_or(0, |figures| figures.sampling.errors[reason.position()])
    };
    running.wait("the panic", |running| errors(&running.nics[1], Reason::Panicked) == 1);
    running.wait("the failure", |running| errors(&running.nics[2], Reason::Invalid) > 1);
    let before = running.nics[0].reads();
    running.wait("the well one", |running| running.nics[0].reads() > before + 20);
    running.nics[2].behaves(Manner::Answers);
    running.wait_for_all();
    assert_eq!(errors(&running.nics[0], Reason::Panicked), 0);
    running.sampler.stop();
}

#[test]
fn names_that_changed_for_long_are_read_again_soon() {
    let running = Running::start(2, 1.0);
    let nic = &running.nics[1];
    nic.behaves(Manner::Renames);
    let changes = |running: &Running| {
        let figures = running.figures(&running.nics[1]);
        figures.map_or(0, |own| own.sampling.errors[Reason::NamesChanged.position()])
    };
    running.wait("changes", |running| changes(running) > 12);
    nic.behaves(Manner::Answers);
    let since = Instant::now();
    running.wait_for_all();
    assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
    running.sampler.stop();
}

#[test]
fn a_nic_that_vanishes_leaves_the_board_and_comes_back() {
    let running = Running::start(2, 1.0);
    running.nics[1].behaves(Manner::Vanishes);
    running.wait("its end", |running| running.figures(&running.nics[1]).is_none());
    running.nics[1].behaves(Manner::Answers);
    running.wait_for_all();
    running.wait("its return", |running| !running.is_stale(&running.nics[1]));
    running.sampler.stop();
}

#[test]
fn slow_reads_keep_within_the_budget_and_the_interval_shown_is_the_one_reached() {
    let running = Running::start(2, 0.1);
    let slow = &running.nics[0];
    slow.behaves(Manner::Takes(Duration::from_millis(20)));
    let before = slow.reads();
    running.wait("a settled budget", |running| running.nics[0].reads() > before + 15);
    let (before, of_quick, since) = (slow.reads(), running.nics[1].reads(), Instant::now());
    running.wait("ten more", |running| running.nics[0].reads() >= before + 10);
    let took = since.elapsed();
    let share = 10.0 * 0.02 / took.as_secs_f64();
    assert!(share < 0.11, "{share:.3} of the time under rtnl");
    let shown = running.figures(slow).unwrap().sampling.interval.unwrap();
    let reached = took / 10;
    let ratio = shown.as_secs_f64() / reached.as_secs_f64();
    assert!((0.7..1.4).contains(&ratio), "{shown:?} shown, {reached:?} reached");
    let quick = running.nics[1].reads() - of_quick;
    assert!(quick > 50, "the NIC that answers at once was read {quick} times in {took:?}");
    running.sampler.stop();
}

#[test]
fn all_nics_under_rtnl_share_one_thread_and_rdma_has_its_own() {
    let running = Running::start(64, 1.0);
    let threads = |name: &str| {
        std::fs::read_dir("/proc/self/task")
            .unwrap()
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
            .filter(|comm| comm.trim_end().starts_with(name))
            .count()
    };
    // Other tests of this program run beside this one, each with a thread of its own.
    assert!((1..=5).contains(&threads("rtnl")), "{}", threads("rtnl"));
    assert!(threads("eth0 rdma") >= 1);
    running.wait_for_all();
    running.sampler.stop();
}

/// What stands still, as one sees it who looks `later`, if nothing moves until then.
fn standstill(board: &Board, later: Duration) -> Option<String> {
    board.standstill(monotonic_now().plus(later))
}

#[test]
fn a_sampler_that_turns_does_not_stand_still_whatever_the_kernel_does() {
    let minute = Duration::from_mins(1);
    let running = Running::start(2, 1.0);
    assert_eq!(standstill(&running.board, Duration::ZERO), None);
    assert!(standstill(&running.board, minute).is_some(), "nothing moved for a minute");
    running.nics[0].behaves(Manner::HangsOnce(Duration::from_secs(1)));
    running.wait("the hang", |running| {
        let figures = running.figures(&running.nics[0]);
        figures.is_some_and(|own| own.sampling.read_in_progress > Duration::from_millis(500))
    });
    assert_eq!(standstill(&running.board, Duration::ZERO), None);
    let Running { board, sampler, .. } = running;
    sampler.stop();
    assert!(standstill(&board, Duration::ZERO).is_some(), "it was stopped");

    let (sampler, board) = sample(BadHost::Hangs, 1.0);
    sleep(Duration::from_millis(200));
    assert_eq!(standstill(&board, minute), None, "a look that the kernel holds up");
    drop(sampler);
}

#[test]
fn a_dead_search_for_devices_is_told() {
    let (_sampler, board) = sample(BadHost::Panics, 1.0);
    let since = Instant::now();
    while standstill(&board, Duration::ZERO).is_none() {
        assert!(since.elapsed() < Duration::from_secs(20), "not told");
        sleep(Duration::from_millis(2));
    }
}
