//! What the checks of the configuration found. Each finding has the form of `check --format=json`.

use serde::Serialize;

use crate::engine::Snapshot;
use crate::engine::checks::{Finding, Status};

/// All findings.
#[derive(Serialize)]
pub(crate) struct Findings<'a> {
    status: &'static str,
    findings: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Found<'a> {
    device: &'a str,
    check: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    wanted: &'a str,
    inferred: bool,
    look: &'a str,
}

/// What the checks found, by device.
pub(crate) fn findings(snapshot: &Snapshot) -> Findings<'_> {
    Findings {
        status: snapshot.checks.worst().as_str(),
        findings: snapshot.checks.findings.iter().map(found).collect(),
    }
}

fn found(own: &Finding) -> Found<'_> {
    let unknown = own.status == Status::Unknown;
    Found {
        device: &own.device,
        check: own.check.as_str(),
        status: own.status.as_str(),
        found: (!unknown).then_some(own.found.as_str()),
        reason: unknown.then_some(own.found.as_str()),
        wanted: &own.wanted,
        inferred: own.inferred,
        look: &own.look,
    }
}
