//! What the figures of both ends say, per priority and for the link. Pure.

use super::Outcome;
use super::differences::Difference;
use super::measure::{Counted, Measurement};
use super::port::{Port, way};
use crate::model::{Direction, Priority};

/// Frames that may differ whatever the load: what is under way at each reading.
const LOOSE_FRAMES: f64 = 4.0;
/// Fewer frames than this prove nothing.
const LEAST_FRAMES: f64 = 20.0;
/// Less paused time than this proves nothing, in seconds.
const LEAST_SECONDS: f64 = 0.001;
/// Share that may differ: frames with odd headers are not counted alike everywhere.
const TOLERANCE: f64 = 0.05;
/// From this share on, the other end hears nothing.
const DEAF: f64 = 0.95;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    Frames,
    Seconds,
}

impl Basis {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Frames => "frames",
            Self::Seconds => "seconds",
        }
    }
}

/// One direction of pause on one priority.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flow {
    pub(super) sent: Option<f64>,
    pub(super) received: Option<f64>,
    pub(super) basis: Basis,
    pub(super) verdict: FlowVerdict,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum FlowVerdict {
    /// Too little was sent and received.
    Quiet,
    /// What was sent arrived.
    Symmetric,
    /// This share of what was sent did not arrive.
    Lost(f64),
    /// The figures cannot be held against each other, for this reason.
    Incomparable(String),
}

/// What a priority, or the link, comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Quiet,
    Symmetric,
    OneSided,
    OtherPriority,
    Incomparable,
}

impl Verdict {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Quiet => "nothing paused",
            Self::Symmetric => "symmetric",
            Self::OneSided => "one-sided",
            Self::OtherPriority => "different priorities",
            Self::Incomparable => "not comparable",
        }
    }
}

/// A priority in both directions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PriorityFinding {
    pub(super) priority: Priority,
    /// From the first end to the second, and back.
    pub(super) flows: [Flow; 2],
    pub(super) verdict: Verdict,
}

/// Everything that is said of a link.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    pub(super) priorities: Vec<PriorityFinding>,
    pub(super) differences: Vec<Difference>,
    pub(super) verdict: Verdict,
    /// The verdict in words.
    pub(super) reason: String,
    pub(super) outcome: Outcome,
}

/// Judges a measurement of the ends with these names.
pub(super) fn judge(
    measurement: &Measurement,
    names: [&str; 2],
    differences: Vec<Difference>,
) -> Finding {
    let mut priorities: Vec<PriorityFinding> =
        Priority::ALL.into_iter().filter_map(|own| of_priority(measurement, names, own)).collect();
    mark_other_priorities(&mut priorities);
    let (verdict, reason) = of_link(&priorities, names);
    let outcome = match verdict {
        Verdict::OneSided | Verdict::OtherPriority => Outcome::Bad,
        Verdict::Symmetric if differences.is_empty() => Outcome::Good,
        Verdict::Symmetric | Verdict::Quiet | Verdict::Incomparable => Outcome::Warning,
    };
    Finding { priorities, differences, verdict, reason, outcome }
}

fn of_priority(
    measurement: &Measurement,
    names: [&str; 2],
    priority: Priority,
) -> Option<PriorityFinding> {
    let [one, other] = [0, 1].map(|place| End::of(measurement, names, place));
    let (one, other) = (one?, other?);
    let flows =
        [flow(&one, &other, measurement, priority), flow(&other, &one, measurement, priority)];
    let enabled = [&one, &other].iter().any(|end| end.has_pfc(priority) == Some(true));
    let silent = flows.iter().all(|flow| flow.sent.is_none() && flow.received.is_none());
    if silent && !enabled {
        return None;
    }
    let verdicts = || flows.iter().map(|flow| &flow.verdict);
    let verdict = if verdicts().any(|own| matches!(own, FlowVerdict::Lost(_))) {
        Verdict::OneSided
    } else if verdicts().any(|own| matches!(own, FlowVerdict::Incomparable(_))) {
        Verdict::Incomparable
    } else if verdicts().any(|own| *own == FlowVerdict::Symmetric) {
        Verdict::Symmetric
    } else {
        Verdict::Quiet
    };
    // A quiet priority without PFC is of no interest.
    (enabled || verdict != Verdict::Quiet).then_some(PriorityFinding { priority, flows, verdict })
}

