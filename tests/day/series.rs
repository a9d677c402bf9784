//! What a Prometheus would have after scraping the hosts, written as the input of `promtool test rules`.
//!
//! That is what evaluates `for` and `keep_firing_for` as Prometheus does: backfilling rules over blocks leaves alerts out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use regex::Regex;

use crate::played::Played;
use crate::rules;

pub const SCRAPE: Duration = Duration::from_secs(15);

/// Values of each series by scrape; none where it was not there.
pub struct Series {
    values: BTreeMap<String, Vec<Option<f64>>>,
    scrapes: usize,
}

/// Whether a scrape of this host fails at this time.
pub type Failing<'failing> = &'failing dyn Fn(&str, Duration) -> bool;

impl Series {
    /// Scrapes all hosts of a fabric for a time, and keeps what the rules ask for.
    pub fn scraped(played: &mut Played, lasts: Duration, failing: Failing<'_>) -> Self {
        let asked = asked();
        let mut series = Self { values: BTreeMap::new(), scrapes: 0 };
        let watched = played.names();
        let mut at = Duration::ZERO;
        while at <= lasts {
            played.play_until(at);
            for (host, target) in watched.iter().enumerate() {
                let fails = failing(target, at);
                let target = format!(r#"job="roce",fabric="pod",instance="{target}""#);
                series.keep(format!("up{{{target}}}"), if fails { 0.0 } else { 1.0 });
                let text = if fails { String::new() } else { played.exposition(host) };
                for line in text.lines().filter(|line| !line.starts_with('#')) {
                    let (named, value) = line.rsplit_once(' ').unwrap();
                    let (name, labels) = named.split_once('{').unwrap_or((named, "}"));
                    if asked.iter().any(|asked| asked == name) {
                        let labels = labels.strip_suffix('}').unwrap();
                        let key = format!("{name}{{{target},{labels}}}");
                        series.keep(key.replace(",}", "}"), value.parse().unwrap());
                    }
                }
            }
            series.scrapes += 1;
            at += SCRAPE;
        }
        series
    }

    fn keep(&mut self, key: String, value: f64) {
        let values = self.values.entry(key).or_default();
        values.resize(self.scrapes, None);
        values.push(Some(value));
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Increase of all series of a name, from the first to the last scrape.
    pub fn increase(&self, name: &str) -> f64 {
        let of_name = self.values.iter().filter(|(key, _)| key.split('{').next() == Some(name));
        of_name
            .map(|(_, values)| {
                let mut known = values.iter().flatten();
                let first = known.next().copied().unwrap_or_default();
                known.next_back().copied().unwrap_or(first) - first
            })
            .sum()
    }

    /// Has promtool evaluate the shipped rules over the series, and holds them to these questions.
    pub fn judge(&self, directory: &Path, questions: &[Question]) -> Result<(), String> {
        let mut text = String::from("rule_files:\n");
        for file in in_order() {
            writeln!(text, "- {}", file.display()).unwrap();
        }
        text += "evaluation_interval: 15s\ntests:\n- interval: 15s\n  input_series:\n";
        for (key, values) in &self.values {
            let written = written(values, self.scrapes);
            writeln!(text, "  - {{series: '{key}', values: '{written}'}}").unwrap();
        }
        text += "  promql_expr_test:\n";
        for question in questions {
            let at = question.at.as_secs();
            writeln!(text, "  - expr: '{}'\n    eval_time: {at}s", question.expression).unwrap();
            text += "    exp_samples:\n";
            for labels in &question.expected {
                writeln!(text, "    - {{labels: '{labels}', value: 1}}").unwrap();
            }
        }
        let file = directory.join("day.test.yml");
        fs::write(&file, text).unwrap();
        // A fifth less time for somewhat more memory.
        let mut promtool = Command::new("promtool");
        promtool.env("GOGC", "400").args(["test", "rules"]).arg(&file);
        let ran = promtool.output().unwrap();
        let said = [ran.stdout, ran.stderr].concat();
        if ran.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&said).into_owned()) }
    }
}

/// An expression, when it is asked, and the labels of its answer's series, each of value 1.
pub struct Question {
    pub expression: String,
    pub at: Duration,
    pub expected: Vec<String>,
}

/// The exporter's metrics that the rules ask for.
fn asked() -> Vec<String> {
    let name = Regex::new(r"\broce_\w+\b").unwrap();
    let rules = rules::rules();
    let mut asked: Vec<String> = rules
        .iter()
        .flat_map(|rule| name.find_iter(&rule.expr))
        .map(|found| found.as_str().to_owned())
        .collect();
    asked.sort();
    asked.dedup();
    asked
}

/// Rule files, those first that others ask.
fn in_order() -> Vec<std::path::PathBuf> {
    let mut files = rules::rule_files();
    let rank = |path: &std::path::PathBuf| {
        let text = path.to_string_lossy();
        ["policy", "recording", "links"].iter().position(|part| text.contains(part)).unwrap_or(9)
    };
    files.sort_by_key(rank);
    files
}

/// Values in promtool's notation, with runs of one value as one.
fn written(values: &[Option<f64>], scrapes: usize) -> String {
    let mut text = String::new();
    let mut place = 0;
    let value = |place: usize| values.get(place).copied().flatten();
    while place < scrapes {
        let here = value(place);
        let same = (place..scrapes).take_while(|at| value(*at) == here).count();
        match here {
            // What was there before has ended, as Prometheus notes it.
            None if place > 0 => write!(text, "stale _x{} ", same - 1).unwrap(),
            None => write!(text, "_x{same} ").unwrap(),
            Some(value) if value >= 0.0 && same > 1 => {
                write!(text, "{value}x{} ", same - 1).unwrap();
            }
            Some(value) => (0..same).for_each(|_| write!(text, "{value} ").unwrap()),
        }
        place += same;
    }
    text.trim_end().replace(" _x0", "")
}
