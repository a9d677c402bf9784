//! The built program as a server over a sysfs tree that changes under it.

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

#[path = "web/client.rs"]
mod client;
mod program;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use program::tree::Tree;
use roce_exporter::export::Format;
use rustix::process::{Pid, Signal, kill_process};
use strict_parser::{ParsedFamily, parse, value};

/// How long a change may take to be seen; devices are looked for every 5 s, and the machine may be slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server. It is killed if the test fails.
struct Served {
    child: Child,
    log: BufReader<ChildStderr>,
    address: SocketAddr,
}

impl Served {
    fn over(tree: &Tree) -> Self {
        Self::with(tree, &[])
    }

    fn with(tree: &Tree, flags: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_roce_exporter"))
            .args(["--web.listen-address=127.0.0.1:0", "--path.sysfs"])
            .arg(tree.path())
            .args(flags)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "the server ended before it listened");
            if let Some((_, rest)) = line.split_once(" address=") {
                break rest.split_whitespace().next().unwrap().parse().unwrap();
            }
        };
        Self { child, log, address }
    }

    fn families(&self) -> Vec<ParsedFamily> {
        let reply = client::get(self.address, "/metrics");
        assert_eq!(reply.status, 200);
        parse(reply.text(), Format::Text004)
    }

    /// Scrapes until `seen` holds.
    fn wait_until(&self, what: &str, seen: impl Fn(&[ParsedFamily]) -> bool) {
        let started = Instant::now();
        while !seen(&self.families()) {
            assert!(started.elapsed() < PATIENCE, "not seen: {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops the server as a service manager does; returns how it ended and the rest of its log.
    fn stop(mut self) -> (ExitStatus, String) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let mut log = String::new();
        self.log.read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap(), log)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It has ended already where the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cnp(families: &[ParsedFamily], rdma_device: &str) -> Option<String> {
    value(families, "roce_cnp_sent_total", &[("rdma_device", rdma_device)])
}

#[test]
fn c12_a_device_that_vanishes_takes_only_its_own_series() {
    let tree = Tree::new();
    for (device, netdev) in [("mlx5_0", "rail0"), ("mlx5_1", "rail1")] {
        tree.rdma_device(device, "mlx5_core").netdev(netdev).hw_counters(&[("np_cnp_sent", "7")]);
    }
    let served = Served::over(&tree);
    served.wait_until("both devices", |families| {
        ["mlx5_0", "mlx5_1"].iter().all(|device| cnp(families, device).as_deref() == Some("7"))
    });
    fs::remove_dir_all(tree.path().join("class/infiniband/mlx5_1")).unwrap();
    served.wait_until("the loss", |families| {
        let gone = [("rdma_device", "mlx5_1")];
        families.iter().all(|family| value(families, &family.name, &gone).is_none())
    });
    assert_eq!(cnp(&served.families(), "mlx5_0").as_deref(), Some("7"));
    tree.rdma_device("mlx5_1", "mlx5_core").hw_counters(&[("np_cnp_sent", "1")]);
    served.wait_until("the return", |families| cnp(families, "mlx5_1").as_deref() == Some("1"));
    let (status, log) = served.stop();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn c33_the_log_says_at_start_which_figures_found_no_source() {
    let tree = Tree::new();
    tree.rdma_device("mlx5_0", "mlx5_core")
        .netdev("rail0")
        .hw_counters(&[("np_cnp_sent", "7"), ("unheard_of", "1")]);
    let served = Served::over(&tree);
    served.wait_until("the device", |families| cnp(families, "mlx5_0").is_some());
    let (_, log) = served.stop();
    let told: Vec<&str> = log.lines().filter(|line| line.contains("rdma_device=mlx5_0")).collect();
    assert_eq!(told.len(), 1, "once, not per sample: {log}");
    for part in [
        "names=2",
        "counters=1",
        "has=rdma_cnp_sent",
        "lacks=rdma_ecn_marked_packets,rdma_cnp_handled",
    ] {
        assert!(told[0].contains(part), "{part} is not in {}", told[0]);
    }
}

#[test]
fn sighup_reads_the_policy_again_and_changes_are_counted_on() {
    let tree = Tree::new();
    tree.rdma_device("mlx5_0", "mlx5_core").netdev("rail0").hw_counters(&[("np_cnp_sent", "7")]);
    for (file, text) in [("ifindex", "3"), ("mtu", "9000"), ("device/vendor", "0x15b3")] {
        tree.write(&format!("class/net/rail0/{file}"), text);
    }
    let policy = tree.path().join("policy.yml");
    fs::write(&policy, "mtu_least: 4200\n").unwrap();
    let served = Served::with(&tree, &["--policy.file", policy.to_str().unwrap()]);
    let has = |status: &'static str| {
        let labels = [("device", "rail0"), ("check", "mtu"), ("status", status)];
        move |families: &[ParsedFamily]| value(families, "roce_check_status", &labels).is_some()
    };
    let changes = |families: &[ParsedFamily]| {
        let labels = [("device", "rail0"), ("setting", "mtu")];
        value(families, "roce_config_changes_total", &labels)
    };
    served.wait_until("the first verdict", has("ok"));
    assert_eq!(changes(&served.families()).as_deref(), Some("0"));
    tree.write("class/net/rail0/mtu", "8000");
    served.wait_until("the change", |families| changes(families).as_deref() == Some("1"));
    let hang_up = || kill_process(Pid::from_child(&served.child), Signal::HUP).unwrap();
    fs::write(&policy, "mtu_least: 1\n").unwrap();
    hang_up();
    fs::write(&policy, "mtu_least: 8500\n").unwrap();
    hang_up();
    served.wait_until("the other policy", has("warning"));
    assert_eq!(changes(&served.families()).as_deref(), Some("1"), "a reload forgets no change");
    let (status, log) = served.stop();
    assert_eq!(status.code(), Some(0), "{log}");
}
