//! Findings as text for people and as JSON for programs.

use std::fmt::{self, Write as _};

use serde_json::{Value, json};

use super::Outcome;
use super::differences::Difference;
use super::judge::{Flow, FlowVerdict, PriorityFinding};
use super::many::Checked;

/// Form of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// Text.
    Table,
    /// One JSON document.
    Json,
}

impl ReportFormat {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Table, Self::Json];
}

impl fmt::Display for ReportFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Table => "table",
            Self::Json => "json",
        })
    }
}

/// The report on all links.
pub(super) fn report(all: &[Checked], format: ReportFormat) -> String {
    match format {
        ReportFormat::Json => format!("{:#}\n", json_of(all)),
        ReportFormat::Table => {
            let mut text = String::new();
            // Writing to a String never fails.
            let _ = match all {
                [one] => details(&mut text, one),
                all => summary(&mut text, all),
            };
            text
        }
    }
}

fn details(text: &mut String, checked: &Checked) -> fmt::Result {
    let [one, other] = &checked.names;
    writeln!(text, "A: {one}\nB: {other}\n")?;
    let finding = match &checked.finding {
        Ok(finding) => finding,
        Err(error) => return writeln!(text, "FAILED: {error}"),
    };
    if !finding.priorities.is_empty() {
        writeln!(
            text,
            "{:>8}  {:>12} {:>12} {:>8}  {:>12} {:>12} {:>8}  verdict",
            "priority", "A sent", "B received", "lost", "B sent", "A received", "lost"
        )?;
    }
    for own in &finding.priorities {
        let [there, back] = &own.flows;
        let cells = [amount(there, there.sent), amount(there, there.received), lost(there)];
        let back = [amount(back, back.sent), amount(back, back.received), lost(back)];
        let ([sent, received, share], [sent_back, received_back, share_back]) = (cells, back);
        writeln!(
            text,
            "{:>8}  {sent:>12} {received:>12} {share:>8}  {sent_back:>12} {received_back:>12} {share_back:>8}  {}",
            own.priority.number(),
            own.verdict.as_str()
        )?;
    }
    if !finding.differences.is_empty() {
        writeln!(text, "\nset up differently:")?;
        for Difference { setting, part, values: [one, other] } in &finding.differences {
            let name =
                if part.is_empty() { (*setting).to_owned() } else { format!("{setting} {part}") };
            writeln!(text, "  {name:<20} A {one:<16} B {other}")?;
        }
    }
    writeln!(text, "\n{}: {}: {}", word(finding.outcome), finding.verdict.as_str(), finding.reason)
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Good => "OK",
        Outcome::Warning => "WARNING",
        Outcome::Bad => "CRITICAL",
    }
}

fn amount(flow: &Flow, value: Option<f64>) -> String {
    match (value, flow.basis) {
        (None, _) => "-".to_owned(),
        (Some(value), super::judge::Basis::Frames) => format!("{value:.0}"),
        (Some(value), super::judge::Basis::Seconds) => format!("{value:.3} s"),
    }
}

fn lost(flow: &Flow) -> String {
    match (&flow.verdict, flow.sent, flow.received) {
        (FlowVerdict::Lost(share), _, _) => format!("{:.1} %", share * 100.0),
        (FlowVerdict::Symmetric, _, _) => "none".to_owned(),
        _ => "-".to_owned(),
    }
}

fn summary(text: &mut String, all: &[Checked]) -> fmt::Result {
    let width = |place: usize| {
        let names = all.iter().filter_map(|one| one.names.get(place));
        names.map(|name| name.chars().count()).max().unwrap_or(0)
    };
    let (first, second) = (width(0), width(1));
    for checked in all {
        let [one, other] = &checked.names;
        let (state, words) = match &checked.finding {
            Err(error) => ("FAILED", error.clone()),
            Ok(finding) => {
                let differ: Vec<&str> = finding.differences.iter().map(|own| own.setting).collect();
                let mut words = format!("{}: {}", finding.verdict.as_str(), finding.reason);
                if !differ.is_empty() {
                    let _ = write!(words, "; differ in {}", unique(&differ).join(", "));
                }
                (word(finding.outcome), words)
            }
        };
        writeln!(text, "{one:<first$}  {other:<second$}  {state:<8}  {words}")?;
    }
    let count = |outcome| all.iter().filter(|one| one.outcome() == outcome).count();
    writeln!(
        text,
        "\n{} links: {} good, {} with warnings, {} bad",
        all.len(),
        count(Outcome::Good),
        count(Outcome::Warning),
        count(Outcome::Bad)
    )
}

fn unique<'words>(words: &[&'words str]) -> Vec<&'words str> {
    let mut found: Vec<&str> = Vec::new();
    for word in words {
        if !found.contains(word) {
            found.push(word);
        }
    }
    found
}

fn json_of(all: &[Checked]) -> Value {
    let worst = all.iter().map(Checked::outcome).max().unwrap_or(Outcome::Good);
    let links: Vec<Value> = all.iter().map(json_of_link).collect();
    json!({ "outcome": word(worst).to_lowercase(), "links": links })
}

fn json_of_link(checked: &Checked) -> Value {
    let [a, b] = &checked.names;
    match &checked.finding {
        Err(error) => json!({ "a": a, "b": b, "outcome": "critical", "error": error }),
        Ok(finding) => json!({
            "a": a,
            "b": b,
            "outcome": word(finding.outcome).to_lowercase(),
            "verdict": finding.verdict.as_str(),
            "reason": finding.reason,
            "seconds": checked.seconds,
            "priorities": finding.priorities.iter().map(json_of_priority).collect::<Vec<_>>(),
            "differences": finding.differences.iter().map(|own| {
                let [a, b] = &own.values;
                json!({ "setting": own.setting, "part": own.part, "a": a, "b": b })
            }).collect::<Vec<_>>(),
        }),
    }
}

fn json_of_priority(own: &PriorityFinding) -> Value {
    let [there, back] = &own.flows;
    json!({
        "priority": own.priority.number(),
        "verdict": own.verdict.as_str(),
        "a_to_b": json_of_flow(there),
        "b_to_a": json_of_flow(back),
    })
}

fn json_of_flow(flow: &Flow) -> Value {
    let lost = match flow.verdict {
        FlowVerdict::Lost(share) => Some(share),
        FlowVerdict::Symmetric => Some(0.0),
        FlowVerdict::Quiet | FlowVerdict::Incomparable(_) => None,
    };
    let reason = match &flow.verdict {
        FlowVerdict::Incomparable(reason) => Some(reason),
        _ => None,
    };
    json!({
        "unit": flow.basis.as_str(),
        "sent": flow.sent,
        "received": flow.received,
        "lost": lost,
        "incomparable": reason,
    })
}
