//! The steady load of a healthy fabric.

use super::cast::Member;
use super::director::Load;
use super::scenario::Class;
use crate::model::Priority;

/// A step to a NIC of another host; no host has more NICs. All NICs then receive alike.
const NEXT_HOST: usize = 3;

/// Receivers of each NIC's steady load.
const PEERS: usize = 3;

/// Percent of the slower link that goes to each of them.
const LOAD_PERCENT: u64 = 9;

/// Priority of the kernel's own traffic.
const STACK: Priority = Priority::ALL[0];

/// Percent of the slower link for the kernel's own traffic to the first of them.
const STACK_PERCENT: u64 = 2;

/// The steady load of a healthy fabric: each NIC sends to the next NICs of other hosts.
pub(super) fn base_loads(members: &[Member]) -> Vec<Load> {
    let mut loads = Vec::new();
    for (from, sender) in members.iter().enumerate() {
        let others =
            members.iter().enumerate().cycle().skip(from + NEXT_HOST).take(members.len() - 1);
        let peers = others.filter(|(_, peer)| peer.nic.host != sender.nic.host).take(PEERS);
        for (place, (to, peer)) in peers.enumerate() {
            let line = sender.bits_per_second.min(peer.bits_per_second) / 8;
            let load = |class, percent| Load {
                from,
                to,
                class,
                rate: line * percent / 100,
                factor: 100,
                scripted: false,
            };
            loads.push(load(Class::Lossless, LOAD_PERCENT));
            if place == 0 {
                loads.push(load(Class::Fixed(STACK), STACK_PERCENT));
            }
        }
    }
    loads
}
