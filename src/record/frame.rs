//! Records in a file: a length, checksums, a payload, and what a cut or damaged file looks like.
//!
//! A record is its payload's length, the payload's CRC32, a CRC32 of these two, all little-endian in 4 bytes, and the
//! payload. The second checksum tells a length that is damaged from one that points past the end of a file that
//! was cut while it was written. Refuses to look for the next good record behind a damaged one.

use std::io::{self, Read};

use super::format::{MAGIC, Record, VERSION};

/// The largest payload, in bytes.
pub(super) const MAX_PAYLOAD: u32 = 64 << 20;
/// Length and checksums, in bytes.
const HEAD: usize = 12;

/// The bytes with which a recording begins.
pub(super) fn file_head() -> Vec<u8> {
    [MAGIC.as_slice(), &VERSION.to_le_bytes()].concat()
}

/// A record as it stands in the file.
///
/// # Errors
/// When it is larger than a reader would take.
pub(super) fn frame(record: &Record) -> Result<Vec<u8>, postcard::Error> {
    let payload = postcard::to_allocvec(record)?;
    let length = u32::try_from(payload.len()).ok().filter(|length| *length <= MAX_PAYLOAD);
    let length = length.ok_or(postcard::Error::SerializeBufferFull)?;
    let mut bytes = Vec::with_capacity(HEAD + payload.len());
    bytes.extend(length.to_le_bytes());
    bytes.extend(crc32fast::hash(&payload).to_le_bytes());
    let of_head = crc32fast::hash(&bytes);
    bytes.extend(of_head.to_le_bytes());
    bytes.extend(payload);
    Ok(bytes)
}

/// Why there is no further record.
#[derive(Debug)]
pub(super) enum Stop {
    /// The file ends after the last record.
    End,
    /// The file ends within a record, of which so many bytes are there.
    Torn(u64),
    /// The record that begins at the offset is damaged: it has this.
    Damaged(u64, &'static str),
    /// The file cannot be read.
    Io(io::Error),
    /// The file is no recording.
    NotARecording,
    /// The file is a recording of a version that is not known.
    Version(u32),
}

/// Reads records one after the other.
#[derive(Debug)]
pub(super) struct FrameReader<R> {
    input: R,
    offset: u64,
    buffer: Vec<u8>,
}

impl<R: Read> FrameReader<R> {
    /// Reads the file's head.
    ///
    /// # Errors
    /// When it is not that of a recording, or of a version that is not known.
    pub(super) fn new(input: R) -> Result<Self, Stop> {
        let mut reader = Self { input, offset: 0, buffer: Vec::new() };
        let expected = file_head();
        reader.fill(expected.len() as u64)?;
        let (magic, version) =
            reader.buffer.split_at_checked(MAGIC.len()).ok_or(Stop::NotARecording)?;
        if magic != MAGIC {
            return Err(Stop::NotARecording);
        }
        match version.try_into().map(u32::from_le_bytes) {
            Ok(1..=VERSION) => {}
            Ok(other) => return Err(Stop::Version(other)),
            Err(_) => return Err(Stop::NotARecording),
        }
        reader.offset = expected.len() as u64;
        Ok(reader)
    }

    /// Where the next record begins, in bytes from the start of the file.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// The next record.
    ///
    /// # Errors
    /// Why there is none, also at the end of the file.
    pub(super) fn next(&mut self) -> Result<Record, Stop> {
        let offset = self.offset;
        let damaged = |what| Stop::Damaged(offset, what);
        self.fill(HEAD as u64)?;
        let (length, checksum) = match parse_head(&self.buffer) {
            Head::Good { length, checksum } => (length, checksum),
            Head::Bad => return Err(damaged("a checksum of its head that is wrong")),
            Head::Short if self.buffer.is_empty() => return Err(Stop::End),
            Head::Short => return Err(Stop::Torn(self.buffer.len() as u64)),
        };
        if length == 0 || length > MAX_PAYLOAD {
            return Err(damaged("a length that no record has"));
        }
        self.fill(length.into())?;
        if self.buffer.len() as u64 != u64::from(length) {
            return Err(Stop::Torn((HEAD + self.buffer.len()) as u64));
        }
        if crc32fast::hash(&self.buffer) != checksum {
            return Err(damaged("a checksum of its payload that is wrong"));
        }
        match postcard::take_from_bytes(&self.buffer) {
            Ok((record, [])) => {
                self.offset += HEAD as u64 + u64::from(length);
                Ok(record)
            }
            Ok(_) | Err(_) => Err(damaged("a payload that is no record")),
        }
    }

    /// Reads `length` bytes, or as many as are left. Memory is taken as bytes arrive, not as they are declared.
    fn fill(&mut self, length: u64) -> Result<(), Stop> {
        self.buffer.clear();
        self.input.by_ref().take(length).read_to_end(&mut self.buffer).map_err(Stop::Io)?;
        Ok(())
    }
}

enum Head {
    Good { length: u32, checksum: u32 },
    Bad,
    Short,
}

fn parse_head(bytes: &[u8]) -> Head {
    let Some((body, of_head)) = bytes.split_last_chunk::<4>().filter(|_| bytes.len() == HEAD)
    else {
        return Head::Short;
    };
    if crc32fast::hash(body) != u32::from_le_bytes(*of_head) {
        return Head::Bad;
    }
    match (body.first_chunk::<4>(), body.last_chunk::<4>()) {
        (Some(length), Some(checksum)) => Head::Good {
            length: u32::from_le_bytes(*length),
            checksum: u32::from_le_bytes(*checksum),
        },
        _ => Head::Short,
    }
}
