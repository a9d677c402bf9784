//! The checks that run inside the test VM, against a kernel module that is a RoCE NIC to everyone who asks.
//!
//! The runner in `host/run.py` boots this as the guest's one program; anywhere else it does nothing, since it takes a
//! machine over. Each check is a function; they run one after the other, and each leaves no NIC behind. Its result
//! is a line on the console, with the reason when it failed.

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
    clippy::float_cmp,
    reason = "tests: the shared modules serve several test crates, and a panic is a failed check"
)]

#[path = "../web/client.rs"]
mod client;
mod exporter;
mod modules;
mod nic;
#[path = "../exposition/strict_parser.rs"]
mod strict_parser;

use std::panic::catch_unwind;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// In the order in which they run: the first ones want a kernel into which nothing was loaded yet.
const CHECKS: &[(&str, fn())] = &[
    ("rdma_modules_stay_unloaded", modules::rdma_modules_stay_unloaded),
    ("a_nic_appears_with_its_families", nic::a_nic_appears_with_its_families),
];

/// What the last panic said.
static REASON: Mutex<String> = Mutex::new(String::new());

fn main() {
    if std::env::var_os("ROCE_TEST_VM").is_none() {
        println!("these checks run inside the test VM: make vm");
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        *REASON.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
    for (name, check) in CHECKS {
        println!("check {name} ...");
        let since = Instant::now();
        let outcome = catch_unwind(check);
        let took = since.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => println!("check {name}: ok ({took:.1} s)"),
            Err(_) => {
                let reason = REASON.lock().unwrap_or_else(PoisonError::into_inner);
                println!("check {name}: FAILED ({took:.1} s): {reason}");
            }
        }
    }
    println!("checks: {} ran", CHECKS.len());
}
