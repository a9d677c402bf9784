//! The program and a Prometheus as child processes, killed by their ids when dropped.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use roce_exporter::export::Format;
use serde_json::Value;
use tempfile::TempDir;

use crate::client::{get, request};
use crate::strict_parser::parse;

/// The longest that a server may take to start or to do what it does every second.
const PATIENCE: Duration = Duration::from_secs(30);
/// What Prometheus 2.42 asks for.
const ACCEPT: &str = "application/openmetrics-text;version=1.0.0,\
    application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

/// A series' name, as `__name__`, and labels. An empty label is none, as in Prometheus.
pub type Labels = BTreeMap<String, String>;
/// Values by series.
pub type Series = BTreeMap<Labels, f64>;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(since.elapsed() < PATIENCE, "no {what} within {PATIENCE:?}");
        sleep(Duration::from_millis(20));
    }
}

/// The program, on a port that the kernel chose.
pub struct Exporter {
    pub address: SocketAddr,
    _process: Running,
    _directory: TempDir,
}

impl Exporter {
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", arguments)
    }

    /// The program on this address; simulated hosts after the first listen on the ports that follow.
    pub fn start_at(address: &str, arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let process = Command::new(env!("CARGO_BIN_EXE_roce_exporter"))
            .args(["--web.listen-address", address])
            .args(arguments)
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let process = Running(process);
        let address = wait_for("listening program", || {
            let text = fs::read_to_string(&log).unwrap();
            let (_, rest) = text.split_once("address=")?;
            rest.split_whitespace().next()?.trim_matches('"').parse().ok()
        });
        wait_for("first sample", || (get(address, "/-/ready").status == 200).then_some(()));
        Self { address, _process: process, _directory: directory }
    }

    /// What it says when asked as Prometheus asks.
    pub fn scrape(&self) -> Series {
        let reply = request(self.address, "GET", "/metrics", &[("Accept", ACCEPT)]);
        let families = parse(reply.text(), Format::OpenMetrics100);
        let samples = families.into_iter().flat_map(|family| family.samples);
        let series = samples.map(|sample| {
            let mut labels = sample.labels;
            labels.insert("__name__".to_owned(), sample.name);
            labels.retain(|_, value| !value.is_empty());
            (labels, sample.value.parse().unwrap())
        });
        series.collect()
    }
}

/// A Prometheus, as a rule one that scrapes one address each second.
pub struct Prometheus {
    address: SocketAddr,
    _process: Running,
    directory: TempDir,
}

/// Puts the samples of an OpenMetrics file, which carry their times, into a storage as blocks.
pub fn create_blocks(openmetrics: &Path, storage: &Path) {
    let made = Command::new("promtool")
        .args(["tsdb", "create-blocks-from", "openmetrics"])
        .args([openmetrics, storage])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

impl Prometheus {
    pub fn start(target: SocketAddr) -> Self {
        let text = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\n\
             scrape_configs: [{{job_name: roce, static_configs: [{{targets: ['{target}']}}]}}]\n"
        );
        Self::configured(&text, &[])
    }

    /// One with this configuration, which may name these files beside it.
    pub fn configured(text: &str, files: &[(&str, String)]) -> Self {
        Self::with(text, files, &[], |_| ())
    }

    /// The same, with blocks that `fill` puts into its storage first.
    pub fn configured_with(text: &str, files: &[(&str, String)], fill: impl Fn(&Path)) -> Self {
        Self::with(text, files, &[], fill)
    }

    /// One with these flags too.
    pub fn with_flags(text: &str, files: &[(&str, String)], flags: &[&str]) -> Self {
        Self::with(text, files, flags, |_| ())
    }

    fn with(text: &str, files: &[(&str, String)], flags: &[&str], fill: impl Fn(&Path)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let storage = directory.path().join("data");
        fs::create_dir(&storage).unwrap();
        fill(&storage);
        for (name, content) in files {
            fs::write(directory.path().join(name), content).unwrap();
        }
        let configuration = directory.path().join("prometheus.yml");
        fs::write(&configuration, text).unwrap();
        // Prometheus does not tell which port it got, so it gets one that was free a moment ago.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let process = Command::new("prometheus")
            .arg(format!("--config.file={}", configuration.display()))
            .arg(format!("--storage.tsdb.path={}", storage.display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=error")
            .args(flags)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let process = Running(process);
        wait_for("ready Prometheus", || {
            TcpStream::connect(address).ok()?;
            (get(address, "/-/ready").status == 200).then_some(())
        });
        Self { address, _process: process, directory }
    }

    /// Writes a file beside the configuration anew, at once as its readers see it.
    pub fn write(&self, name: &str, text: &str) {
        let written = self.directory.path().join("new");
        fs::write(&written, text).unwrap();
        fs::rename(written, self.directory.path().join(name)).unwrap();
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The data of an answer of its API.
    pub fn get(&self, path: &str) -> Value {
        let reply = get(self.address, &format!("/api/v1/{path}"));
        let mut answer: Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(answer["status"], "success", "{path}: {answer}");
        answer["data"].take()
    }

    pub fn targets(&self) -> Vec<Value> {
        self.get("targets")["activeTargets"].as_array().unwrap().clone()
    }

    /// The latest values of an expression, written as in an address, without what Prometheus itself added to the
    /// labels.
    pub fn query(&self, expression: &str) -> Series {
        let data = self.get(&format!("query?query={expression}"));
        let series = data["result"].as_array().unwrap().iter().map(|found| {
            let labels = found["metric"].as_object().unwrap().iter();
            let own = labels.filter(|(name, _)| !matches!(name.as_str(), "instance" | "job"));
            let labels =
                own.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()));
            (labels.collect(), found["value"][1].as_str().unwrap().parse().unwrap())
        });
        series.collect()
    }

    /// Waits for the end of a scrape that began after this call.
    pub fn wait_for_next_scrape(&self) {
        let last = || self.targets().first().map(|target| target["lastScrape"].to_string());
        for _ in 0..2 {
            let before = last();
            wait_for("scrape", || (last() != before).then_some(()));
        }
    }
}

/// An Alertmanager of its own, without others.
pub struct Alertmanager {
    pub address: SocketAddr,
    _process: Running,
    _directory: TempDir,
}

impl Alertmanager {
    /// An address that was free a moment ago, for a Prometheus that has to know it before.
    pub fn address() -> SocketAddr {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
    }

    pub fn start(address: SocketAddr, configuration: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("alertmanager.yml");
        fs::write(&file, configuration).unwrap();
        let process = Command::new("prometheus-alertmanager")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.path={}", directory.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--cluster.listen-address=")
            .arg("--log.level=error")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let process = Running(process);
        wait_for("ready Alertmanager", || {
            TcpStream::connect(address).ok()?;
            (get(address, "/-/ready").status == 200).then_some(())
        });
        Self { address, _process: process, _directory: directory }
    }
}
