//! NICs that were moved into other network namespaces, as containers get them.
//!
//! Opt-in, and the one feature that needs a capability: entering a namespace takes `CAP_SYS_ADMIN`, finding those
//! of other users' processes `CAP_SYS_PTRACE`. Sockets are opened inside by a short-lived thread and used from
//! outside. A socket keeps its namespace alive, so one that no process and no mount uses any more is let go at the
//! next look. A netdev there is named `NAMESPACE/NAME`; `/` stands in no netdev's name. RDMA devices are not looked
//! for inside: the host sees their statistics from where it is.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::{CounterSet, Discovery, Host, MachineHost, OnChange, SourceError, Watch};
use crate::model::{DeviceFilter, Feed, NamespaceSelection};

/// Where `ip netns` keeps its namespaces.
const NAMED: &str = "/run/netns";
/// Parts a namespace's name from a netdev's.
const SEPARATOR: char = '/';
/// More namespaces than this are not looked at.
const MOST_NAMESPACES: usize = 1024;

/// A machine with the NICs of its other namespaces.
#[derive(Debug)]
pub struct NamespacesHost {
    own: MachineHost,
    selection: NamespaceSelection,
    filter: DeviceFilter,
    procfs: PathBuf,
    /// By name. What is in it holds no descriptor of the namespace itself.
    others: Mutex<BTreeMap<String, Arc<Namespace>>>,
    /// Namespaces that could not be entered and were named in the log.
    told: Mutex<Vec<String>>,
}

#[derive(Debug)]
struct Namespace {
    path: PathBuf,
    inode: u64,
    machine: MachineHost,
}

impl NamespacesHost {
    /// `own` and, beside it, the selected namespaces, found below `/run/netns` and `procfs`.
    #[must_use]
    pub fn new(
        own: MachineHost,
        selection: NamespaceSelection,
        filter: DeviceFilter,
        procfs: PathBuf,
    ) -> Self {
        let (others, told) = (Mutex::default(), Mutex::default());
        Self { own, selection, filter, procfs, others, told }
    }

    fn others(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Namespace>>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The selected namespaces there are now, by inode: name and a file that leads in.
    fn present(&self) -> BTreeMap<u64, (String, PathBuf)> {
        let mut found = BTreeMap::new();
        for name in &self.selection.named {
            let path = if name.contains(SEPARATOR) {
                PathBuf::from(name)
            } else {
                Path::new(NAMED).join(name)
            };
            let short = path.file_name().and_then(|own| own.to_str()).unwrap_or(name);
            // A path such as `/proc/4711/ns/net` has no name of its own.
            let of_process = path.starts_with(&self.procfs) || path.starts_with("/proc");
            add(&mut found, &path, (!of_process).then_some(short));
        }
        if self.selection.all {
            for entry in entries(Path::new(NAMED)) {
                let name = entry.file_name().and_then(|own| own.to_str()).map(str::to_owned);
                add(&mut found, &entry, name.as_deref());
            }
            for entry in entries(&self.procfs).into_iter().filter(|own| is_process(own)) {
                add(&mut found, &entry.join("ns/net"), None);
            }
        }
        if let Ok(own) = fs::metadata("/proc/self/ns/net") {
            found.remove(&own.ino());
        }
        found
    }

    /// Brings the known namespaces up to date.
    fn look(&self) {
        let present = self.present();
        let mut others = self.others();
        others.retain(|_, known| present.contains_key(&known.inode));
        for (inode, (name, path)) in present.into_iter().take(MOST_NAMESPACES) {
            let known = others.get(&name).is_some_and(|known| known.inode == inode);
            if !known {
                let machine = MachineHost::in_namespace(self.filter.clone());
                others.insert(name, Arc::new(Namespace { path, inode, machine }));
            }
        }
    }

    fn add_from(&self, name: &str, namespace: &Namespace, found: &mut Discovery) {
        let inside = match enter(&namespace.path, || namespace.machine.discover()) {
            Ok(inside) => inside,
            Err(errno) => {
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                if !told.iter().any(|own| own == name) {
                    told.push(name.to_owned());
                    let needs = "entering a network namespace needs CAP_SYS_ADMIN";
                    tracing::warn!(netns = name, %errno, needs, "its NICs are not seen");
                }
                return;
            }
        };
        let outside = |device: &str| Arc::from(format!("{name}{SEPARATOR}{device}"));
        for mut facts in inside.devices {
            facts.device = outside(&facts.device);
            name.clone_into(&mut facts.netns);
            found.devices.push(facts);
        }
        for mut feed in inside.feeds {
            feed.feed.device = outside(&feed.feed.device);
            found.feeds.push(feed);
        }
    }
}

impl Host for NamespacesHost {
    fn discover(&self) -> Discovery {
        self.look();
        let mut found = self.own.discover();
        let others: Vec<_> =
            self.others().iter().map(|(name, own)| (name.clone(), Arc::clone(own))).collect();
        for (name, namespace) in others {
            self.add_from(&name, &namespace, &mut found);
        }
        found.devices.sort_by(|a, b| a.device.cmp(&b.device));
        found.feeds.sort_by(|a, b| a.feed.cmp(&b.feed));
        found
    }

