//! `roce_exporter pair`: whether both ends of a link agree, seen from outside.
//!
//! A client: it reads the metric pages of two exporters before, during and after a test load, and compares what one end
//! sent with what the other received. It knows pages and nothing of how they are made, reads no NIC of its own, and makes
//! no load. What is not on a page is not known, never 0.

mod client;
mod differences;
mod exposition;
mod judge;
mod many;
mod measure;
mod port;
mod report;
mod target;

pub use client::Access;
pub use exposition::{InvalidPage, Sample as PageSample, parse};
pub use many::{Plan, run};
pub use report::ReportFormat;
pub use target::{InvalidTarget, Target};

/// How a check ended, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Pause was seen, arrived, and both ends are set up alike.
    Good,
    /// Nothing was proved, or the set-ups differ.
    Warning,
    /// Pause gets lost, or an end could not be read.
    Bad,
}

impl Outcome {
    /// The program's exit code.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Warning => 1,
            Self::Bad => 2,
        }
    }
}
