//! A fabric that is sampled in virtual time as the program samples a host: jitter, lost ticks, names that change,
//! devices that come and go.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use roce_exporter::catalogue::{Catalogue, RawSelection, Table};
use roce_exporter::engine::{Circumstances, FeedEngine, StormSettings};
use roce_exporter::model::{
    DeviceFacts, Feed, LinkFacts, Monotonic, Plan, Reason, Sample, SourceKind,
};
use roce_exporter::sampler::back_off;
use roce_exporter::source::simulated::{
    Fabric, NicTruth, SimulatedHost, Simulation, SimulationOptions,
};
use roce_exporter::source::{FoundFeed, Host, PlanRules, PlannedSource};

use crate::course::NicCourse;
use crate::ticks::Ticks;

pub(crate) const START: u64 = 5_000_000_000;
pub(crate) const MILLISECOND: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;
/// Unix time at the clock's origin.
pub(crate) const EPOCH: f64 = 1.7e9;

/// How often the host is looked at.
const DISCOVERY: u64 = 5 * SECOND;
/// How often edges are taken from the fabric's rings, which are short.
const DRAIN: u64 = 25 * MILLISECOND;
/// Edges older than this serve no window.
const MEMORY: u64 = 60 * SECOND;
/// Reads within one refresh of a slow driver, as the sampler does.
const READS_PER_REFRESH: u32 = 16;

/// Host and place.
pub(crate) type Nic = (usize, usize);
/// The NICs that scenarios name.
pub(crate) const MLX5: Nic = (0, 0);
pub(crate) const BNXT: Nic = (0, 1);
pub(crate) const ICE: Nic = (0, 2);
pub(crate) const PEER: Nic = (1, 0);
pub(crate) const IONIC: Nic = (1, 1);
pub(crate) const I40E: Nic = (2, 0);

/// How often a driver of the fabric refreshes its statistics; none where a read is live.
pub(crate) fn refresh_of(driver: &str) -> Option<u64> {
    match driver {
        "bnxt_en" => Some(SECOND),
        "ionic" => Some(100 * MILLISECOND),
        _ => None,
    }
}

/// What happens to what a NIC shows, apart from refreshes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    /// All counters start from 0.
    CountFrom,
    /// Values stand still.
    Freeze,
    /// Values move again.
    Thaw,
}

/// What a NIC shows of the truth.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// What the driver last took over; none where each read is live.
    pub(crate) kept: Option<NicTruth>,
    /// When it did.
    pub(crate) kept_at: u64,
    /// Where counters began to count.
    pub(crate) baseline: NicTruth,
}

/// A feed with all that its thread and its supervisor would remember.
pub(crate) struct Watched {
    /// Differs for each start of a feed.
    pub(crate) id: u64,
    pub(crate) nic: Nic,
    pub(crate) driver: String,
    pub(crate) feed: Feed,
    incarnation: u32,
    source: Option<PlannedSource>,
    pub(crate) sample: Sample,
    pub(crate) engine: FeedEngine,
    pub(crate) link: LinkFacts,
    /// What the schedule meant to keep before this sample.
    pub(crate) interval: Duration,
    ticks: Ticks,
    next: u64,
    failures: u32,
    over: bool,
}

/// What there is to see after a sample.
pub(crate) struct Moment<'bench> {
    pub(crate) watched: &'bench Watched,
    pub(crate) now: u64,
    pub(crate) live: NicTruth,
    pub(crate) shown: &'bench Shown,
    pub(crate) course: &'bench NicCourse,
}

/// Changes the link facts of a NIC at a time.
pub(crate) type LinkScript = Box<dyn Fn(Nic, u64, LinkFacts) -> LinkFacts>;

