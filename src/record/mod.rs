//! Raw readings of a run as a file, for a bug report or a test.
//!
//! What is recorded is what the kernel gave, before factors and sums, so that a replay takes the very way of a
//! live read: catalogue, plan, engine. A corrected catalogue then changes what comes of an old recording. The file
//! only grows and is good up to any byte at which it was cut. This room knows the words of the model alone; it
//! refuses to judge a value, and to hold up a sampling thread: what cannot be written in time is dropped and counted.

mod details;
mod feed;
mod format;
mod frame;
mod reader;
mod recorder;
mod settings;

pub use feed::{FeedRecorder, Taken};
pub use format::Start;
pub use reader::{Event, Names, Reader, RecordedSample, RecordingError, Usable};
pub use recorder::{Recorder, Recording};
