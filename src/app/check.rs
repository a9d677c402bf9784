//! `roce_exporter check`: whether this host's ports are set up as the policy wants them.
//!
//! Reads everything once, judges and reports. The report goes to standard output, the log to standard error; the exit
//! code is that of the worst finding. Changes nothing: what to do stays with the operator.

mod json;
mod table;

use std::io::{IsTerminal, stdout};
use std::process::ExitCode;
use std::sync::Arc;

use crate::catalogue::Catalogue;
use crate::config::{CheckSettings, ReportFormat, Settings};
use crate::engine::Snapshot;
use crate::engine::checks::{CheckFigures, Finding, Policy, Status, check_once};
use crate::model::DeviceFacts;
use crate::sampler::sample_once;

/// Everything that a report shows.
#[derive(Debug)]
struct Report<'a> {
    ports: Vec<ReportedPort<'a>>,
    worst: Status,
    /// Devices that are no RoCE ports.
    others: usize,
}

/// One port and what was found on it.
#[derive(Debug)]
struct ReportedPort<'a> {
    facts: &'a DeviceFacts,
    /// None where the policy's own values count.
    profile: Option<&'a str>,
    findings: Vec<&'a Finding>,
}

impl<'a> Report<'a> {
    fn new(policy: &'a Policy, snapshot: &'a Snapshot, figures: &'a CheckFigures) -> Self {
        let mut ports = Vec::new();
        for facts in &snapshot.devices {
            let own = figures.findings.iter().filter(|own| own.device == facts.device);
            let findings: Vec<&Finding> = own.collect();
            if !findings.is_empty() {
                let profile = policy.of(&facts.device).1;
                ports.push(ReportedPort { facts, profile, findings });
            }
        }
        let others = snapshot.devices.len().saturating_sub(ports.len());
        Self { ports, worst: figures.worst(), others }
    }

    fn count(&self, status: Status) -> usize {
        let all = self.ports.iter().flat_map(|port| &port.findings);
        all.filter(|finding| finding.status == status).count()
    }
}

/// Checks and reports.
///
/// # Errors
/// When standard output cannot be written to, but for a reader that went away.
pub(super) fn check(
    report: CheckSettings,
    settings: &Settings,
    catalogue: &Arc<Catalogue>,
) -> anyhow::Result<ExitCode> {
    let host = super::machine(settings, catalogue);
    let snapshot = sample_once(&*host, catalogue, &super::sampler_options(settings));
    let figures = check_once(&settings.policy, super::sampling_wanted(settings), &snapshot);
    let found = Report::new(&settings.policy, &snapshot, &figures);
    let text = match report.format {
        ReportFormat::Json => json::render(&found)?,
        ReportFormat::Table => table::render(&found, stdout().is_terminal()),
    };
    super::once::print(&text)?;
    Ok(exit_code(figures.worst()))
}

/// What cannot be known is no fault.
fn exit_code(worst: Status) -> ExitCode {
    ExitCode::from(match worst {
        Status::Unknown | Status::Ok => 0,
        Status::Warning => 1,
        Status::Critical => 2,
    })
}
