//! From a recording's bytes to what happened, in order.
//!
//! Any bytes give events, then an end or an error: never a panic, and no more memory than the limits of the format
//! allow. A file that was cut within a record ends before it. A damaged record ends the reading with an error that
//! says where it is and how much before it is good.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use super::Start;
use super::format::{MAX_FEEDS, MAX_NAMES_IN_ALL, Record, RecordedRead};
use super::frame::{FrameReader, Stop};
use crate::model::{DeviceFacts, Feed, LinkFacts, Monotonic, Reading, Reason};

/// What is good of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usable {
    /// Records, the first one not counted.
    pub records: u64,
    /// Good reads among them.
    pub samples: u64,
    /// From the start of the recording to the last record.
    pub span: Duration,
}

/// Why a recording cannot be read, or not further.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It does not begin as a recording does.
    #[error("is no recording")]
    NotARecording,
    /// It ends before anything was recorded.
    #[error("is a recording that ends before its first record")]
    Empty,
    /// Another version of the program wrote it.
    #[error(
        "is a recording of format {found}; this program reads formats 1 to {}",
        super::format::VERSION
    )]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// A record in the middle is damaged.
    #[error(
        "is damaged: the record at byte {offset} has {what}; good before it: {} samples in {:?}",
        usable.samples, usable.span
    )]
    Damaged {
        /// Where the record begins, in bytes from the start of the file.
        offset: u64,
        /// What is wrong with it.
        what: &'static str,
        /// What was good before it.
        usable: Usable,
    },
}

/// What happened, with the time at which it did. Feeds go by a number that is never used again.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The inventory changed.
    Devices {
        /// When.
        at: Monotonic,
        /// All devices now.
        devices: Vec<DeviceFacts>,
    },
    /// A feed begins to be read. It takes the place of an earlier one that is the same.
    FeedBegan {
        /// When.
        at: Monotonic,
        /// Its number.
        id: u32,
        /// What is read.
        feed: Feed,
        /// The catalogue's driver key.
        driver: String,
    },
    /// A feed has another set of names.
    Names {
        /// When.
        at: Monotonic,
        /// The feed's number.
        id: u32,
        /// The names.
        names: Names,
    },
    /// A good read.
    Sample(RecordedSample),
    /// A read that failed.
    Failed {
        /// When.
        at: Monotonic,
        /// The feed's number.
        id: u32,
        /// Why.
        reason: Reason,
        /// Deadlines missed since the feed began.
        missed: u64,
    },
    /// A feed is gone.
    FeedEnded {
        /// When.
        at: Monotonic,
        /// The feed's number.
        id: u32,
    },
}

impl Event {
    /// When it happened, on the recorded clock.
    #[must_use]
    pub const fn at(&self) -> Monotonic {
        match self {
            Self::Sample(sample) => sample.at,
            Self::Devices { at, .. }
            | Self::FeedBegan { at, .. }
            | Self::Names { at, .. }
            | Self::Failed { at, .. }
            | Self::FeedEnded { at, .. } => *at,
        }
    }
}

/// A set of names and which of their values were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// All names of the set, in the kernel's order.
    pub names: Vec<String>,
    /// Positions of the names whose values samples have, ascending.
    pub wanted: Vec<u32>,
    /// The period on which the kernel serves the same values again, where it says one.
    pub cache_period: Option<Duration>,
}

/// One good read.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedSample {
    /// When the read finished.
    pub at: Monotonic,
    /// The feed's number.
    pub id: u32,
    /// How long the read took.
    pub took: Duration,
    /// The link at that time.
    pub link: LinkFacts,
    /// The interval that was meant to be kept.
    pub interval: Duration,
    /// The interval meant for the next read.
    pub next_interval: Duration,
    /// Deadlines missed since the feed began.
    pub missed: u64,
    /// One reading per position of [`Names::wanted`], as the kernel gave it.
    pub readings: Vec<Reading>,
}