    fn open(&self, feed: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        let Some((name, device)) = feed.device.split_once(SEPARATOR) else {
            return self.own.open(feed);
        };
        let refused = |errno| SourceError::Kernel { call: format!("setns {name}"), errno };
        let namespace = self.others().get(name).cloned().ok_or_else(|| refused(Errno::NODEV))?;
        let inner = Feed { device: device.into(), ..feed.clone() };
        enter(&namespace.path, || namespace.machine.open(&inner)).map_err(refused)?
    }

    fn names_epoch(&self, feed: &Feed) -> Arc<AtomicU64> {
        let inside = feed.device.split_once(SEPARATOR).and_then(|(name, device)| {
            let namespace = self.others().get(name).cloned()?;
            let inner = Feed { device: device.into(), ..feed.clone() };
            Some(namespace.machine.names_epoch(&inner))
        });
        inside.unwrap_or_else(|| self.own.names_epoch(feed))
    }

    fn watch(&self, on_change: OnChange) -> Option<Watch> {
        // Events of other namespaces do not come here, so they are looked at at the short period.
        let _ = on_change;
        None
    }
}

/// Runs `inside` in a namespace, on a thread that ends with it.
fn enter<T: Send>(path: &Path, inside: impl FnOnce() -> T + Send) -> Result<T, Errno> {
    let file = File::open(path).map_err(|error| of_io(&error))?;
    thread::scope(|scope| {
        let entered = scope.spawn(|| {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(inside())
        });
        entered.join().unwrap_or(Err(Errno::IO))
    })
}

fn add(found: &mut BTreeMap<u64, (String, PathBuf)>, path: &Path, name: Option<&str>) {
    if let Ok(metadata) = fs::metadata(path) {
        let inode = metadata.ino();
        let name = name.map_or_else(|| inode.to_string(), str::to_owned);
        found.entry(inode).or_insert_with(|| (name, path.to_owned()));
    }
}

/// What a directory holds; nothing where it cannot be read.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn is_process(path: &Path) -> bool {
    let name = path.file_name().and_then(|own| own.to_str());
    name.is_some_and(|own| own.bytes().all(|byte| byte.is_ascii_digit()))
}

fn of_io(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(selection: NamespaceSelection) -> NamespacesHost {
        let filter = DeviceFilter::default();
        let own = MachineHost::in_namespace(filter.clone());
        NamespacesHost::new(own, selection, filter, PathBuf::from("/proc"))
    }

    #[test]
    fn its_own_namespace_is_no_other() {
        let named = vec!["/proc/self/ns/net".to_owned()];
        let host = host(NamespaceSelection { named, all: false });
        assert!(host.present().is_empty());
    }

    #[test]
    fn a_namespace_that_is_not_there_is_left_out() {
        let named = vec!["no-such-namespace".to_owned(), "/nowhere/net".to_owned()];
        let host = host(NamespaceSelection { named, all: false });
        assert!(host.present().is_empty());
        let feed = Feed {
            device: "no-such-namespace/eth0".into(),
            rdma_device: None,
            port: None,
            source: crate::model::SourceKind::Ethtool,
        };
        assert!(host.open(&feed).map(|_| ()).unwrap_err().is_gone());
    }

    #[test]
    fn processes_are_told_from_other_entries() {
        assert!(is_process(Path::new("/proc/4711")));
        assert!(!is_process(Path::new("/proc/self")));
        assert!(!is_process(Path::new("/proc/4711x")));
    }
}
