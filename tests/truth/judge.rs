//! Each sample's figures against the truth of the same instant and the same window.

use std::collections::BTreeMap;

use roce_exporter::engine::{Basis, CounterFigures, PauseSummary, Skip};
use roce_exporter::model::{Direction, Plan, Priority};

use crate::bench::{Bench, MILLISECOND, Moment, Nic, refresh_of};
use crate::findings::Findings;
use crate::grid::Grid;
use crate::shown::{lanes_of, shown_value, xoff_frames};
use crate::spans::Spans;
use crate::storms::{Case, StormLog, unknown_refresh};

/// Figures are compared this often; counters at each sample.
const COMPARED_EVERY: u64 = 10 * MILLISECOND;
/// Where 32-bit counters stand at first in the scenario that lets them wrap.
const NEAR_WRAP: u64 = u32::MAX as u64 - 2_000;

/// A priority and direction.
pub(crate) type Lane = (Priority, Direction);

/// What was seen of one feed.
pub(crate) struct Past {
    nic: Nic,
    pub(crate) driver: String,
    /// When its first sample was taken, or the first after a change of the link.
    started: u64,
    compared: u64,
    resets: u64,
    pub(crate) spans: Spans,
    /// Where the window of each lane begins at the earliest.
    pub(crate) since: BTreeMap<Lane, u64>,
    grids: BTreeMap<Lane, Grid>,
    /// XOFF frames of each lane at each sample.
    pub(crate) frames: BTreeMap<Lane, Vec<(u64, u64)>>,
    storms: BTreeMap<Lane, StormLog>,
    counters: CounterFigures,
    pub(crate) pause: PauseSummary,
}

/// Compares everything that a run shows.
pub(crate) struct Judge {
    pub(crate) scenario: String,
    pub(crate) findings: Findings,
    feeds: BTreeMap<u64, Past>,
}

impl Judge {
    pub(crate) fn new(scenario: &str) -> Self {
        Self {
            scenario: scenario.to_owned(),
            findings: Findings::default(),
            feeds: BTreeMap::new(),
        }
    }

    /// Looks at a sample.
    pub(crate) fn look(&mut self, moment: &Moment<'_>) {
        let watched = moment.watched;
        let past = self
            .feeds
            .entry(watched.id)
            .or_insert_with(|| Past::new(watched.nic, &watched.driver, moment.now));
        watched.engine.copy_counters(&mut past.counters);
        watched.engine.copy_pause(&mut past.pause);
        let near_wrap = self.scenario == "wrap";
        past.totals(moment, near_wrap, &mut self.findings);
        let left_out = past.spans.note(moment.now, &past.pause);
        past.note_lanes(moment, &left_out);
        if moment.now - past.compared >= COMPARED_EVERY {
            past.compared = moment.now;
            past.windows(moment, &mut self.findings);
        }
    }

    /// Compares what can be compared at the end only.
    pub(crate) fn conclude(&mut self, bench: &Bench, title: &str) {
        for past in self.feeds.values() {
            for (lane, grid) in &past.grids {
                grid.conclude(&past.driver, *lane, &mut self.findings);
            }
            if past.pause.basis != Some(Basis::Duration) {
                let none = past.storms.values().all(|log| log.seen.is_empty());
                let claim = "frames alone raise no storm";
                self.findings.holds(claim, &past.driver, none, String::new);
                continue;
            }
            let refresh = refresh_of(&past.driver).unwrap_or(0);
            for (lane, log) in &past.storms {
                let case = Case {
                    driver: &past.driver,
                    lane: *lane,
                    course: bench.course(past.nic).lane(lane.0, lane.1),
                    log,
                    spans: past.spans.all(),
                    refresh,
                    unknown: unknown_refresh(&past.driver, refresh, bench.interval()),
                    interval: bench.interval().as_nanos() as u64,
                };
                case.compare(&mut self.findings);
            }
        }
        self.findings.conclude(title);
    }
}

impl Past {
    fn new(nic: Nic, driver: &str, started: u64) -> Self {
        Self {
            nic,
            driver: driver.to_owned(),
            started,
            compared: 0,
            resets: 0,
            spans: Spans::default(),
            since: BTreeMap::new(),
            grids: BTreeMap::new(),
            frames: BTreeMap::new(),
            storms: BTreeMap::new(),
            counters: CounterFigures {
                plan: std::sync::Arc::new(Plan::default()),
                totals: Vec::new(),
                raw: Vec::new(),
                resets: 0,
            },
            pause: PauseSummary::default(),
        }
    }

    /// Totals are what the driver shows, to the last unit.
    fn totals(&mut self, moment: &Moment<'_>, near_wrap: bool, findings: &mut Findings) {
        let shown = moment.shown;
        let truth = shown.kept.as_ref().unwrap_or(&moment.live);
        let pairs = self.counters.plan.counters.iter().zip(&self.counters.totals);
        for (counter, total) in pairs {
            let (Some(now), Some(then)) = (
                shown_value(&counter.key, &self.driver, truth),
                shown_value(&counter.key, &self.driver, &shown.baseline),
            ) else {
                continue;
            };
            let ahead = if near_wrap && counter.width.bits == 32 { NEAR_WRAP } else { 0 };
            let expected = now - then + ahead;
            // All bits set is no value.
            let unreadable = counter.width.bits == 32 && expected & 0xFFFF_FFFF == 0xFFFF_FFFF;
            let so = *total == Some(expected) || (unreadable && total.is_none());
            findings.holds("totals are what the driver shows", &self.driver, so, || {
                format!("{:?} is {total:?}, not {expected} at {}", counter.key, moment.now)
            });
        }
        let resets = self.counters.resets;
        findings.holds("resets never fall", &self.driver, resets >= self.resets, String::new);
        self.resets = resets;
    }

    fn note_lanes(&mut self, moment: &Moment<'_>, left_out: &[Skip]) {
        if left_out.iter().any(|skip| matches!(skip, Skip::LinkDown | Skip::LinkChange)) {
            self.since.clear();
            self.started = moment.now;
        }
        let lanes = lanes_of(&self.counters.plan);
        let dating = self.dating(moment);
        self.since.retain(|lane, _| lanes.contains(lane));
        self.grids.retain(|lane, _| lanes.contains(lane));
        let truth = moment.shown.kept.as_ref().unwrap_or(&moment.live);
        for lane @ (priority, direction) in lanes {
            // A slow driver's first refresh after the start is where its figures begin.
            let begun = match refresh_of(&self.driver) {
                Some(_) if moment.shown.kept_at <= self.started => None,
                Some(_) => Some(moment.shown.kept_at),
                None => Some(moment.now),
            };
            if let Some(begun) = begun {
                self.since.entry(lane).or_insert(begun);
            }
            let frames = xoff_frames(truth, priority, direction, &self.driver);
            self.frames.entry(lane).or_default().push((moment.now, frames));
            let paused = truth.priority(priority).pause(direction).paused_ns;
            let since = self.since.get(&lane).copied().unwrap_or(u64::MAX);
            let grid = self.grids.entry(lane).or_default();
            let period = refresh_of(&self.driver);
            grid.blur = period.map_or(0.0, |period| dating / period as f64);
            let at = period.map_or(moment.now, |_| moment.shown.kept_at);
            grid.note(at, paused, since, self.spans.is_left_out());
        }
        for figures in &self.pause.tracks {
            let lane = (figures.priority, figures.direction);
            if let Some(grid) = self.grids.get_mut(&lane) {
                grid.figures = Some(*figures);
            }
            self.storms.entry(lane).or_default().note(moment.now, &figures.storm);
        }
    }
}