/// What to sample, and how.
pub(crate) struct Setup<'name> {
    pub(crate) scenario: &'name str,
    pub(crate) seed: u64,
    pub(crate) interval: Duration,
    /// When sampling begins, in nanoseconds after the fabric's start.
    pub(crate) from: u64,
    pub(crate) nics: &'name [Nic],
    /// Whether RDMA counters are sampled too.
    pub(crate) rdma: bool,
    pub(crate) link: Option<LinkScript>,
}

pub(crate) struct Bench {
    clock: Arc<AtomicU64>,
    fabric: Arc<Mutex<Fabric>>,
    hosts: Vec<SimulatedHost>,
    catalogue: Arc<Catalogue>,
    interval: Duration,
    seed: u64,
    rdma: bool,
    link: Option<LinkScript>,
    /// Place of each NIC by host and PCI address, which no rename changes.
    places: BTreeMap<(usize, String), Nic>,
    pub(crate) watched: Vec<Watched>,
    pub(crate) devices: BTreeMap<Nic, DeviceFacts>,
    courses: BTreeMap<Nic, NicCourse>,
    shown: BTreeMap<Nic, Shown>,
    /// Refreshes that are due: time, NIC, period.
    refreshes: Vec<(u64, Nic, u64)>,
    marks: Vec<(u64, Nic, Mark)>,
    next_discovery: u64,
    next_drain: u64,
    started: u64,
}

impl Bench {
    pub(crate) fn new(setup: Setup<'_>) -> Self {
        let clock = Arc::new(AtomicU64::new(START));
        let (told, moved) = (Arc::clone(&clock), Arc::clone(&clock));
        let options =
            SimulationOptions { scenario: Some(setup.scenario), seed: setup.seed, hosts: 4 };
        let simulation = Simulation::new(
            options,
            Arc::new(move || Monotonic::from_nanos(told.load(Ordering::Relaxed))),
        )
        .unwrap()
        .with_sleep(Arc::new(move |span: Duration| {
            moved.fetch_add(span.as_nanos() as u64, Ordering::Relaxed);
        }));
        let hosts = simulation.hosts();
        let mut places = BTreeMap::new();
        let mut bench_shown = BTreeMap::new();
        let mut refreshes = Vec::new();
        for (index, host) in hosts.iter().enumerate() {
            for (place, device) in host.discover().devices.into_iter().enumerate() {
                let nic = (index, place);
                if !setup.nics.contains(&nic) {
                    continue;
                }
                places.insert((index, device.pci_address), nic);
                let period = refresh_of(&device.driver);
                let kept = period.map(|_| NicTruth::default());
                bench_shown.insert(nic, Shown { kept, kept_at: START, ..Shown::default() });
                refreshes.extend(period.map(|period| (START + period, nic, period)));
            }
        }
        Self {
            clock,
            fabric: simulation.fabric(),
            hosts,
            catalogue: Arc::new(Catalogue::embedded().unwrap()),
            interval: setup.interval,
            seed: setup.seed,
            rdma: setup.rdma,
            link: setup.link,
            places,
            watched: Vec::new(),
            devices: BTreeMap::new(),
            courses: setup.nics.iter().map(|nic| (*nic, NicCourse::default())).collect(),
            shown: bench_shown,
            refreshes,
            marks: marks_of(setup.scenario),
            next_discovery: START + setup.from,
            next_drain: START + DRAIN,
            started: 0,
        }
    }

