//! What the LLDP agents of the host say, asked now and then and kept in between.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use super::{lldpcli, networkd};
use crate::model::{DeviceFacts, LinkPeer, PeerSource, PortName};
use crate::source::OnChange;

/// How often the agents are asked. Neighbours announce themselves every 30 s.
const PERIOD: Duration = Duration::from_secs(10);
/// The longest sleep without a look at the stop signal.
const LONGEST_SLEEP: Duration = Duration::from_millis(250);

/// Which LLDP agents are asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LldpAgents {
    /// Where the host's `/run` is, if the files of systemd-networkd are read.
    pub networkd: Option<PathBuf>,
    /// Whether `lldpcli` is run.
    pub lldpd: bool,
}

/// The agents' answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Neighbours {
    by_name: HashMap<String, PortName>,
    by_index: HashMap<u32, PortName>,
}

impl Neighbours {
    /// The peer of a device. Agents know the devices of their own network namespace.
    pub(super) fn of(&self, facts: &DeviceFacts) -> Option<LinkPeer> {
        if !facts.netns.is_empty() {
            return None;
        }
        let by_name = self.by_name.get(&*facts.device).map(|port| (port, PeerSource::Lldpd));
        let by_index =
            || self.by_index.get(&facts.incarnation).map(|port| (port, PeerSource::Networkd));
        let (port, source) = by_name.or_else(by_index)?;
        Some(LinkPeer { port: port.clone(), source })
    }
}

/// Asks the agents, not too often.
#[derive(Debug)]
pub(super) struct Listener {
    agents: LldpAgents,
    kept: Mutex<(Option<Instant>, Arc<Neighbours>)>,
}

impl Listener {
    pub(super) fn new(agents: LldpAgents) -> Self {
        Self { agents, kept: Mutex::default() }
    }

    /// What is known now. Blocks while the agents are asked.
    pub(super) fn neighbours(&self) -> Arc<Neighbours> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0.is_none_or(|asked| asked.elapsed() >= PERIOD) {
            let found = self.ask();
            if *kept.1 != found {
                kept.1 = Arc::new(found);
            }
            kept.0 = Some(Instant::now());
        }
        Arc::clone(&kept.1)
    }

    fn ask(&self) -> Neighbours {
        let by_name = if self.agents.lldpd { lldpcli::neighbours() } else { Vec::new() };
        let by_index = self.agents.networkd.as_deref().map(networkd::neighbours);
        Neighbours { by_name: single(by_name), by_index: single(by_index.unwrap_or_default()) }
    }

    /// Calls `on_change` when the answers change, until `stop`.
    pub(super) fn follow(self: Arc<Self>, stop: Arc<AtomicBool>, on_change: Arc<OnChange>) {
        let run = move || {
            let mut known = self.neighbours();
            let mut asked = Instant::now();
            while !stop.load(Ordering::Acquire) {
                sleep(LONGEST_SLEEP);
                if asked.elapsed() < PERIOD {
                    continue;
                }
                let now = self.neighbours();
                asked = Instant::now();
                if now != known {
                    known = now;
                    on_change();
                }
            }
        };
        if let Err(error) = Builder::new().name("lldp".to_owned()).spawn(run) {
            tracing::error!(%error, "no thread to follow LLDP; changes are seen late");
        }
    }
}

/// The neighbours of ports that have one; which of several is at the end of the cable, nobody can say.
fn single<K: Hash + Eq>(all: Vec<(K, PortName)>) -> HashMap<K, PortName> {
    let mut found: HashMap<K, Option<PortName>> = HashMap::new();
    for (key, port) in all {
        let slot = found.entry(key);
        slot.and_modify(|known| {
            if known.as_ref() != Some(&port) {
                *known = None;
            }
        })
        .or_insert_with(|| Some(port.clone()));
    }
    found.into_iter().filter_map(|(key, port)| Some((key, port?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(device: &str) -> PortName {
        PortName { host: "leaf1".into(), device: device.into() }
    }

    #[test]
    fn a_port_with_several_neighbours_has_none() {
        let all =
            vec![(1, port("a")), (2, port("b")), (2, port("c")), (3, port("d")), (3, port("d"))];
        let found = single(all);
        assert_eq!(found.get(&1), Some(&port("a")));
        assert_eq!(found.get(&2), None);
        assert_eq!(found.get(&3), Some(&port("d")), "heard twice, and the same");
    }

    #[test]
    fn lldpd_wins_over_networkd_and_other_namespaces_are_left_alone() {
        let neighbours = Neighbours {
            by_name: [("eth0".to_owned(), port("a"))].into(),
            by_index: [(7, port("b")), (8, port("c"))].into(),
        };
        let facts = |device: &str, incarnation, netns: &str| DeviceFacts {
            device: device.into(),
            incarnation,
            netns: netns.to_owned(),
            ..DeviceFacts::default()
        };
        let of = |facts| neighbours.of(&facts).map(|peer| (peer.port, peer.source));
        assert_eq!(of(facts("eth0", 7, "")), Some((port("a"), PeerSource::Lldpd)));
        assert_eq!(of(facts("eth1", 8, "")), Some((port("c"), PeerSource::Networkd)));
        assert_eq!(of(facts("eth0", 7, "blue")), None);
    }
}
