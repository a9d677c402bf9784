//! What stands upon what: VLANs, bonds and bridges in the inventory, and what a thousand links cost.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::alone;
use crate::exporter::{Exporter, Scrape, named_statistics};
use crate::network_namespace::{add_veth, attempt, ip, receive_packets, tell_skipped};

/// Devices of an information metric, with one of its labels.
fn labels(scrape: &Scrape, metric: &str, label: &str) -> BTreeMap<String, String> {
    let of_metric = scrape.samples.iter().filter(|sample| sample.name == metric);
    let pairs =
        of_metric.map(|sample| (sample.labels["device"].clone(), sample.labels[label].clone()));
    pairs.collect()
}

fn of<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.iter().map(|(device, value)| ((*device).to_owned(), (*value).to_owned())).collect()
}

/// Three devices with packets of their own, each with its number.
fn add_ports() {
    for (subnet, device) in (0..).zip(["veth0", "veth1", "veth2"]) {
        add_veth(device, 2);
        receive_packets(device, subnet, 50 + u16::from(subnet));
    }
}

/// Ports count for themselves, and nothing above them repeats it.
fn assert_counted_once(exporter: &Exporter, upper: &str) {
    for (device, packets) in [("veth0", 50), ("veth1", 51), ("veth2", 52)] {
        exporter.wait_for_statistics(device);
        assert_eq!(exporter.scrape().received(device), packets, "{device}");
    }
    let scrape = exporter.scrape();
    assert!(scrape.knows(upper));
    assert_eq!(scrape.received(upper), 0, "{upper}");
    assert_eq!(labels(&scrape, "roce_device_info", "master")[upper], "");
}

#[test]
fn c43_a_bridge_is_told_from_its_ports_and_repeats_none_of_their_counters() {
    alone("bridge", |namespace| {
        add_ports();
        ip("link add veth-bridge type bridge");
        ip("link set veth1 master veth-bridge");
        ip("link set veth2 master veth-bridge");
        let exporter = Exporter::start(namespace, &["--device.exclude", ".*-peer"]);
        let scrape = exporter.scrape();
        assert_eq!(
            labels(&scrape, "roce_device_info", "master"),
            of([
                ("veth0", ""),
                ("veth1", "veth-bridge"),
                ("veth2", "veth-bridge"),
                ("veth-bridge", "")
            ])
        );
        assert_eq!(
            labels(&scrape, "roce_device_role_info", "role"),
            ["veth0", "veth1", "veth2", "veth-bridge"]
                .map(|device| (device.to_owned(), "virtual".to_owned()))
                .into()
        );
        assert_counted_once(&exporter, "veth-bridge");
        ip("link set veth1 nomaster");
        exporter.wait_for("veth1 on its own", || {
            labels(&exporter.scrape(), "roce_device_info", "master")["veth1"].is_empty()
        });
    });
}

#[test]
fn c46_a_bond_and_its_members_each_count_for_themselves() {
    alone("bond", |namespace| {
        if !add_link("bond", "veth-bond type bond mode active-backup") {
            return;
        }
        add_ports();
        for member in ["veth0", "veth1"] {
            ip(&format!("link set {member} down"));
            ip(&format!("link set {member} master veth-bond"));
        }
        ip("link set veth-bond up");
        let exporter = Exporter::start(namespace, &["--device.exclude", ".*-peer"]);
        let scrape = exporter.scrape();
        assert_eq!(
            labels(&scrape, "roce_device_info", "master"),
            of([("veth0", "veth-bond"), ("veth1", "veth-bond"), ("veth2", ""), ("veth-bond", "")])
        );
        assert_eq!(
            labels(&scrape, "roce_device_role_info", "role"),
            of([
                ("veth0", "virtual"),
                ("veth1", "virtual"),
                ("veth2", "virtual"),
                ("veth-bond", "bond")
            ])
        );
        assert_counted_once(&exporter, "veth-bond");
    });
}

#[test]
fn c43_a_vlan_is_told_from_the_port_below_it() {
    alone("vlan", |namespace| {
        add_ports();
        if !add_link("vlan", "link veth2 name veth2.100 type vlan id 100") {
            return;
        }
        let exporter = Exporter::start(namespace, &["--device.exclude", ".*-peer"]);
        let roles = labels(&exporter.scrape(), "roce_device_role_info", "role");
        assert_eq!(roles["veth2.100"], "virtual");
        assert_counted_once(&exporter, "veth2.100");
    });
}

/// Adds a link, unless the kernel was built without its kind, which no set-up can change.
fn add_link(kind: &str, arguments: &str) -> bool {
    let added = attempt("ip", &format!("link add {arguments}"));
    let lacking = added.as_ref().is_err_and(|said| said.contains("Unknown device type"));
    if lacking {
        tell_skipped(kind, "this kernel has no such links");
    } else {
        added.unwrap();
    }
    !lacking
}

#[test]
fn a_thousand_links_that_nobody_asked_for_cost_nothing() {
    alone("crowd", |namespace| {
        add_veth("veth0", 4);
        let wanted = "veth0|veth0-peer";
        let (alone, _) = cost(&Exporter::start_on(namespace, wanted));
        add_crowd(500);
        let since = Instant::now();
        let exporter = Exporter::start_on(namespace, wanted);
        let ready = since.elapsed();
        let (crowded, scrape) = cost(&exporter);
        println!(
            "1,000 links: ready after {ready:?}; {:.2} % of a core, with 2 links {:.2} %",
            crowded * 100.0,
            alone * 100.0
        );
        assert!(ready < Duration::from_secs(3), "ready after {ready:?}");
        assert!(crowded < alone * 2.0 + 0.03, "{crowded} of a core, alone {alone}");
        assert_eq!(scrape.statistics("veth0"), named_statistics("veth0"));
        assert_eq!(labels(&scrape, "roce_device_info", "driver").len(), 2);
    });
}

/// Adds pairs whose names no pattern of the tests admits.
fn add_crowd(pairs: u32) {
    let directory = tempfile::tempdir().unwrap();
    let batch = directory.path().join("batch");
    let mut lines = String::new();
    for number in 0..pairs {
        let veth = "type veth peer name";
        writeln!(lines, "link add left{number} numrxqueues 1 numtxqueues 1 {veth} right{number}")
            .unwrap();
    }
    fs::write(&batch, lines).unwrap();
    let done = Command::new("ip").arg("-batch").arg(&batch).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The share of a core that the program takes over three seconds in which nobody asks it anything, and what it
/// then exports.
fn cost(exporter: &Exporter) -> (f64, Scrape) {
    std::thread::sleep(Duration::from_millis(500));
    let (before, since) = (exporter.processor_time(), Instant::now());
    std::thread::sleep(Duration::from_secs(3));
    let share =
        exporter.processor_time().abs_diff(before).as_secs_f64() / since.elapsed().as_secs_f64();
    (share, exporter.scrape())
}
