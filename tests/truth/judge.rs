//! Each sample's figures against the truth of the same instant and the same window.

use std::collections::BTreeMap;

use roce_exporter::engine::{Basis, CounterFigures, PauseFigures, PauseSummary, Skip};
use roce_exporter::model::{CounterKey, Direction, Index, Plan, Priority, Quantity};
use roce_exporter::source::simulated::NicTruth;

use crate::bench::{MILLISECOND, Moment, SECOND, refresh_of};
use crate::course::Course;
use crate::findings::Findings;
use crate::grid::Grid;
use crate::storms::StormLog;

/// The window of ratios and asymmetry.
pub(crate) const WINDOW: u64 = 10 * SECOND;
/// The largest error of a ratio over the window.
pub(crate) const RATIO_TOLERANCE: f64 = 0.005;
/// Points of the engine's window are this far apart, or as far as samples are.
const SPACING: u64 = 100 * MILLISECOND;
/// Figures are compared this often; counters at each sample.
const COMPARED_EVERY: u64 = 10 * MILLISECOND;
/// Where 32-bit counters stand at first in the scenario that lets them wrap.
const NEAR_WRAP: u64 = u32::MAX as u64 - 2_000;

/// A priority and direction.
pub(crate) type Lane = (Priority, Direction);

/// A span between two samples of a feed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) kind: SpanKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanKind {
    Judged,
    /// In ratios, but no verdict on storms.
    Gap,
    LeftOut,
}

/// What was seen of one feed.
struct Past {
    driver: String,
    before: Option<u64>,
    compared: u64,
    skipped: [u64; Skip::ALL.len()],
    resets: u64,
    spans: Vec<Span>,
    /// Where the window of each lane begins at the earliest.
    since: BTreeMap<Lane, u64>,
    grids: BTreeMap<Lane, Grid>,
    storms: BTreeMap<Lane, StormLog>,
    counters: CounterFigures,
    pause: PauseSummary,
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
        let past = self.feeds.entry(watched.id).or_insert_with(|| Past::new(&watched.driver));
        watched.engine.copy_counters(&mut past.counters);
        watched.engine.copy_pause(&mut past.pause);
        let near_wrap = self.scenario == "wrap";
        past.totals(moment, near_wrap, &mut self.findings);
        let kind = past.note_span(moment);
        past.note_lanes(moment, kind);
        if moment.now - past.compared >= COMPARED_EVERY {
            past.compared = moment.now;
            past.windows(moment, &mut self.findings);
        }
        past.before = Some(moment.now);
    }

    /// Compares what can be compared at the end only.
    pub(crate) fn conclude(&mut self, title: &str) {
        for past in self.feeds.values_mut() {
            for (lane, grid) in &past.grids {
                grid.conclude(&past.driver, *lane, &mut self.findings);
            }
        }
        self.findings.conclude(title);
    }

    /// Storms of all feeds.
    pub(crate) fn storms(&self) -> impl Iterator<Item = (&str, Lane, &StormLog, &[Span])> {
        self.feeds.values().flat_map(|past| {
            past.storms
                .iter()
                .map(|(lane, log)| (past.driver.as_str(), *lane, log, past.spans.as_slice()))
        })
    }
}

