//! The report for people: a table per port, the worst of it first to the eye.
//!
//! Names come from drivers and the kernel, so control characters are escaped: none can move the cursor.

use super::{Report, ReportedPort};
use crate::engine::checks::{Finding, Status};

/// Wider cells are not padded for; they push the next column to the right.
const WIDEST_CELL: usize = 44;

const RESET: &str = "\x1b[0m";

const fn colour(status: Status) -> &'static str {
    match status {
        Status::Ok => "\x1b[32m",
        Status::Warning => "\x1b[33m",
        Status::Critical => "\x1b[31m",
        Status::Unknown => "\x1b[2m",
    }
}

/// `colours`: for a terminal.
pub(super) fn render(report: &Report<'_>, colours: bool) -> String {
    let mut lines = Vec::new();
    if report.ports.is_empty() {
        lines.push("Nothing to check: this host has no RoCE port and none with PFC on.".to_owned());
        if report.others > 0 {
            lines.push(format!(
                "{} looked at. To check one all the same, name it in a profile of a policy.",
                counted(report.others, "netdev was", "netdevs were")
            ));
        }
    }
    for port in &report.ports {
        lines.push(heading(port));
        lines.extend(rows(&port.findings, colours));
        lines.push(String::new());
    }
    if !report.ports.is_empty() {
        lines.push(summary(report));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

fn heading(port: &ReportedPort<'_>) -> String {
    let facts = port.facts;
    let rdma = facts.rdma_ports.iter().map(|own| format!("{} port {}", own.rdma_device, own.port));
    let mut parts = vec![facts.device.to_string(), facts.driver.clone()];
    parts.extend(rdma);
    parts.push(facts.firmware.clone());
    parts.extend(port.profile.map(|name| format!("profile {name}")));
    parts.retain(|part| !part.is_empty());
    shown(&parts.join(", "))
}

fn rows(findings: &[&Finding], colours: bool) -> Vec<String> {
    let cells: Vec<[String; 4]> = findings
        .iter()
        .map(|own| {
            let found = if own.inferred { format!("{} *", own.found) } else { own.found.clone() };
            [
                own.status.as_str().to_owned(),
                own.check.as_str().to_owned(),
                shown(&found),
                shown(&own.wanted),
            ]
        })
        .collect();
    let titles = ["STATUS", "CHECK", "FOUND", "WANTED"];
    let widths = [0, 1, 2].map(|column: usize| {
        let all = cells.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        let all = all.filter(|width| *width <= WIDEST_CELL);
        let title = titles.get(column).map_or(0, |title| title.len());
        all.max().unwrap_or(0).max(title)
    });
    let [status_width, check_width, found_width] = widths;
    let line = |[status, check, found, wanted]: [&str; 4]| {
        let line = format!(
            "  {status:status_width$}  {check:check_width$}  {found:found_width$}  {wanted}"
        );
        line.trim_end().to_owned()
    };
    let mut lines = vec![line(titles)];
    for (row, finding) in cells.iter().zip(findings) {
        let plain = line(row.each_ref().map(String::as_str));
        lines.push(if colours {
            format!("{}{plain}{RESET}", colour(finding.status))
        } else {
            plain
        });
        if matches!(finding.status, Status::Warning | Status::Critical) {
            let indent = " ".repeat(status_width + 4);
            lines.push(format!("{indent}look closer: {}", shown(&finding.look)));
        }
    }
    lines
}

fn summary(report: &Report<'_>) -> String {
    let of = |status| report.count(status);
    let mut text = format!(
        "{}: {} ok, {}, {} critical, {} unknown. docs/checks.md explains each check.",
        counted(report.ports.len(), "port", "ports"),
        of(Status::Ok),
        counted(of(Status::Warning), "warning", "warnings"),
        of(Status::Critical),
        of(Status::Unknown),
    );
    let inferred = report.ports.iter().flat_map(|port| &port.findings).any(|own| own.inferred);
    if inferred {
        text.push_str("\n* inferred from counters, not read from a setting");
    }
    text
}

fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn shown(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    text.chars()
        .flat_map(|letter| {
            let escaped = letter.is_control().then(|| letter.escape_default());
            let plain = escaped.is_none().then_some(letter);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect()
}
