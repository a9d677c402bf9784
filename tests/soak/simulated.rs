//! The demo, held against its own truth while clients ask it.

use std::collections::BTreeMap;
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
use crate::clock;
use crate::growth::Growth;
use crate::pace::{Pace, kept_bytes, ring_bytes};
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
/// How far the program's fabric and the test's may be apart, as a share of the paused time and in seconds.
const APART: f64 = 0.15;
const SHORT: f64 = 0.1;
/// How often certificates are renewed and SIGHUP is sent.
const DISTURBED_EVERY: Duration = Duration::from_secs(7);

/// What the demo shows.
pub struct Scene {
    pub scenario: Option<&'static str>,
    pub hosts: usize,
    /// How long it does not see what goes on.
    pub blind: Duration,
    /// Whether it serves over TLS, with certificates that are renewed, and gets SIGHUP.
    pub behind_tls: bool,
    /// Whether the wall clock jumps.
    pub clock_steps: bool,
}

impl Scene {
    pub fn of(scenario: &'static str, hosts: usize) -> Self {
        Self { scenario: Some(scenario), ..Self::walk(hosts) }
    }

    /// One scenario after the other.
    pub fn walk(hosts: usize) -> Self {
        Self { scenario: None, hosts, blind: Duration::ZERO, behind_tls: false, clock_steps: false }
    }

    pub fn name(&self) -> &'static str {
        self.scenario.unwrap_or("walk")
    }

    pub fn run(&self, until: Instant) {
        let demo = Demo::start(self);
        let mut twin = Twin::new(self.scenario, self.hosts);
        let mut growth = Growth::default();
        let mut paces: Vec<Pace> = (0..self.hosts).map(|_| Pace::default()).collect();
        let mut proved = Proved::default();
        let reloads = Reloads::default();
        let answers: u64 = std::thread::scope(|scope| {
            let demo = &demo;
            let reloads = &reloads;
            let passing: fn(&str) -> bool =
                if self.starts_from_zero() { |device| device != "eth1" } else { |_| false };
            let ask = move || {
                let asks: Vec<_> = (0..self.hosts).map(|host| move || demo.scrape(host)).collect();
                let asks: Vec<_> = asks.iter().map(|ask| ask as &dyn Fn() -> String).collect();
                ask_until(until, reloads, passing, &asks)
            };
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(ask)).collect();
            if self.behind_tls {
                scope.spawn(move || demo.disturb(until, reloads));
            }
            if demo.steps_clock {
                scope.spawn(move || {
                    let told = || demo.unix_time();
                    clock::step_until(until, &demo.files.path("clock"), told);
                });
            }
            while Instant::now() < until {
                let kept = self.check(demo, &mut twin, &mut paces, &mut proved);
                growth.note(Taken::by(demo.child.id()), kept);
                sleep(Duration::from_secs(1));
            }
            clients.into_iter().map(|client| client.join().unwrap()).sum()
        });
        self.check(&demo, &mut twin, &mut paces, &mut proved);
        demo.assert_calm_log();
        println!(
            "{}: {answers} answers, {} storms counted, of which {} had to be; {} of paused time compared",
            self.name(),
            demo.storms_counted(),
            proved.storms.values().sum::<usize>(),
            proved.times
        );
        // The rings of one reload may lie beside those of the one before.
        let rings = if self.behind_tls { ring_bytes(&parsed(&demo.scrape(0))) } else { 0 };
        growth.assert_none(self.name(), rings);
    }

    /// Holds all that is shown now against the truth. Returns the bytes that are kept of the past.
    fn check(&self, demo: &Demo, twin: &mut Twin, paces: &mut [Pace], proved: &mut Proved) -> u64 {
        let mut kept = 0;
        for (host, pace) in paces.iter_mut().enumerate() {
            let mut wrong = None;
            for look in 0..LOOKS {
                // The fabric began after the start of the process and before it told its address.
                let from = nanos(demo.listening.elapsed());
                let samples = parsed(&demo.scrape(host));
                let to = nanos(demo.spawned.elapsed());
                twin.advance(to);
                pace.note(&samples, (from, to));
                kept += if look == 0 { kept_bytes(&samples) } else { 0 };
                let course = &twin.hosts()[host];
                for sample in &samples {
                    self.check_lane(sample, &samples, (course, pace), (from, to), proved);
                }
                wrong = self.wrong_name(&samples, course, (from.saturating_sub(LOOK), to));
                if wrong.is_none() {
                    break;
                }
                sleep(Duration::from_secs(1));
            }
            assert!(wrong.is_none(), "{}: {}", self.name(), wrong.unwrap_or_default());
        }
        kept
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
        (course, pace): (&HostCourse, &Pace),
        (from, to): (u64, u64),
        proved: &mut Proved,
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
                // Looks at the fabric cut its steps, so that two who look at other times see short pauses differently.
                let fine =
                    (least * (1.0 - APART) - SHORT..=most * (1.0 + APART) + SHORT).contains(&value);
                assert!(fine, "{}, not in {least}..={most}", told());
                proved.times += u64::from(value > 0.0);
            }
            "roce_pfc_storms_total" => {
                let seen = |from, to| pace.kept_up(device, (from, to));
                let lane = (priority, direction);
                let (certain, possible) = storms((driver, nic), lane, (from, to), &seen);
                assert!(value as usize <= possible, "{}, at most {possible} are true", told());
                // A reload forgets, and so does a device that comes back.
                if !self.behind_tls && !self.starts_from_zero() {
                    assert!(value as usize >= certain, "{}, {certain} are true", told());
                    proved.storms.insert((course.place(), format!("{:?}", sample.labels)), certain);
                }
            }
            "roce_pfc_storm_last_start_timestamp_seconds" if value > 0.0 => {
                let off = value as i64 - clock::unix_now();
                let ran = i64::try_from(to / SECOND).unwrap() + clock::NEAR;
                let near = |offset: &i64| (-ran..=clock::NEAR).contains(&(off - offset));
                let steps = if self.clock_steps { &clock::OFFSETS[..] } else { &[0] };
                assert!(steps.iter().any(near), "{}, {off} s from now", told());
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

/// What was held against the truth and was not zero.
#[derive(Default)]
struct Proved {
    times: u64,
    /// Storms that could not be missed, by the lane.
    storms: BTreeMap<(usize, String), usize>,
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
    steps_clock: bool,
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
        let library = scene.clock_steps.then(clock::library).flatten();
        if let Some(library) = &library {
            clock::give(&mut command, library, &files.path("clock"));
        }
        let steps_clock = library.is_some();
        let spawned = Instant::now();
        let child = command.spawn().unwrap();
        let addresses = Vec::new();
        let behind_tls = scene.behind_tls;
        let mut demo =
            Self { child, spawned, listening: spawned, addresses, files, behind_tls, steps_clock };
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

    /// The program's own time, as it says it of its newest samples.
    fn unix_time(&self) -> Option<i64> {
        let reply = get(self.addresses[0], "/api/v1/trends?seconds=1");
        let last = reply.text().rsplit_once("\"unix_second\":")?.1;
        last.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
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