impl Past {
    fn new(driver: &str) -> Self {
        Self {
            driver: driver.to_owned(),
            before: None,
            compared: 0,
            skipped: [0; Skip::ALL.len()],
            resets: 0,
            spans: Vec::new(),
            since: BTreeMap::new(),
            grids: BTreeMap::new(),
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
        if !shown.certain {
            return;
        }
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

    /// Notes the span that ends with this sample, from what was left out.
    fn note_span(&mut self, moment: &Moment<'_>) -> SpanKind {
        let now = self.pause.skipped;
        let grew = |skip: &&Skip| now[skip.position()] > self.skipped[skip.position()];
        let new: Vec<Skip> = Skip::ALL.iter().filter(grew).copied().collect();
        self.skipped = now;
        let kind = match new.as_slice() {
            [] => SpanKind::Judged,
            [Skip::Gap] => SpanKind::Gap,
            _ => SpanKind::LeftOut,
        };
        if new.iter().any(|skip| matches!(skip, Skip::LinkDown | Skip::LinkChange)) {
            self.since.clear();
        }
        if let Some(from) = self.before {
            self.spans.push(Span { from, to: moment.now, kind });
        }
        kind
    }

    fn note_lanes(&mut self, moment: &Moment<'_>, kind: SpanKind) {
        let lanes = lanes_of(&self.counters.plan);
        self.since.retain(|lane, _| lanes.contains(lane));
        self.grids.retain(|lane, _| lanes.contains(lane));
        let truth = moment.shown.kept.as_ref().unwrap_or(&moment.live);
        for lane @ (priority, direction) in lanes {
            self.since.entry(lane).or_insert(moment.now);
            if moment.shown.certain {
                let at =
                    if moment.shown.kept.is_some() { moment.shown.kept_at } else { moment.now };
                let paused = truth.priority(priority).pause(direction).paused_ns;
                let grid = self.grids.entry(lane).or_default();
                grid.note(at, paused, kind == SpanKind::LeftOut);
            }
        }
        for figures in &self.pause.tracks {
            let lane = (figures.priority, figures.direction);
            if let Some(grid) = self.grids.get_mut(&lane) {
                grid.figures = Some(*figures);
            }
            self.storms.entry(lane).or_default().note(moment, &figures.storm);
        }
    }

    fn windows(&mut self, moment: &Moment<'_>, findings: &mut Findings) {
        let tracks = std::mem::take(&mut self.pause.tracks);
        for figures in &tracks {
            let lane = (figures.priority, figures.direction);
            let course = moment.course.lane(lane.0, lane.1);
            let Some((truth, edge)) = self.truth_of_window(moment, lane, course) else { continue };
            match figures.basis {
                Basis::Duration => self.ratio(moment, figures, truth, edge, findings),
                Basis::Frames => self.bound(moment, figures, truth, findings),
            }
        }
        self.pause.tracks = tracks;
        for priority in Priority::ALL {
            if let Some(figure) = self.pause.asymmetry[priority.position()] {
                self.asymmetry(moment, priority, figure, findings);
            }
        }
    }

    /// Share of the window that was truly paused, and the longest span around the window's beginning.
    fn truth_of_window(
        &self,
        moment: &Moment<'_>,
        lane: Lane,
        course: &Course,
    ) -> Option<(f64, u64)> {
        let (paused, judged, edge) = self.sums_of_window(moment, lane, course)?;
        Some((paused / judged, edge))
    }

    fn sums_of_window(
        &self,
        moment: &Moment<'_>,
        lane: Lane,
        course: &Course,
    ) -> Option<(f64, f64, u64)> {
        let end = match refresh_of(&self.driver) {
            Some(_) => moment.shown.kept_at,
            None => moment.now,
        };
        let since = *self.since.get(&lane)?;
        let begin = since.max(end.saturating_sub(WINDOW));
        let begun = self.spans.partition_point(|span| span.to <= begin);
        let spans = &self.spans[begun..];
        let edge = spans.first().map_or(0, |span| span.to - span.from).max(SPACING);
        let edge = if begin == since { 0 } else { edge };
        let (mut paused, mut judged) = (0, 0);
        if end <= begin {
            return None;
        }
        paused += course.paused(begin, end);
        judged += end - begin;
        for span in spans.iter().filter(|span| span.kind == SpanKind::LeftOut) {
            let (from, to) = (span.from.max(begin), span.to.min(end));
            if from < to {
                judged -= to - from;
                paused -= course.paused(from, to);
            }
        }
        (judged > 0).then_some((paused as f64, judged as f64, edge))
    }

    fn ratio(
        &self,
        moment: &Moment<'_>,
        figures: &PauseFigures,
        truth: f64,
        edge: u64,
        findings: &mut Findings,
    ) {
        let Some(ratio) = figures.ratio else { return };
        let tolerance = match refresh_of(&self.driver) {
            Some(period) => period as f64 / WINDOW as f64,
            // What a wide span at the window's edge holds in which half is not known.
            None => RATIO_TOLERANCE.max(edge as f64 / 4.0 / WINDOW as f64),
        };
        let claim = "ratio over 10 s";
        findings.within(claim, &self.driver, (ratio - truth).abs(), tolerance, || {
            format!(
                "{ratio} of {:?} {:?}, truly {truth} at {}",
                figures.priority, figures.direction, moment.now
            )
        });
    }

    fn bound(
        &self,
        moment: &Moment<'_>,
        figures: &PauseFigures,
        truth: f64,
        findings: &mut Findings,
    ) {
        let Some(bound) = figures.upper_bound else { return };
        let below = (truth - bound).max(0.0);
        findings.within("upper bound below the truth", &self.driver, below, 1e-9, || {
            format!(
                "{bound} of {:?} {:?}, truly {truth} at {}",
                figures.priority, figures.direction, moment.now
            )
        });
    }

    fn asymmetry(
        &self,
        moment: &Moment<'_>,
        priority: Priority,
        figure: f64,
        findings: &mut Findings,
    ) {
        let share = |direction| {
            let course = moment.course.lane(priority, direction);
            self.truth_of_window(moment, (priority, direction), course).map(|(share, _)| share)
        };
        let (Some(tx), Some(rx)) = (share(Direction::Tx), share(Direction::Rx)) else { return };
        if tx + rx == 0.0 {
            return;
        }
        let truth = (tx - rx) / (tx + rx);
        let told =
            || format!("{figure} of {priority:?}, truly {truth} ({tx}, {rx}) at {}", moment.now);
        if truth.abs() > 0.05 {
            let right = figure.signum() == truth.signum();
            findings.holds("sign of the asymmetry", &self.driver, right, told);
        }
        let exact = self.pause.basis == Some(Basis::Duration);
        if exact {
            let error = (figure - truth).abs();
            findings.within("asymmetry", &self.driver, error, 0.02, told);
        }
    }
}

/// Lanes for which a plan has pause counters.
fn lanes_of(plan: &Plan) -> Vec<Lane> {
    let pauses = plan.counters.iter().filter_map(|counter| match counter.key {
        CounterKey {
            quantity: Quantity::PfcPauseTime | Quantity::PfcPauseFrames,
            direction: Some(direction),
            index: Index::Priority(priority),
            ..
        } => Some((priority, direction)),
        _ => None,
    });
    let mut lanes: Vec<Lane> = pauses.collect();
    lanes.sort_unstable();
    lanes.dedup();
    lanes
}

/// What a driver's counter says of a truth; none for counters that are not compared.
fn shown_value(key: &CounterKey, driver: &str, truth: &NicTruth) -> Option<u64> {
    let direction = key.direction?;
    let link = truth.link_tx;
    let priority = match (key.quantity, &key.index) {
        (Quantity::LinkPauseTime, Index::None) if direction == Direction::Tx => {
            return Some(link.paused_ns / 1_000);
        }
        (_, Index::Priority(priority)) => *priority,
        _ => return None,
    };
    let pause = truth.priority(priority).pause(direction).to_owned();
    match key.quantity {
        Quantity::PfcPauseTime => Some(pause.paused_ns / 1_000),
        Quantity::PfcPauseFrames if driver == "ice" => {
            let mates = if matches!(priority.number(), 2 | 3) { 2..=3 } else { 8..=7 };
            let class = Priority::ALL.iter().filter(|own| mates.contains(&own.number()));
            let others = Priority::ALL.iter().filter(|own| !matches!(own.number(), 2 | 3));
            let xoff = |own: &Priority| truth.priority(*own).pause(direction).xoff_frames;
            let counted =
                if mates.is_empty() { others.map(xoff).sum() } else { class.map(xoff).sum() };
            Some(counted)
        }
        Quantity::PfcPauseFrames if driver == "i40e" => Some(pause.xoff_frames),
        Quantity::PfcPauseFrames => Some(pause.frames()),
        Quantity::Bytes => Some(truth.priority(priority).bytes(direction)),
        _ => None,
    }
}
