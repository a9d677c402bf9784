//! RDMA counters from sysfs: `hw_counters` of a port or of a device, and a port's `counters`.
//!
//! The kernel caches `hw_counters` for `lifespan` milliseconds and refreshes the whole set at one read; on
//! mlx5 only a read of `rx_write_requests` starts that cache (`drivers/infiniband/hw/mlx5/counters.c`), so it
//! is read first. Each file stands for itself: text, `EINVAL` or absence is that counter's alone. Refuses to
//! write `lifespan`.

use std::time::Duration;

use rustix::io::Errno;

use super::sysfs::{KeptFile, SysfsRoot};
use super::{CounterSet, SourceError};
use crate::model::{Reading, Reason};

/// What the names of a port's `counters` directory begin with, so that they never meet a name of
/// `hw_counters`.
pub const PORT_COUNTERS_PREFIX: &str = "counters/";

/// The port counters that say something on RoCE. Each file is a device query of its own, so few are read.
const PORT_COUNTERS: [&str; 9] = [
    "port_xmit_data",
    "port_rcv_data",
    "port_xmit_packets",
    "port_rcv_packets",
    "port_xmit_wait",
    "port_xmit_discards",
    "symbol_error",
    "link_error_recovery",
    "link_downed",
];

/// The file that starts the kernel's cache on mlx5.
const READ_FIRST: &str = "rx_write_requests";
/// A setting among the counters.
const LIFESPAN: &str = "lifespan";

/// The RDMA counters of one port, or of a device without regard to ports.
#[derive(Debug)]
pub struct RdmaSysfs {
    root: SysfsRoot,
    rdma_device: String,
    port: Option<u32>,
    files: Vec<KeptFile>,
    starts_cache: bool,
    lifespan: Option<Duration>,
}

impl RdmaSysfs {
    /// The counters of `port`, or of the device itself where `port` is none; nothing is read yet.
    #[must_use]
    pub const fn new(root: SysfsRoot, rdma_device: String, port: Option<u32>) -> Self {
        let files = Vec::new();
        Self { root, rdma_device, port, files, starts_cache: false, lifespan: None }
    }

    fn directory(&self) -> String {
        let device = format!("class/infiniband/{}", self.rdma_device);
        self.port.map_or_else(|| device.clone(), |port| format!("{device}/ports/{port}"))
    }

    fn list(&self, below: &str) -> Result<Vec<String>, SourceError> {
        self.root.names(below).map_err(|error| SourceError::from_io(below, &error))
    }
}

impl CounterSet for RdmaSysfs {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        let directory = self.directory();
        if !self.root.exists(&directory) {
            return Err(SourceError::Kernel { call: directory, errno: Errno::NODEV });
        }
        let hardware = format!("{directory}/hw_counters");
        let mut names = self.list(&hardware)?;
        names.retain(|name| name != LIFESPAN);
        names.sort_by_key(|name| name != READ_FIRST);
        self.starts_cache = names.first().is_some_and(|name| name == READ_FIRST);
        self.lifespan =
            self.root.number(&format!("{hardware}/{LIFESPAN}")).map(Duration::from_millis);
        let mut paths: Vec<String> =
            names.iter().map(|name| format!("{hardware}/{name}")).collect();
        if self.port.is_some() {
            let counters = format!("{directory}/counters");
            let present = self.list(&counters)?;
            for name in PORT_COUNTERS.iter().filter(|name| present.iter().any(|own| own == *name)) {
                names.push(format!("{PORT_COUNTERS_PREFIX}{name}"));
                paths.push(format!("{counters}/{name}"));
            }
        }
        self.files = paths.iter().map(|path| KeptFile::new(&self.root.path(path))).collect();
        Ok(names)
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        if self.starts_cache
            && wanted.first() != Some(&0)
            && let Some(first) = self.files.first_mut()
        {
            first.read();
        }
        let mut gone = 0;
        for (reading, position) in readings.iter_mut().zip(wanted) {
            let file = self.files.get_mut(*position as usize);
            *reading = file.map_or(Reading::Missing(Reason::NamesChanged), KeptFile::read);
            gone += usize::from(*reading == Reading::Missing(Reason::Gone));
        }
        if gone > 0 && gone == readings.len() && !self.root.exists(&self.directory()) {
            return Err(SourceError::Kernel { call: self.directory(), errno: Errno::NODEV });
        }
        Ok(())
    }

    fn cache_period(&self) -> Option<Duration> {
        self.lifespan
    }
}

#[cfg(test)]
#[path = "rdma_sysfs_tests.rs"]
mod tests;
