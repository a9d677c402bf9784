//! Discovery over trees that look like real ones.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use regex::Regex;

use super::*;
use crate::model::{Feed, LinkLayer, PortRole};
use crate::source::machine::MachineHost;
use crate::source::{FoundFeed, Host};

fn write(root: &Path, below: &str, text: &str) {
    let path = root.join(below);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn host(root: &Path, filter: DeviceFilter) -> MachineHost {
    let key = |bus: &str, _: &str| bus.replace("mlx5_core", "mlx5_ib");
    MachineHost::new(SysfsRoot::new(root), filter, Box::new(key))
}

/// A netdev with an RDMA port on the same PCI function.
fn add_port(root: &Path, netdev: &str, rdma_device: &str, index: u32) {
    let function = format!("devices/pci0/0000:{index:02x}:00.0");
    write(root, &format!("{function}/net/{netdev}/ifindex"), &format!("{index}\n"));
    fs::create_dir_all(root.join("bus/pci")).unwrap();
    fs::create_dir_all(root.join("drivers/mlx5_core")).unwrap();
    symlink(root.join("bus/pci"), root.join(&function).join("subsystem")).unwrap();
    symlink(root.join("drivers/mlx5_core"), root.join(&function).join("driver")).unwrap();
    fs::create_dir_all(root.join("class/net")).unwrap();
    symlink(root.join(&function), root.join(&function).join("net").join(netdev).join("device"))
        .unwrap();
    symlink(root.join(&function).join("net").join(netdev), root.join("class/net").join(netdev))
        .unwrap();
    let rdma = format!("{function}/infiniband/{rdma_device}");
    write(root, &format!("{rdma}/ports/1/link_layer"), "Ethernet\n");
    write(root, &format!("{rdma}/ports/1/hw_counters/np_cnp_sent"), "1\n");
    write(root, &format!("{rdma}/ports/1/gid_attrs/ndevs/0"), &format!("{netdev}\n"));
    symlink(root.join(&function), root.join(&rdma).join("device")).unwrap();
    fs::create_dir_all(root.join("class/infiniband")).unwrap();
    symlink(root.join(&rdma), root.join("class/infiniband").join(rdma_device)).unwrap();
}

fn feeds_of(found: &Discovery) -> Vec<(String, Option<String>, Option<u32>)> {
    let rdma = |feed: &Feed| feed.rdma_device.as_ref().map(ToString::to_string);
    found.feeds.iter().map(|f| (f.feed.device.to_string(), rdma(&f.feed), f.feed.port)).collect()
}

#[test]
fn c42_two_alike_nics_are_two_devices() {
    let tree = tempfile::tempdir().unwrap();
    add_port(tree.path(), "rail0", "mlx5_0", 0x3b);
    add_port(tree.path(), "rail1", "mlx5_1", 0x5e);
    let found = host(tree.path(), DeviceFilter::default()).discover();
    let names: Vec<&str> = found.devices.iter().map(|facts| &*facts.device).collect();
    assert_eq!(names, ["rail0", "rail1"]);
    assert_eq!(
        feeds_of(&found),
        [
            ("rail0".to_owned(), Some("mlx5_0".to_owned()), Some(1)),
            ("rail1".to_owned(), Some("mlx5_1".to_owned()), Some(1)),
        ]
    );
    assert!(found.feeds.iter().all(|feed| feed.driver == "mlx5_ib"));
    assert_eq!(found.devices[0].rdma_ports[0].link_layer, Some(LinkLayer::Ethernet));
}

#[test]
fn an_excluded_netdev_takes_its_rdma_port_with_it() {
    let tree = tempfile::tempdir().unwrap();
    add_port(tree.path(), "rail0", "mlx5_0", 0x3b);
    add_port(tree.path(), "rail1", "mlx5_1", 0x5e);
    let exclude = Some(Regex::new("^(?:rail0)$").unwrap());
    let found = host(tree.path(), DeviceFilter { include: None, exclude }).discover();
    assert_eq!(feeds_of(&found), [("rail1".to_owned(), Some("mlx5_1".to_owned()), Some(1))]);
}

#[test]
fn c11_an_infiniband_port_says_so_and_has_no_netdev() {
    let tree = tempfile::tempdir().unwrap();
    let port = "class/infiniband/mlx5_9/ports/1";
    write(tree.path(), &format!("{port}/link_layer"), "InfiniBand\n");
    write(tree.path(), &format!("{port}/hw_counters/out_of_sequence"), "1\n");
    let found = host(tree.path(), DeviceFilter::default()).discover();
    assert_eq!(&*found.devices[0].device, "");
    assert_eq!(found.devices[0].rdma_ports[0].link_layer, Some(LinkLayer::InfiniBand));
    assert_eq!(feeds_of(&found), [(String::new(), Some("mlx5_9".to_owned()), Some(1))]);
}

#[test]
fn c02_c49_a_broken_rdma_device_leaves_the_others_in() {
    let tree = tempfile::tempdir().unwrap();
    add_port(tree.path(), "rail0", "mlx5_0", 0x3b);
    // Listed, but its target is not mounted, as in a container with half of sysfs.
    symlink("nowhere", tree.path().join("class/infiniband/mlx5_7")).unwrap();
    let found = host(tree.path(), DeviceFilter::default()).discover();
    assert_eq!(feeds_of(&found), [("rail0".to_owned(), Some("mlx5_0".to_owned()), Some(1))]);
}

#[test]
fn a_vlan_in_the_gid_table_leads_to_the_device_below() {
    let tree = tempfile::tempdir().unwrap();
    add_port(tree.path(), "rail0", "mlx5_0", 0x3b);
    fs::create_dir_all(tree.path().join("class/net/rail0.100/lower_rail0")).unwrap();
    let entry = "class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0";
    fs::write(tree.path().join(entry), "rail0.100\n").unwrap();
    let found = host(tree.path(), DeviceFilter::default()).discover();
    assert_eq!(feeds_of(&found), [("rail0".to_owned(), Some("mlx5_0".to_owned()), Some(1))]);
}

#[test]
fn c17_the_driver_comes_from_uevent_where_its_link_cannot_be_followed() {
    let tree = tempfile::tempdir().unwrap();
    for (index, (device, uevent)) in [
        ("ionic_0", "DRIVER=ionic_rdma\nMODALIAS=auxiliary:ionic.rdma\n"),
        ("ionic_1", "PCI_ID=1DD8:1002\nDRIVER=\n"),
        ("ionic_2", "PCI_ID=1DD8:1002\n"),
    ]
    .into_iter()
    .enumerate()
    {
        let base = format!("class/infiniband/{device}");
        write(tree.path(), &format!("{base}/device/uevent"), uevent);
        write(tree.path(), &format!("{base}/ports/1/hw_counters/x"), &format!("{index}\n"));
    }
    add_port(tree.path(), "rail0", "mlx5_0", 0x3b);
    write(tree.path(), "class/infiniband/mlx5_0/device/uevent", "DRIVER=another\n");
    let found = host(tree.path(), DeviceFilter::default()).discover();
    let driver = |rdma_device: &str| {
        let of_device = |own: &&FoundFeed| own.feed.rdma_device.as_deref() == Some(rdma_device);
        found.feeds.iter().find(of_device).unwrap().driver.clone()
    };
    assert_eq!(driver("ionic_0"), "ionic_rdma");
    assert_eq!((driver("ionic_1"), driver("ionic_2")), (String::new(), String::new()));
    assert_eq!(driver("mlx5_0"), "mlx5_ib", "the link is the better word");
}

#[test]
fn c46_one_rdma_device_over_two_netdevs_is_the_bonds_and_the_members_name_their_master() {
    let tree = tempfile::tempdir().unwrap();
    add_port(tree.path(), "rail0", "mlx5_bond_0", 0x3b);
    let second = "devices/pci0/0000:3b:00.1";
    write(tree.path(), &format!("{second}/net/rail1/ifindex"), "60\n");
    let netdev = tree.path().join(second).join("net/rail1");
    symlink(tree.path().join(second), netdev.join("device")).unwrap();
    symlink(&netdev, tree.path().join("class/net/rail1")).unwrap();
    write(tree.path(), "class/net/bond0/ifindex", "70\n");
    write(tree.path(), "class/net/bond0/bonding/mode", "802.3ad 4\n");
    for member in ["rail0", "rail1"] {
        let base = tree.path().join("class/net");
        symlink(base.join("bond0"), base.join(member).join("master")).unwrap();
        fs::create_dir_all(base.join(format!("bond0/lower_{member}"))).unwrap();
    }
    write(tree.path(), "class/infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs/0", "bond0\n");
    let found = host(tree.path(), DeviceFilter::default()).discover();
    let shown: Vec<(&str, &str, PortRole, usize)> = found
        .devices
        .iter()
        .map(|own| (&*own.device, own.master.as_str(), own.role, own.rdma_ports.len()))
        .collect();
    assert_eq!(
        shown,
        [
            ("bond0", "", PortRole::Bond, 1),
            ("rail0", "bond0", PortRole::Physical, 0),
            ("rail1", "bond0", PortRole::Physical, 0),
        ]
    );
    assert_eq!(feeds_of(&found), [("bond0".to_owned(), Some("mlx5_bond_0".to_owned()), Some(1))]);
}

#[test]
fn an_empty_tree_has_nothing_and_says_so_without_failing() {
    let tree = tempfile::tempdir().unwrap();
    assert_eq!(host(tree.path(), DeviceFilter::default()).discover(), Discovery::default());
}
