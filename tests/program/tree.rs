//! sysfs trees with RDMA devices, as drivers make them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

/// A tree that goes away with the test.
pub struct Tree(TempDir);

impl Tree {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, below: &str, text: &str) {
        let path = self.path().join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A link below `class`, whose target is another part of the tree or nothing.
    pub fn link(&self, below: &str, target: &str) {
        let path = self.path().join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    /// An RDMA device with one port at Ethernet, on a PCI function with this driver.
    pub fn rdma_device(&self, name: &str, bus_driver: &str) -> Device<'_> {
        let base = format!("class/infiniband/{name}");
        self.link(
            &format!("{base}/device/driver"),
            &format!("../../../../bus/pci/drivers/{bus_driver}"),
        );
        self.write(&format!("{base}/ports/1/link_layer"), "Ethernet\n");
        Device { tree: self, base }
    }
}

/// An RDMA device of a [`Tree`].
pub struct Device<'a> {
    tree: &'a Tree,
    base: String,
}

impl Device<'_> {
    /// Gives the port a netdev.
    pub fn netdev(self, name: &str) -> Self {
        self.file("ports/1/gid_attrs/ndevs/0", name)
    }

    /// A file below the device.
    pub fn file(self, below: &str, text: &str) -> Self {
        self.tree.write(&format!("{}/{below}", self.base), &format!("{text}\n"));
        self
    }

    /// Counters of the driver, with their text.
    pub fn hw_counters(self, counters: &[(&str, &str)]) -> Self {
        counters.iter().fold(self, |device, (name, text)| {
            device.file(&format!("ports/1/hw_counters/{name}"), text)
        })
    }

    /// Counters that InfiniBand defines, with their text.
    pub fn counters(self, counters: &[(&str, &str)]) -> Self {
        counters.iter().fold(self, |device, (name, text)| {
            device.file(&format!("ports/1/counters/{name}"), text)
        })
    }

    /// A counter whose read fails: a directory stands in for it.
    pub fn unreadable_counter(self, name: &str) -> Self {
        self.file(&format!("ports/1/counters/{name}/unreadable"), "")
    }
}
