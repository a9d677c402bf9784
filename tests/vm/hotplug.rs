//! NICs that come, go, change their names and their namespaces while the program samples them.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::exporter::{Exporter, Scrape};
use crate::nic::{Namespace, Nic, control, inside, run};

/// The 100 ms that the program has to keep, and as much again for an emulated processor.
const BOUND: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(10);

const FRAMES: &str = "roce_pfc_pause_frames_total";
const CNPS: &str = "roce_cnp_sent_total";

fn frames(scrape: &Scrape, device: &str) -> Option<f64> {
    scrape.value(FRAMES, &[("device", device), ("priority", "3"), ("direction", "rx")])
}

fn cnps(scrape: &Scrape, device: &str, rdma: &str) -> Option<f64> {
    scrape.value(CNPS, &[("device", device), ("rdma_device", rdma), ("port", "1")])
}

/// Waits until a scrape satisfies `condition`. What counts is the last scrape that did not: here a scrape takes tens of
/// milliseconds by itself.
fn follow(exporter: &Exporter, what: &str, mut condition: impl FnMut(&Scrape) -> bool) {
    let since = Instant::now();
    let mut asked = Duration::ZERO;
    loop {
        let now = since.elapsed();
        if condition(&exporter.scrape()) {
            break;
        }
        asked = now;
        assert!(asked < PATIENCE, "{what}: not after {asked:?}\n{}", exporter.log());
    }
    println!("{what}: not yet {asked:?} after it happened");
    assert!(asked < BOUND, "{what}: not yet after {asked:?}");
}

fn nic(name: &str, rdma: &str, value: u64) -> Nic {
    let nic = Nic::new(name, "mlx5_core", &format!("rdma={rdma} pfc=0x08"));
    nic.counter("rx_prio3_pause", value, 0);
    nic.rdma_counter("np_cnp_sent", value + 1, 0);
    nic
}

pub fn a_nic_is_added_and_removed_while_sampled() {
    let _stays = nic("rail0", "mlx5_0", 100);
    let exporter = Exporter::start(&[]);
    for round in 1..=3 {
        let value = 1000 * round;
        let _comes = nic("rail1", "mlx5_1", value);
        follow(&exporter, "rail1 added", |scrape| {
            frames(scrape, "rail1") == Some(value as f64)
                && cnps(scrape, "rail1", "mlx5_1") == Some(value as f64 + 1.0)
        });
        control("remove rail1");
        follow(&exporter, "rail1 removed", |scrape| {
            !scrape.knows("rail1") && !scrape.knows("mlx5_1")
        });
        let scrape = exporter.scrape();
        assert_eq!(frames(&scrape, "rail0"), Some(100.0));
        assert_eq!(cnps(&scrape, "rail0", "mlx5_0"), Some(101.0));
    }
}

/// As an operator does it by sysfs: the same NIC, by the same name, with all counters at 0.
pub fn a_driver_is_unbound_and_bound() {
    let nic = nic("rail0", "mlx5_0", 100);
    let exporter = Exporter::start(&[]);
    let device = std::fs::read_link("/sys/class/net/rail0/device").unwrap();
    let device = device.file_name().unwrap().to_str().unwrap().to_owned();
    let tell = |file: &str| {
        std::fs::write(format!("/sys/bus/platform/drivers/mlx5_core/{file}"), &device).unwrap();
    };
    tell("unbind");
    follow(&exporter, "rail0 unbound", |scrape| !scrape.knows("rail0") && !scrape.knows("mlx5_0"));
    tell("bind");
    run("ip", "link set rail0 up");
    follow(&exporter, "rail0 bound", |scrape| {
        frames(scrape, "rail0") == Some(0.0) && cnps(scrape, "rail0", "mlx5_0") == Some(0.0)
    });
    nic.counter("rx_prio3_pause", 7, 0);
    follow(&exporter, "rail0 counts", |scrape| frames(scrape, "rail0") == Some(7.0));
}

pub fn a_nic_is_renamed_while_sampled() {
    let _nic = nic("rail0", "mlx5_0", 100);
    let exporter = Exporter::start(&[]);
    for (from, to) in [("rail0", "storage0"), ("storage0", "rail0")] {
        // The kernel renames what is down; 6.2 and later also what is up.
        run("ip", &format!("link set {from} down"));
        run("ip", &format!("link set {from} name {to}"));
        run("ip", &format!("link set {to} up"));
        follow(&exporter, "renamed", |scrape| {
            frames(scrape, to) == Some(100.0)
                && cnps(scrape, to, "mlx5_0") == Some(101.0)
                && !scrape.knows(from)
        });
    }
}

