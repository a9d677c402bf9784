//! The built program on veth devices, beside node_exporter on the same ones: processor time, memory, start.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::client::{get, request};
use crate::cost::{CATALOGUE, median};
use crate::network_namespace::{Namespace, add_veth, in_namespace, tell_skipped};
use crate::report::{Report, Target};

/// Queues of each device: 298 statistics.
const QUEUES: u32 = 33;
const STATISTICS: f64 = 298.0;
const OURS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 10_479);
const THEIRS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9_100);
const DEVICES: &str = "veth[0-9]+";
const SCRAPES: u32 = 50;
const STARTS: usize = 11;
const PATIENCE: Duration = Duration::from_mins(1);

/// A program in the namespace; killed by its id.
struct Running(Child);

impl Running {
    fn start(namespace: &Namespace, program: &Path, flags: &[&str]) -> Self {
        // `ip netns exec` becomes the program.
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &namespace.name]).arg(program).args(flags);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Processor time of all its threads, in seconds.
    fn processor_time(&self) -> f64 {
        let threads = fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap().flatten();
        let times = threads.filter_map(|thread| {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<f64>().ok()
        });
        times.sum::<f64>() / 1e9
    }

    fn status(&self, name: &str) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program that was built beside this one, if no other is named.
fn exporter() -> PathBuf {
    if let Some(named) =
        std::env::args().find_map(|word| word.strip_prefix("--program=").map(PathBuf::from))
    {
        return named;
    }
    let own = std::env::current_exe().unwrap();
    own.ancestors().nth(2).unwrap().join("roce_exporter")
}

pub fn measure(report: &mut Report, seconds: u64) {
    let directory = tempfile::tempdir().unwrap();
    let catalogue = directory.path().join("veth.csv");
    fs::write(&catalogue, CATALOGUE).unwrap();
    let flags = |interval: &'static str| {
        vec![
            "--device.include".to_owned(),
            DEVICES.to_owned(),
            "--catalogue.file".to_owned(),
            catalogue.to_str().unwrap().to_owned(),
            "--sampler.interval".to_owned(),
            interval.to_owned(),
            "--sampler.rtnl-budget=1".to_owned(),
        ]
    };
    for devices in [1, 8, 64] {
        in_namespace(&format!("bench-{devices}"), |namespace| {
            for number in 0..devices {
                add_veth(&format!("veth{number}"), QUEUES);
            }
            let ours = sampling(report, (namespace, devices), &flags, seconds);
            let theirs = node_exporter(report, namespace, devices);
            if let Some(theirs) = theirs {
                let what = format!(
                    "{devices} devices: node_exporter's processor time per reading over ours"
                );
                report.hold(what, theirs / ours, "", Target::Least(200.0));
            }
            scrapes(report, (namespace, devices), &flags("10s"));
            if devices == 8 {
                start(report, namespace, &flags("10ms"));
            }
        });
    }
    binary(report);
}

type Flags<'a> = dyn Fn(&'static str) -> Vec<String> + 'a;

/// The load of sampling. Returns the processor time of one reading, in nanoseconds, at 10 ms.
fn sampling(
    report: &mut Report,
    (namespace, devices): (&Namespace, u32),
    flags: &Flags<'_>,
    seconds: u64,
) -> f64 {
    report
        .section("Sampling of veth devices of 298 statistics, and node_exporter's scrape of them");
    let mut per_reading = f64::NAN;
    for (interval, rate, most) in [("10ms", 100.0, 1.0), ("1ms", 1_000.0, 8.0)] {
        let flags = flags(interval);
        let running = Running::start(namespace, &exporter(), &borrowed(&flags));
        wait_for_samples(devices);
        sleep(Duration::from_secs(1));
        let (before, samples, since) = (running.processor_time(), taken(), Instant::now());
        sleep(Duration::from_secs(seconds));
        let (spent, elapsed) = (running.processor_time() - before, since.elapsed().as_secs_f64());
        let samples = taken() - samples;
        let what = |text: &str| format!("{devices} devices every {interval}: {text}");
        report.add(what("of a core"), 100.0 * spent / elapsed, "%");
        // A busy machine misses deadlines; what is missed is not free.
        let load = 100.0 * spent / samples * rate * f64::from(devices);
        match devices {
            8 => report.hold(what("of a core, if all were kept"), load, "%", Target::Most(most)),
            _ => report.add(what("of a core, if all were kept"), load, "%"),
        }
        report.add(
            what("samples per second and device"),
            samples / elapsed / f64::from(devices),
            "",
        );
        report.add(what("processor time per sample"), spent / samples * 1e6, "µs");
        if interval == "10ms" {
            per_reading = spent / samples / STATISTICS * 1e9;
            let resident = running.status("VmRSS:") / 1_024.0;
            match devices {
                8 => {
                    report.hold(
                        what("resident"),
                        resident,
                        "MiB",
                        Target::Most(15e6 / 1_048_576.0),
                    );
                }
                _ => report.add(what("resident"), resident, "MiB"),
            }
        }
    }
    report.add(format!("{devices} devices: ours, per reading"), per_reading, "ns");
    per_reading
}

