//! One read of one source of one device.

use std::sync::Arc;
use std::time::Duration;

use super::{Monotonic, Plan, Reading};

/// One read: plain values with their time. No rate, no difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When the read had finished. The values are of the end of a read rather than of its start, since a
    /// read may wait for rtnl first.
    pub taken_at: Monotonic,
    /// How long the read took.
    pub took: Duration,
    /// What the readings mean.
    pub plan: Arc<Plan>,
    /// One reading per counter of the plan, in its order.
    pub readings: Vec<Reading>,
    /// One reading per entry of the plan's `raw`, in its order.
    pub raw: Vec<Reading>,
}

impl Sample {
    /// A sample of `plan` in which nothing has been read yet.
    #[must_use]
    pub fn empty(plan: Arc<Plan>) -> Self {
        use super::Reason;
        let readings = vec![Reading::Missing(Reason::Unsupported); plan.counters.len()];
        let raw = vec![Reading::Missing(Reason::Unsupported); plan.raw.len()];
        Self { taken_at: Monotonic::ZERO, took: Duration::ZERO, plan, readings, raw }
    }
}
