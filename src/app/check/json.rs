//! The report for programs. Its form is documented in `docs/checks.md` and only ever added to.

use serde::Serialize;

use super::Report;
use crate::engine::checks::Status;

/// Moves when a reader of an older form would be misled.
const FORM: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    form: u32,
    status: &'static str,
    summary: Summary,
    ports: Vec<Port<'a>>,
}

#[derive(Serialize)]
struct Summary {
    ports: usize,
    ok: usize,
    warning: usize,
    critical: usize,
    unknown: usize,
}

#[derive(Serialize)]
struct Port<'a> {
    device: &'a str,
    netns: &'a str,
    driver: &'a str,
    firmware: &'a str,
    pci_address: &'a str,
    profile: Option<&'a str>,
    rdma: Vec<Rdma<'a>>,
    findings: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Rdma<'a> {
    device: &'a str,
    port: u32,
}

#[derive(Serialize)]
#[allow(clippy::struct_field_names, reason = "keys of the documented form")]
struct Found<'a> {
    check: &'static str,
    status: &'static str,
    found: Option<&'a str>,
    reason: Option<&'a str>,
    wanted: &'a str,
    inferred: bool,
    look: &'a str,
}

pub(super) fn render(report: &Report<'_>) -> anyhow::Result<String> {
    let ports = report.ports.iter().map(|port| Port {
        device: &port.facts.device,
        netns: &port.facts.netns,
        driver: &port.facts.driver,
        firmware: &port.facts.firmware,
        pci_address: &port.facts.pci_address,
        profile: port.profile,
        rdma: port
            .facts
            .rdma_ports
            .iter()
            .map(|own| Rdma { device: &own.rdma_device, port: own.port })
            .collect(),
        findings: port
            .findings
            .iter()
            .map(|own| {
                let unknown = own.status == Status::Unknown;
                Found {
                    check: own.check.as_str(),
                    status: own.status.as_str(),
                    found: (!unknown).then_some(own.found.as_str()),
                    reason: unknown.then_some(own.found.as_str()),
                    wanted: &own.wanted,
                    inferred: own.inferred,
                    look: &own.look,
                }
            })
            .collect(),
    });
    let document = Document {
        form: FORM,
        status: report.worst.as_str(),
        summary: Summary {
            ports: report.ports.len(),
            ok: report.count(Status::Ok),
            warning: report.count(Status::Warning),
            critical: report.count(Status::Critical),
            unknown: report.count(Status::Unknown),
        },
        ports: ports.collect(),
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}
