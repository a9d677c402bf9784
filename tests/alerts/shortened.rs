//! The shipped files with their times shortened, and with nothing else changed.

use std::fs;

use regex::Regex;

use crate::rules::{rule_files, text};

/// Windows and waits of the rules, in their order. What the exporter itself looks back on, ten seconds, stays as it is, so a
/// storm has to count for clearly longer than that and the average on top of it.
const RULES: [(&str, &str); 15] = [
    ("[2m]", "[6s]"),
    ("[5m]", "[20s]"),
    ("[10m]", "[24s]"),
    ("[15m]", "[24s]"),
    ("[30m]", "[30s]"),
    ("offset 5m", "offset 20s"),
    ("offset 30m", "offset 30s"),
    ("< bool 300)", "< bool 20)"),
    (" for: 30s\n", " for: 2s\n"),
    (" for: 1m\n", " for: 3s\n"),
    (" for: 2m\n", " for: 3s\n"),
    (" for: 5m\n", " for: 6s\n"),
    (" for: 10m\n", " for: 9s\n"),
    (" for: 1h\n", " for: 15s\n"),
    ("keep_firing_for: 6m\n", "keep_firing_for: 24s\n"),
];

const ALERTMANAGER: [(&str, &str); 5] = [
    ("group_wait: 1m", "group_wait: 6s"),
    ("group_interval: 5m", "group_interval: 2s"),
    ("repeat_interval: 12h", "repeat_interval: 3h"),
    ("repeat_interval: 1h", "repeat_interval: 2h"),
    ("http://127.0.0.1:9099", "http://RECEIVER"),
];

/// Names and texts of the rule files.
pub fn rules() -> Vec<(String, String)> {
    let files = rule_files().into_iter().map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut text = fs::read_to_string(&path).unwrap();
        for (long, short) in RULES {
            text = text.replace(long, short);
        }
        let long = Regex::new(r"(?m)\[\d+[mh]\]|for: \d+[mh]$|offset \d+[mh]|bool 300").unwrap();
        assert!(!long.is_match(&text), "{name} still has {:?}", long.find(&text));
        (name, text)
    });
    files.collect()
}

/// The example for Alertmanager, which tells this address.
pub fn alertmanager(receiver: &str) -> String {
    let mut example = text("alerts/alertmanager.example.yml");
    for (long, short) in ALERTMANAGER {
        assert!(example.contains(long), "{long}");
        example = example.replace(long, short);
    }
    example.replace("RECEIVER", receiver)
}
