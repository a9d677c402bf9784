//! Peers from LLDP: Debian's lldpd on both ends of a veth pair, and files as systemd-networkd writes them.
//!
//! The daemons run in namespaces of the test and are ended by their ids. Without root, `ip` or lldpd the test says
//! `SKIPPED` and why, and fails where `ROCE_REQUIRE_ALL_TIERS=1` says that all must run.

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
#[path = "links/fleet.rs"]
mod fleet;
mod network_namespace;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fleet::{Fleet, PATIENCE};
use network_namespace::{attempt, in_namespace, ip, tell_skipped};
use rustix::process::{Pid, Signal, kill_process};

/// A daemon that is asked to end, so that it takes its own children along.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

/// lldpd in a namespace, with a name of its own, quick to announce itself.
fn lldpd(namespace: &str, socket: &Path, name: &str) -> Daemon {
    let socket = socket.to_str().unwrap();
    let command = ["netns", "exec", namespace, "lldpd", "-d", "-u", socket];
    let daemon = Command::new("ip").args(command).stderr(Stdio::null()).spawn().unwrap();
    let daemon = Daemon(daemon);
    wait_for("lldpd", || Path::new(socket).exists());
    for setting in [&["system", "hostname", name][..], &["lldp", "tx-interval", "1"]] {
        let mut configure = Command::new("lldpcli");
        configure.args(["-u", socket, "configure"]).args(setting).stdout(Stdio::null());
        wait_for("lldpcli", || configure.status().unwrap().success());
    }
    daemon
}

fn wait_for(what: &str, mut seen: impl FnMut() -> bool) {
    let since = Instant::now();
    while !seen() {
        assert!(since.elapsed() < PATIENCE, "no {what}");
        sleep(Duration::from_millis(50));
    }
}

/// What the program says of the peer of `device`, its lldpcli being the one in `programs`.
fn peer(namespace: &str, device: &str, programs: &Path) -> Option<String> {
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let ran = Command::new("ip")
        .args(["netns", "exec", namespace, env!("CARGO_BIN_EXE_roce_exporter"), "once"])
        .args(["--links.lldp=lldpd", "--device.include", device])
        .env("PATH", path)
        .output()
        .unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success() && text.contains(device), "{text}");
    let line = text.lines().find(|line| line.starts_with("roce_link_peer_info{"));
    line.map(str::to_owned)
}

#[test]
fn lldpd_tells_who_is_at_the_other_end() {
    let test = "lldpd_tells_who_is_at_the_other_end";
    if Command::new("lldpd").arg("-v").output().is_err() {
        let required = std::env::var_os("ROCE_REQUIRE_ALL_TIERS").is_some_and(|value| value == "1");
        assert!(!required, "{test}: needs lldpd");
        return tell_skipped(test, "needs lldpd");
    }
    in_namespace("lldp-a", |near| {
        in_namespace("lldp-b", |far| {
            ip(&format!("link add la0 netns {} type veth peer name lb0", near.name));
            ip("link set lb0 up");
            attempt("ip", &format!("-n {} link set la0 up", near.name)).unwrap();
            let directory = tempfile::tempdir().unwrap();
            let socket = |name: &str| directory.path().join(name);
            // lldpcli as it is, but for the socket of this test's daemon.
            let programs = directory.path().join("bin");
            fs::create_dir(&programs).unwrap();
            let wrapper = programs.join("lldpcli");
            let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
                .map(|folder| folder.join("lldpcli"))
                .find(|program| program.exists())
                .unwrap();
            let (real, own) = (real.display(), socket("a"));
            let script = format!("#!/bin/sh\nexec {real} -u {} \"$@\"\n", own.display());
            fs::write(&wrapper, script).unwrap();
            fs::set_permissions(&wrapper, Permissions::from_mode(0o755)).unwrap();

            assert_eq!(peer(&near.name, "la0", &programs), None, "no daemon is no error");
            let _near = lldpd(&near.name, &socket("a"), "node-a");
            let far_daemon = lldpd(&far.name, &socket("b"), "node-b");
            let expected = "roce_link_peer_info{device=\"la0\",peer=\"node-b\",\
                            peer_device=\"lb0\",source=\"lldpd\"} 1";
            let seen = || peer(&near.name, "la0", &programs);
            wait_for("neighbour", || seen().as_deref() == Some(expected));
            // A daemon that ends says so to its neighbours.
            drop(far_daemon);
            wait_for("farewell", || seen().is_none());
        });
    });
}

/// A file of networkd with one neighbour.
fn networkd_file(system: &str, port: &str) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x88, 0xcc]);
    let id = |text: &str, kind: u8| [&[kind], text.as_bytes()].concat();
    let parts =
        [(1, id("c", 7)), (2, id(port, 5)), (3, vec![0, 120]), (5, system.into()), (0, vec![])];
    for (kind, value) in parts {
        let length = u8::try_from(value.len()).unwrap();
        frame.extend([kind << 1, length]);
        frame.extend(value);
    }
    let length = u64::try_from(frame.len()).unwrap();
    [length.to_le_bytes().as_slice(), &frame].concat()
}

#[test]
fn neighbours_of_networkd_are_followed_and_the_links_file_wins() {
    let run = tempfile::tempdir().unwrap();
    let neighbours = run.path().join("systemd/netif/lldp");
    let links = run.path().join("links.yml");
    fs::write(&links, "links: [{ends: [host0/eth1, leaf9/swp9]}]").unwrap();
    let root = run.path().display().to_string();
    let file = links.display().to_string();
    let arguments = ["--scenario=calm", "--links.lldp=networkd", "--path.run", &root];
    let fleet = Fleet::start(1, &[&arguments[..], &["--links.file", &file]].concat());
    let peers = |first: &str, second: &str| {
        vec![first.to_owned(), second.to_owned(), "eth2=switch0/swp3 simulation".to_owned()]
    };
    let own = "eth0=switch0/swp1 simulation";
    assert_eq!(fleet.peers(0), peers(own, "eth1=leaf9/swp9 file"));
    // The simulated interfaces have the indices 2, 3 and 4.
    fs::create_dir_all(&neighbours).unwrap();
    fs::write(neighbours.join("2"), networkd_file("leaf1", "Ethernet1/1")).unwrap();
    fs::write(neighbours.join("3"), networkd_file("leaf1", "Ethernet1/2")).unwrap();
    let told = peers("eth0=leaf1/Ethernet1/1 networkd", "eth1=leaf9/swp9 file");
    fleet.wait_until("neighbour", |fleet| fleet.peers(0) == told);
    fs::remove_file(neighbours.join("2")).unwrap();
    fleet.wait_until("farewell", |fleet| fleet.peers(0) == peers(own, "eth1=leaf9/swp9 file"));
}
