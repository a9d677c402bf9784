//! What one evaluation of all rules costs a Prometheus that has the series of many hosts. Slow, so it runs only when
//! asked: `make scale`.
//!
//! The series are those of one NIC of the demo, once more for each NIC and host: all that a rule names, scraped every
//! 15 s for as long as rules look back. The fabric is calm, so no alert fires: it is the looking that costs.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::client::request;
use crate::fleet::Fleet;
use crate::rules::rule_files;
use crate::servers::{Prometheus, create_blocks};

const HOSTS: [u32; 3] = [50, 100, 250];
const NICS: u32 = 8;
const SCRAPE: usize = 15;
/// Rules look back for five minutes, and some do so from five minutes ago.
const SPAN: u64 = 690;
/// Seconds between evaluations: two of them come before the series are too old to be seen.
const EVERY: u64 = 10;
/// Seconds that it takes to load the series of a host, first guessed and then as it was.
const LOADING: f64 = 0.25;
/// What one evaluation may take over the most hosts: half of the usual interval.
const LIMIT: Duration = Duration::from_millis(7_500);

struct Family {
    /// As in a line of type: name and kind.
    head: String,
    accumulates: bool,
    samples: Vec<Sample>,
}

struct Sample {
    name: String,
    /// Without those of the NIC.
    labels: String,
    of_nic: bool,
    value: f64,
}

fn sample(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').unwrap();
    let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
    let labels = labels.strip_suffix('}').unwrap();
    let nic = labels.strip_prefix("device=\"eth0\"");
    let labels = nic.unwrap_or(labels).trim_start_matches(',').to_owned();
    Sample { name: name.to_owned(), labels, of_nic: nic.is_some(), value: value.parse().unwrap() }
}

/// What the first NIC and the host itself show.
fn page() -> Vec<Family> {
    let fleet = Fleet::start(1, &["--hosts", "1", "--scenario", "calm"]);
    // Until rates of ten seconds are there.
    sleep(Duration::from_secs(12));
    let accept = [("Accept", "application/openmetrics-text; version=1.0.0")];
    let page = request(fleet.addresses[0], "GET", "/metrics", &accept);
    let mut families: Vec<Family> = Vec::new();
    for line in page.text().lines() {
        if let Some(head) = line.strip_prefix("# TYPE ") {
            let accumulates = ["counter", "histogram"].iter().any(|kind| head.ends_with(kind));
            families.push(Family { head: head.to_owned(), accumulates, samples: Vec::new() });
        } else if !line.starts_with('#')
            && (line.contains("device=\"eth0\"") || !line.contains("device="))
        {
            families.last_mut().unwrap().samples.push(sample(line));
        }
    }
    families
}

/// Of these the families that a rule names.
fn named(families: Vec<Family>) -> Vec<Family> {
    let texts: String = rule_files().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let between = |letter: char| !(letter.is_ascii_alphanumeric() || letter == '_');
    let words: BTreeSet<&str> = texts.split(between).collect();
    let wanted =
        |family: &Family| family.samples.iter().any(|own| words.contains(own.name.as_str()));
    families.into_iter().filter(wanted).collect()
}

fn series_of(families: &[Family], of_nic: bool) -> usize {
    families.iter().flat_map(|family| &family.samples).filter(|own| own.of_nic == of_nic).count()
}

/// Writes the series of so many hosts up to `end`.
fn write(path: &Path, families: &[Family], hosts: u32, end: u64) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for family in families {
        writeln!(file, "# TYPE {}", family.head).unwrap();
        for host in 0..hosts {
            for sample in &family.samples {
                for nic in 0..if sample.of_nic { NICS } else { 1 } {
                    file.write_all(lines(family, sample, (host, nic), end).as_bytes()).unwrap();
                }
            }
        }
    }
    writeln!(file, "# TYPE up gauge").unwrap();
    for host in 0..hosts {
        for at in (end - SPAN..=end).step_by(SCRAPE) {
            writeln!(file, "up{{job=\"roce\",fabric=\"lab\",instance=\"host{host}\"}} 1 {at}")
                .unwrap();
        }
    }
    writeln!(file, "# EOF").unwrap();
}

