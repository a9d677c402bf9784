//! The program under test, as an unprivileged user, and what it exports.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use roce_exporter::export::Format;

use crate::client::get;
use crate::strict_parser::{ParsedSample, parse};

pub const PROGRAM: &str = "/bin/roce_exporter";
/// `nobody`: no capability, and no file of its own.
pub const UNPRIVILEGED: u32 = 65534;
/// Longer than anything that is waited for may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct Exporter {
    child: Child,
    address: SocketAddr,
    log: PathBuf,
}

impl Exporter {
    /// Starts it and waits until it has samples, or has seen that there is nothing to sample.
    pub fn start(flags: &[&str]) -> Self {
        Self::start_as(Some(UNPRIVILEGED), flags)
    }

    pub fn start_as(user: Option<u32>, flags: &[&str]) -> Self {
        static PORT: AtomicU16 = AtomicU16::new(10479);
        let address = SocketAddr::from(([127, 0, 0, 1], PORT.fetch_add(1, Ordering::Relaxed)));
        let log = std::env::temp_dir().join(format!("log-{}", address.port()));
        let mut command = Command::new(PROGRAM);
        command.args(["--web.listen-address", &address.to_string()]).args(flags);
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let child = command.stderr(File::create(&log).unwrap()).spawn().unwrap();
        let exporter = Self { child, address, log };
        exporter.wait_for("ready", || {
            std::net::TcpStream::connect(address).is_ok() && get(address, "/-/ready").status == 200
        });
        exporter
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How many threads it has.
    pub fn threads(&self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap().count()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// What is exported now, held against the format's rules.
    pub fn scrape(&self) -> Scrape {
        let reply = get(self.address, "/metrics");
        assert_eq!(reply.status, 200, "{}", reply.text());
        let families = parse(reply.text(), Format::Text004);
        Scrape { samples: families.into_iter().flat_map(|family| family.samples).collect() }
    }

    /// Waits until `condition` holds; says how long that took.
    pub fn wait_for(&self, what: &str, mut condition: impl FnMut() -> bool) -> Duration {
        let since = Instant::now();
        while !condition() {
            assert!(since.elapsed() < PATIENCE, "no {what}:\n{}", self.log());
            sleep(Duration::from_millis(5));
        }
        since.elapsed()
    }

    /// Waits until a scrape satisfies `condition`, and gives it.
    pub fn scrape_until(&self, what: &str, mut condition: impl FnMut(&Scrape) -> bool) -> Scrape {
        let since = Instant::now();
        loop {
            let scrape = self.scrape();
            if condition(&scrape) {
                return scrape;
            }
            assert!(since.elapsed() < PATIENCE, "no {what}:\n{}", self.log());
            sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let panicked = self.log().contains("panic");
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        assert!(std::thread::panicking() || !panicked, "{}", self.log());
    }
}

/// One exposition.
pub struct Scrape {
    pub samples: Vec<ParsedSample>,
}

impl Scrape {
    /// The value of the one series of this name that has these labels.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut found = self.samples.iter().filter(|sample| {
            let has = |(label, value): &(&str, &str)| {
                sample.labels.get(*label).map_or("", String::as_str) == *value
            };
            sample.name == name && labels.iter().all(has)
        });
        let value = found.next()?.value.parse().unwrap();
        assert!(found.next().is_none(), "more than one {name} {labels:?}");
        Some(value)
    }

    /// The value of a series that has to be there.
    pub fn expect(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.value(name, labels).unwrap_or_else(|| panic!("no {name} {labels:?}"))
    }

    /// The series with a label of this value.
    pub fn of<'a>(
        &'a self,
        label: &'a str,
        value: &'a str,
    ) -> impl Iterator<Item = &'a ParsedSample> {
        self.samples.iter().filter(move |own| own.labels.get(label).is_some_and(|own| own == value))
    }

    /// Whether any series is of this device, netdev or RDMA.
    pub fn knows(&self, device: &str) -> bool {
        self.samples.iter().any(|sample| sample.labels.values().any(|value| value == device))
    }
}
