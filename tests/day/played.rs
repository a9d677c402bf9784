//! A simulated fabric in virtual time, through the program's own engine, board, checks and export: as fast as the
//! processor goes, and the same to the last byte each time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use roce_exporter::catalogue::{Catalogue, RawSelection, Table};
use roce_exporter::engine::checks::{Policy, SamplingWanted};
use roce_exporter::engine::{Circumstances, FeedEngine, StormSettings};
use roce_exporter::export::{BuildInfo, Format, encode};
use roce_exporter::model::{Monotonic, Plan, Reason, Sample};
use roce_exporter::sampler::{Board, ReadBudget, Slot, Tally, back_off};
use roce_exporter::source::simulated::{Scene, SimulatedSwitch, Simulation};
use roce_exporter::source::{FoundFeed, Host, PlanRules, PlannedSource};

const HOSTS: usize = 4;
const START: u64 = 5_000_000_000;
const SECOND: u64 = 1_000_000_000;
/// Time between two reads of a netdev. Longer than by default, which makes the course no other and the test faster.
const INTERVAL: Duration = Duration::from_millis(80);
/// RDMA counters are asked for by rates over minutes alone.
const RDMA_INTERVAL: Duration = Duration::from_secs(5);
const DISCOVERY: u64 = 5 * SECOND;
/// The share of time that reads may take, as by default.
const RTNL_BUDGET: f64 = 0.1;

struct Watched {
    id: u64,
    found: FoundFeed,
    slot: Arc<Slot>,
    source: Option<PlannedSource>,
    sample: Sample,
    engine: FeedEngine,
    tally: Tally,
    /// The distance to the read before that was meant to be kept.
    expected: Duration,
    next: u64,
    failures: u32,
}

struct Watch {
    name: String,
    host: Arc<dyn Host>,
    board: Board,
    budget: ReadBudget,
    feeds: Vec<Watched>,
    opened: u64,
}

/// The hosts of a fabric, its switch too if it is watched, each with all that an exporter would keep of it.
pub struct Played {
    clock: Arc<AtomicU64>,
    catalogue: Arc<Catalogue>,
    watches: Vec<Watch>,
    next_discovery: u64,
}

impl Played {
    pub fn new(course: &[Scene], seed: u64, with_switch: bool) -> Self {
        let clock = Arc::new(AtomicU64::new(START));
        let (told, moved) = (Arc::clone(&clock), Arc::clone(&clock));
        let tell = move || Monotonic::from_nanos(told.load(Ordering::Relaxed));
        let simulation = Simulation::of_course(course, seed, HOSTS, Arc::new(tell))
            .unwrap()
            .with_sleep(Arc::new(move |span: Duration| {
                moved.fetch_add(u64::try_from(span.as_nanos()).unwrap(), Ordering::Relaxed);
            }));
        let hosts = simulation.hosts().into_iter();
        let mut watches: Vec<Watch> =
            hosts.map(|host| Watch::new(host.name(), Arc::new(host))).collect();
        if with_switch {
            let switch = Arc::new(simulation.switch());
            watches.push(Watch::new(SimulatedSwitch::name().to_owned(), switch));
        }
        Self {
            watches,
            clock,
            catalogue: Arc::new(Catalogue::embedded().unwrap()),
            next_discovery: START,
        }
    }

    /// Of all that is watched, in their order.
    pub fn names(&self) -> Vec<String> {
        self.watches.iter().map(|watch| watch.name.clone()).collect()
    }

