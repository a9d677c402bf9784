//! Whether ports are set up as a policy wants them: facts and counters in, findings out.
//!
//! Each check is a pure function of one port's evidence, one file per theme. It answers ok, warning or critical only
//! from what was read; where it cannot look it answers unknown and why. A check that does not apply to a port, such
//! as the MTU of VLANs where there are none, answers nothing. `docs/checks.md` explains each.

#![allow(
    clippy::unnecessary_wraps,
    reason = "all checks have one form; some of them apply to every port"
)]

mod buffers;
mod changes;
mod ecn;
mod evidence;
mod flow_control;
mod growth;
mod link;
mod mapping;
mod mtu;
mod policy;
mod rdma;
mod sampling;
mod table;
mod traffic;
mod verdict;
mod watch;

#[cfg(test)]
mod checks_bench;
#[cfg(test)]
mod checks_tests;

pub use policy::{Allowed, DcbxOwner, Expected, Policy, Profile, Wanted};
pub use table::Check;
pub use verdict::Status;
pub use watch::{CheckWatch, check_once};

use std::sync::Arc;
use std::time::Duration;

/// What checks of the sampling compare with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingWanted {
    /// The interval to keep.
    pub interval: Duration,
    /// The share of time that reads may hold rtnl.
    pub rtnl_budget: f64,
}

/// What one check found on one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The netdev.
    pub device: Arc<str>,
    /// Which check.
    pub check: Check,
    /// How it ended.
    pub status: Status,
    /// What was found; where the status is unknown, why nothing was.
    pub found: String,
    /// What the policy wants.
    pub wanted: String,
    /// Whether it follows from counters and not from a setting.
    pub inferred: bool,
    /// The command that shows the same to an operator.
    pub look: String,
}

/// How often a setting of a device has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeFigure {
    /// The netdev.
    pub device: Arc<str>,
    /// Which setting.
    pub setting: &'static str,
    /// Changes seen since the program began.
    pub count: u64,
}

/// Everything that the checks give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckFigures {
    /// Findings, by device and in the order of the checks.
    pub findings: Vec<Finding>,
    /// Changes of settings, by device.
    pub changes: Vec<ChangeFigure>,
    /// DSCPs whose priority matters to the policy; none without a policy.
    pub dscps: Vec<u8>,
}

impl CheckFigures {
    /// The worst status of all findings. Unknown is no fault: it counts as ok.
    #[must_use]
    pub fn worst(&self) -> Status {
        let all = self.findings.iter().map(|finding| finding.status);
        all.filter(|status| *status != Status::Unknown).max().unwrap_or(Status::Ok)
    }
}
