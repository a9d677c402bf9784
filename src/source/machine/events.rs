//! The kernel's own word that something changed: links, DCB, ethtool settings, RDMA devices.
//!
//! An event says where to look; what is found comes from asking. Lost events mean: look at everything. Any user
//! may listen. Refuses to take a fact from an event.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::{Epochs, kernel};
use crate::model::DeviceFilter;
use crate::source::netlink::generic::family;
use crate::source::netlink::link::{self, Link};
use crate::source::netlink::{
    Attributes, Message, MessageKind, NetlinkError, NetlinkSocket, Protocol, dcb,
};
use crate::source::{OnChange, SysfsRoot, Watch};

/// `RTNLGRP_LINK` and `RTNLGRP_DCB`, as bits of a mask.
pub(super) const ROUTE_GROUPS: u32 = 1 | 1 << 22;
/// `RDMA_NL_GROUP_NOTIFY`, from Linux 6.12 on.
const RDMA_GROUPS: u32 = 1 << 3;
/// The kernel's own uevents.
const UEVENT_GROUPS: u32 = 1;
/// `ETHTOOL_A_*_HEADER`, the first attribute of every ethtool message.
const ETHTOOL_HEADER: u16 = 1;
/// `ETHTOOL_A_HEADER_DEV_NAME`.
const ETHTOOL_DEVICE: u16 = 2;
/// Bytes of `struct genlmsghdr`.
const GENERIC_HEADER: usize = 4;
/// How long the watcher sleeps at most before it looks at its stop signal.
const LONGEST_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// Starts a thread that calls `on_change` when something that is looked at changed, until the watch is dropped.
pub(super) fn watch(
    sysfs: &SysfsRoot,
    filter: DeviceFilter,
    epochs: Arc<Epochs>,
    on_change: OnChange,
) -> io::Result<Watch> {
    let listeners = listeners(sysfs)?;
    let stop = Arc::new(AtomicBool::new(false));
    let watcher =
        Watcher { sysfs: sysfs.clone(), filter, epochs, on_change, stop: Arc::clone(&stop) };
    Builder::new()
        .name("events".to_owned())
        .stack_size(256 * 1024)
        .spawn(move || watcher.run(listeners))?;
    Ok(Watch::new(stop))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Route,
    Ethtool,
    Rdma,
    Uevent,
}

/// What can be listened to here. Links must; the rest is missing on some kernels.
fn listeners(sysfs: &SysfsRoot) -> io::Result<Vec<(Kind, NetlinkSocket)>> {
    let mut listeners =
        vec![(Kind::Route, NetlinkSocket::subscribe(Protocol::Route, ROUTE_GROUPS)?)];
    listeners.extend(ethtool_listener().map(|socket| (Kind::Ethtool, socket)));
    let uevents = NetlinkSocket::subscribe(Protocol::Uevent, UEVENT_GROUPS);
    listeners.extend(uevents.ok().map(|socket| (Kind::Uevent, socket)));
    if sysfs.exists("class/infiniband") {
        let rdma = NetlinkSocket::subscribe(Protocol::Rdma, RDMA_GROUPS);
        listeners.extend(rdma.ok().map(|socket| (Kind::Rdma, socket)));
    }
    Ok(listeners)
}

/// Channels, private flags and features change a driver's statistics.
fn ethtool_listener() -> Option<NetlinkSocket> {
    let mut asking = NetlinkSocket::open(Protocol::Generic).ok()?;
    let group = family(&mut asking, "ethtool").ok()?.group("monitor")?;
    let bit = group.checked_sub(1).filter(|bit| *bit < 32)?;
    NetlinkSocket::subscribe(Protocol::Generic, 1 << bit).ok()
}

struct Watcher {
    sysfs: SysfsRoot,
    filter: DeviceFilter,
    epochs: Arc<Epochs>,
    on_change: OnChange,
    stop: Arc<AtomicBool>,
}

impl Watcher {
    fn run(&self, mut listeners: Vec<(Kind, NetlinkSocket)>) {
        while !self.stop.load(Ordering::Acquire) {
            let ready = match ready(&listeners) {
                Ok(ready) => ready,
                Err(Errno::INTR) => continue,
                Err(errno) => {
                    tracing::warn!(%errno, "no more events; changes are seen late");
                    return;
                }
            };
            let mut changed = false;
            for ((kind, socket), _) in listeners.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
                changed |= self.take(*kind, socket);
            }
            if changed {
                (self.on_change)();
            }
        }
    }

    /// Takes one datagram. Returns whether it concerns what is looked at.
    fn take(&self, kind: Kind, socket: &mut NetlinkSocket) -> bool {
        let mut changed = false;
        let answer = match kind {
            Kind::Route => socket.next_messages(|message| changed |= self.of_route(message)),
            Kind::Ethtool => socket.next_messages(|message| changed |= self.of_ethtool(message)),
            Kind::Rdma => socket.next_messages(|_| changed = true),
            Kind::Uevent => socket.next_event(|datagram| changed = is_rdma_uevent(datagram)),
        };
        match answer {
            Ok(()) => {
                if changed && matches!(kind, Kind::Rdma | Kind::Uevent) {
                    self.epochs.all_moved();
                }
                changed
            }
            Err(NetlinkError::Kernel { errno: Errno::AGAIN | Errno::INTR, .. }) => false,
            Err(error) => {
                tracing::info!(%error, "events were lost; everything is looked at");
                self.epochs.all_moved();
                true
            }
        }
    }

    fn of_route(&self, message: &Message<'_>) -> bool {
        match message.kind() {
            MessageKind::Data(link::NEW | link::GONE) => {
                link::parse(message.payload).is_some_and(|link| self.of_link(&link))
            }
            MessageKind::Data(dcb::MESSAGE | dcb::CHANGED) => {
                dcb::parse(message.payload).is_some_and(|(device, _)| self.epochs.moved(&device))
            }
            _ => false,
        }
    }

    fn of_link(&self, link: &Link) -> bool {
        // A renamed device is known by its number, a new one by the filter. Both names of a device move, so
        // neither question is left out.
        let found = self.epochs.renamed(link.index, &link.name);
        let sampled = self.epochs.moved(&link.name);
        let known = found || sampled || self.epochs.lies_above(link);
        known || self.filter.admits(&link.name, kernel::is_physical(link, &self.sysfs))
    }

    fn of_ethtool(&self, message: &Message<'_>) -> bool {
        let attributes = Attributes::new(message.payload.get(GENERIC_HEADER..).unwrap_or_default());
        let header = attributes.get(ETHTOOL_HEADER);
        let device = header.and_then(|own| own.nested().get(ETHTOOL_DEVICE));
        device.and_then(|own| own.as_text()).is_some_and(|device| self.epochs.moved(device))
    }
}

/// Waits for any socket. Returns which have something.
fn ready(listeners: &[(Kind, NetlinkSocket)]) -> Result<Vec<bool>, Errno> {
    let mut waiting: Vec<PollFd<'_>> = listeners
        .iter()
        .map(|(_, socket)| PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN))
        .collect();
    poll(&mut waiting, Some(&LONGEST_WAIT))?;
    Ok(waiting.iter().map(|own| !own.revents().is_empty()).collect())
}

/// `ACTION@PATH`, then `KEY=VALUE` with NULs between.
fn is_rdma_uevent(datagram: &[u8]) -> bool {
    datagram.split(|byte| *byte == 0).any(|line| line == b"SUBSYSTEM=infiniband")
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
