//! The messages of the troubleshooting page are those that the program prints.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::Path;

use regex::Regex;
use roce_exporter::model::Reason;

use super::program::run;
use super::{quoted, read_paper, table};

const PAGE: &str = "docs/troubleshooting.md";

/// A message of the page as an expression for a whole line.
fn pattern(message: &str) -> Regex {
    Regex::new(&format!("^(roce_exporter: )?{}$", regex::escape(message).replace('…', ".+")))
        .unwrap()
}

/// The last line of a run that ends by itself, for each way in which a start can fail.
fn failed_starts(directory: &Path) -> Vec<String> {
    let file = |name: &str, text: &str| {
        let path = directory.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let typo = file("typo.yml", "sampler:\n  intervall: 1ms\n");
    let web = file("web.yml", "tls_server_config:\n  cert_file: a.pem\n  key_file: b.pem\n");
    let there = file("there.roce", "no recording");
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("--web.listen-address={}", held.local_addr().unwrap());
    let commands: [&[&str]; 12] = [
        &["--config.file", &typo],
        &["--config.file", "no/such/file.yml"],
        &["--path.sysfs=no/such/directory"],
        &["--web.listen-address=127.0.0.1"],
        &["--device.include=("],
        &["--sampler.interval=5s", "--storm.detection=200ms"],
        &["--web.config.file", &web],
        &[&taken],
        // An address for documentation, which no host has.
        &["--web.listen-address=192.0.2.1:0"],
        &["--web.systemd-socket"],
        &["--web.listen-address=127.0.0.1:0", "--record", &there],
        &["replay", &there],
    ];
    let last_line = |arguments: &&[&str]| {
        let ran = run(arguments, "");
        assert!(matches!(ran.code, Some(1 | 2)), "{arguments:?}: {:?}: {}", ran.code, ran.log);
        ran.log.lines().last().unwrap().to_owned()
    };
    commands.iter().map(last_line).collect()
}

#[test]
fn a_start_that_fails_says_what_the_page_says() {
    let directory = tempfile::tempdir().unwrap();
    let printed = failed_starts(directory.path());
    let page = table(&read_paper(PAGE), "printed at start");
    let patterns: Vec<Regex> = page.iter().map(|row| pattern(quoted(&row[0]))).collect();
    for line in &printed {
        assert!(patterns.iter().any(|one| one.is_match(line)), "the page lacks {line}");
    }
    for one in &patterns {
        assert!(
            printed.iter().any(|line| one.is_match(line)),
            "nothing prints {one}: {printed:#?}"
        );
    }
}

/// The text of all sources.
fn sources(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|end| end == "rs") {
            *text += &fs::read_to_string(path).unwrap();
        }
    }
}

#[test]
fn the_log_and_the_answers_are_in_the_words_of_the_page() {
    let mut program = String::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut program);
    // A literal over several lines is one.
    let program = Regex::new(r"\\\n\s*").unwrap().replace_all(&program, "");
    for row in table(&read_paper(PAGE), "log") {
        let message = quoted(&row[0]);
        assert!(program.contains(&format!("\"{message}\"")), "no source says {message:?}");
    }
    let rows = table(&read_paper(PAGE), "answers");
    let words = Regex::new(r"^(?:401|429|503)[^`]*(?:`/-/ready`: )?`([^`]+)`").unwrap();
    let answers: Vec<String> =
        rows.iter().filter_map(|row| Some(words.captures(&row[0])?[1].to_owned())).collect();
    assert_eq!(answers.len(), 4, "{answers:?}");
    for answer in answers {
        assert!(program.contains(&format!("\"{answer}\\n\"")), "no source answers {answer:?}");
    }
}

#[test]
fn every_reason_of_a_failed_read_is_explained() {
    let words = Regex::new("`([a-z_]+)`").unwrap();
    let rows = table(&read_paper(PAGE), "reasons");
    let cells = rows.iter().flat_map(|row| words.captures_iter(&row[0]).collect::<Vec<_>>());
    let explained: BTreeSet<String> = cells.map(|found| found[1].to_owned()).collect();
    let all: BTreeSet<String> =
        Reason::ALL.iter().map(|reason| reason.as_str().to_owned()).collect();
    assert_eq!(explained, all);
}
