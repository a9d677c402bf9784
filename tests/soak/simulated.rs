//! The demo, held against its own truth while clients ask it.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use roce_exporter::model::{Direction, Priority};
use rustix::process::{Pid, Signal, kill_process};

use crate::certificates::Certificates;
use crate::client::get;
use crate::clients::{CLIENTS, Reloads, ask_until, parsed};
use crate::growth::Growth;
use crate::program::Taken;
use crate::strict_parser::ParsedSample;
use crate::truth::{HostCourse, SECOND, SEED, Twin, storms};

const PATIENCE: Duration = Duration::from_mins(1);
/// How old the values of a sample may be: a driver renews them each second.
const LAG: u64 = 2 * SECOND;
/// How long a device may take to come and to go: the demo is looked at every 5 s.
const LOOK: u64 = 15 * SECOND;
/// How often names are looked at again, a second later, on a machine that stood still.
const LOOKS: usize = 20;
/// How often certificates are renewed and SIGHUP is sent.
const DISTURBED_EVERY: Duration = Duration::from_secs(7);
/// Samples per second below which the machine was too busy for storms to be seen for certain.
const ENOUGH: f64 = 100.0;

/// What the demo shows.
pub struct Scene {
    pub scenario: Option<&'static str>,
    pub hosts: usize,
    /// How long it does not see what goes on.
    pub blind: Duration,
    /// Whether it serves over TLS, with certificates that are renewed, and gets SIGHUP.
    pub behind_tls: bool,
}

impl Scene {
    pub fn of(scenario: &'static str, hosts: usize) -> Self {
        Self { scenario: Some(scenario), ..Self::walk(hosts) }
    }

    /// One scenario after the other.
    pub fn walk(hosts: usize) -> Self {
        Self { scenario: None, hosts, blind: Duration::ZERO, behind_tls: false }
    }

