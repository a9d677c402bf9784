//! Simulated hosts are judged as real ones: nothing is wrong in calm, and what a scenario breaks is found.

use std::sync::Arc;
use std::time::{Duration, Instant};

use roce_exporter::catalogue::{Catalogue, RawSelection};
use roce_exporter::engine::StormSettings;
use roce_exporter::engine::checks::{Check, Finding, Policy, SamplingWanted, Status};
use roce_exporter::sampler::{Board, Sampler, SamplerOptions};
use roce_exporter::source::monotonic_now;
use roce_exporter::source::simulated::{Simulation, SimulationOptions};

/// Scenarios begin after 2 s, and the machine may be slow.
const PATIENCE: Duration = Duration::from_secs(90);
const INTERVAL: Duration = Duration::from_millis(20);

/// Samples the first host of a scenario until `seen` holds of its findings, and returns them.
fn until(scenario: &str, seen: impl Fn(&[Finding]) -> bool) -> Vec<Finding> {
    let options = SimulationOptions { scenario: Some(scenario), seed: 1, hosts: 1 };
    let simulation = Simulation::new(options, Arc::new(monotonic_now)).unwrap();
    let host = Arc::new(simulation.hosts().into_iter().next().unwrap());
    let board = Arc::new(Board::default());
    let sampling = SamplingWanted { interval: INTERVAL, rtnl_budget: 0.5 };
    board.set_policy(Arc::new(Policy::default()), sampling);
    let options = SamplerOptions {
        interval: INTERVAL,
        rtnl_budget: 0.5,
        storm: StormSettings::default(),
        raw: RawSelection { pattern: None, cap: 0 },
        discovery_period: Duration::from_millis(500),
        recorder: None,
    };
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let sampler = Sampler::start(host, catalogue, options, Arc::clone(&board)).unwrap();
    let started = Instant::now();
    let findings = loop {
        let findings = board.snapshot(monotonic_now()).checks.findings.clone();
        let done = seen(&findings);
        if done || started.elapsed() > PATIENCE {
            assert!(done, "{scenario}: {:#?}", faults(&findings));
            break findings;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    sampler.stop();
    findings
}

/// What is wrong, but for how often a loaded machine samples.
fn faults(findings: &[Finding]) -> Vec<&Finding> {
    let bad = |own: &&Finding| matches!(own.status, Status::Warning | Status::Critical);
    findings.iter().filter(bad).filter(|own| own.check != Check::Sampler).collect()
}

fn status(findings: &[Finding], device: &str, check: Check) -> Option<Status> {
    let found = findings.iter().find(|own| &*own.device == device && own.check == check);
    found.map(|own| own.status)
}

#[test]
fn nothing_is_wrong_in_calm() {
    let findings = until("calm", |findings| {
        let moves = |device| status(findings, device, Check::RdmaOnLossless) == Some(Status::Ok);
        moves("eth0") && moves("eth1")
    });
    let faults = faults(&findings);
    assert!(faults.is_empty(), "{faults:#?}");
    for check in [Check::PfcMask, Check::DscpMap, Check::TrafficClass, Check::PauseOutsideMask] {
        assert_eq!(status(&findings, "eth0", check), Some(Status::Ok), "{check:?}");
    }
}

#[test]
fn link_pause_beside_pfc_is_critical_where_it_is() {
    let findings = until("link-pause", |findings| {
        status(findings, "eth0", Check::LinkPause) == Some(Status::Critical)
    });
    assert_eq!(status(&findings, "eth1", Check::LinkPause), Some(Status::Ok));
}

#[test]
fn a_second_lossless_priority_is_found() {
    let findings = until("wrong-priority", |findings| {
        status(findings, "eth0", Check::LosslessPriorities) == Some(Status::Warning)
    });
    assert_eq!(status(&findings, "eth0", Check::PfcMask), Some(Status::Ok));
    assert_eq!(status(&findings, "eth2", Check::LosslessPriorities), Some(Status::Ok));
}
