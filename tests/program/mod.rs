//! Runs the built program as a user would, on captured texts and on sysfs trees.

pub mod tree;

use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;
use roce_exporter::export::Format;

use crate::strict_parser::{self, ParsedFamily};

/// No run of these tests takes long; one that hangs must not hang the tests.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a run left behind.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub log: String,
}

impl Ran {
    /// The metrics, without the comments that `decode` adds. Panics if the program failed or a strict reader
    /// would refuse what it printed.
    pub fn families(&self) -> Vec<ParsedFamily> {
        assert_eq!(self.code, Some(0), "{}", self.log);
        let metrics = self.out.lines().filter(|line| {
            !line.starts_with('#') || line.starts_with("# HELP ") || line.starts_with("# TYPE ")
        });
        let metrics: String = metrics.flat_map(|line| [line, "\n"]).collect();
        if metrics.is_empty() {
            return Vec::new();
        }
        strict_parser::parse(&metrics, Format::Text004)
    }

    /// The value of a series of this name with these labels.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<String> {
        strict_parser::value(&self.families(), name, labels)
    }

    /// The comments that `decode` adds.
    pub fn remarks(&self) -> Vec<&str> {
        let own = |line: &&str| {
            line.starts_with("# ") && !line.starts_with("# HELP ") && !line.starts_with("# TYPE ")
        };
        self.out.lines().filter(own).collect()
    }
}

/// The program, with a bound on its time and nothing of this process' settings.
pub fn exporter(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roce_exporter"));
    command.args(arguments).timeout(PATIENCE);
    command
}

/// Runs the program with `input` on its standard input.
pub fn run(arguments: &[&str], input: impl Into<Vec<u8>>) -> Ran {
    let output = exporter(arguments).write_stdin(input).output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        log: String::from_utf8(output.stderr).unwrap(),
    }
}

/// `decode` of a text from standard input.
pub fn decode(driver: &str, text: impl Into<Vec<u8>>) -> Ran {
    run(&["decode", "--driver", driver], text)
}

/// `once` over a tree. The long interval keeps a slow test machine from making the sample stale.
pub fn once(sysfs: &Path, flags: &[&str]) -> Ran {
    let always = ["once", "--sampler.interval=10s", "--path.sysfs", sysfs.to_str().unwrap()];
    run(&[&always, flags].concat(), "")
}
