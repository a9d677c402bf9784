//! The check of the configuration as its users see it: the report, its exit code, the metrics, the papers.

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

#[path = "check/demo.rs"]
mod demo;
#[path = "check/policy.rs"]
mod policy;
mod program;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use program::tree::Tree;
use program::{Ran, run};
use roce_exporter::engine::checks::Check;

/// A RoCE port whose files say that all is well.
fn add_rail(tree: &Tree, number: u32) {
    let (netdev, rdma) = (format!("eth{number}"), format!("mlx5_{number}"));
    let base = format!("class/net/{netdev}");
    tree.link(&format!("{base}/device/driver"), "../../../../bus/pci/drivers/mlx5_core");
    tree.write(&format!("{base}/ifindex"), &format!("{}\n", number + 2));
    tree.write(&format!("{base}/mtu"), "9000\n");
    for file in ["current_link_width", "max_link_width"] {
        tree.write(&format!("{base}/device/{file}"), "16\n");
    }
    for file in ["current_link_speed", "max_link_speed"] {
        tree.write(&format!("{base}/device/{file}"), "16.0 GT/s PCIe\n");
    }
    for priority in 0..8 {
        let on = u32::from(priority == 3);
        for role in ["roce_np", "roce_rp"] {
            tree.write(&format!("{base}/ecn/{role}/enable/{priority}"), &format!("{on}\n"));
        }
    }
    tree.rdma_device(&rdma, "mlx5_core")
        .netdev(&netdev)
        .file("ports/1/gid_attrs/types/0", "IB/RoCE v1")
        .file("ports/1/gid_attrs/types/1", "RoCE v2")
        .hw_counters(&[("np_cnp_sent", "7")])
        .counters(&[("symbol_error", "0")]);
}

fn check(tree: &Tree, flags: &[&str]) -> Ran {
    let always = ["check", "--path.sysfs", tree.path().to_str().unwrap(), "--log.level=error"];
    run(&[&always, flags].concat(), "")
}

fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, actual).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name} differs; UPDATE_EXPECT=1 rewrites it");
}

/// Status and text of a check of a port in a JSON report; none where there is no report.
fn finding(report: &str, device: &str, check: &str) -> Option<(String, String)> {
    let report: serde_json::Value = serde_json::from_str(report).ok()?;
    let port = report["ports"].as_array()?.iter().find(|own| own["device"] == device)?.clone();
    let found = port["findings"].as_array()?.iter().find(|own| own["check"] == check)?.clone();
    let text = found["found"].as_str().or(found["reason"].as_str())?;
    Some((found["status"].as_str()?.to_owned(), text.to_owned()))
}

#[test]
fn both_reports_are_as_they_were() {
    let tree = Tree::new();
    add_rail(&tree, 0);
    add_rail(&tree, 1);
    tree.write("class/net/eth1/mtu", "1500\n");
    tree.write("class/net/eth1/device/current_link_width", "8\n");
    let ran = check(&tree, &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    assert!(!ran.out.contains('\u{1b}'), "colours only on a terminal");
    golden("check.txt", &ran.out);
    let ran = check(&tree, &["--format=json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    golden("check.json", &ran.out);
}

#[test]
fn the_exit_code_is_that_of_the_worst_finding() {
    let tree = Tree::new();
    add_rail(&tree, 0);
    assert_eq!(check(&tree, &[]).code, Some(0), "unknown is no fault: {}", check(&tree, &[]).out);
    tree.write("class/net/eth0/mtu", "1500\n");
    assert_eq!(check(&tree, &[]).code, Some(1));
    tree.write("class/infiniband/mlx5_0/ports/1/gid_attrs/types/1", "IB/RoCE v1\n");
    assert_eq!(check(&tree, &[]).code, Some(2));
    let ran = check(&tree, &["--format=xml"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "bad settings have no report");
    assert!(ran.log.contains("--format: \"xml\": must be one of table, json"), "{}", ran.log);
}

#[test]
fn a_host_without_roce_has_nothing_to_check() {
    let tree = Tree::new();
    let ran = check(&tree, &[]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.starts_with("Nothing to check"), "{}", ran.out);
    tree.write("class/net/eth9/ifindex", "9\n");
    tree.write("class/net/eth9/device/vendor", "0x8086\n");
    let ran = check(&tree, &[]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.contains("1 netdev was looked at"), "{}", ran.out);
    let ran = check(&tree, &["--format=json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &report["status"]), (Some(0), &"ok".into()));
    assert_eq!(report["summary"]["ports"], 0);
}

#[test]
fn only_the_named_devices_are_checked() {
    let tree = Tree::new();
    (0..3).for_each(|number| add_rail(&tree, number));
    let ran = check(&tree, &["--device=eth[02]", "--format=json"]);
    for (device, there) in [("eth0", true), ("eth1", false), ("eth2", true)] {
        assert_eq!(finding(&ran.out, device, "mtu").is_some(), there, "{device}");
    }
}

#[test]
fn c75_a_container_without_the_vendors_tree_gets_unknown_and_the_reason() {
    let tree = Tree::new();
    add_rail(&tree, 0);
    let status = |check_name: &str| {
        finding(&check(&tree, &["--format=json"]).out, "eth0", check_name).unwrap()
    };
    assert_eq!(status("ecn_notification_point"), ("ok".to_owned(), "on".to_owned()));
    fs::remove_dir_all(tree.path().join("class/net/eth0/ecn")).unwrap();
    let (notification, reaction) = (status("ecn_notification_point"), status("ecn_reaction_point"));
    assert_eq!(notification.0, "ok");
    assert!(notification.1.contains("7 CNPs sent"), "inferred from counters: {notification:?}");
    assert_eq!(reaction.0, "unknown");
    assert!(reaction.1.contains("not shown here"), "{reaction:?}");
    assert_eq!(status("pfc_mask").0, "unknown", "a copy of a sysfs has no netlink");
}

#[test]
fn names_that_would_move_the_cursor_are_escaped() {
    let tree = Tree::new();
    add_rail(&tree, 0);
    fs::remove_file(tree.path().join("class/net/eth0/device/driver")).unwrap();
    tree.link("class/net/eth0/device/driver", "drivers/\u{1b}[2Jx");
    let ran = check(&tree, &[]);
    assert!(!ran.out.contains('\u{1b}') && ran.out.contains("\\u{1b}[2Jx"), "{}", ran.out);
}

#[test]
fn eight_nics_are_checked_within_200_ms() {
    let tree = Tree::new();
    (0..8).for_each(|number| add_rail(&tree, number));
    let times = (0..5).map(|_| {
        let started = Instant::now();
        assert_eq!(check(&tree, &[]).code, Some(0));
        started.elapsed()
    });
    let best: Duration = times.min().unwrap();
    println!("{best:?}");
    assert!(best < Duration::from_millis(200), "{best:?}");
}

#[test]
fn each_check_has_its_page_and_each_page_its_check() {
    let paper = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/checks.md");
    let paper = fs::read_to_string(paper).unwrap();
    let pages: Vec<&str> =
        paper.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`')).collect();
    let checks: Vec<&str> = Check::ALL.iter().map(|check| check.as_str()).collect();
    assert_eq!(pages, checks, "in the order of the report");
}