/// What is known of a feed from the records before.
#[derive(Debug)]
struct Past {
    feed: Feed,
    /// Names of the set; none before the first set.
    names: Option<usize>,
    /// Last value of each wanted position.
    values: Vec<u64>,
    next_interval: u64,
    link: LinkFacts,
}

impl Past {
    fn of(feed: Feed) -> Self {
        Self { feed, names: None, values: Vec::new(), next_interval: 0, link: LinkFacts::default() }
    }
}

/// Reads a recording. As an iterator it ends after the last good record, after the first error, or where the file
/// was cut; [`Reader::torn`] tells.
#[derive(Debug)]
pub struct Reader<R> {
    frames: FrameReader<R>,
    start: Start,
    feeds: BTreeMap<u32, Past>,
    usable: Usable,
    torn: Option<u64>,
    ended: bool,
}

impl Reader<BufReader<File>> {
    /// Opens a file.
    ///
    /// # Errors
    /// When it cannot be opened, or is no recording that this program reads.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        Self::new(BufReader::new(File::open(path)?))
    }
}

impl<R: Read> Reader<R> {
    /// Reads the beginning of a recording.
    ///
    /// # Errors
    /// When it cannot be read, or is no recording that this program reads.
    pub fn new(input: R) -> Result<Self, RecordingError> {
        let none = Usable::default();
        let mut frames = FrameReader::new(input).map_err(|stop| error_of(stop, none))?;
        let offset = frames.offset();
        let record = frames.next().map_err(|stop| error_of(stop, none))?;
        let Record::Start { at, unix, program } = record else {
            return Err(RecordingError::Damaged {
                offset,
                what: "another kind than the first must be",
                usable: none,
            });
        };
        let start =
            Start { at: Monotonic::from_nanos(at), unix: Duration::from_nanos(unix), program };
        let feeds = BTreeMap::new();
        Ok(Self { frames, start, feeds, usable: none, torn: None, ended: false })
    }

    /// When and by what it was begun.
    pub const fn start(&self) -> &Start {
        &self.start
    }

    /// What was read so far.
    pub const fn usable(&self) -> Usable {
        self.usable
    }

    /// How many bytes of a last, unfinished record were left out; known at the end.
    pub const fn torn(&self) -> Option<u64> {
        self.torn
    }

    fn advance(&mut self) -> Result<Option<Event>, RecordingError> {
        loop {
            let offset = self.frames.offset();
            let record = match self.frames.next() {
                Ok(record) => record,
                Err(Stop::End) => return Ok(None),
                Err(Stop::Torn(bytes)) => {
                    self.torn = Some(bytes);
                    return Ok(None);
                }
                Err(stop) => return Err(error_of(stop, self.usable)),
            };
            let event = self.interpret(record).map_err(|what| RecordingError::Damaged {
                offset,
                what,
                usable: self.usable,
            })?;
            let Some(event) = event else { continue };
            self.usable.records += 1;
            self.usable.samples += u64::from(matches!(event, Event::Sample(_)));
            self.usable.span = self.usable.span.max(event.at().since(self.start.at));
            return Ok(Some(event));
        }
    }

