//! A network namespace of one test or benchmark, with veth pairs in it, removed whatever happens.
//!
//! Needs root, `ip` and `ethtool`. veth has statistics per queue, so a pair of any number of statistics can be
//! made, and the set changes its size with the number of queues.

use std::fs::{self, File};
use std::io::Write;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::panic::resume_unwind;
use std::process::Command;
use std::thread;

use roce_exporter::catalogue::ethtool_text::{self, EthtoolText};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Where each part of the test must run, whatever it needs.
const REQUIRE_ALL: &str = "ROCE_REQUIRE_ALL_TIERS";

/// Runs `body` on a thread inside a new namespace with its loopback up and without IPv6, whose own packets would
/// move counters. Where that cannot be done, says so and runs nothing, or fails if all tiers are required.
pub fn in_namespace(name: &str, body: impl FnOnce(&Namespace) + Send) {
    let namespace = match Namespace::new(name) {
        Ok(namespace) => namespace,
        Err(reason) => return skip(name, &reason),
    };
    namespace.inside(|| {
        for scope in ["all", "default"] {
            // A kernel without IPv6 has none to switch off.
            let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
        }
        ip("link set lo up");
        body(&namespace);
    });
}

/// Says that what goes by `tag` does not run, or fails if all tiers are required.
pub fn skip(tag: &str, reason: &str) {
    let required = std::env::var_os(REQUIRE_ALL).is_some_and(|value| value == "1");
    assert!(!required, "{tag}: {reason}");
    tell_skipped(tag, reason);
}

/// Says that this test, or the part of it that goes by `tag`, does not run.
pub fn tell_skipped(tag: &str, reason: &str) {
    let thread = thread::current();
    // A test runs on a thread of its name, unless it is to run alone.
    let name = thread.name().filter(|name| *name != "main").unwrap_or(tag);
    // Not by a macro: what those print is kept from the terminal when a test passes.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {name}: {reason}");
}

/// Removes its namespace, and with it all devices in it, when dropped.
pub struct Namespace {
    pub name: String,
}

impl Namespace {
    fn new(tag: &str) -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("needs root".to_owned());
        }
        for (tool, harmless) in [("ip", "-V"), ("ethtool", "--version")] {
            attempt(tool, harmless).map_err(|error| format!("needs {tool}: {error}"))?;
        }
        let name = format!("roce-{}-{tag}", std::process::id());
        attempt("ip", &format!("netns add {name}"))?;
        Ok(Self { name })
    }

    fn inside(&self, work: impl FnOnce() + Send) {
        let entered = || {
            let link = File::open(format!("/var/run/netns/{}", self.name)).unwrap();
            move_into_link_name_space(link.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            work();
        };
        let ended = thread::scope(|scope| scope.spawn(entered).join());
        ended.unwrap_or_else(|panic| resume_unwind(panic));
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Nobody is left to tell; what remains has this process' id in its name.
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}

/// Runs `ip` in the namespace of this thread.
pub fn ip(arguments: &str) {
    run("ip", arguments);
}

/// Runs `ethtool` in the namespace of this thread.
pub fn ethtool(arguments: &str) -> String {
    run("ethtool", arguments)
}

fn run(program: &str, arguments: &str) -> String {
    attempt(program, arguments).unwrap()
}

/// Runs a program in the namespace of this thread. Returns what it printed, or why it failed.
///
/// # Errors
/// What it complained of.
pub fn attempt(program: &str, arguments: &str) -> Result<String, String> {
    let output = Command::new(program).args(arguments.split(' ')).output();
    let output = output.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    let outcome =
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned());
    outcome.ok_or_else(|| format!("{program} {arguments}: {}", said.trim()))
}

/// What `ethtool -S` says of a device now.
pub fn statistics(device: &str) -> EthtoolText {
    ethtool_text::parse(&ethtool(&format!("-S {device}")))
}

/// Makes a veth device with this number of queues, up, with its peer. It has 9 statistics per queue and one more.
pub fn add_veth(device: &str, queues: u32) {
    let of = format!("numtxqueues {queues} numrxqueues {queues}");
    ip(&format!("link add {device} {of} type veth peer name {} {of}", peer_of(device)));
    for end in [device.to_owned(), peer_of(device)] {
        ip(&format!("link set {end} up"));
    }
}

fn peer_of(device: &str) -> String {
    format!("{device}-peer")
}

/// Lets a device receive packets that its queues count: some on each queue, when there are many more packets
/// than queues. `subnet` is for this device alone.
pub fn receive_packets(device: &str, subnet: u8, packets: u16) {
    let peer = peer_of(device);
    // The driver counts per queue what goes by way of NAPI: with GRO, from a sender without TSO
    // (drivers/net/veth.c, veth_skb_is_eligible_for_napi).
    ethtool(&format!("-K {device} gro on"));
    ethtool(&format!("-K {peer} tso off gso off"));
    ip(&format!("addr replace 10.9.{subnet}.1/24 dev {peer}"));
    ip(&format!("neigh replace 10.9.{subnet}.2 lladdr 02:00:00:00:00:02 dev {peer}"));
    let socket = UdpSocket::bind((format!("10.9.{subnet}.1"), 0)).unwrap();
    let before = received(device);
    for number in 0..packets {
        let length = usize::from(number % 64);
        socket.send_to(&[0; 64][..length], (format!("10.9.{subnet}.2"), 9_000 + number)).unwrap();
    }
    // The receiving side runs in softirq context, a little later.
    for _ in 0..200 {
        if received(device) == before + u64::from(packets) {
            return;
        }
        thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{device} received {} of {packets} packets", received(device) - before);
}

fn received(device: &str) -> u64 {
    let counted = statistics(device);
    let named = counted.names.iter().zip(&counted.values);
    named.filter(|(name, _)| name.ends_with("_xdp_packets")).map(|(_, value)| value).sum()
}