/// One end with its name.
struct End<'a> {
    name: &'a str,
    port: &'a Port,
    counted: &'a Counted,
}

impl<'a> End<'a> {
    fn of(measurement: &'a Measurement, names: [&'a str; 2], place: usize) -> Option<Self> {
        let name = names.get(place)?;
        let (port, counted) = (measurement.ports.get(place)?, measurement.counted.get(place)?);
        Some(Self { name, port, counted })
    }

    fn has_pfc(&self, priority: Priority) -> Option<bool> {
        self.port.pfc.get(priority.position()).copied().flatten()
    }

    #[allow(clippy::cast_precision_loss, reason = "growth of some minutes is far below 2^53")]
    fn frames(&self, direction: Direction, priority: Priority) -> Option<f64> {
        let counts = self.counted.growth.frames.get(way(direction))?;
        let counted = counts.get(priority.position()).copied().flatten();
        // Some drivers have counters only for priorities with PFC: with PFC off, no frame of it is one to them.
        let off = || {
            let has_others = counts.iter().any(Option::is_some);
            (has_others && self.has_pfc(priority) == Some(false)).then_some(0)
        };
        counted.or_else(off).map(|count| count as f64)
    }

    fn seconds(&self, direction: Direction, priority: Priority) -> Option<f64> {
        let counts = self.counted.growth.seconds.get(way(direction))?;
        counts.get(priority.position()).copied().flatten()
    }
}

fn flow(from: &End<'_>, to: &End<'_>, measurement: &Measurement, priority: Priority) -> Flow {
    let frames = (from.frames(Direction::Tx, priority), to.frames(Direction::Rx, priority));
    let seconds = (from.seconds(Direction::Tx, priority), to.seconds(Direction::Rx, priority));
    let by_time =
        (frames.0.is_none() || frames.1.is_none()) && seconds.0.is_some() && seconds.1.is_some();
    let (basis, (sent, received)) =
        if by_time { (Basis::Seconds, seconds) } else { (Basis::Frames, frames) };
    let (least, loose) = match basis {
        Basis::Frames => (LEAST_FRAMES, LOOSE_FRAMES),
        Basis::Seconds => (LEAST_SECONDS, LEAST_SECONDS),
    };
    let verdict = match (sent, received) {
        _ if from.counted.reset => incomparable("counters were reset at", from),
        _ if to.counted.reset => incomparable("counters were reset at", to),
        _ if from.counted.stale => incomparable("counters could not be read at", from),
        _ if to.counted.stale => incomparable("counters could not be read at", to),
        (Some(sent), Some(received)) if sent < least && received < least => FlowVerdict::Quiet,
        (Some(sent), Some(received)) => {
            let allowed = loose + sent.max(received) * tolerance(from, to, measurement);
            if (sent - received).abs() <= allowed {
                FlowVerdict::Symmetric
            } else if received < sent {
                FlowVerdict::Lost(1.0 - received / sent)
            } else {
                let text = format!(
                    "{} received more than {} sent: they count otherwise, or something between them pauses",
                    to.name, from.name
                );
                FlowVerdict::Incomparable(text)
            }
        }
        (Some(sent), None) if sent >= least => {
            incomparable("pause received is not counted per priority at", to)
        }
        (None, Some(received)) if received >= least => {
            incomparable("pause sent is not counted per priority at", from)
        }
        _ => FlowVerdict::Quiet,
    };
    Flow { sent, received, basis, verdict }
}

fn incomparable(what: &str, end: &End<'_>) -> FlowVerdict {
    FlowVerdict::Incomparable(format!("{what} {}", end.name))
}

