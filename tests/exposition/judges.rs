//! Other people's parsers. A missing one is skipped aloud, or a failure where all tiers are required.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use roce_exporter::export::Format;

const REQUIRE_ALL: &str = "ROCE_REQUIRE_ALL_TIERS";

/// Says that a part of a test cannot run here. Panics where everything must run.
pub fn skip(what: &str) {
    assert!(std::env::var_os(REQUIRE_ALL).is_none_or(|value| value != "1"), "{what} is missing");
    println!("SKIPPED: {what}");
}

fn run(command: &mut Command, input: &str) -> Option<Output> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().ok()?;
    let written = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    written.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    Some(output)
}

/// The linter's lines about a text of format 0.0.4; none where promtool is missing. Panics if it cannot be read.
pub fn promtool_lint(text: &str) -> Option<Vec<String>> {
    let Some(output) = run(Command::new("promtool").args(["check", "metrics"]), text) else {
        skip("promtool");
        return None;
    };
    let said = String::from_utf8(output.stderr).unwrap();
    // 3: read well, and the linter has something to say.
    assert!(matches!(output.status.code(), Some(0 | 3)), "promtool: {said}");
    Some(said.lines().map(str::to_owned).collect())
}

/// Lets Prometheus' own OpenMetrics parser read a text, by way of its import command.
pub fn promtool_import(text: &str) {
    let dated: Vec<String> = text
        .lines()
        .map(
            |line| {
                if line.starts_with('#') { line.to_owned() } else { format!("{line} 1700000000") }
            },
        )
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let (file, blocks) = (directory.path().join("metrics.txt"), directory.path().join("blocks"));
    std::fs::write(&file, dated.join("\n") + "\n").unwrap();
    let arguments: [&Path; 5] = [
        Path::new("tsdb"),
        Path::new("create-blocks-from"),
        Path::new("openmetrics"),
        &file,
        &blocks,
    ];
    let Some(output) = run(Command::new("promtool").args(arguments), "") else {
        return skip("promtool");
    };
    assert!(output.status.success(), "promtool: {}", String::from_utf8_lossy(&output.stderr));
}

/// How many samples the Python client's parser finds; none where it is missing. Panics if it refuses the text.
pub fn python_samples(text: &str, format: Format) -> Option<usize> {
    python_samples_of_each(&[text], format)?.pop()
}

/// The same of many texts, for which Python starts once.
pub fn python_samples_of_each<T: AsRef<str>>(texts: &[T], format: Format) -> Option<Vec<usize>> {
    let module = match format {
        Format::OpenMetrics100 => "prometheus_client.openmetrics.parser",
        Format::Text004 => "prometheus_client.parser",
    };
    let known = run(Command::new("python3").args(["-c", &format!("import {module}")]), "");
    if !known.is_some_and(|output| output.status.success()) {
        skip("prometheus_client for python3");
        return None;
    }
    // No text of either format holds a NUL.
    let program = format!(
        "import sys\nfrom {module} import text_string_to_metric_families as parse\n\
         for text in sys.stdin.buffer.read().decode().split('\\0'):\n\
         \u{20}   print(sum(len(family.samples) for family in parse(text)))"
    );
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    let output = run(Command::new("python3").args(["-c", &program]), &texts.join("\0")).unwrap();
    assert!(output.status.success(), "python: {}", String::from_utf8_lossy(&output.stderr));
    let counts = String::from_utf8(output.stdout).unwrap();
    Some(counts.lines().map(|count| count.parse().unwrap()).collect())
}
