//! Runs all checks: once over what was read once, or again and again beside the sampling.

use std::sync::Arc;

use super::changes::Changes;
use super::evidence::{Evidence, is_judged, is_roce};
use super::growth::{Growth, History, Span};
use super::policy::Policy;
use super::table::Check;
use super::{CheckFigures, Finding, SamplingWanted};
use crate::engine::{FeedFigures, Snapshot};
use crate::model::{DeviceFacts, Monotonic};

/// What is remembered between looks. Kept over a change of the policy, so that no change of a port is lost.
#[derive(Clone, Debug, Default)]
pub struct CheckWatch {
    history: History,
    changes: Changes,
}

impl CheckWatch {
    /// Looks again. Traffic is judged by what was counted since earlier looks, up to ten minutes ago.
    pub fn look(
        &mut self,
        policy: &Policy,
        sampling: SamplingWanted,
        now: Monotonic,
        devices: &[DeviceFacts],
        feeds: &[FeedFigures],
    ) -> CheckFigures {
        self.changes.look(devices);
        let growth = Growth { now: feeds, span: Span::Since(&self.history) };
        let findings = judge(policy, sampling, devices, growth);
        self.history.keep(now, feeds);
        CheckFigures { findings, changes: self.changes.figures(), dscps: policy.dscps() }
    }
}

/// Looks once. Traffic is judged by all that the counters ever counted.
#[must_use]
pub fn check_once(policy: &Policy, sampling: SamplingWanted, snapshot: &Snapshot) -> CheckFigures {
    let growth = Growth { now: &snapshot.feeds, span: Span::Whole };
    let findings = judge(policy, sampling, &snapshot.devices, growth);
    CheckFigures { findings, changes: Vec::new(), dscps: policy.dscps() }
}

fn judge(
    policy: &Policy,
    sampling: SamplingWanted,
    devices: &[DeviceFacts],
    growth: Growth<'_>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for facts in devices.iter().filter(|facts| is_judged(facts, policy)) {
        let (wanted, profile) = policy.of(&facts.device);
        let rails: Vec<&DeviceFacts> = devices
            .iter()
            .filter(|own| is_roce(own) && policy.of(&own.device).1 == profile)
            .collect();
        let port = Evidence { facts, wanted, rails: &rails, growth, sampling };
        findings.extend(Check::ALL.iter().filter_map(|check| {
            let verdict = check.judge(&port)?;
            Some(Finding {
                device: Arc::clone(&facts.device),
                check: *check,
                status: verdict.status,
                found: verdict.found,
                wanted: verdict.wanted,
                inferred: verdict.inferred,
                look: check.look(facts),
            })
        }));
    }
    findings
}
