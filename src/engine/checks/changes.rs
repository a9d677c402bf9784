//! Counts changes of a port's set-up between two looks at it.
//!
//! A setting that cannot be read is no change: neither when it goes nor when it comes back as it was. A change that
//! was taken back between two looks is not seen.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::ChangeFigure;
use crate::model::DeviceFacts;

/// One kind of settings and how it is told apart, where it can be read.
type Setting = (&'static str, fn(&DeviceFacts) -> Option<u64>);

/// A fingerprint; values of one machine and one run are compared, nothing is kept.
fn print<T: Hash>(value: T) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

const SETTINGS: [Setting; 11] = [
    ("buffers", |facts| {
        let buffers = facts.settings.dcb.as_ref()?.buffers?;
        Some(print((buffers.buffer, buffers.bytes)))
    }),
    ("dcbx", |facts| facts.settings.dcb.as_ref()?.dcbx.map(print)),
    ("dscp_map", |facts| facts.settings.dcb.as_ref()?.dscp.as_ref().map(print)),
    ("ecn", |facts| {
        let ecn = facts.details.ecn;
        Some(print((ecn.notification_point?, ecn.reaction_point?)))
    }),
    ("ets", |facts| {
        let ets = facts.settings.dcb.as_ref()?.ets?;
        Some(print((ets.willing, ets.traffic_class, ets.bandwidth, ets.algorithm)))
    }),
    ("gids", |facts| {
        let kinds: Vec<_> = facts.rdma_ports.iter().map(|port| &port.gid_types).collect();
        (!kinds.is_empty()).then(|| print(kinds))
    }),
    ("link_pause", |facts| {
        facts.settings.link_pause.map(|own| print((own.negotiated, own.rx, own.tx)))
    }),
    ("mtu", |facts| facts.settings.mtu_bytes.map(print)),
    ("pfc", |facts| facts.link.lossless.map(print)),
    ("stall_prevention", |facts| facts.settings.stall_prevention.map(print)),
    ("trust", |facts| facts.settings.trust.map(|own| print(own as u8))),
];

/// What a device was last seen with.
#[derive(Clone, Debug, Default)]
struct Seen {
    incarnation: u32,
    prints: [Option<u64>; SETTINGS.len()],
    changes: [u64; SETTINGS.len()],
}

/// Changes since the program began.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(BTreeMap<Arc<str>, Seen>);

impl Changes {
    /// Compares with the look before. A device that is gone is forgotten; one under a known name that is another
    /// device begins anew.
    pub(super) fn look(&mut self, devices: &[DeviceFacts]) {
        self.0.retain(|name, _| devices.iter().any(|facts| facts.device == *name));
        for facts in devices.iter().filter(|facts| !facts.device.is_empty()) {
            let seen = self.0.entry(Arc::clone(&facts.device)).or_default();
            if seen.incarnation != facts.incarnation {
                *seen = Seen { incarnation: facts.incarnation, ..Seen::default() };
            }
            let slots = seen.prints.iter_mut().zip(&mut seen.changes);
            for ((before, changes), (_, of)) in slots.zip(&SETTINGS) {
                let Some(now) = of(facts) else { continue };
                if before.replace(now).is_some_and(|before| before != now) {
                    *changes += 1;
                }
            }
        }
    }

    /// Counts of the settings that could be read at least once.
    pub(super) fn figures(&self) -> Vec<ChangeFigure> {
        let of_device = |(device, seen): (&Arc<str>, &Seen)| {
            let counts = seen.prints.iter().zip(seen.changes).zip(&SETTINGS);
            let known = counts.filter(|((print, _), _)| print.is_some());
            let device = Arc::clone(device);
            known
                .map(move |((_, count), (setting, _))| ChangeFigure {
                    device: Arc::clone(&device),
                    setting,
                    count,
                })
                .collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_device).collect()
    }
}
