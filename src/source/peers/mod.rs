//! Adds to each device of a host who is at the other end of its link.
//!
//! The operator's file wins over LLDP, and LLDP over what the host itself says. A device with no peer, or with several
//! neighbours on one port, has none: nobody can then say which one is at the end of the cable.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::{CounterSet, Discovery, Host, OnChange, SourceError, Watch};
use crate::model::{Feed, LinkPeer, PeerSource, PortName};

/// A host whose devices know their peers.
pub struct PeeredHost {
    inner: Arc<dyn Host>,
    own_links: HashMap<Arc<str>, PortName>,
}

impl PeeredHost {
    /// `inner` with these cables: own port and the port at the other end.
    #[must_use]
    pub fn new(inner: Arc<dyn Host>, own_links: Vec<(Arc<str>, PortName)>) -> Self {
        Self { inner, own_links: own_links.into_iter().collect() }
    }
}

impl Host for PeeredHost {
    fn discover(&self) -> Discovery {
        let mut found = self.inner.discover();
        for facts in &mut found.devices {
            if let Some(port) = self.own_links.get(&facts.device) {
                facts.peer = Some(LinkPeer { port: port.clone(), source: PeerSource::File });
            }
        }
        found
    }

    fn open(&self, feed: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        self.inner.open(feed)
    }

    fn names_epoch(&self, feed: &Feed) -> Arc<AtomicU64> {
        self.inner.names_epoch(feed)
    }

    fn watch(&self, on_change: OnChange) -> Option<Watch> {
        self.inner.watch(on_change)
    }
}
