//! Files below a sysfs root that can be moved (`--path.sysfs`), read without a cache of our own.
//!
//! Refuses every file that restarts its system call under rtnl (`speed`, `duplex`, `carrier`,
//! `phys_port_name`): those facts come over other interfaces.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::statfs;
use rustix::io::{Errno, pread};

use super::reason_of;
use crate::model::{Reading, Reason};

/// The root of a sysfs tree.
#[derive(Clone, Debug)]
pub struct SysfsRoot {
    root: PathBuf,
}

impl SysfsRoot {
    /// A tree at `root`, usually `/sys`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// A path below the root.
    #[must_use]
    pub fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// The names in a directory, sorted. A directory that is not there has none.
    ///
    /// # Errors
    /// Any failure but `ENOENT` and `ENOTDIR`. An entry that vanishes meanwhile is left out.
    pub fn names(&self, below: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.path(below)) {
            Ok(entries) => entries,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The trimmed text of a small file; none if it cannot be read or is not text.
    #[must_use]
    pub fn text(&self, below: &str) -> Option<String> {
        let file = File::open(self.path(below)).ok()?;
        let mut buffer = [0; 4096];
        let length = pread(&file, &mut buffer, 0).ok()?;
        let text = std::str::from_utf8(buffer.get(..length)?).ok()?;
        Some(text.trim().to_owned())
    }

    /// A number in a small file.
    #[must_use]
    pub fn number(&self, below: &str) -> Option<u64> {
        self.text(below)?.parse().ok()
    }

    /// The last part of where a link points to.
    #[must_use]
    pub fn link_name(&self, below: &str) -> Option<String> {
        let target = fs::read_link(self.path(below)).ok()?;
        target.file_name().and_then(OsStr::to_str).map(str::to_owned)
    }

    /// Whether this is the kernel's own sysfs, mounted anywhere, and no copy of one.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        /// `SYSFS_MAGIC`.
        const MAGIC: i64 = 0x6265_6572;
        statfs(&self.root).is_ok_and(|answer| answer.f_type == MAGIC)
    }

    /// The PCI address of the function that a device link leads to, at most three levels up: an auxiliary or
    /// virtio device sits below its function.
    #[must_use]
    pub fn pci_address(&self, device: &str) -> Option<String> {
        let mut at = device.to_owned();
        for _ in 0..3 {
            if self.link_name(&format!("{at}/subsystem"))? == "pci" {
                let real = fs::canonicalize(self.path(&at)).ok()?;
                return real.file_name()?.to_str().map(str::to_owned);
            }
            at.push_str("/..");
        }
        None
    }

    /// Whether a path is there.
    #[must_use]
    pub fn exists(&self, below: &str) -> bool {
        self.path(below).exists()
    }
}

/// Reads after which a file that keeps failing is tried again, at most.
const MOST_SKIPPED: u32 = 1024;

/// One counter file, kept open: `pread` at 0 runs the driver's show function anew and costs a ninth of an
/// open, read and close.
#[derive(Debug)]
pub struct KeptFile {
    path: PathBuf,
    file: Option<OwnedFd>,
    failures: u32,
    skip: u32,
    last: Reason,
}

impl KeptFile {
    /// A file that is opened at its first read.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), file: None, failures: 0, skip: 0, last: Reason::Gone }
    }

    /// Its number now. A file that fails is tried again after 1, 2, 4 … up to 1,024 further reads, and
    /// meanwhile stays missing for the same reason.
    pub fn read(&mut self) -> Reading {
        if self.skip > 0 {
            self.skip -= 1;
            return Reading::Missing(self.last);
        }
        match self.attempt() {
            Ok(value) => {
                self.failures = 0;
                Reading::Value(value)
            }
            Err(reason) => {
                self.skip = (1_u32 << self.failures.min(10)).min(MOST_SKIPPED);
                self.failures = self.failures.saturating_add(1);
                self.last = reason;
                Reading::Missing(reason)
            }
        }
    }

    fn attempt(&mut self) -> Result<u64, Reason> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(File::open(&self.path).map_err(|error| of_io(&error))?.into()),
        };
        let mut buffer = [0; 64];
        match pread(file, &mut buffer, 0) {
            Ok(length) => parse_number(buffer.get(..length).unwrap_or_default()),
            Err(errno) => {
                // A descriptor of a removed device answers ENODEV for ever, even when a device of that name
                // comes back.
                self.file = None;
                Err(reason_of(errno))
            }
        }
    }
}

fn of_io(error: &io::Error) -> Reason {
    reason_of(error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error))
}

/// A decimal number and nothing else but blanks around it.
fn parse_number(bytes: &[u8]) -> Result<u64, Reason> {
    let digits = bytes.trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Reason::NotANumber);
    }
    let text = std::str::from_utf8(digits).map_err(|_| Reason::NotANumber)?;
    text.parse().map_err(|_| Reason::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c01_text_is_not_a_number() {
        for text in ["N/A (no PMA)", "", " \n", "-1", "0x10", "1 2", "1.5", "١"] {
            assert_eq!(parse_number(text.as_bytes()), Err(Reason::NotANumber), "{text:?}");
        }
        assert_eq!(parse_number(b"99999999999999999999999"), Err(Reason::OutOfRange));
        assert_eq!(parse_number(b"18446744073709551615\n"), Ok(u64::MAX));
        assert_eq!(parse_number(b"0\n"), Ok(0));
    }

    #[test]
    fn a_kept_file_reads_anew_each_time_and_recovers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counter");
        let mut file = KeptFile::new(&path);
        assert_eq!(file.read(), Reading::Missing(Reason::Gone));
        fs::write(&path, "5\n").unwrap();
        assert_eq!(file.read(), Reading::Missing(Reason::Gone), "skipped once after a failure");
        assert_eq!(file.read(), Reading::Value(5));
        fs::write(&path, "6\n").unwrap();
        assert_eq!(file.read(), Reading::Value(6));
    }

    #[test]
    fn c03_an_errno_of_one_file_is_that_files() {
        let folder = tempfile::tempdir().unwrap();
        // Reading a directory is an error of the kernel's own.
        let mut file = KeptFile::new(folder.path());
        assert_eq!(file.read(), Reading::Missing(Reason::Io));
    }
}