/// What a scrape of node_exporter costs per reading, in nanoseconds; none where it is not installed.
fn node_exporter(report: &mut Report, namespace: &Namespace, devices: u32) -> Option<f64> {
    let program = Path::new("/usr/bin/prometheus-node-exporter");
    if !program.exists() {
        tell_skipped("node_exporter", "needs prometheus-node-exporter");
        return None;
    }
    let include = format!("--collector.ethtool.device-include=^{DEVICES}$");
    let address = format!("--web.listen-address={THEIRS}");
    let flags = [
        "--collector.disable-defaults",
        "--collector.ethtool",
        "--collector.infiniband",
        &include,
        &address,
    ];
    let running = Running::start(namespace, program, &flags);
    wait_for("node_exporter", || TcpStream::connect(THEIRS).is_ok());
    let series = get(THEIRS, "/metrics");
    let series = series.text().lines().filter(|line| line.starts_with("node_ethtool_")).count();
    let (before, since) = (running.processor_time(), Instant::now());
    for _ in 0..SCRAPES {
        assert_eq!(get(THEIRS, "/metrics").status, 200);
    }
    let spent = (running.processor_time() - before) / f64::from(SCRAPES);
    let what = |text: &str| format!("{devices} devices: node_exporter, {series} series, {text}");
    report.add(what("processor time per scrape"), spent * 1e3, "ms");
    report.add(
        what("time per scrape"),
        since.elapsed().as_secs_f64() / f64::from(SCRAPES) * 1e3,
        "ms",
    );
    let per_reading = spent / f64::from(devices) / STATISTICS * 1e9;
    report.add(format!("{devices} devices: node_exporter, per reading"), per_reading, "ns");
    Some(per_reading)
}

/// What a scrape of ours costs over HTTP, sampling left out.
fn scrapes(report: &mut Report, (namespace, devices): (&Namespace, u32), flags: &[String]) {
    report.section("A scrape of the program over HTTP");
    let running = Running::start(namespace, &exporter(), &borrowed(flags));
    wait_for_samples(devices);
    for (told, headers) in [("plain", &[][..]), ("gzip", &[("Accept-Encoding", "gzip")][..])] {
        let reply = request(OURS, "GET", "/metrics", headers);
        let (before, since) = (running.processor_time(), Instant::now());
        for _ in 0..SCRAPES {
            assert_eq!(request(OURS, "GET", "/metrics", headers).status, 200);
        }
        let elapsed = since.elapsed().as_secs_f64();
        let spent = (running.processor_time() - before) / f64::from(SCRAPES);
        let what =
            |text: &str| format!("{devices} devices, {told}, {} bytes: {text}", reply.body.len());
        match (devices, told) {
            (8, "plain") => {
                report.hold(what("processor time"), spent * 1e3, "ms", Target::Most(1.0));
            }
            _ => report.add(what("processor time"), spent * 1e3, "ms"),
        }
        report.add(what("time"), elapsed / f64::from(SCRAPES) * 1e3, "ms");
    }
}

fn start(report: &mut Report, namespace: &Namespace, flags: &[String]) {
    report.section("Start and size");
    let mut times: Vec<f64> = (0..STARTS)
        .map(|_| {
            let since = Instant::now();
            let running = Running::start(namespace, &exporter(), &borrowed(flags));
            wait_for_samples(8);
            let elapsed = since.elapsed().as_secs_f64() * 1e3;
            drop(running);
            elapsed
        })
        .collect();
    let first = median(&mut times);
    report.hold(
        "start to the first sample of 8 devices, scraped",
        first,
        "ms",
        Target::Most(100.0),
    );
}

fn binary(report: &mut Report) {
    let directory = tempfile::tempdir().unwrap();
    let stripped = directory.path().join("stripped");
    let done = Command::new("strip").arg("-o").arg(&stripped).arg(exporter()).status();
    if !done.is_ok_and(|status| status.success()) {
        return tell_skipped("binary", "needs strip");
    }
    let bytes = fs::metadata(&stripped).unwrap().len();
    report.hold("stripped binary", bytes as f64 / 1e6, "MB", Target::Most(8.0));
}

fn borrowed(flags: &[String]) -> Vec<&str> {
    flags.iter().map(String::as_str).collect()
}

/// Samples of all devices so far.
fn taken() -> f64 {
    let reply = get(OURS, "/metrics");
    let lines = reply.text().lines().filter(|line| line.starts_with("roce_sampler_samples_total{"));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

fn wait_for_samples(devices: u32) {
    wait_for("samples", || {
        if TcpStream::connect(OURS).is_err() {
            return false;
        }
        let reply = get(OURS, "/metrics");
        let sampled = reply.text().lines().filter(|line| {
            line.starts_with("roce_sampler_samples_total{") && !line.ends_with(" 0")
        });
        sampled.count() >= devices as usize
    });
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < PATIENCE, "no {what}");
        sleep(Duration::from_millis(1));
    }
}
