//! Where a recording goes in a test: memory, a slow disk, a full disk.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex};

/// Bytes that can be looked at after the writer is gone.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A disk that holds every write but the first while it is stuck.
#[derive(Clone, Default)]
pub struct StickyDisk {
    pub memory: Memory,
    stuck: Arc<(Mutex<bool>, Condvar)>,
}

impl StickyDisk {
    pub fn set_stuck(&self, stuck: bool) {
        *self.stuck.0.lock().unwrap() = stuck;
        self.stuck.1.notify_all();
    }
}

impl Write for StickyDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stuck = self.stuck.0.lock().unwrap();
        while *stuck {
            stuck = self.stuck.1.wait(stuck).unwrap();
        }
        self.memory.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A disk with room for so many bytes.
pub struct FullDisk(pub usize);

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
