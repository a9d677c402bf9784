//! The links file: which port is at the other end of which cable.
//!
//! Links are written one by one or as patterns for regular cabling, and stay patterns in memory: a cluster has tens of
//! thousands of them and a host needs its own few. Everything is checked when the file is read. Refuses a
//! port with two cables, and a pattern that makes more links than any cluster has.

mod file;
mod pattern;

use std::sync::Arc;

pub(super) use file::read;

use self::pattern::Rule;
use crate::model::PortName;

/// The most links that a file may stand for.
const MOST_LINKS: usize = 500_000;

/// Cables, checked: no port is in two of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    rules: Vec<Rule>,
}

impl Links {
    /// All links in the order of the file, each as its two ends.
    pub fn pairs(&self) -> impl Iterator<Item = [PortName; 2]> + '_ {
        self.rules.iter().flat_map(Rule::pairs)
    }

    /// The ports of `host`, each with the port at the other end. A name of the file without a dot also stands
    /// for the host with a domain.
    #[must_use]
    pub fn of_host(&self, host: &str) -> Vec<(Arc<str>, PortName)> {
        let short = host.split('.').next().unwrap_or(host);
        let is_own = |name: &str| name == host || name == short;
        let mut found = Vec::new();
        for [one, other] in self.pairs() {
            if is_own(&one.host) {
                found.push((Arc::clone(&one.device), other.clone()));
            }
            if is_own(&other.host) {
                found.push((other.device, one));
            }
        }
        found
    }
}
