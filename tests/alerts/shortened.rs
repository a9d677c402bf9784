//! The shipped files with all their times divided by fifteen, as the scrape interval is here, and with nothing else changed.
//!
//! One factor for all keeps what comes before what. The ten seconds that the exporter itself looks back on stay as they are.

use std::fs;

use regex::{Captures, Regex};

use crate::rules::{rule_files, text};

/// Scrapes and evaluations each second in place of each 15 s.
const FACTOR: u64 = 15;

/// Names and texts of the rule files.
pub fn rules() -> Vec<(String, String)> {
    // Windows, offsets, waits, and the seconds for which a storm counts.
    let long = r"(?m)(\[|offset |for: |bool )(\d+)([smh]?)(\]|$|\b)";
    let files = rule_files().into_iter().map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, shortened(&fs::read_to_string(&path).unwrap(), long))
    });
    let files: Vec<(String, String)> = files.collect();
    let all: String = files.iter().map(|(_, text)| text.as_str()).collect();
    for there in ["[20s]", "offset 20s", "for: 4s", "keep_firing_for: 24s", "< bool 20)"] {
        assert!(all.contains(there), "{there}");
    }
    files
}

/// The example for Alertmanager, which tells this address.
pub fn alertmanager(receiver: &str) -> String {
    let example = text("alerts/alertmanager.example.yml");
    let short = shortened(&example, r"(?m)(group_wait: |group_interval: )(\d+)([smh])($)");
    assert!(short.contains("group_wait: 4s") && short.contains("group_interval: 20s"), "{short}");
    let address = "127.0.0.1:9099";
    assert!(short.contains(address), "{short}");
    short.replace(address, receiver)
}

fn shortened(text: &str, long: &str) -> String {
    let short = |found: &Captures<'_>| {
        let (unit, shown) = match &found[3] {
            "" => (1, ""),
            "s" => (1, "s"),
            "m" => (60, "s"),
            _ => (3600, "s"),
        };
        let seconds = found[2].parse::<u64>().unwrap() * unit;
        // `bool 0` and `bool 1` are no times.
        let seconds = if seconds < FACTOR { seconds } else { seconds / FACTOR };
        format!("{}{seconds}{shown}{}", &found[1], &found[4])
    };
    Regex::new(long).unwrap().replace_all(text, short).into_owned()
}
