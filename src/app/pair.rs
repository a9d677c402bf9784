//! `roce_exporter pair`: compares the two ends of links over a test load.

use std::process::ExitCode;

use crate::pair::{Plan, run};

/// Measures, prints the report, and ends with its exit code.
///
/// # Errors
/// When there can be no client, or standard output cannot be written to.
pub(super) fn pair(plan: &Plan) -> anyhow::Result<ExitCode> {
    let (report, outcome) = run(plan)?;
    super::once::print(&report)?;
    Ok(ExitCode::from(outcome.exit_code()))
}
