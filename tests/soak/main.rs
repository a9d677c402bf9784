//! The built program under everything at once, for as long as `SOAK_SECONDS` says.
//!
//! Simulated NICs whose course is known, read every millisecond while the wall clock jumps; a NIC that stands still and fails; reads that take
//! 20 ms, behind TLS whose certificates are renewed, with SIGHUP; veth devices that come, go and change their names in
//! a namespace; and four clients on each program. At any time: no storm too many or too few, paused time as it truly
//! was, no series of a device that is gone, no counter that goes back. Over all: no growth of memory, descriptors or
//! threads. Without `SOAK_SECONDS` it does nothing, so that it runs once, as a tier of its own. `SOAK_ONLY` names the one
//! scene to run.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tests: the shared modules serve several test crates, and a panic is a failed test"
)]

#[path = "../web_access/certificates.rs"]
mod certificates;
#[path = "../web/client.rs"]
mod client;
mod clients;
mod clock;
#[path = "../truth/course.rs"]
mod course;
#[path = "../kernel/exporter.rs"]
mod exporter;
mod growth;
#[path = "../network_namespace/mod.rs"]
mod network_namespace;
mod pace;
mod program;
mod simulated;
#[path = "../exposition/strict_parser.rs"]
mod strict_parser;
mod truth;
mod veth;

use std::time::{Duration, Instant};

use simulated::Scene;

/// From here on there is time for scenarios that take minutes, and for growth that is small.
const LONG: Duration = Duration::from_mins(5);

fn main() {
    let Some(seconds) = std::env::var_os("SOAK_SECONDS") else { return };
    let seconds: u64 = seconds.to_str().unwrap().parse().expect("SOAK_SECONDS is a number");
    let whole = Duration::from_secs(seconds.max(30));
    let until = Instant::now() + whole;
    let mut scenes = vec![
        Scene { clock_steps: true, ..Scene::of("nic-storm", 2) },
        Scene { blind: Duration::from_secs(20), ..Scene::of("stale", 1) },
        Scene { behind_tls: true, ..Scene::of("slow-read", 1) },
    ];
    if whole >= LONG {
        scenes.extend([Scene::of("rename", 1), Scene::of("unplug", 1), Scene::walk(4)]);
    }
    let only = std::env::var("SOAK_ONLY").ok();
    let wanted = |name: &str| only.as_ref().is_none_or(|only| only == name);
    scenes.retain(|scene| wanted(scene.name()));
    std::thread::scope(|scope| {
        let simulated = scenes.iter().map(|scene| scope.spawn(move || scene.run(until)));
        let mut running: Vec<_> = simulated.collect();
        if wanted("veth") {
            running.push(scope.spawn(move || veth::run(until)));
        }
        assert!(!running.is_empty(), "no such scene");
        let failed = running
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .filter(Result::is_err)
            .count();
        assert_eq!(failed, 0, "scenes failed");
    });
}