fn lines(family: &Family, sample: &Sample, (host, nic): (u32, u32), end: u64) -> String {
    let mut labels = format!("job=\"roce\",fabric=\"lab\",instance=\"host{host}\"");
    if sample.of_nic {
        write!(labels, ",device=\"eth{nic}\"").unwrap();
    }
    if !sample.labels.is_empty() {
        write!(labels, ",{}", sample.labels).unwrap();
    }
    let mut lines = String::new();
    for (scrape, at) in (end - SPAN..=end).step_by(SCRAPE).enumerate() {
        let scrapes = f64::from(u32::try_from(scrape).unwrap());
        let grown = if family.accumulates { 1.0 + scrapes } else { 1.0 };
        writeln!(lines, "{}{{{labels}}} {} {at}", sample.name, sample.value * grown).unwrap();
    }
    lines
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A Prometheus with the series of so many hosts and all rules. Their last scrape was just now: results cannot be written
/// before what is there already, and of older series rules would see less. Notes what loading took.
fn fleet_of(families: &[Family], hosts: u32, loading: &Cell<f64>) -> Prometheus {
    let rules: Vec<(String, String)> = rule_files()
        .into_iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    let rules: Vec<(&str, String)> =
        rules.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let configuration =
        format!("global: {{evaluation_interval: {EVERY}s}}\nrule_files: ['*.rules.yml']\n");
    Prometheus::configured_with(&configuration, &rules, |data| {
        let directory = tempfile::tempdir().unwrap();
        let text = directory.path().join("series.txt");
        let since = Instant::now();
        let expected = Duration::from_secs_f64(loading.get() * f64::from(hosts)).as_secs();
        let end = unix_seconds() + expected;
        write(&text, families, hosts, end);
        create_blocks(&text, data);
        loading.set(since.elapsed().as_secs_f64() / f64::from(hosts));
        sleep(Duration::from_secs(end.saturating_sub(unix_seconds()) + 1));
    })
}

/// The rules' names and the time of their last evaluation, once each was evaluated twice.
fn evaluated(prometheus: &Prometheus) -> Vec<(String, Duration)> {
    let since = Instant::now();
    let twice = Duration::from_secs(2 * EVERY + 5);
    loop {
        sleep(Duration::from_secs(1));
        let answer = prometheus.get("rules");
        let groups = answer["groups"].as_array().unwrap();
        let rules = || groups.iter().flat_map(|group| group["rules"].as_array().unwrap());
        let time = |rule: &Value| rule["evaluationTime"].as_f64().filter(|seconds| *seconds > 0.0);
        if since.elapsed() > twice && rules().all(|rule| time(rule).is_some()) {
            let of = |rule: &Value| {
                assert_eq!(rule["health"], "ok", "{}: {}", rule["name"], rule["lastError"]);
                let time = Duration::from_secs_f64(time(rule).unwrap());
                (rule["name"].as_str().unwrap().to_owned(), time)
            };
            return rules().map(of).collect();
        }
        assert!(since.elapsed() < Duration::from_mins(5), "rules that are never evaluated");
    }
}

/// Prints what one evaluation takes over ever more hosts; fails where it takes too long over the most.
pub fn measured() {
    let all = page();
    let (nic, host) = (series_of(&all, true), series_of(&all, false));
    println!(
        "a host of {NICS} NICs as the demo's mlx5_core: {} series",
        nic * NICS as usize + host
    );
    let families = named(all);
    let loading = Cell::new(LOADING);
    for hosts in HOSTS {
        let per_host = series_of(&families, true) * NICS as usize + series_of(&families, false);
        let prometheus = fleet_of(&families, hosts, &loading);
        let mut rules = evaluated(&prometheus);
        let whole: Duration = rules.iter().map(|(_, time)| *time).sum();
        let results = prometheus.query("count(%7B__name__=~%22.%2B:.%2B%22%7D)");
        let results = results.into_values().next().unwrap_or_default();
        println!(
            "{hosts} hosts: {} rules over {} series, {results} series of results, one evaluation {whole:.2?}, slowest:",
            rules.len(),
            per_host * hosts as usize
        );
        rules.sort_by_key(|(_, time)| Reverse(*time));
        for (name, time) in rules.iter().take(4) {
            println!("  {time:.2?} {name}");
        }
        assert!(results > f64::from(hosts), "the rules found nothing");
        assert!(whole < LIMIT || hosts < 250, "{whole:.2?}");
    }
}
