//! The program with several simulated hosts, each on a port that the kernel chose; killed by its id when dropped.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use roce_exporter::export::Format;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::client::get;
use crate::strict_parser::{ParsedFamily, parse};

/// The longest that a server may take to start or to do what it does every few seconds.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Fleet {
    child: Child,
    directory: TempDir,
    /// One per host, in their order; the switch is the last.
    pub addresses: Vec<SocketAddr>,
}

impl Fleet {
    /// Serves the demo with this many servers, the switch included where the arguments ask for it.
    pub fn start(servers: usize, arguments: &[&str]) -> Self {
        let all = [&["demo"], arguments].concat();
        Self::run(servers, &all, |command| command)
    }

    /// Runs the program with these arguments and what `prepare` adds, until it listens on this many addresses.
    pub fn run(
        servers: usize,
        arguments: &[&str],
        prepare: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_roce_exporter"));
        command
            .args(["--web.listen-address", "127.0.0.1:0"])
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(File::create(directory.path().join("log")).unwrap());
        let child = prepare(&mut command).spawn().unwrap();
        let mut fleet = Self { child, directory, addresses: Vec::new() };
        fleet.wait_until("listening servers", |fleet| fleet.listening().len() == servers);
        fleet.addresses = fleet.listening();
        for address in fleet.addresses.clone() {
            fleet.wait_until("first sample", |_| get(address, "/-/ready").status == 200);
        }
        fleet
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap()
    }

    fn listening(&self) -> Vec<SocketAddr> {
        let log = self.log();
        let lines = log.lines().filter_map(|line| line.split_once("address="));
        lines
            .filter_map(|(_, rest)| rest.split_whitespace().next()?.trim_matches('"').parse().ok())
            .collect()
    }

    pub fn wait_until(&self, what: &str, seen: impl Fn(&Self) -> bool) {
        let since = Instant::now();
        while !seen(self) {
            assert!(since.elapsed() < PATIENCE, "no {what}: {}", self.log());
            sleep(Duration::from_millis(20));
        }
    }

    pub fn families(&self, server: usize) -> Vec<ParsedFamily> {
        let reply = get(self.addresses[server], "/metrics");
        assert_eq!(reply.status, 200);
        parse(reply.text(), Format::Text004)
    }

    /// `DEVICE=PEER/PEER_DEVICE SOURCE` of each device that has a peer.
    pub fn peers(&self, server: usize) -> Vec<String> {
        let families = self.families(server);
        let family = families.into_iter().filter(|family| family.name == "roce_link_peer_info");
        let samples = family.flat_map(|family| family.samples);
        samples
            .map(|sample| {
                let of = |label: &str| sample.labels[label].clone();
                format!("{}={}/{} {}", of("device"), of("peer"), of("peer_device"), of("source"))
            })
            .collect()
    }

    /// Makes the program read its files again.
    pub fn reload(&self) {
        kill_process(Pid::from_child(&self.child), Signal::HUP).unwrap();
    }

    /// Ends the program at once.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.kill();
    }
}