    fn name(&self) -> &'static str {
        self.scenario.unwrap_or("walk")
    }

    pub fn run(&self, until: Instant) {
        let demo = Demo::start(self);
        let mut twin = Twin::new(self.scenario, self.hosts);
        let mut growth = Growth::default();
        let reloads = Reloads::default();
        let answers: u64 = std::thread::scope(|scope| {
            let demo = &demo;
            let reloads = &reloads;
            let ask = move || {
                let asks: Vec<_> = (0..self.hosts).map(|host| move || demo.scrape(host)).collect();
                let asks: Vec<_> = asks.iter().map(|ask| ask as &dyn Fn() -> String).collect();
                ask_until(until, reloads, &asks)
            };
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(ask)).collect();
            if self.behind_tls {
                scope.spawn(move || demo.disturb(until, reloads));
            }
            while Instant::now() < until {
                self.check(demo, &mut twin);
                growth.note(Taken::by(demo.child.id()));
                sleep(Duration::from_secs(1));
            }
            clients.into_iter().map(|client| client.join().unwrap()).sum()
        });
        self.check(&demo, &mut twin);
        demo.assert_calm_log();
        println!("{}: {answers} answers, {} storms", self.name(), demo.storms_counted());
        growth.assert_none(self.name());
    }

    /// Holds all that is shown now against the truth.
    fn check(&self, demo: &Demo, twin: &mut Twin) {
        for host in 0..self.hosts {
            let mut wrong = None;
            for _ in 0..LOOKS {
                // The fabric began after the start of the process and before it told its address.
                let from = nanos(demo.listening.elapsed());
                let samples = parsed(&demo.scrape(host));
                let to = nanos(demo.spawned.elapsed());
                twin.advance(to);
                let course = &twin.hosts()[host];
                for sample in &samples {
                    self.check_lane(sample, &samples, course, (from, to));
                }
                wrong = self.wrong_name(&samples, course, (from.saturating_sub(LOOK), to));
                if wrong.is_none() {
                    break;
                }
                sleep(Duration::from_secs(1));
            }
            assert!(wrong.is_none(), "{}: {}", self.name(), wrong.unwrap_or_default());
        }
    }

    /// A device that is shown and gone, or is there and not shown.
    fn wrong_name(
        &self,
        samples: &[ParsedSample],
        course: &HostCourse,
        (from, to): (u64, u64),
    ) -> Option<String> {
        let (any, all) = course.names(from, to);
        let shown = samples.iter().filter_map(|sample| sample.labels.get("device"));
        if let Some(device) = shown.clone().find(|device| !any.contains(*device)) {
            return Some(format!("series of {device}, which is gone"));
        }
        // Sampling begins anew after SIGHUP.
        let mut expected = all.iter().filter(|_| !self.behind_tls);
        let missing = expected.find(|device| !shown.clone().any(|own| own == *device));
        missing.map(|device| format!("no series of {device}"))
    }

    fn check_lane(
        &self,
        sample: &ParsedSample,
        samples: &[ParsedSample],
        course: &HostCourse,
        (from, to): (u64, u64),
    ) {
        let label = |name: &str| sample.labels.get(name).map(String::as_str);
        let direction = match label("direction") {
            Some("tx") => Direction::Tx,
            Some(_) => Direction::Rx,
            None => return,
        };
        let priority = label("priority").and_then(|number| number.parse().ok());
        let Some(priority) = priority.and_then(|number| Priority::new(number).ok()) else { return };
        let Some(device) = label("device") else { return };
        let Some((driver, nic)) = course.nic(device) else { return };
        let Some(age) = age_of(samples, device) else { return };
        let from = from.saturating_sub(nanos(age) + LAG + nanos(self.blind));
        let value: f64 = sample.value.parse().unwrap();
        let told = || format!("{}: {driver} {:?} is {value}", self.name(), sample);
        match sample.name.as_str() {
            "roce_pfc_pause_seconds_total" if !self.starts_from_zero() => {
                let lane = nic.lane(priority, direction);
                let [least, most] = [from, to].map(|at| lane.paused_by(at) as f64 / 1e9);
                // Looks at the fabric cut its steps, so that two who look at other times see it a little differently.
                let fine = (least * 0.99 - 0.005..=most * 1.01 + 0.005).contains(&value);
                assert!(fine, "{}, not in {least}..={most}", told());
            }
            "roce_pfc_storms_total" => {
                let (certain, possible) = storms((driver, nic), (priority, direction), (from, to));
                assert!(value as usize <= possible, "{}, at most {possible} are true", told());
                // A reload forgets, and so does a device that comes back.
                let forgets = self.behind_tls || self.starts_from_zero();
                let certain = if certain == 0 || forgets || is_too_slow(samples, device, to) {
                    0
                } else {
                    certain
                };
                assert!(value as usize >= certain, "{}, {certain} are true", told());
            }
            _ => {}
        }
    }

    /// Whether counters of a device begin anew.
    fn starts_from_zero(&self) -> bool {
        self.scenario.is_none_or(|name| ["unplug", "rename"].contains(&name))
    }
}

/// How long ago the oldest of a device's newest samples was taken.
fn age_of(samples: &[ParsedSample], device: &str) -> Option<Duration> {
    let own = samples.iter().filter(|sample| {
        sample.name == "roce_sample_age_seconds"
            && sample.labels.get("device").is_some_and(|own| own == device)
    });
    let ages = own.filter_map(|sample| sample.value.parse().ok());
    ages.max_by(f64::total_cmp).map(Duration::from_secs_f64)
}

/// Whether a device was read too seldom for storms to be seen for certain.
fn is_too_slow(samples: &[ParsedSample], device: &str, elapsed: u64) -> bool {
    let own = samples.iter().filter(|sample| {
        sample.name == "roce_sampler_samples_total"
            && sample.labels.get("device").is_some_and(|own| own == device)
    });
    let taken: f64 = own.map(|sample| sample.value.parse::<f64>().unwrap()).sum();
    let slow = taken < ENOUGH * elapsed as f64 / 1e9;
    if slow {
        println!("{device}: {taken} samples in {} s: storms may be missed", elapsed / SECOND);
    }
    slow
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap()
}

/// The running program; killed by its id.
struct Demo {
    child: Child,
    spawned: Instant,
    listening: Instant,
    addresses: Vec<SocketAddr>,
    files: Certificates,
    behind_tls: bool,
}

