//! The program behind a web configuration, and others' programs that talk to it. All are killed by their ids.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use crate::certificates::Certificates;
use crate::client::get;

const PATIENCE: Duration = Duration::from_secs(30);
const REQUIRE_ALL: &str = "ROCE_REQUIRE_ALL_TIERS";

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

/// Whether a program is here; says so where it is not.
pub fn have(program: &str) -> bool {
    let mut asked = Command::new(program);
    asked.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    if asked.status().is_ok_and(|status| status.success()) {
        return true;
    }
    assert!(std::env::var_os(REQUIRE_ALL).is_none_or(|value| value != "1"), "{program} is missing");
    println!("SKIPPED: {program}");
    false
}

/// The demo behind `web.yml` of a directory.
pub struct Behind {
    pub address: SocketAddr,
    process: Running,
    log: PathBuf,
    authority: PathBuf,
    /// How much of the log has been waited for.
    read: AtomicUsize,
}

impl Behind {
    pub fn start(files: &Certificates, text: &str) -> Self {
        Self::run(files, text, Command::new(env!("CARGO_BIN_EXE_roce_exporter")))
    }

    /// The same, which may have so many open files.
    pub fn limited(files: &Certificates, text: &str, open_files: u32) -> Self {
        let mut shell = Command::new("sh");
        let program = env!("CARGO_BIN_EXE_roce_exporter");
        shell.args(["-c", &format!("ulimit -n {open_files}; exec \"$0\" \"$@\""), program]);
        Self::run(files, text, shell)
    }

    fn run(files: &Certificates, text: &str, mut command: Command) -> Self {
        files.write("web.yml", text);
        let log = files.path("log");
        let process = command
            .args(["demo", "--web.listen-address=127.0.0.1:0", "--web.config.file"])
            .arg(files.path("web.yml"))
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let process = Running(process);
        let address = wait_for("listening program", || {
            let text = fs::read_to_string(&log).unwrap();
            let (_, rest) = text.split_once("address=")?;
            rest.split_whitespace().next()?.trim_matches('"').parse().ok()
        });
        Self { address, process, log, authority: files.path("ca.crt"), read: AtomicUsize::new(0) }
    }

    pub fn log_text(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process.0.id())).unwrap().count()
    }

    /// Takes the program's right to open further files away.
    pub fn limit_open_files(&self, most: usize) {
        let most = Some(most.try_into().unwrap());
        let pid = Some(Pid::from_child(&self.process.0));
        prlimit(pid, Resource::Nofile, Rlimit { current: most, maximum: most }).unwrap();
    }

    pub fn resident_bytes(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<usize>().unwrap() * 1024
    }

    /// Waits for a line that says `part`, after the one that was waited for before.
    pub fn wait_for_log(&self, part: &str) {
        let end = wait_for(part, || {
            let text = fs::read_to_string(&self.log).unwrap();
            let rest = text.get(self.read.load(Ordering::Relaxed)..)?;
            rest.find(part).map(|at| self.read.load(Ordering::Relaxed) + at + part.len())
        });
        self.read.store(end, Ordering::Relaxed);
    }

    /// Processor time so far.
    pub fn cpu_seconds(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.0.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
        ticks / 100.0
    }

    /// Stops it as a service manager does; says how long that took.
    pub fn stop(mut self) -> Duration {
        let since = Instant::now();
        kill_process(Pid::from_child(&self.process.0), Signal::TERM).unwrap();
        assert!(self.process.0.wait().unwrap().success());
        since.elapsed()
    }

    fn port(&self) -> u16 {
        self.address.port()
    }
}

/// Status and HTTP version of the metrics by curl, `000 0` where there is no answer; and the text.
pub fn curl(served: &Behind, flags: &[&str]) -> (String, String) {
    run_curl(served.port(), &served.authority, flags)
}

pub fn run_curl(port: u16, authority: &Path, flags: &[&str]) -> (String, String) {
    let output = Command::new("curl")
        .args([
            "--silent",
            "--show-error",
            "--noproxy",
            "*",
            "--max-time",
            "20",
            "--write-out",
            "\n%{http_code} %{http_version}",
        ])
        .arg("--cacert")
        .arg(authority)
        .args(flags)
        .arg(format!("https://localhost:{port}/metrics"))
        .output()
        .unwrap();
    // Shown where a test fails.
    print!("{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (text, status) = text.rsplit_once('\n').unwrap();
    (status.to_owned(), text.to_owned())
}

/// Lets promtool judge a web configuration.
pub fn promtool(file: &Path) {
    if !have("promtool") {
        return;
    }
    let output = Command::new("promtool").args(["check", "web-config"]).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A Prometheus with a client's certificate and a password scrapes the program, and one without does not.
pub fn prometheus_sees(served: &Behind, files: &Certificates) {
    if !have("prometheus") {
        return;
    }
    let path = |name: &str| files.path(name).display().to_string();
    let text = format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs:\n\
         - job_name: good\n  scheme: https\n  static_configs: [{{targets: ['localhost:{port}']}}]\n\
         \u{20} basic_auth: {{username: prometheus, password: test}}\n\
         \u{20} tls_config: {{ca_file: {ca}, cert_file: {cert}, key_file: {key}}}\n\
         - job_name: nobody\n  scheme: https\n  static_configs: [{{targets: ['localhost:{port}']}}]\n\
         \u{20} tls_config: {{ca_file: {ca}, cert_file: {cert}, key_file: {key}}}\n\
         - job_name: bare\n  scheme: https\n  static_configs: [{{targets: ['localhost:{port}']}}]\n\
         \u{20} basic_auth: {{username: prometheus, password: test}}\n  tls_config: {{ca_file: {ca}}}\n",
        port = served.port(),
        ca = path("ca.crt"),
        cert = path("client.crt"),
        key = path("client.key"),
    );
    files.write("prometheus.yml", &text);
    // Prometheus does not tell which port it got, so it gets one that was free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let process = Command::new("prometheus")
        .arg(format!("--config.file={}", path("prometheus.yml")))
        .arg(format!("--storage.tsdb.path={}", path("data")))
        .arg(format!("--web.listen-address={address}"))
        .arg("--log.level=error")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let _process = Running(process);
    wait_for("listening Prometheus", || TcpStream::connect(address).ok());
    let health = |job: &str| {
        let reply = get(address, "/api/v1/targets");
        let answer: serde_json::Value = serde_json::from_slice(&reply.body).ok()?;
        let targets = answer["data"]["activeTargets"].as_array()?.clone();
        let target = targets.into_iter().find(|target| target["labels"]["job"] == job)?;
        let known = target["health"] != "unknown";
        known.then(|| (target["health"].to_string(), target["lastError"].to_string()))
    };
    assert_eq!(wait_for("scrape", || health("good")), ("\"up\"".to_owned(), "\"\"".to_owned()));
    let (nobody, error) = wait_for("scrape", || health("nobody"));
    assert!(nobody.contains("down") && error.contains("401"), "{error}");
    let (bare, error) = wait_for("scrape", || health("bare"));
    // The connection ends in the handshake; whether the alert is still read is a matter of chance.
    assert!(bare.contains("down") && !error.contains("HTTP status"), "{error}");
}