/// Two NICs that swap their names: no value may stand under the other's name, not for one scrape.
pub fn two_nics_swap_their_names() {
    let _nics = [nic("rail0", "mlx5_0", 100), nic("rail1", "mlx5_1", 200)];
    let exporter = Exporter::start(&[]);
    let owners = |scrape: &Scrape| ["rail0", "rail1"].map(|name| frames(scrape, name));
    assert_eq!(owners(&exporter.scrape()), [Some(100.0), Some(200.0)]);
    for name in ["rail0", "rail1"] {
        run("ip", &format!("link set {name} down"));
    }
    run("ip", "link set rail0 name other");
    run("ip", "link set rail1 name rail0");
    run("ip", "link set other name rail1");
    follow(&exporter, "swapped", |scrape| owners(scrape) == [Some(200.0), Some(100.0)]);
    let scrape = exporter.scrape();
    assert_eq!(cnps(&scrape, "rail0", "mlx5_1"), Some(201.0));
    assert_eq!(cnps(&scrape, "rail1", "mlx5_0"), Some(101.0));
}

/// A container gets the NIC. Its RDMA device stays in everybody's list, and its statistics stay readable.
pub fn a_nic_moves_to_a_namespace_and_back() {
    let _nic = nic("rail0", "mlx5_0", 100);
    let _pod = Namespace::new("pod");
    let exporter = Exporter::start(&[]);
    run("ip", "link set rail0 netns pod");
    follow(&exporter, "moved away", |scrape| {
        frames(scrape, "rail0").is_none() && cnps(scrape, "", "mlx5_0") == Some(101.0)
    });
    assert!(exporter.log().contains("netdev not visible"), "{}", exporter.log());
    run("ip", "netns exec pod ip link set rail0 netns 1");
    run("ip", "link set rail0 up");
    follow(&exporter, "moved back", |scrape| {
        frames(scrape, "rail0") == Some(100.0) && cnps(scrape, "rail0", "mlx5_0") == Some(101.0)
    });
}

/// The opt-in that needs a capability: NICs of other namespaces, under the namespace's name.
pub fn nics_of_a_namespace_are_sampled_from_outside() {
    let _nic = nic("rail0", "mlx5_0", 100);
    let _pod = Namespace::new("pod");
    run("ip", "link set rail0 netns pod");
    run("ip", "netns exec pod ip link set rail0 up");
    let exporter = Exporter::start_as(None, &["--device.netns", "pod"]);
    let info = [("device", "pod/rail0"), ("netns", "pod"), ("driver", "mlx5_core")];
    exporter.scrape_until("NIC of the namespace", |scrape| {
        frames(scrape, "pod/rail0") == Some(100.0)
            && scrape.value("roce_device_info", &info).is_some()
    });
    run("ip", "netns exec pod ip link set rail0 netns 1");
    exporter.scrape_until("end of the NIC in the namespace", |scrape| !scrape.knows("pod/rail0"));
}

/// The program inside a namespace sees the RDMA devices of all, and only its own netdevs.
pub fn another_namespace_has_its_own_view() {
    let _nics = [nic("rail0", "mlx5_0", 100), nic("rail1", "mlx5_1", 200)];
    let _pod = Namespace::new("pod");
    run("ip", "link set rail1 netns pod");
    run("ip", "netns exec pod ip link set rail1 up");
    run("ip", "netns exec pod ip link set lo up");
    inside("pod", || {
        let exporter = Exporter::start(&[]);
        let scrape = exporter.scrape();
        assert_eq!(frames(&scrape, "rail1"), Some(200.0));
        assert_eq!(cnps(&scrape, "rail1", "mlx5_1"), Some(201.0));
        assert!(!scrape.knows("rail0"), "a netdev of the other namespace");
        assert_eq!(cnps(&scrape, "", "mlx5_0"), Some(101.0));
    });
    run("ip", "netns exec pod ip link set rail1 netns 1");
}

