//! The dashboards: their form, their queries against the metric table, and what a real Prometheus answers to them.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests: the shared modules serve several test crates, and a panic is a failed test"
)]

#[path = "web/client.rs"]
mod client;
#[path = "dashboards/files.rs"]
mod files;
#[path = "dashboards/form.rs"]
mod form;
#[path = "dashboards/live.rs"]
mod live;
#[path = "dashboards/queries.rs"]
mod queries;
#[path = "dashboards/rendered.rs"]
mod rendered;
#[path = "dashboards/scale.rs"]
mod scale;
#[path = "dashboards/schema.rs"]
mod schema;
#[path = "prometheus/servers.rs"]
mod servers;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

/// Says that `test` cannot run here, which is a failure where all must run.
fn skip(test: &str, reason: &str) {
    use std::io::Write;
    let all = std::env::var_os("ROCE_REQUIRE_ALL_TIERS").is_some_and(|value| value == "1");
    assert!(!all, "{test}: {reason}");
    // Not by a macro: what those print is kept from the terminal when a test passes.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {reason}");
}
