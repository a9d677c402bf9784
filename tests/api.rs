//! The API over real sockets: every answer against `openapi.yaml`, its figures against the metrics, its refusals.

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

#[path = "api/contract.rs"]
mod contract;
#[path = "api/events.rs"]
mod events;
mod exposition;
#[path = "api/figures.rs"]
mod figures;
mod paused_nic;
#[path = "api/refusals.rs"]
mod refusals;
#[path = "api/schemathesis.rs"]
mod schemathesis;
#[path = "api/still.rs"]
mod still;
#[path = "api/storms.rs"]
mod storms;
mod web;

use std::net::SocketAddr;

use serde_json::Value;

/// A good answer as JSON.
fn json(address: SocketAddr, path: &str) -> Value {
    let reply = web::client::get(address, path);
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    assert_eq!(reply.header("content-type"), Some("application/json"), "{path}");
    serde_json::from_slice(&reply.body).unwrap()
}
