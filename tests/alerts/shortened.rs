//! The shipped files with their times shortened, and with nothing else changed.

use std::fs;

use crate::rules::{rule_files, text};

/// Windows and waits of the rules. What the exporter itself looks back on, ten seconds, stays as it is, so a storm has to count
/// for clearly longer than that.
const RULES: [(&str, &str); 14] = [
    ("[2m]", "[8s]"),
    ("[5m]", "[30s]"),
    ("[10m]", "[40s]"),
    ("[15m]", "[40s]"),
    ("[30m]", "[40s]"),
    ("offset 5m", "offset 30s"),
    ("offset 30m", "offset 40s"),
    ("< bool 300)", "< bool 30)"),
    (" for: 1m\n", " for: 3s\n"),
    (" for: 2m\n", " for: 3s\n"),
    (" for: 5m\n", " for: 5s\n"),
    (" for: 10m\n", " for: 8s\n"),
    (" for: 1h\n", " for: 15s\n"),
    ("keep_firing_for: 6m\n", "keep_firing_for: 40s\n"),
];

const ALERTMANAGER: [(&str, &str); 4] = [
    ("group_wait: 30s", "group_wait: 5s"),
    ("group_interval: 5m", "group_interval: 2s"),
    ("repeat_interval: 12h", "repeat_interval: 1h"),
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
        let left = ["for: 1m", "for: 5m", "for: 10m", "[5m]", "[2m]", "[10m]"];
        let left: Vec<&&str> = left.iter().filter(|time| text.contains(**time)).collect();
        assert!(left.is_empty(), "{name} still has {left:?}");
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
