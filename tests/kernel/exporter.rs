//! The program itself, running in a namespace, and what it exports.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use roce_exporter::export::Format;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::client::get;
use crate::network_namespace::{Namespace, statistics};
use crate::strict_parser::{ParsedSample, parse};

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_roce_exporter");
/// Each namespace has a loopback of its own, so the default port is free in it.
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 10_479);
/// The longest that anything may take which has no bound of its own.
const PATIENCE: Duration = Duration::from_secs(20);

/// What veth counts, as rows of an operator's catalogue. A queue stands for a traffic class.
const CATALOGUE: &str = "\
source,driver,template,quantity,direction,index,unit,width,freshness_ms,detail,combine,factor,note
ethtool,veth,rx_queue_{n}_xdp_packets,packets,rx,tc:0-7,count,64,live,,,,
ethtool,veth,rx_queue_{n}_xdp_bytes,bytes,rx,tc:0-7,bytes,64,live,,,,
ethtool,veth,tx_queue_{n}_xdp_xmit,packets,tx,tc:0-7,count,64,live,,,,
";

/// The program in a namespace; killed when dropped.
pub struct Exporter {
    child: Child,
    address: SocketAddr,
    directory: TempDir,
}

impl Exporter {
    /// Starts the program on veth devices, with all their statistics, and waits until it is ready.
    pub fn start(namespace: &Namespace, flags: &[&str]) -> Self {
        Self::start_as(namespace, &[], Path::new(PROGRAM), flags)
    }

    /// Starts the program on the devices that a pattern admits.
    pub fn start_on(namespace: &Namespace, include: &str) -> Self {
        Self::launch(namespace, &[], Path::new(PROGRAM), &["--device.include", include])
    }

    /// Starts `program` with `prefix` before it.
    pub fn start_as(
        namespace: &Namespace,
        prefix: &[&str],
        program: &Path,
        flags: &[&str],
    ) -> Self {
        let flags = [&["--device.include", "veth.*"], flags].concat();
        Self::launch(namespace, prefix, program, &flags)
    }

