//! The simulated fabric against its own truth: what is shown, what each scenario does, what is conserved.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a test that cannot go on should stop with the line that says why"
)]

mod bench;
mod conservation;
mod courses;
mod reading;
