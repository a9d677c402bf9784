//! Adds to each device of a host who is at the other end of its link.
//!
//! The operator's file wins over LLDP, and LLDP over what the host itself says. A device with no peer, or with several
//! neighbours on one port, has none: nobody can then say which one is at the end of the cable.

mod lldp;
mod lldpcli;
mod neighbours;
mod networkd;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use lldpcli::of_json as neighbours_of_lldpcli;
pub use neighbours::LldpAgents;
pub use networkd::of_file as neighbours_of_networkd;

use self::neighbours::Listener;
use super::{CounterSet, Discovery, Host, OnChange, SourceError, Watch};
use crate::model::{Feed, LinkPeer, PeerSource, PortName};

/// A host whose devices know their peers.
pub struct PeeredHost {
    inner: Arc<dyn Host>,
    own_links: HashMap<Arc<str>, PortName>,
    listener: Option<Arc<Listener>>,
}

impl PeeredHost {
    /// `inner` with these cables, own port and the port at the other end, and with what these agents hear.
    #[must_use]
    pub fn new(
        inner: Arc<dyn Host>,
        own_links: Vec<(Arc<str>, PortName)>,
        agents: LldpAgents,
    ) -> Self {
        let wanted = agents != LldpAgents::default();
        let listener = wanted.then(|| Arc::new(Listener::new(agents)));
        Self { inner, own_links: own_links.into_iter().collect(), listener }
    }
}

impl Host for PeeredHost {
    fn discover(&self) -> Discovery {
        let mut found = self.inner.discover();
        let neighbours = self.listener.as_ref().map(|listener| listener.neighbours());
        for facts in &mut found.devices {
            if let Some(port) = self.own_links.get(&facts.device) {
                facts.peer = Some(LinkPeer { port: port.clone(), source: PeerSource::File });
            } else if let Some(peer) = neighbours.as_ref().and_then(|all| all.of(facts)) {
                facts.peer = Some(peer);
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

    /// Where the inner host is looked at often, LLDP is too.
    fn watch(&self, on_change: OnChange) -> Option<Watch> {
        let on_change = Arc::new(on_change);
        let told = Arc::clone(&on_change);
        let watch = self.inner.watch(Box::new(move || told()))?;
        if let Some(listener) = &self.listener {
            Arc::clone(listener).follow(Arc::clone(&watch.stop), on_change);
        }
        Some(watch)
    }
}