    /// What a record means; nothing for one of a feed that has ended, as from a read that hung meanwhile.
    fn interpret(&mut self, record: Record) -> Result<Option<Event>, &'static str> {
        let instant = |nanos| self.start.instant(nanos);
        Ok(match record {
            Record::Start { .. } => return Err("a second beginning"),
            Record::BareDevices { at, devices } => Some(devices_event(instant(at), devices)),
            Record::Devices { at, devices } => Some(devices_event(instant(at), devices)),
            Record::FeedBegan { feed: id, at, device, rdma_device, port, source, driver } => {
                let at = instant(at);
                let (device, rdma_device) = (device.into(), rdma_device.map(Into::into));
                let feed = Feed { device, rdma_device, port, source: source.into() };
                self.begin(id, &feed)?;
                Some(Event::FeedBegan { at, id, feed, driver })
            }
            Record::Names { feed: id, at, names, wanted, cache_period } => {
                let cache_period = cache_period.map(Duration::from_nanos);
                let (at, names) = (instant(at), Names { names, wanted, cache_period });
                self.take_names(id, &names)?.then_some(Event::Names { at, id, names })
            }
            Record::Sample(read) => self.take_read(&read)?.map(Event::Sample),
            Record::Failed { feed: id, at, reason, missed } => {
                let (at, reason) = (instant(at), reason.into());
                self.feeds.contains_key(&id).then_some(Event::Failed { at, id, reason, missed })
            }
            Record::FeedEnded { feed: id, at } => {
                let at = instant(at);
                self.feeds.remove(&id).map(|_| Event::FeedEnded { at, id })
            }
        })
    }

    fn begin(&mut self, id: u32, feed: &Feed) -> Result<(), &'static str> {
        if self.feeds.contains_key(&id) {
            return Err("the number of another feed");
        }
        self.feeds.retain(|_, past| past.feed != *feed);
        if self.feeds.len() >= MAX_FEEDS {
            return Err("more feeds than any host has");
        }
        self.feeds.insert(id, Past::of(feed.clone()));
        Ok(())
    }

    /// Whether the names are those of a feed that there is.
    fn take_names(&mut self, id: u32, names: &Names) -> Result<bool, &'static str> {
        let others = self.feeds.iter().filter(|(own, _)| **own != id);
        let others: usize = others.filter_map(|(_, past)| past.names).sum();
        let Some(past) = self.feeds.get_mut(&id) else { return Ok(false) };
        if others.saturating_add(names.names.len()) > MAX_NAMES_IN_ALL {
            return Err("more names than any host has");
        }
        let ascending = names.wanted.is_sorted_by(|one, next| one < next);
        let within = names.wanted.last().is_none_or(|last| (*last as usize) < names.names.len());
        if !ascending || !within {
            return Err("positions that are not in its set of names");
        }
        past.names = Some(names.names.len());
        past.values = vec![0; names.wanted.len()];
        Ok(true)
    }

    fn take_read(&mut self, read: &RecordedRead) -> Result<Option<RecordedSample>, &'static str> {
        let Some(past) = self.feeds.get_mut(&read.feed) else { return Ok(None) };
        if past.names.is_none() {
            return Err("values before their names");
        }
        let no_place = "a value without a name";
        let mut next = 0_usize;
        for (skipped, growth) in &read.changes {
            let place = next.saturating_add(*skipped as usize);
            let value = past.values.get_mut(place).ok_or(no_place)?;
            *value = value.wrapping_add_signed(*growth);
            next = place.saturating_add(1);
        }
        let mut readings: Vec<Reading> = past.values.iter().copied().map(Reading::Value).collect();
        for (place, reason) in &read.missing {
            *readings.get_mut(*place as usize).ok_or(no_place)? =
                Reading::Missing((*reason).into());
        }
        let interval = past.next_interval.wrapping_add_signed(read.interval);
        past.next_interval = interval.wrapping_add_signed(read.next_interval);
        past.link = read.link.map_or(past.link, LinkFacts::from);
        Ok(Some(RecordedSample {
            at: self.start.instant(read.at),
            id: read.feed,
            took: Duration::from_nanos(read.took),
            link: past.link,
            interval: Duration::from_nanos(interval),
            next_interval: Duration::from_nanos(past.next_interval),
            missed: read.missed,
            readings,
        }))
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Event, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.advance().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

fn devices_event<D>(at: Monotonic, devices: Vec<D>) -> Event
where
    DeviceFacts: From<D>,
{
    Event::Devices { at, devices: devices.into_iter().map(DeviceFacts::from).collect() }
}

fn error_of(stop: Stop, usable: Usable) -> RecordingError {
    match stop {
        Stop::End | Stop::Torn(_) => RecordingError::Empty,
        Stop::Damaged(offset, what) => RecordingError::Damaged { offset, what, usable },
        Stop::Io(error) => RecordingError::Io(error),
        Stop::NotARecording => RecordingError::NotARecording,
        Stop::Version(found) => RecordingError::Version { found },
    }
}