/// RoCE over a bond: one RDMA device for two NICs, pause counters of each NIC by itself.
pub fn a_bond_links_its_nics_to_one_rdma_device() {
    crate::modules::load("bonding");
    let nics = ["rail0", "rail1"].map(|name| Nic::new(name, "mlx5_core", "pfc=0x08"));
    for (nic, value) in nics.iter().zip([100, 200]) {
        nic.counter("rx_prio3_pause", value, 0);
    }
    nics[0].order("rdma", "mlx5_bond_0");
    nics[0].rdma_counter("np_cnp_sent", 300, 0);
    // The module comes with a bond0 of its own.
    run("ip", "link add bond7 type bond mode active-backup miimon 100");
    for name in ["rail0", "rail1"] {
        run("ip", &format!("link set {name} down"));
        run("ip", &format!("link set {name} master bond7"));
    }
    run("ip", "link set bond7 up");
    let exporter = Exporter::start(&[]);
    exporter.scrape_until("bond", |scrape| {
        let member = |device: &str, rdma: &str| {
            let info = [("device", device), ("master", "bond7"), ("rdma_device", rdma)];
            scrape.value("roce_device_info", &info) == Some(1.0)
        };
        member("rail0", "mlx5_bond_0") && member("rail1", "")
    });
    let scrape = exporter.scrape();
    assert_eq!(frames(&scrape, "rail0"), Some(100.0));
    assert_eq!(frames(&scrape, "rail1"), Some(200.0));
    assert_eq!(cnps(&scrape, "rail0", "mlx5_bond_0"), Some(300.0));
    assert!(scrape.of("device", "bond7").next().is_none(), "the bond itself is counted");
    run("ip", "link del bond7");
    exporter.scrape_until("end of the bond", |scrape| {
        scrape
            .value(
                "roce_device_info",
                &[("device", "rail0"), ("master", ""), ("rdma_device", "mlx5_bond_0")],
            )
            .is_some()
    });
}

/// What lies above ports, where an operator asks for it: told from the ports, and no counter is there twice.
pub fn a_bond_and_a_vlan_are_told_from_the_ports_below_them() {
    crate::modules::load("bonding");
    crate::modules::load("8021q");
    let nics = ["rail0", "rail1"].map(|name| Nic::new(name, "mlx5_core", "pfc=0x08"));
    nics[0].counter("rx_prio3_pause", 100, 0);
    let exporter = Exporter::start(&["--device.include", "rail.*|bond7.*"]);
    run("ip", "link add bond7 type bond mode active-backup miimon 100");
    run("ip", "link set rail0 down");
    run("ip", "link set rail0 master bond7");
    run("ip", "link set bond7 up");
    run("ip", "link add link bond7 name bond7.100 type vlan id 100");
    run("ip", "link set bond7.100 up");
    let role = |scrape: &Scrape, device: &str, role: &str| {
        scrape.value("roce_device_role_info", &[("device", device), ("role", role)]).is_some()
    };
    let scrape = exporter.scrape_until("a bond and a VLAN", |scrape| {
        let member = [("device", "rail0"), ("master", "bond7")];
        scrape.value("roce_device_info", &member).is_some()
            && role(scrape, "bond7", "bond")
            && role(scrape, "bond7.100", "virtual")
            && frames(scrape, "rail0") == Some(100.0)
    });
    assert!(role(&scrape, "rail0", "physical") && role(&scrape, "rail1", "physical"));
    let one = [("device", "rail1"), ("master", "")];
    assert!(scrape.value("roce_device_info", &one).is_some());
    for device in ["bond7", "bond7.100"] {
        assert_eq!(frames(&scrape, device), None, "{device}");
    }
    run("ip", "link del bond7");
    exporter.scrape_until("end of the bond and its VLAN", |scrape| {
        !scrape.knows("bond7") && !scrape.knows("bond7.100")
    });
}

/// NICs that come and go all the time beside one that stays.
pub fn churn_leaves_no_stale_series() {
    let _stays = nic("rail0", "mlx5_0", 100);
    let exporter = Exporter::start(&[]);
    for _ in 0..15 {
        let _nics = [nic("rail1", "mlx5_1", 5), nic("rail2", "mlx5_2", 6)];
        sleep(Duration::from_millis(20));
    }
    follow(&exporter, "end of the churn", |scrape| {
        !["rail1", "rail2", "mlx5_1", "mlx5_2"].iter().any(|name| scrape.knows(name))
    });
    let scrape = exporter.scrape();
    assert_eq!(frames(&scrape, "rail0"), Some(100.0));
    assert_eq!(
        scrape.value("roce_device_stale", &[("device", "rail0"), ("source", "ethtool")]),
        Some(0.0)
    );
}