impl Demo {
    fn start(scene: &Scene) -> Self {
        let files = Certificates::new();
        let mut command = Command::new(env!("CARGO_BIN_EXE_roce_exporter"));
        command
            .args(["demo", "--web.listen-address=127.0.0.1:0", "--sampler.interval=1ms"])
            .args(["--hosts", &scene.hosts.to_string(), "--seed", &SEED.to_string()])
            .args(scene.scenario.map(|name| format!("--scenario={name}")))
            .stderr(File::create(files.path("log")).unwrap());
        if scene.behind_tls {
            files.write(
                "web.yml",
                "tls_server_config: {cert_file: server.crt, key_file: server.key}\n",
            );
            command.arg("--web.config.file").arg(files.path("web.yml"));
        }
        let spawned = Instant::now();
        let child = command.spawn().unwrap();
        let addresses = Vec::new();
        let behind_tls = scene.behind_tls;
        let mut demo = Self { child, spawned, listening: spawned, addresses, files, behind_tls };
        demo.wait_for("addresses", || demo.told_addresses().len() == scene.hosts);
        demo.listening = Instant::now();
        demo.addresses = demo.told_addresses();
        for host in 0..scene.hosts {
            demo.wait_for("first sample", || {
                demo.scrape(host).contains("roce_sampler_samples_total")
            });
        }
        demo
    }

    fn log(&self) -> String {
        self.files.read("log")
    }

    fn told_addresses(&self) -> Vec<SocketAddr> {
        let log = self.log();
        let parts = log.split("address=").skip(1);
        let addresses = parts.filter_map(|part| part.split_whitespace().next());
        addresses.filter_map(|text| text.trim_matches('"').parse().ok()).collect()
    }

    fn wait_for(&self, what: &str, condition: impl Fn() -> bool) {
        let since = Instant::now();
        while !condition() {
            assert!(since.elapsed() < PATIENCE, "no {what}:\n{}", self.log());
            sleep(Duration::from_millis(20));
        }
    }

    fn scrape(&self, host: usize) -> String {
        let address = self.addresses[host];
        if !self.behind_tls {
            let reply = get(address, "/metrics");
            assert_eq!(reply.status, 200, "{}", reply.text());
            return reply.text().to_owned();
        }
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--fail", "--noproxy", "*", "--max-time", "30"])
            .arg("--cacert")
            .arg(self.files.path("ca.crt"))
            .arg(format!("https://localhost:{}/metrics", address.port()))
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{complaint}\n{}", self.log());
        String::from_utf8(output.stdout).unwrap()
    }

    /// Renews the certificate, breaks and mends the configuration, and lets the settings be read again.
    fn disturb(&self, until: Instant, reloads: &Reloads) {
        let good = fs::read_to_string(self.files.path("web.yml")).unwrap();
        let mut reloaded = 0;
        while Instant::now() + DISTURBED_EVERY < until {
            let refused = self.count("refused");
            self.files.write("web.yml", "tls_server_config: {cert_file: none.crt}\n");
            self.wait_for("refusal", || self.count("refused") > refused);
            let read = self.count("web configuration read again");
            self.files.renew_server();
            self.files.write("web.yml", &good);
            self.wait_for("new certificate", || self.count("web configuration read again") > read);
            let settings = self.count("settings read again");
            reloads.begins();
            kill_process(Pid::from_child(&self.child), Signal::HUP).unwrap();
            self.wait_for("reload", || self.count("settings read again") > settings);
            // The first sample after it.
            sleep(Duration::from_secs(1));
            reloads.ended();
            reloaded += 1;
            sleep(DISTURBED_EVERY);
        }
        assert!(reloaded > 0);
        println!("{reloaded} reloads, as many certificates");
    }

    fn count(&self, part: &str) -> usize {
        self.log().matches(part).count()
    }

    fn storms_counted(&self) -> f64 {
        let samples = parsed(&self.scrape(0));
        let storms = samples.iter().filter(|sample| sample.name == "roce_pfc_storms_total");
        storms.map(|sample| sample.value.parse::<f64>().unwrap()).sum()
    }

    fn assert_calm_log(&self) {
        let log = self.log();
        assert!(!log.contains("panic"), "{log}");
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
