//! RDMA counters of a port by `STAT_GET`: all in one message, live, without rtnl.
//!
//! A port's `counters` directory is not in it; the few files of it that say something on RoCE are read beside it,
//! once a second, since each is a device query of its own. Refuses a port that per-queue-pair counters make
//! expensive no more than any slow source: the sampler asks less often when a read takes long.

use std::time::Duration;

use rustix::io::Errno;

use super::netlink::rdma::{RdmaSocket, statistics_request};
use super::netlink::{NetlinkError, RequestBody};
use super::rdma_sysfs::{PortCounters, port_directory};
use super::sysfs::SysfsRoot;
use super::{CounterSet, SourceError, monotonic_now};
use crate::model::{Monotonic, Reading, Reason};

/// How often a port's `counters` are read.
const PORT_COUNTERS_PERIOD: Duration = Duration::from_secs(1);

/// The counters of one port.
#[derive(Debug)]
pub struct RdmaNetlink {
    socket: RdmaSocket,
    index: u32,
    request: RequestBody,
    /// Names of the statistics, in the driver's order.
    names: Vec<String>,
    port_counters: PortCounters,
    /// The last readings of `port_counters`, and when they were taken.
    kept: Vec<Reading>,
    kept_at: Option<Monotonic>,
}

impl RdmaNetlink {
    /// Opens the statistics of a port; nothing is read yet.
    ///
    /// # Errors
    /// `ENODEV` when the device is gone, or the kernel's refusal.
    pub fn open(sysfs: &SysfsRoot, rdma_device: &str, port: u32) -> Result<Self, SourceError> {
        let call = || format!("RDMA netlink {rdma_device}");
        let mut socket =
            RdmaSocket::open(sysfs).map_err(|errno| SourceError::Kernel { call: call(), errno })?;
        let devices = socket.devices().map_err(|error| of(&call(), &error))?;
        let device = devices.iter().find(|device| device.name == rdma_device);
        let gone = || SourceError::Kernel { call: call(), errno: Errno::NODEV };
        let index = device.ok_or_else(gone)?.index;
        if socket.counts_per_queue_pair(index, port).unwrap_or(false) {
            tracing::warn!(rdma_device, port, "counters per queue pair make each read expensive");
        }
        Ok(Self {
            socket,
            index,
            request: statistics_request(index, port),
            names: Vec::new(),
            port_counters: PortCounters::new(sysfs, &port_directory(rdma_device, Some(port))),
            kept: Vec::new(),
            kept_at: None,
        })
    }

    /// The kernel says `EINVAL` of a device that went, and also whatever errno a driver gave that could not read
    /// its counters (`drivers/infiniband/core/nldev.c`: `stat_get_doit_default_counter`). An index is never given
    /// again, so the list of devices tells the two apart.
    fn refused(&mut self, error: &NetlinkError) -> SourceError {
        let is_there = |socket: &mut RdmaSocket, index| {
            socket.devices().map(|devices| devices.iter().any(|device| device.index == index))
        };
        match error.errno() {
            Errno::INVAL if is_there(&mut self.socket, self.index) == Ok(false) => {
                SourceError::Kernel { call: "STAT_GET".to_owned(), errno: Errno::NODEV }
            }
            _ => of("STAT_GET", error),
        }
    }

    fn read_port_counters(&mut self, wanted: &[u32], first: u32) {
        let now = monotonic_now();
        let due = self.kept_at.is_none_or(|at| now.since(at) >= PORT_COUNTERS_PERIOD);
        if !due && self.kept.len() == wanted.len() {
            return;
        }
        self.kept_at = Some(now);
        self.kept.resize(wanted.len(), Reading::Missing(Reason::Gone));
        for (kept, position) in self.kept.iter_mut().zip(wanted) {
            *kept = self.port_counters.read(position.saturating_sub(first));
        }
    }
}

impl CounterSet for RdmaNetlink {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        let mut names = Vec::new();
        let answer =
            self.socket.statistics(&self.request, &mut |name, _| names.push(name.to_owned()));
        if let Err(error) = answer {
            return Err(self.refused(&error));
        }
        self.names.clone_from(&names);
        names.extend(self.port_counters.names()?);
        self.kept_at = None;
        Ok(names)
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        let statistics = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let split = wanted.partition_point(|position| *position < statistics);
        let (of_netlink, of_files) = wanted.split_at_checked(split).unwrap_or((wanted, &[]));
        let mut slots = of_netlink.iter().zip(readings.iter_mut()).peekable();
        let (mut position, mut changed) = (0_u32, false);
        let names = &self.names;
        let answer = self.socket.statistics(&self.request, &mut |name, value| {
            changed |= names.get(position as usize).is_none_or(|own| own != name);
            if let Some((_, reading)) = slots.next_if(|(wanted, _)| **wanted == position) {
                *reading = Reading::Value(value);
            }
            position += 1;
        });
        if let Err(error) = answer {
            return Err(self.refused(&error));
        }
        if changed || position != statistics {
            return Err(SourceError::NamesChanged);
        }
        if !of_files.is_empty() {
            self.read_port_counters(of_files, statistics);
            for (reading, kept) in readings.iter_mut().skip(split).zip(&self.kept) {
                *reading = *kept;
            }
        }
        Ok(())
    }
}

fn of(call: &str, error: &NetlinkError) -> SourceError {
    SourceError::Kernel { call: call.to_owned(), errno: error.errno() }
}