/// The share that may differ: more where counters are refreshed slowly or the pages came slowly.
fn tolerance(from: &End<'_>, to: &End<'_>, measurement: &Measurement) -> f64 {
    let blurred =
        from.port.refresh_seconds + to.port.refresh_seconds + 2.0 * measurement.skew.as_secs_f64();
    TOLERANCE + (blurred / measurement.span.as_secs_f64().max(0.001)).min(0.5)
}

/// Where each end is deaf to what the other sends on another priority than itself, the priorities are mixed up.
fn mark_other_priorities(priorities: &mut [PriorityFinding]) {
    let deaf = |flow: &Flow| matches!(flow.verdict, FlowVerdict::Lost(share) if share >= DEAF);
    let lost_by = |end: usize, all: &[PriorityFinding]| -> Vec<Priority> {
        let lost = all.iter().filter(|own| own.flows.get(end).is_some_and(deaf));
        lost.map(|own| own.priority).collect()
    };
    // What arrives on a priority on which nothing was sent.
    let surplus = |end: usize, all: &[PriorityFinding]| {
        all.iter().any(|own| {
            own.flows.get(end).is_some_and(|flow| {
                flow.sent.is_some_and(|sent| sent < LEAST_FRAMES)
                    && flow.received.is_some_and(|received| received >= LEAST_FRAMES)
            })
        })
    };
    let [first, second] = [lost_by(0, priorities), lost_by(1, priorities)];
    let crossed = !first.is_empty()
        && !second.is_empty()
        && first.iter().all(|priority| !second.contains(priority));
    let moved = (!first.is_empty() && surplus(0, priorities))
        || (!second.is_empty() && surplus(1, priorities));
    if crossed || moved {
        for own in priorities.iter_mut().filter(|own| own.verdict != Verdict::Symmetric) {
            if own.verdict != Verdict::Quiet {
                own.verdict = Verdict::OtherPriority;
            }
        }
    }
}

fn of_link(priorities: &[PriorityFinding], names: [&str; 2]) -> (Verdict, String) {
    let has = |verdict| priorities.iter().any(|own| own.verdict == verdict);
    let [one, other] = names;
    if has(Verdict::OtherPriority) {
        let sent_by = |end: usize| -> String {
            let sent = priorities.iter().filter(|own| {
                own.flows.get(end).is_some_and(|flow| flow.sent.is_some_and(|sent| sent > 0.0))
            });
            let numbers: Vec<String> = sent.map(|own| own.priority.number().to_string()).collect();
            if numbers.is_empty() { "none".to_owned() } else { numbers.join(", ") }
        };
        let reason = format!(
            "{one} pauses on priority {}, {other} on priority {}: the PFC masks or the maps differ",
            sent_by(0),
            sent_by(1)
        );
        return (Verdict::OtherPriority, reason);
    }
    if has(Verdict::OneSided) {
        return (Verdict::OneSided, losses(priorities, names));
    }
    let incomparable = priorities.iter().flat_map(|own| &own.flows).find_map(|flow| {
        if let FlowVerdict::Incomparable(reason) = &flow.verdict { Some(reason) } else { None }
    });
    if let Some(reason) = incomparable {
        return (Verdict::Incomparable, reason.clone());
    }
    if has(Verdict::Symmetric) {
        return (Verdict::Symmetric, "what either end sent the other received".to_owned());
    }
    if priorities.is_empty() {
        let reason = "neither end has PFC on, nor counters per priority".to_owned();
        return (Verdict::Incomparable, reason);
    }
    (
        Verdict::Quiet,
        "neither end paused the other, so nothing is proved; was there a load?".to_owned(),
    )
}

fn losses(priorities: &[PriorityFinding], names: [&str; 2]) -> String {
    let [one, other] = names;
    let mut texts = Vec::new();
    for own in priorities {
        for (flow, (from, to)) in own.flows.iter().zip([(one, other), (other, one)]) {
            if let FlowVerdict::Lost(share) = flow.verdict {
                texts.push(format!(
                    "priority {}: {from} asks and {to} misses {:.0} % of it",
                    own.priority.number(),
                    share * 100.0
                ));
            }
        }
    }
    texts.join("; ")
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