    /// Goes on until `until`, in nanoseconds after the fabric's start; `look` sees each sample once it is judged.
    pub(crate) fn run(&mut self, until: u64, look: &mut dyn FnMut(&Moment<'_>)) {
        let until = START + until;
        loop {
            let feed = self.watched.iter().filter(|own| !own.over).map(|own| own.next).min();
            let due = feed.unwrap_or(u64::MAX).min(self.next_discovery).min(self.next_drain);
            let due = due.max(self.now());
            // What the fabric does at an instant comes before whoever reads at that instant.
            if let Some(next) = self.next_of_fabric().filter(|next| *next <= due.min(until)) {
                self.follow_fabric(next);
                continue;
            }
            if due > until {
                self.advance(until);
                return;
            }
            self.advance(due);
            if self.next_discovery <= due {
                self.discover(due);
            } else if self.next_drain <= due {
                self.next_drain = due + DRAIN;
                let old = due.saturating_sub(MEMORY);
                self.take_edges();
                self.courses.values_mut().for_each(|course| course.forget(old));
            } else if let Some(place) =
                self.watched.iter().position(|own| !own.over && own.next <= due)
            {
                self.sample(place, due, look);
            }
        }
    }

    pub(crate) const fn interval(&self) -> Duration {
        self.interval
    }

    pub(crate) fn course(&self, nic: Nic) -> &NicCourse {
        &self.courses[&nic]
    }

    fn now(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    /// Sets the clock, unless slow reads have moved it further, and takes the fabric's edges.
    fn advance(&self, to: u64) {
        self.clock.fetch_max(to, Ordering::Relaxed);
        self.fabric.lock().unwrap().advance_to(Monotonic::from_nanos(self.now()));
    }

    fn take_edges(&mut self) {
        let fabric = self.fabric.lock().unwrap();
        for ((host, place), course) in &mut self.courses {
            course.take(fabric.edges(*host, *place).unwrap());
        }
    }

    fn next_of_fabric(&self) -> Option<u64> {
        let refreshes = self.refreshes.iter().map(|(at, ..)| *at);
        refreshes.chain(self.marks.iter().map(|(at, ..)| *at)).min()
    }

    /// Notes what each NIC shows from `at` on.
    fn follow_fabric(&mut self, at: u64) {
        self.advance(at);
        let fabric = self.fabric.lock().unwrap();
        assert_eq!(fabric.now().as_nanos(), at, "a slow read carried the fabric past the instant");
        let truth = |(host, place): Nic| fabric.truth(host, place).unwrap();
        for (due, nic, period) in self.refreshes.iter_mut().filter(|(due, ..)| *due == at) {
            let shown = self.shown.get_mut(nic).unwrap();
            (shown.kept, shown.kept_at) = (Some(truth(*nic)), at);
            *due += *period;
        }
        for (due, nic, mark) in self.marks.iter_mut().filter(|(due, ..)| *due == at) {
            *due += pass_of(fabric.scenario().unwrap().name);
            let Some(shown) = self.shown.get_mut(nic) else { continue };
            match mark {
                Mark::CountFrom => shown.baseline = truth(*nic),
                Mark::Freeze => (shown.kept, shown.kept_at) = (Some(truth(*nic)), at),
                Mark::Thaw => shown.kept = None,
            }
        }
        drop(fabric);
        self.take_edges();
    }

    /// Does what the supervisor does: feeds that are gone end, new ones begin.
    fn discover(&mut self, now: u64) {
        self.next_discovery = now + DISCOVERY;
        for index in 0..self.hosts.len() {
            let found = self.hosts[index].discover();
            self.watched.retain(|own| {
                let wanted = found.feeds.iter().find(|found| found.feed == own.feed);
                let same = wanted.is_some_and(|found| found.incarnation == own.incarnation);
                own.nic.0 != index || (same && !own.over)
            });
            for device in &found.devices {
                let key = (index, device.pci_address.clone());
                let Some(nic) = self.places.get(&key).copied() else { continue };
                for own in self.watched.iter_mut().filter(|own| own.nic == nic) {
                    own.link = device.link;
                }
                self.devices.insert(nic, device.clone());
                for feed in &found.feeds {
                    let running =
                        self.watched.iter().any(|own| own.nic.0 == index && own.feed == feed.feed);
                    let wanted = feed.feed.source == SourceKind::Ethtool || self.rdma;
                    if feed.feed.device == device.device && wanted && !running {
                        self.launch(nic, feed, device.link, now);
                    }
                }
            }
        }
        self.take_edges();
    }

    fn launch(&mut self, nic: Nic, found: &FoundFeed, link: LinkFacts, now: u64) {
        self.started += 1;
        let seed = self.seed ^ (self.started << 32);
        let mut ticks = Ticks::new(now, seed);
        let next = ticks.next(self.interval, now);
        self.watched.push(Watched {
            id: self.started,
            nic,
            driver: found.driver.clone(),
            feed: found.feed.clone(),
            incarnation: found.incarnation,
            source: None,
            sample: Sample::empty(Arc::new(Plan::default())),
            engine: FeedEngine::new(StormSettings::default()),
            link,
            interval: self.interval,
            ticks,
            next,
            failures: 0,
            over: false,
        });
    }

    fn sample(&mut self, place: usize, now: u64, look: &mut dyn FnMut(&Moment<'_>)) {
        let own = &mut self.watched[place];
        let host = &self.hosts[own.nic.0];
        let clock = Arc::clone(&self.clock);
        let tell = move || Monotonic::from_nanos(clock.load(Ordering::Relaxed));
        let source = match &mut own.source {
            Some(source) => Ok(source),
            none => host.open(&own.feed).map(|set| {
                let rules = rules_of(&own.feed, &own.driver, &self.catalogue);
                none.insert(PlannedSource::new(set, rules, host.names_epoch()))
            }),
        };
        let read = source.and_then(|source| source.read(&tell, &mut own.sample));
        let finished = self.clock.load(Ordering::Relaxed);
        if let Err(error) = read {
            let reason = error.reason();
            let again = reason == Reason::NamesChanged && own.failures == 0;
            let wait = if again { Duration::ZERO } else { back_off(self.interval, own.failures) };
            own.failures += 1;
            own.over = reason == Reason::Gone;
            own.next = own.ticks.next(own.interval, finished + wait.as_nanos() as u64);
            return;
        }
        own.failures = 0;
        let link = match &self.link {
            Some(script) => script(own.nic, now, own.link),
            None => own.link,
        };
        let around = Circumstances {
            link,
            interval: own.interval,
            unix_seconds: EPOCH + finished as f64 / 1e9,
        };
        own.engine.push(&own.sample, &around);
        let refresh = own.engine.refresh_period().unwrap_or_default() / READS_PER_REFRESH;
        own.interval = self.interval.max(refresh);
        own.next = own.ticks.next(own.interval, finished);
        self.take_edges();
        let own = &self.watched[place];
        let fabric = self.fabric.lock().unwrap();
        let live = fabric.truth(own.nic.0, own.nic.1).unwrap();
        drop(fabric);
        look(&Moment {
            watched: own,
            now: finished,
            live,
            shown: &self.shown[&own.nic],
            course: &self.courses[&own.nic],
        });
    }
}

fn rules_of(feed: &Feed, driver: &str, catalogue: &Arc<Catalogue>) -> PlanRules {
    PlanRules {
        catalogue: Arc::clone(catalogue),
        table: if feed.source.is_rdma() { Table::RdmaPort } else { Table::Ethtool },
        driver: driver.to_owned(),
        raw: RawSelection::default(),
    }
}

/// How long one pass of a scenario that comes again takes.
fn pass_of(scenario: &str) -> u64 {
    let found = roce_exporter::source::simulated::Scenario::by_name(scenario).unwrap();
    found.duration.as_nanos() as u64
}

/// What the scenarios of troubled reading do to what their NIC shows.
fn marks_of(scenario: &str) -> Vec<(u64, Nic, Mark)> {
    let marks: &[(u64, Mark)] = match scenario {
        "reset" => &[(15, Mark::CountFrom)],
        "unplug" => &[(20, Mark::CountFrom)],
        "stale" => &[(5, Mark::Freeze), (25, Mark::Thaw)],
        _ => &[],
    };
    marks.iter().map(|(second, mark)| (START + second * SECOND, MLX5, *mark)).collect()
}
