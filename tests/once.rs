//! The program over sysfs trees as people's machines show them: cases from the field, each under its number.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests: the shared modules serve several test crates, and a panic is a failed test"
)]

mod program;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use program::once;
use program::tree::Tree;

/// An mlx5 device that counts.
fn add_mlx5(tree: &Tree, name: &str, netdev: &str, cnp_sent: &str) {
    tree.rdma_device(name, "mlx5_core")
        .netdev(netdev)
        .hw_counters(&[("np_cnp_sent", cnp_sent), ("rx_write_requests", "9")]);
}

fn of(rdma_device: &str) -> [(&'static str, &str); 1] {
    [("rdma_device", rdma_device)]
}

#[test]
fn c01_one_text_value_costs_one_series() {
    let tree = Tree::new();
    add_mlx5(&tree, "mlx5_0", "rail0", "11");
    add_mlx5(&tree, "mlx5_1", "rail1", "12");
    tree.rdma_device("i40iw0", "i40e")
        .counters(&[("port_rcv_data", "N/A (no PMA)"), ("port_xmit_data", "250")]);
    let ran = once(tree.path(), &[]);
    assert_eq!(ran.value("roce_cnp_sent_total", &of("mlx5_0")).as_deref(), Some("11"));
    assert_eq!(ran.value("roce_cnp_sent_total", &of("mlx5_1")).as_deref(), Some("12"));
    let bytes =
        |way| ran.value("roce_rdma_bytes_total", &[("rdma_device", "i40iw0"), ("direction", way)]);
    assert_eq!(bytes("tx").as_deref(), Some("1000"), "what can be read is there");
    assert_eq!(bytes("rx"), None, "absent is not zero");
    let errors = [("rdma_device", "i40iw0"), ("reason", "not_a_number")];
    assert_eq!(ran.value("roce_source_errors_total", &errors).as_deref(), Some("1"));
    let told: Vec<&str> = ran.log.lines().filter(|line| line.contains("not_a_number")).collect();
    assert_eq!(told.len(), 1, "{}", ran.log);
    assert!(
        told[0].contains("rdma_device=i40iw0") && told[0].contains("direction=rx"),
        "{}",
        told[0]
    );
}

#[test]
fn c02_c49_a_device_shows_what_it_has_and_leaves_the_others_in() {
    let tree = Tree::new();
    for number in 0..4 {
        tree.write(&format!("class/infiniband/irdma{number}/ports/1/hw_counters/cnpSent"), "5\n");
        let link = format!("class/infiniband/irdma{number}/device/driver");
        tree.link(&link, "../../../../bus/pci/drivers/ice");
    }
    tree.write("class/infiniband/broken/ports/not_a_number/x", "");
    tree.write("class/infiniband/a_file", "");
    add_mlx5(&tree, "mlx5_0", "rail0", "11");
    let ran = once(tree.path(), &[]);
    for (device, expected) in [("irdma0", "5"), ("irdma3", "5"), ("mlx5_0", "11")] {
        assert_eq!(ran.value("roce_cnp_sent_total", &of(device)).as_deref(), Some(expected));
    }
}

#[test]
fn c04_a_counter_that_cannot_be_read_is_taken_from_where_it_can() {
    let tree = Tree::new();
    tree.rdma_device("bnxt_re0", "bnxt_en")
        .unreadable_counter("port_rcv_data")
        .hw_counters(&[("rx_bytes", "7521781137064")]);
    let ran = once(tree.path(), &[]);
    let rx = [("direction", "rx")];
    assert_eq!(ran.value("roce_rdma_bytes_total", &rx).as_deref(), Some("7521781137064"));
    assert_eq!(ran.value("roce_source_errors_total", &[]), None, "nobody asks the broken file");
}

#[test]
fn c06_lifespan_is_a_period_and_no_counter() {
    let tree = Tree::new();
    tree.rdma_device("mlx5_0", "mlx5_core").hw_counters(&[
        ("lifespan", "10"),
        ("np_cnp_sent", "4"),
        ("rx_write_requests", "5"),
    ]);
    let ran = once(tree.path(), &["--raw.include=.*"]);
    let source = [("source", "rdma_sysfs")];
    assert_eq!(ran.value("roce_counter_refresh_seconds", &source).as_deref(), Some("0.01"));
    assert_eq!(ran.value("roce_cnp_sent_total", &[]).as_deref(), Some("4"));
    assert!(!ran.out.contains("lifespan"), "{}", ran.out);
}

#[test]
fn c09_words_become_octets_and_octets_stay() {
    let tree = Tree::new();
    tree.rdma_device("mlx5_0", "mlx5_core")
        .counters(&[("port_rcv_data", "250"), ("port_xmit_data", "1000")]);
    tree.rdma_device("bnxt_re0", "bnxt_en")
        .hw_counters(&[("rx_bytes", "250"), ("tx_bytes", "1000")]);
    let ran = once(tree.path(), &[]);
    let bytes = |device, way| {
        let labels = [("rdma_device", device), ("direction", way)];
        ran.value("roce_rdma_bytes_total", &labels).unwrap()
    };
    assert_eq!([bytes("mlx5_0", "rx"), bytes("mlx5_0", "tx")], ["1000", "4000"]);
    assert_eq!([bytes("bnxt_re0", "rx"), bytes("bnxt_re0", "tx")], ["250", "1000"]);
}

#[test]
fn c11_the_link_layer_is_a_label_and_takes_no_counter_away() {
    let tree = Tree::new();
    let devices = [("mlx5_0", "Ethernet"), ("mlx5_1", "InfiniBand"), ("mlx5_2", "Unspecified")];
    for (device, link_layer) in devices {
        tree.rdma_device(device, "mlx5_core")
            .file("ports/1/link_layer", link_layer)
            .file("ports/1/lid", "0x0")
            .file("ports/1/sm_lid", "0x0")
            .hw_counters(&[("out_of_sequence", "3")]);
    }
    let ran = once(tree.path(), &[]);
    for (device, link_layer) in devices {
        let counted = ran.value("roce_rdma_out_of_sequence_total", &of(device));
        assert_eq!(counted.as_deref(), Some("3"), "{device}");
        let labels = [("rdma_device", device), ("link_layer", link_layer)];
        assert_eq!(ran.value("roce_device_info", &labels).as_deref(), Some("1"), "{device}");
    }
    assert_eq!(ran.log, "");
}

#[test]
fn c12_a_device_that_vanishes_while_listed_costs_only_itself() {
    let tree = Tree::new();
    for number in 0..7 {
        add_mlx5(&tree, &format!("mlx5_{number}"), &format!("rail{number}"), "1");
    }
    tree.link("class/infiniband/mlx5_8", "../../devices/gone/mlx5_8");
    let ran = once(tree.path(), &[]);
    let cnp = ran.families().into_iter().find(|family| family.name == "roce_cnp_sent_total");
    assert_eq!(cnp.unwrap().samples.len(), 7);
    assert_eq!(ran.value("roce_device_info", &of("mlx5_8")), None);
}

#[test]
fn c14_listed_without_counters_is_said_with_the_remedy() {
    let tree = Tree::new();
    for number in 0..10 {
        tree.link(&format!("class/infiniband/mlx5_{number}"), "../../devices/not/mounted");
    }
    tree.link("class/net/rail0", "../../devices/not/mounted/either");
    // A network namespace of its own: the device is there, its counters are not.
    tree.rdma_device("mlx5_20", "mlx5_core");
    let ran = once(tree.path(), &["--device.exclude=mlx5_9"]);
    ran.families();
    let warnings: Vec<&str> = ran.log.lines().filter(|line| line.contains("level=warn")).collect();
    assert_eq!(warnings.len(), 1, "{}", ran.log);
    let listed = "mlx5_0,mlx5_1,mlx5_2,mlx5_20,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8,rail0";
    assert!(warnings[0].contains(&format!("devices={listed}")), "{}", warnings[0]);
    for remedy in ["mount the /sys of the host", "--path.sysfs", "network namespace of the host"] {
        assert!(warnings[0].contains(remedy), "{remedy} is not in {}", warnings[0]);
    }
}

#[test]
fn c16_mlx5_traffic_comes_from_the_port_counters_and_unknown_names_on_request() {
    let tree = Tree::new();
    tree.rdma_device("mlx5_0", "mlx5_core")
        .hw_counters(&[("np_cnp_sent", "1"), ("a_new_counter", "77")])
        .counters(&[("port_xmit_data", "5"), ("port_xmit_packets", "6")]);
    let tx = [("direction", "tx")];
    let plain = once(tree.path(), &[]);
    assert_eq!(plain.value("roce_rdma_bytes_total", &tx).as_deref(), Some("20"));
    assert_eq!(plain.value("roce_rdma_packets_total", &tx).as_deref(), Some("6"));
    assert_eq!(plain.value("roce_raw_counter", &[]), None);
    let raw = once(tree.path(), &["--raw.include=a_new.*"]);
    assert_eq!(raw.value("roce_raw_counter", &[("name", "a_new_counter")]).as_deref(), Some("77"));
}

#[test]
fn c17_ionic_traffic_comes_from_its_own_counters() {
    let tree = Tree::new();
    tree.rdma_device("rocep9s0", "ionic")
        .counters(&[("port_rcv_data", ""), ("port_xmit_data", "")])
        .hw_counters(&[
            ("rx_rdma_ucast_bytes", "900"),
            ("rx_rdma_mcast_bytes", "5"),
            ("tx_rdma_ucast_bytes", "70"),
            ("tx_rdma_mcast_bytes", "0"),
        ]);
    let ran = once(tree.path(), &[]);
    let bytes = |way| ran.value("roce_rdma_bytes_total", &[("direction", way)]);
    assert_eq!([bytes("rx").as_deref(), bytes("tx").as_deref()], [Some("905"), Some("70")]);
    assert_eq!(ran.value("roce_device_info", &[("driver", "ionic_rdma")]).as_deref(), Some("1"));
}

#[test]
fn c19_what_a_driver_lacks_is_absent_and_said_to_be() {
    let tree = Tree::new();
    tree.rdma_device("mlx5_0", "mlx5_core").hw_counters(&[("out_of_sequence", "0")]);
    add_mlx5(&tree, "mlx5_1", "rail1", "0");
    let ran = once(tree.path(), &[]);
    assert_eq!(ran.value("roce_cnp_sent_total", &of("mlx5_0")), None);
    assert_eq!(ran.value("roce_cnp_sent_total", &of("mlx5_1")).as_deref(), Some("0"), "0 was read");
    let supported = |device| {
        let labels = [("rdma_device", device), ("counter", "roce_cnp_sent_total")];
        ran.value("roce_counter_supported", &labels)
    };
    assert_eq!(
        [supported("mlx5_0").as_deref(), supported("mlx5_1").as_deref()],
        [Some("0"), Some("1")]
    );
}

#[test]
fn c23_odd_names_keep_their_values() {
    let tree = Tree::new();
    tree.rdma_device("mlx5_0", "mlx5_core").hw_counters(&[
        ("Queue[0] Fails", "41"),
        ("  leading", "42"),
        ("a.b:c\"d", "43"),
    ]);
    let ran = once(tree.path(), &["--raw.include=.*"]);
    for (name, value) in [("Queue[0] Fails", "41"), ("leading", "42"), ("a.b:c\"d", "43")] {
        assert_eq!(
            ran.value("roce_raw_counter", &[("name", name)]).as_deref(),
            Some(value),
            "{name}"
        );
    }
}

#[test]
fn c25_raw_counters_are_off_at_first_and_capped_when_on() {
    let tree = Tree::new();
    let names: Vec<String> = (0..600).map(|number| format!("counter_{number}")).collect();
    let counters: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    tree.rdma_device("hfi1_0", "hfi1").hw_counters(&counters);
    let raw = |flags: &[&str]| {
        let families = once(tree.path(), flags).families();
        let raw = families.into_iter().find(|family| family.name == "roce_raw_counter");
        raw.map_or(0, |family| family.samples.len())
    };
    assert_eq!(raw(&[]), 0);
    assert_eq!(raw(&["--raw.include=.*"]), 100);
    assert_eq!(raw(&["--raw.include=.*", "--raw.max=7"]), 7);
}

#[test]
fn c42_two_alike_nics_keep_their_own_values() {
    let tree = Tree::new();
    add_mlx5(&tree, "mlx5_0", "rail0", "1000");
    add_mlx5(&tree, "mlx5_1", "rail1", "2000");
    let ran = once(tree.path(), &[]);
    for (netdev, rdma_device, expected) in
        [("rail0", "mlx5_0", "1000"), ("rail1", "mlx5_1", "2000")]
    {
        let labels = [("device", netdev), ("rdma_device", rdma_device), ("port", "1")];
        assert_eq!(ran.value("roce_cnp_sent_total", &labels).as_deref(), Some(expected));
    }
}

/// The user `nobody` of Debian and of most others.
const NOBODY: u32 = 65_534;

#[test]
fn c47_nobody_reads_all_but_what_is_denied_and_that_is_a_reason() {
    let tree = Tree::new();
    add_mlx5(&tree, "mlx5_0", "rail0", "11");
    let denied = tree.path().join("class/infiniband/mlx5_0/ports/1/hw_counters/rx_write_requests");
    fs::set_permissions(&denied, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(tree.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // A copy, since the directories above the built program may be closed to others. Made by another process: a test
    // that forks while this one has the copy open for writing would keep it busy.
    let program = tree.path().join("roce_exporter");
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_roce_exporter")).arg(&program).status();
    assert!(copied.unwrap().success());
    let mut command = Command::new(&program);
    command.args(["once", "--path.sysfs"]).arg(tree.path()).current_dir("/");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let out = String::from_utf8(output.stdout).unwrap();
    let series = |name: &str| {
        out.lines().filter(|line| line.starts_with(&format!("{name}{{"))).collect::<Vec<_>>()
    };
    assert!(series("roce_cnp_sent_total")[0].ends_with(" 11"), "{out}");
    assert!(series("roce_rdma_rx_write_requests_total").is_empty(), "{out}");
    let errors = series("roce_source_errors_total");
    assert!(errors.len() == 1 && errors[0].contains("reason=\"denied\""), "{errors:?}");
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn this_machine_s_own_sysfs_gives_a_strict_exposition() {
    let ran = once(Path::new("/sys"), &[]);
    assert!(ran.families().iter().any(|family| family.name == "roce_exporter_build_info"));
}