    fn launch(namespace: &Namespace, prefix: &[&str], program: &Path, flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        readable_by_all(directory.path());
        let catalogue = directory.path().join("veth.csv");
        fs::write(&catalogue, CATALOGUE).unwrap();
        let log = File::create(directory.path().join("log")).unwrap();
        // `ip netns exec` mounts the namespace's own sysfs and then becomes the program.
        let child = Command::new("ip")
            .args(["netns", "exec", &namespace.name])
            .args(prefix)
            .arg(program)
            .args(["--web.listen-address", &ADDRESS.to_string()])
            .args(["--raw.include", ".*", "--raw.max", "1000"])
            .arg("--catalogue.file")
            .arg(&catalogue)
            .args(flags)
            .stderr(log)
            .spawn()
            .unwrap();
        let exporter = Self { child, address: ADDRESS, directory };
        exporter.wait_for("ready", || {
            std::net::TcpStream::connect(ADDRESS).is_ok() && get(ADDRESS, "/-/ready").status == 200
        });
        exporter
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The processor time that the program took so far, in user and kernel mode.
    pub fn processor_time(&self) -> Duration {
        let process = procfs::process::Process::new(self.child.id().try_into().unwrap()).unwrap();
        let stat = process.stat().unwrap();
        let ticks = u32::try_from(stat.utime + stat.stime).unwrap();
        Duration::from_secs(1) * ticks / u32::try_from(procfs::ticks_per_second()).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits for the end of the program; says how it ended and how long that took.
    pub fn wait_for_end(&mut self) -> (ExitStatus, Duration) {
        let since = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status, since.elapsed());
            }
            assert!(since.elapsed() < PATIENCE, "it does not end:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap()
    }

    /// What is exported now.
    pub fn text(&self) -> String {
        let reply = get(self.address, "/metrics");
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.text().to_owned()
    }

    /// What is exported now, held against the format's rules.
    pub fn scrape(&self) -> Scrape {
        let families = parse(&self.text(), Format::Text004);
        Scrape { samples: families.into_iter().flat_map(|family| family.samples).collect() }
    }

    pub fn is_healthy(&self) -> bool {
        get(self.address, "/-/healthy").status == 200
    }

    /// Waits until `condition` holds; says how long that took.
    pub fn wait_for(&self, what: &str, mut condition: impl FnMut() -> bool) -> Duration {
        let since = Instant::now();
        while !condition() {
            assert!(since.elapsed() < PATIENCE, "no {what}:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
        since.elapsed()
    }

    /// Waits until a device's exported statistics are those of `ethtool -S`.
    pub fn wait_for_statistics(&self, device: &str) -> Duration {
        self.wait_for(&format!("true statistics of {device}"), || {
            self.scrape().statistics(device) == named_statistics(device)
        })
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lets users without privileges enter a directory of this test.
pub fn readable_by_all(directory: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A copy of the program where any user can run it. Another process makes it: a test that forks while this one has the
/// copy open for writing would keep it busy.
pub fn copy_of_the_program(directory: &Path) -> PathBuf {
    readable_by_all(directory);
    let copy = directory.join("roce_exporter");
    assert!(Command::new("cp").arg(PROGRAM).arg(&copy).status().unwrap().success());
    readable_by_all(&copy);
    copy
}

/// The statistics of a device by name, as `ethtool -S` prints them.
pub fn named_statistics(device: &str) -> BTreeMap<String, u64> {
    let text = statistics(device);
    assert!(text.unreadable.is_empty());
    text.names.into_iter().zip(text.values).collect()
}

/// One exposition.
pub struct Scrape {
    pub samples: Vec<ParsedSample>,
}

impl Scrape {
    /// The devices that have any statistics.
    pub fn devices_with_statistics(&self) -> Vec<String> {
        let devices = self.samples.iter().filter_map(|sample| sample.labels.get("device"));
        let mut devices: Vec<String> = devices.cloned().collect();
        devices.sort_unstable();
        devices.dedup();
        devices.retain(|device| !self.statistics(device).is_empty());
        devices
    }

    /// How many packets the queues of a device received.
    pub fn received(&self, device: &str) -> u64 {
        let statistics = self.statistics(device).into_iter();
        statistics.filter(|(name, _)| name.ends_with("_xdp_packets")).map(|(_, value)| value).sum()
    }

    /// The value of the only series of this name and device.
    pub fn value(&self, name: &str, device: &str) -> Option<f64> {
        let mut found = self.samples.iter().filter(|sample| {
            sample.name == name && sample.labels.get("device").is_some_and(|own| own == device)
        });
        let value = found.next()?.value.parse().unwrap();
        assert!(found.next().is_none(), "more than one {name} of {device}");
        Some(value)
    }

    /// How often a source of the device failed for this reason.
    pub fn errors(&self, device: &str, reason: &str) -> u64 {
        let found = self.samples.iter().find(|sample| {
            let label = |label: &str| sample.labels.get(label).map(String::as_str);
            sample.name == "roce_source_errors_total"
                && label("device") == Some(device)
                && label("reason") == Some(reason)
        });
        found.map_or(0, |sample| sample.value.parse().unwrap())
    }

    /// Whether any series is of this device.
    pub fn knows(&self, device: &str) -> bool {
        self.samples.iter().any(|sample| sample.labels.values().any(|value| value == device))
    }

    /// A device's statistics under the driver's names: raw ones as they are, catalogued ones translated back.
    pub fn statistics(&self, device: &str) -> BTreeMap<String, u64> {
        let of_device = self
            .samples
            .iter()
            .filter(|sample| sample.labels.get("device").is_some_and(|own| own == device));
        let named = of_device.filter_map(|sample| {
            let label = |label: &str| sample.labels.get(label).map(String::as_str);
            let queue = || label("traffic_class").unwrap();
            let name = match (sample.name.as_str(), label("direction")) {
                ("roce_raw_counter", _) => label("name").unwrap().to_owned(),
                ("roce_traffic_class_packets_total", Some("rx")) => {
                    format!("rx_queue_{}_xdp_packets", queue())
                }
                ("roce_traffic_class_bytes_total", Some("rx")) => {
                    format!("rx_queue_{}_xdp_bytes", queue())
                }
                ("roce_traffic_class_packets_total", Some("tx")) => {
                    format!("tx_queue_{}_xdp_xmit", queue())
                }
                _ => return None,
            };
            Some((name, sample.value.parse().unwrap()))
        });
        named.collect()
    }
}
