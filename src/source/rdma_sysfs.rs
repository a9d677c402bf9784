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
const PORT_COUNTERS: [&str; 10] = [
    "port_xmit_data",
    "port_rcv_data",
    "port_xmit_packets",
    "port_rcv_packets",
    "port_xmit_wait",
    "port_xmit_discards",
    "port_rcv_errors",
    "symbol_error",
    "link_error_recovery",
    "link_downed",
];

/// A port's directory below the sysfs root, or the device's own.
pub(super) fn port_directory(rdma_device: &str, port: Option<u32>) -> String {
    let device = format!("class/infiniband/{rdma_device}");
    port.map_or_else(|| device.clone(), |port| format!("{device}/ports/{port}"))
}

/// The files of a port's `counters` directory that are read.
#[derive(Debug)]
pub(super) struct PortCounters {
    root: SysfsRoot,
    directory: String,
    files: Vec<KeptFile>,
}

impl PortCounters {
    /// The files below a port's directory; nothing is read yet.
    pub(super) fn new(root: &SysfsRoot, port_directory: &str) -> Self {
        let directory = format!("{port_directory}/counters");
        Self { root: root.clone(), directory, files: Vec::new() }
    }

    /// The names that are there, each with [`PORT_COUNTERS_PREFIX`].
    pub(super) fn names(&mut self) -> Result<Vec<String>, SourceError> {
        let present = self.root.names(&self.directory);
        let present = present.map_err(|error| SourceError::from_io(&*self.directory, &error))?;
        let names: Vec<&str> = PORT_COUNTERS
            .into_iter()
            .filter(|name| present.iter().any(|own| own == name))
            .collect();
        let path = |name: &&str| self.root.path(&format!("{}/{name}", self.directory));
        self.files = names.iter().map(|name| KeptFile::new(&path(name))).collect();
        Ok(names.iter().map(|name| format!("{PORT_COUNTERS_PREFIX}{name}")).collect())
    }

    /// The counter at a position of [`PortCounters::names`].
    pub(super) fn read(&mut self, position: u32) -> Reading {
        let file = self.files.get_mut(position as usize);
        file.map_or(Reading::Missing(Reason::NamesChanged), KeptFile::read)
    }
}

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
    port_counters: Option<PortCounters>,
    starts_cache: bool,
    lifespan: Option<Duration>,
}

impl RdmaSysfs {
    /// The counters of `port`, or of the device itself where `port` is none; nothing is read yet.
    #[must_use]
    pub fn new(root: SysfsRoot, rdma_device: String, port: Option<u32>) -> Self {
        let directory = port_directory(&rdma_device, port);
        let port_counters = port.map(|_| PortCounters::new(&root, &directory));
        Self {
            root,
            rdma_device,
            port,
            files: Vec::new(),
            port_counters,
            starts_cache: false,
            lifespan: None,
        }
    }

    fn directory(&self) -> String {
        port_directory(&self.rdma_device, self.port)
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
        let path = |name: &String| self.root.path(&format!("{hardware}/{name}"));
        self.files = names.iter().map(|name| KeptFile::new(&path(name))).collect();
        if let Some(counters) = &mut self.port_counters {
            names.extend(counters.names()?);
        }
        Ok(names)
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        if self.starts_cache
            && wanted.first() != Some(&0)
            && let Some(first) = self.files.first_mut()
        {
            first.read();
        }
        let of_hardware = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        let mut gone = 0;
        for (reading, position) in readings.iter_mut().zip(wanted) {
            *reading = match (self.files.get_mut(*position as usize), &mut self.port_counters) {
                (Some(file), _) => file.read(),
                (None, Some(counters)) => counters.read(position.saturating_sub(of_hardware)),
                (None, None) => Reading::Missing(Reason::NamesChanged),
            };
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
