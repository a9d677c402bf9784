//! Pure judgement: state and a sample in, figures out. No I/O and no clock of its own.

mod snapshot;

pub use snapshot::{CounterFigures, FeedFigures, READ_SECONDS_BOUNDS, SamplingFigures, Snapshot};
