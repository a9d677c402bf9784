//! NICs made by the module, as the checks drive them, and the tools that they are looked at with.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsFd;
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::modules;

const CONTROL: &str = "/sys/kernel/debug/fabric_nic/control";
const STATE: &str = "/sys/kernel/debug/fabric_nic/state";

/// Gives the module a command.
pub fn control(command: &str) {
    fs::write(CONTROL, command).unwrap_or_else(|error| panic!("{command}: {error}"));
}

/// What the module knows to be true: its lines of a NIC, each as words `key=value`.
pub fn truth(nic: &str) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(STATE).unwrap();
    let own = text.lines().filter_map(|line| line.strip_prefix(nic)?.strip_prefix(' '));
    let words = |line: &str| {
        let pairs = line.split(' ').filter_map(|word| word.split_once('='));
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    own.map(words).collect()
}

/// A NIC that goes when this is dropped. Its netdev has its name to begin with.
pub struct Nic {
    pub name: String,
}

impl Nic {
    /// Makes a NIC and brings it up. `facts` are further words of the module's `add`.
    pub fn new(name: &str, driver: &str, facts: &str) -> Self {
        modules::load("fabric_nic");
        let command = format!("add nic={name} netdev={name} driver={driver} {facts}");
        control(command.trim_end());
        let nic = Self { name: name.to_owned() };
        run("ip", &format!("link set {name} up"));
        nic
    }

    pub fn set(&self, words: &str) {
        control(&format!("set {} {words}", self.name));
    }

    /// Gives the module a command about this NIC.
    pub fn order(&self, verb: &str, rest: &str) {
        control(format!("{verb} {} {rest}", self.name).trim_end());
    }

    /// A statistic's value now, and what it gains in a second.
    pub fn counter(&self, name: &str, value: u64, per_second: u64) {
        self.order("counter", &format!("{value} {per_second} {name}"));
    }

    pub fn rdma_counter(&self, name: &str, value: u64, per_second: u64) {
        self.order("rdma_counter", &format!("{value} {per_second} {name}"));
    }

    /// A number that the module keeps of this NIC.
    pub fn number(&self, key: &str) -> u64 {
        truth(&self.name)[0][key].parse().unwrap()
    }
}

impl Drop for Nic {
    fn drop(&mut self) {
        // A check may have removed it itself.
        let _ = fs::write(CONTROL, format!("remove {}", self.name));
    }
}

/// A network namespace that goes when this is dropped; NICs in it come back.
pub struct Namespace(&'static str);

impl Namespace {
    pub fn new(name: &'static str) -> Self {
        run("ip", &format!("netns add {name}"));
        Self(name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // A check that failed says why by itself.
        let _ = Command::new("ip").args(["netns", "del", self.0]).output();
    }
}

/// Does `work` on a thread inside a named network namespace. What it starts is in there too, with the `/sys` of outside,
/// as in a container that was given the host's.
pub fn inside(namespace: &str, work: impl FnOnce() + Send) {
    let enter = || {
        let link = fs::File::open(format!("/run/netns/{namespace}")).unwrap();
        move_into_link_name_space(link.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        work();
    };
    let ended = std::thread::scope(|scope| scope.spawn(enter).join());
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

/// Runs `dcb`, again where it says "Protocol error". The tool of iproute2 6.1 leaves the acknowledgement of its first
/// question unread and takes it for that of the second. Their sequence numbers are the time in seconds: where a second
/// ended between the two, they differ, and the tool gives up after the kernel has done what was asked (mended in 6.2 by
/// not stopping at the answer). All that it is asked here may be asked twice.
pub fn dcb(arguments: &str) {
    for _ in 0..3 {
        let output = Command::new("dcb").args(arguments.split_whitespace()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        if !said.contains("Protocol error") {
            assert!(output.status.success(), "dcb {arguments}: {said}");
            return;
        }
        println!("dcb {arguments}: {said}");
    }
    panic!("dcb {arguments}: a protocol error each time");
}

/// Runs a program and gives what it printed.
pub fn run(program: &str, arguments: &str) -> String {
    let output = Command::new(program).args(arguments.split_whitespace()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The statistics of a device by name, as `ethtool -S` prints them.
pub fn ethtool_statistics(device: &str) -> BTreeMap<String, u64> {
    let text =
        roce_exporter::catalogue::ethtool_text::parse(&run("ethtool", &format!("-S {device}")));
    text.names.into_iter().zip(text.values).collect()
}

/// The statistics of an RDMA port by name, as `rdma statistic` prints them.
pub fn rdma_statistics(port: &str) -> BTreeMap<String, u64> {
    let text = run("rdma", &format!("statistic show link {port}"));
    let words: Vec<&str> = text.split_whitespace().collect();
    // link mlx5_0/1 NAME VALUE NAME VALUE ...
    let named = words[2..].chunks_exact(2);
    named.map(|pair| (pair[0].to_owned(), pair[1].parse().unwrap())).collect()
}
