//! The file's writer: a thread of its own behind a bounded channel.
//!
//! Sampling threads hand over finished records and never wait. A full channel drops the record and counts it; a
//! disk that fails ends the recording and nothing else. What was handed over is in the file within a second.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::FeedRecorder;
use super::details::DescribedDevice;
use super::format::{MAX_DEVICES, Record, Start};
use super::frame::{file_head, frame};
use crate::model::{DeviceFacts, Feed, Monotonic, saturating_nanos};

/// Records that may wait for the disk: some seconds of a host with eight NICs.
const WAITING: usize = 4096;
/// How long a record may stay in memory once the writer has it.
const FLUSH_PERIOD: Duration = Duration::from_millis(900);
/// How often the writer looks whether the recording is over.
const LOOK_PERIOD: Duration = Duration::from_millis(100);
/// How long the end of a recording waits for the disk.
const FINISH_PATIENCE: Duration = Duration::from_secs(2);

/// A recording that is being written.
#[derive(Debug)]
pub struct Recording {
    recorder: Recorder,
    thread: JoinHandle<()>,
}

impl Recording {
    /// Begins a recording in a new file.
    ///
    /// # Errors
    /// When the file exists, since a recording is never overwritten, or cannot be made.
    pub fn create(path: &Path, start: Start) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                io::Error::new(error.kind(), "the file exists, and no recording is overwritten")
            }
            _ => error,
        })?;
        Self::write_to(file, start)
    }

    /// Begins a recording that goes to `out`.
    ///
    /// # Errors
    /// When the first bytes cannot be written or no thread can be started.
    pub fn write_to(out: impl Write + Send + 'static, start: Start) -> io::Result<Self> {
        let Start { at, unix, program } = start.clone();
        let first = Record::Start { at: at.as_nanos(), unix: saturating_nanos(unix), program };
        let mut out = BufWriter::new(out);
        out.write_all(&file_head())?;
        out.write_all(&frame(&first).map_err(io::Error::other)?)?;
        out.flush()?;
        let (frames, waiting) = sync_channel(WAITING);
        let shared = Arc::new(Shared {
            frames,
            start,
            open: AtomicBool::new(true),
            dropped: AtomicU64::new(0),
            feeds: AtomicU32::new(0),
            devices: Mutex::default(),
        });
        let mut writer = Writer { out, waiting, shared: Arc::clone(&shared), records: 0, bytes: 0 };
        let thread = Builder::new().name("recorder".to_owned()).spawn(move || writer.run())?;
        Ok(Self { recorder: Recorder(shared), thread })
    }

    /// What hands records over.
    #[must_use]
    pub fn recorder(&self) -> Recorder {
        self.recorder.clone()
    }

    /// Ends the recording: what was handed over is written. A disk that hangs is left behind.
    pub fn finish(self) {
        let shared = &self.recorder.0;
        shared.open.store(false, Ordering::Release);
        // Wakes the writer; where the channel is full, it looks by itself when it has written all.
        let _ = shared.frames.try_send(Vec::new());
        let started = Instant::now();
        while !self.thread.is_finished() && started.elapsed() < FINISH_PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        if !self.thread.is_finished() {
            tracing::warn!("the recording's end is left behind in a write that does not return");
        } else if self.thread.join().is_err() {
            tracing::error!("the recording's writer had failed");
        }
    }
}

#[derive(Debug)]
struct Shared {
    /// Finished records; an empty one ends the recording.
    frames: SyncSender<Vec<u8>>,
    start: Start,
    open: AtomicBool,
    dropped: AtomicU64,
    /// How many feeds were given a number.
    feeds: AtomicU32,
    /// The inventory as it was last recorded.
    devices: Mutex<Option<Vec<DeviceFacts>>>,
}

/// Hands records to a recording's writer without waiting for it.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Shared>);

impl Recorder {
    /// What records a feed that begins to be read.
    #[must_use]
    pub fn feed(&self, feed: &Feed, driver: &str) -> FeedRecorder {
        let id = self.0.feeds.fetch_add(1, Ordering::Relaxed);
        FeedRecorder::new(self.clone(), id, feed.clone(), driver.to_owned())
    }

    /// Records the inventory, unless it is as it was.
    pub fn devices(&self, at: Monotonic, devices: &[DeviceFacts]) {
        let mut last = self.0.devices.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_deref() == Some(devices) {
            return;
        }
        let recorded = devices.iter().take(MAX_DEVICES).map(DescribedDevice::from).collect();
        let record = Record::Devices { at: self.nanos(at), devices: recorded };
        if self.is_open() && self.send(&record) {
            *last = Some(devices.to_vec());
        }
    }

    /// Records that the feed of this number is gone.
    pub fn feed_ended(&self, at: Monotonic, id: u32) {
        if self.is_open() {
            self.send(&Record::FeedEnded { feed: id, at: self.nanos(at) });
        }
    }

    /// Records that were lost, since the disk was too slow or they were too large.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// `at` as the recording counts it.
    pub(super) fn nanos(&self, at: Monotonic) -> u64 {
        self.0.start.nanos(at)
    }

    /// Whether anything is still written.
    pub(super) fn is_open(&self) -> bool {
        self.0.open.load(Ordering::Acquire)
    }

    /// Hands a record over. Returns whether it will be written, should the disk allow it.
    pub(super) fn send(&self, record: &Record) -> bool {
        let lost = match frame(record) {
            Ok(bytes) => match self.0.frames.try_send(bytes) {
                Ok(()) => return true,
                Err(TrySendError::Disconnected(_)) => return false,
                Err(TrySendError::Full(_)) => "the disk is too slow",
            },
            Err(_) => "it is too large",
        };
        if self.0.dropped.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!(reason = lost, "a record was dropped; further ones are only counted");
        }
        false
    }
}

struct Writer<W: Write> {
    out: BufWriter<W>,
    waiting: Receiver<Vec<u8>>,
    shared: Arc<Shared>,
    records: u64,
    bytes: u64,
}

impl<W: Write> Writer<W> {
    fn run(&mut self) {
        if let Err(error) = self.write() {
            tracing::error!(%error, "the recording ends here; sampling goes on");
        }
        self.shared.open.store(false, Ordering::Release);
        let dropped = self.shared.dropped.load(Ordering::Relaxed);
        let (records, bytes) = (self.records, self.bytes);
        if dropped > 0 {
            tracing::warn!(records, bytes, dropped, "recording ended with gaps");
        } else {
            tracing::info!(records, bytes, "recording ended");
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let mut flushed = Instant::now();
        loop {
            match self.waiting.recv_timeout(LOOK_PERIOD) {
                Ok(frame) if frame.is_empty() => break,
                Ok(frame) => {
                    self.out.write_all(&frame)?;
                    self.records += 1;
                    self.bytes += frame.len() as u64;
                }
                Err(RecvTimeoutError::Timeout) if self.shared.open.load(Ordering::Acquire) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
            if flushed.elapsed() >= FLUSH_PERIOD {
                self.out.flush()?;
                flushed = Instant::now();
            }
        }
        self.out.flush()
    }
}
