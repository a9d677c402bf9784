//! What happened to names up to the end of a read, known before the read is believed.
//!
//! The kernel queues the event of a change while it still holds rtnl, so whoever reads a NIC's statistics after the change
//! has the event waiting already. The watcher's thread takes events a little later than that, and a sample taken in
//! between would stand under the old names: mlx5 keeps the number of its names when PFC moves to another priority, and
//! two netdevs may swap their names. So each read ends with a look at what is queued. Refuses to act on events
//! otherwise; that is the watcher's.

use std::sync::{Arc, Mutex};

use rustix::io::Errno;

use super::events::ROUTE_GROUPS;
use super::{Epochs, lock};
use crate::model::Reading;
use crate::source::netlink::link::{self, Link};
use crate::source::netlink::{Message, MessageKind, NetlinkError, NetlinkSocket, Protocol, dcb};
use crate::source::{CounterSet, SourceError};

/// Datagrams taken after one read; when there are more, the read is not believed anyway.
const MOST_AT_ONCE: u32 = 64;

/// Hears of changes in one network namespace, for all who read there.
#[derive(Debug)]
pub(super) struct Ear {
    epochs: Arc<Epochs>,
    socket: Mutex<Option<NetlinkSocket>>,
}

impl Ear {
    pub(super) fn new(epochs: Arc<Epochs>) -> Self {
        Self { epochs, socket: Mutex::default() }
    }

    /// Hears of changes from now on, in the namespace of the calling thread. Without it samples go on: a change is
    /// then learned of from the watcher.
    pub(super) fn open(&self) {
        let mut socket = lock(&self.socket);
        if socket.is_none() {
            *socket = NetlinkSocket::overhear(Protocol::Route, ROUTE_GROUPS)
                .inspect_err(|errno| tracing::warn!(%errno, "changes of names are seen late"))
                .ok();
        }
    }

    /// Moves the epochs of the names that changed before now.
    pub(super) fn listen(&self) {
        let mut kept = lock(&self.socket);
        let Some(socket) = kept.as_mut() else { return };
        for _ in 0..MOST_AT_ONCE {
            match socket.next_messages(|message| self.hear(message)) {
                Ok(()) => {}
                Err(NetlinkError::Kernel { errno: Errno::AGAIN | Errno::INTR, .. }) => return,
                Err(_) => self.epochs.all_moved(),
            }
        }
        self.epochs.all_moved();
    }

    fn hear(&self, message: &Message<'_>) {
        match message.kind() {
            MessageKind::Data(link::NEW | link::GONE) => {
                if let Some(Link { index, name, .. }) = link::parse(message.payload) {
                    self.epochs.renamed(index, &name);
                    self.epochs.moved(&name);
                }
            }
            MessageKind::Data(dcb::MESSAGE | dcb::CHANGED) => {
                if let Some(device) = dcb::device_of(message.payload) {
                    self.epochs.moved(device);
                }
            }
            _ => {}
        }
    }
}

/// Counters whose reads end with a look at what changed.
#[derive(Debug)]
pub(super) struct Attentive<S> {
    pub(super) set: S,
    pub(super) ear: Arc<Ear>,
}

impl<S: CounterSet> CounterSet for Attentive<S> {
    fn names(&mut self) -> Result<Vec<String>, SourceError> {
        self.set.names()
    }

    fn read(&mut self, wanted: &[u32], readings: &mut [Reading]) -> Result<(), SourceError> {
        let answer = self.set.read(wanted, readings);
        self.ear.listen();
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::model::DeviceFacts;
    use crate::source::netlink::{Messages, RequestBody};

    fn hear(ear: &Ear, kind: u16, body: &RequestBody) {
        let length = u32::try_from(16 + body.bytes().len()).unwrap();
        let head = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10]].concat();
        let datagram = [&head, body.bytes()].concat();
        Messages::new(&datagram).for_each(|message| ear.hear(&message));
    }

    #[test]
    fn a_change_moves_the_names_of_its_devices_alone() {
        let epochs = Arc::new(Epochs::default());
        let of_index = |(incarnation, device): (u32, &str)| DeviceFacts {
            device: device.into(),
            incarnation,
            ..DeviceFacts::default()
        };
        epochs.keep(&[(3, "rail0"), (4, "rail1")].map(of_index));
        let [rail0, rail1] = ["rail0", "rail1"].map(|name| epochs.of(&name.into()));
        let seen = || [&rail0, &rail1].map(|epoch| epoch.load(Ordering::Acquire));
        let ear = Ear::new(Arc::clone(&epochs));
        // DCB_ATTR_IFNAME.
        let dcb = RequestBody::with_header(&[0, 20, 0, 0]).text(1, "rail0");
        hear(&ear, dcb::CHANGED, &dcb);
        assert_eq!(seen(), [1, 0]);
        // IFLA_IFNAME of the netdev that was rail1 so far.
        let header = [&[0; 4][..], &4_u32.to_ne_bytes(), &[0; 8]].concat();
        hear(&ear, link::NEW, &RequestBody::with_header(&header).text(3, "rail0"));
        assert_eq!(seen(), [2, 1]);
    }

    #[test]
    fn listening_waits_for_nothing() {
        let ear = Ear::new(Arc::default());
        ear.listen();
        ear.open();
        let since = std::time::Instant::now();
        ear.listen();
        // A socket that waits would take its two seconds.
        assert!(since.elapsed() < std::time::Duration::from_secs(1));
    }
}
