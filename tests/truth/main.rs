//! The engine against the fabric's truth: what is judged from samples, compared with what really happened.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test that cannot go on should stop with the line that says why; times made here are small"
)]

mod bench;
mod course;
mod findings;
mod grid;
mod holds;
mod judge;
mod long;
mod scenarios;
mod scripted;
mod shown;
mod spans;
mod storms;
mod text;
mod ticks;
mod windows;
