//! Checks one link or many, some at once, with a line of progress on a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::scope;
use std::time::Duration;

use super::client::{Access, Client};
use super::differences::differences;
use super::judge::{Finding, judge};
use super::measure::measure;
use super::report::{ReportFormat, report};
use super::target::Target;
use super::{Outcome, differences};

/// What to check and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Both ends of each link.
    pub links: Vec<[Target; 2]>,
    /// How long to measure.
    pub span: Duration,
    /// Links that are measured at the same time.
    pub at_once: usize,
    /// Settings that may differ.
    pub ignored: Vec<String>,
    /// How to get at the exporters.
    pub access: Access,
    /// Form of the report.
    pub format: ReportFormat,
}

impl Plan {
    /// What [`Plan::ignored`] may hold.
    pub fn settings() -> impl Iterator<Item = &'static str> {
        differences::names()
    }
}

/// A link with what came of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Checked {
    pub(super) names: [String; 2],
    /// Length of the measurement.
    pub(super) seconds: f64,
    pub(super) finding: Result<Finding, String>,
}

impl Checked {
    pub(super) fn outcome(&self) -> Outcome {
        self.finding.as_ref().map_or(Outcome::Bad, |finding| finding.outcome)
    }
}

/// Checks all links; returns the report and the worst outcome.
///
/// # Errors
/// When there can be no client. A link that cannot be checked is part of the report.
pub fn run(plan: &Plan) -> anyhow::Result<(String, Outcome)> {
    let client = Client::new(&plan.access)?;
    let results: Mutex<Vec<(usize, Checked)>> = Mutex::default();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let line = Line { wanted: io::stderr().is_terminal(), links: plan.links.len() };
    let workers = plan.at_once.min(plan.links.len()).max(1);
    scope(|threads| {
        for worker in 0..workers {
            let (client, results, next, done, line) = (&client, &results, &next, &done, &line);
            threads.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(ends) = plan.links.get(place) else { break };
                    // One worker's course is the course of all: they began together.
                    let progress = |share: f64| {
                        if worker == 0 {
                            line.show(done.load(Ordering::Relaxed), share);
                        }
                    };
                    let checked = check(client, plan, ends, &progress);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((place, checked));
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    line.clear();
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(place, _)| *place);
    let all: Vec<Checked> = results.into_iter().map(|(_, checked)| checked).collect();
    let worst = all.iter().map(Checked::outcome).max().unwrap_or(Outcome::Good);
    Ok((report(&all, plan.format), worst))
}

fn check(client: &Client, plan: &Plan, ends: &[Target; 2], progress: &dyn Fn(f64)) -> Checked {
    let names = ends.clone().map(|end| end.to_string());
    match measure(client, ends, plan.span, progress) {
        Err(unread) => Checked { names, seconds: 0.0, finding: Err(unread.to_string()) },
        Ok(measurement) => {
            let [one, other] = ends;
            let devices = [one.device.as_str(), other.device.as_str()];
            let differ = differences(&measurement.ports, devices, &plan.ignored);
            let [first, second] = &names;
            let finding = judge(&measurement, [first, second], differ);
            Checked { seconds: measurement.span.as_secs_f64(), finding: Ok(finding), names }
        }
    }
}

/// The line of progress; nobody is left to tell where standard error is closed.
struct Line {
    wanted: bool,
    links: usize,
}

impl Line {
    fn show(&self, done: usize, share: f64) {
        const WIDTH: u32 = 30;
        if self.wanted {
            let bar: String = (0..WIDTH)
                .map(|place| if f64::from(place) < share * f64::from(WIDTH) { '#' } else { '.' })
                .collect();
            let (links, percent) = (self.links, share * 100.0);
            let _ = write!(io::stderr(), "\r[{bar}] {percent:3.0} %, {done} of {links} links done");
        }
    }

    fn clear(&self) {
        if self.wanted {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