    fn now(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    /// Lets time go on until `after` the beginning and reads whatever is due.
    pub fn play_until(&mut self, after: Duration) {
        let until = START + u64::try_from(after.as_nanos()).unwrap();
        loop {
            let feeds = self.watches.iter().flat_map(|watch| &watch.feeds);
            let due = feeds.map(|own| own.next).min().unwrap_or(u64::MAX).min(self.next_discovery);
            if due > until {
                self.clock.fetch_max(until, Ordering::Relaxed);
                return;
            }
            self.clock.fetch_max(due, Ordering::Relaxed);
            if self.next_discovery <= due {
                self.next_discovery = due + DISCOVERY;
                let now = self.now();
                self.watches.iter_mut().for_each(|watch| watch.discover(now));
            }
            for Watch { host, budget, feeds, .. } in &mut self.watches {
                for own in feeds.iter_mut().filter(|own| own.next <= due) {
                    own.read(host, budget, &self.clock, &self.catalogue);
                }
            }
        }
    }

    /// What the exporter of a host would say now.
    pub fn exposition(&self, host: usize) -> String {
        let now = Monotonic::from_nanos(self.now());
        let snapshot = self.watches[host].board.snapshot(now);
        let mut text = String::new();
        encode(&snapshot, &BuildInfo::current(), None, Format::Text004, &mut text).unwrap();
        text
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap()
}

impl Watch {
    fn new(name: String, host: Arc<dyn Host>) -> Self {
        let board = Board::default();
        let wanted = SamplingWanted { interval: INTERVAL, rtnl_budget: RTNL_BUDGET };
        board.set_policy(Arc::new(Policy::default()), wanted);
        let budget = ReadBudget::new(RTNL_BUDGET);
        Self { name, host, board, budget, feeds: Vec::new(), opened: 0 }
    }

    /// Does what the supervisor does: feeds that are gone end, new ones begin, and ports are judged.
    fn discover(&mut self, now: u64) {
        let found = self.host.discover();
        let board = &self.board;
        self.feeds.retain(|own| {
            let stays = found.feeds.iter().any(|found| {
                found.feed == own.found.feed && found.incarnation == own.found.incarnation
            });
            if !stays {
                board.remove(&own.found.feed, &own.slot);
                self.budget.forget(own.id);
            }
            stays
        });
        for new in found.feeds {
            if self.feeds.iter().all(|own| own.found.feed != new.feed) {
                let slot = board.add(&new.feed, &new.driver);
                slot.set_target(interval(&new));
                self.opened += 1;
                self.feeds.push(Watched {
                    found: new,
                    id: self.opened,
                    slot,
                    source: None,
                    sample: Sample::empty(Arc::new(Plan::default())),
                    engine: FeedEngine::new(StormSettings::default()),
                    tally: Tally::default(),
                    expected: INTERVAL,
                    next: now,
                    failures: 0,
                });
            }
        }
        board.set_devices(found.devices);
        board.check(Monotonic::from_nanos(now));
    }
}

const fn interval(found: &FoundFeed) -> Duration {
    if found.feed.source.is_rdma() { RDMA_INTERVAL } else { INTERVAL }
}

impl Watched {
    fn read(
        &mut self,
        host: &Arc<dyn Host>,
        budget: &ReadBudget,
        clock: &Arc<AtomicU64>,
        catalogue: &Arc<Catalogue>,
    ) {
        let interval = interval(&self.found);
        let now = || Monotonic::from_nanos(clock.load(Ordering::Relaxed));
        let source = match &mut self.source {
            Some(source) => Ok(source),
            none => host.open(&self.found.feed).map(|set| {
                let rules = PlanRules {
                    catalogue: Arc::clone(catalogue),
                    table: Table::of(&self.found.feed),
                    driver: self.found.driver.clone(),
                    raw: RawSelection::default(),
                };
                none.insert(PlannedSource::new(set, rules, host.names_epoch(&self.found.feed)))
            }),
        };
        let read = source.and_then(|source| {
            source.read(&now, &mut self.sample)?;
            Ok(source.cache_period())
        });
        match read {
            Ok(cache_period) => {
                self.failures = 0;
                self.tally.note_plan(&self.sample.plan, cache_period);
                self.tally.note_sample(&self.found.feed, &self.sample);
                let around = Circumstances {
                    link: self.slot.link(),
                    interval: self.expected,
                    unix_seconds: Duration::from_nanos(now().as_nanos() - START).as_secs_f64(),
                };
                self.engine.push(&self.sample, &around);
                self.tally.note_refresh(self.engine.refresh_period());
                let wait = if self.found.feed.source.holds_rtnl() {
                    budget.settle(self.id, self.sample.taken_at, self.sample.took, interval).wait
                } else {
                    Duration::ZERO
                };
                self.expected = interval.max(wait);
                self.slot.set_target(self.expected);
                self.slot.publish(&self.engine, self.tally.figures());
                self.next = now().as_nanos() + nanos(self.expected);
            }
            Err(error) => {
                let reason = error.reason();
                self.tally.note_failure(reason);
                self.slot.publish_sampling(self.tally.figures());
                let again = reason == Reason::NamesChanged && self.failures == 0;
                let wait = if again { Duration::ZERO } else { back_off(interval, self.failures) };
                self.failures += 1;
                self.next = now().as_nanos() + nanos(interval + wait);
            }
        }
    }
}
