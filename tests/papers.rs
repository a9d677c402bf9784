//! The papers say what the program does: the help text in the README, the flags, keys, names and messages in the
//! documentation, and where their links lead.
#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests: shared modules serve several test crates, and a failed test says where"
)]

#[path = "papers/links.rs"]
mod links;
#[path = "papers/messages.rs"]
mod messages;
#[path = "papers/names.rs"]
mod names;
mod program;
#[path = "papers/scraping.rs"]
mod scraping;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::fs;
use std::path::Path;

use roce_exporter::config::{Settings, command, parse_from};

fn read_paper(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The cells of each row of the first table after a comment of this text.
fn table(paper: &str, marker: &str) -> Vec<Vec<String>> {
    let (_, after) = paper.split_once(&format!("<!-- {marker} -->\n")).unwrap();
    // A bar inside a cell is written with a backslash before it.
    let cells = |line: &str| {
        let line = line.replace("\\|", "\u{0}");
        let inner = line.trim().trim_matches('|').split('|');
        inner.map(|cell| cell.trim().replace('\u{0}', "|")).collect()
    };
    let rows: Vec<Vec<String>> =
        after.lines().skip(2).take_while(|line| line.starts_with('|')).map(cells).collect();
    assert!(rows.len() > 1, "no table after {marker}");
    rows
}

/// What stands in the first backticks of a cell.
fn quoted(cell: &str) -> &str {
    let marks = if cell.contains("``") { "``" } else { "`" };
    cell.split(marks).nth(1).unwrap()
}

/// The first fenced block after `marker`.
fn fenced_block<'a>(paper: &'a str, marker: &str) -> &'a str {
    let after = paper.split_once(marker).unwrap().1;
    let (_, block) = after.split_once("```").unwrap();
    let (_, block) = block.split_once('\n').unwrap();
    block.split_once("```").unwrap().0
}

/// Long names of all flags that a settings file can hold as well.
fn flags_with_a_key() -> Vec<String> {
    let names = command()
        .get_arguments()
        .filter_map(|flag| flag.get_long().map(str::to_owned))
        .collect::<Vec<_>>();
    // A configuration file names no other file of that kind.
    let of_no_key = |name: &str| name.starts_with("config.") || name == "web.config.file";
    names.into_iter().filter(|name| name.contains('.') && !of_no_key(name)).collect()
}

#[test]
fn the_readme_shows_the_help_text() {
    let readme = read_paper("README.md");
    let asked = command().term_width(100).try_get_matches_from(["roce_exporter", "--help"]);
    let help = asked.unwrap_err().to_string();
    let help: String = help.lines().flat_map(|line| [line.trim_end(), "\n"]).collect();
    let shown = fenced_block(&readme, "<!-- help -->");
    assert_eq!(
        shown, help,
        "\nThe block after `<!-- help -->` in README.md is not what --help prints. Put the text printed by\n\
         `COLUMNS=100 cargo run -- --help` there.\n"
    );
}

#[test]
fn every_flag_and_key_is_documented() {
    let paper = read_paper("docs/configuration.md");
    for command in std::iter::once(&command()).chain(command().get_subcommands()) {
        for flag in command.get_arguments().filter_map(clap::Arg::get_long) {
            assert!(paper.contains(&format!("`--{flag}")), "docs/configuration.md lacks --{flag}");
        }
    }
    for name in flags_with_a_key() {
        let key = name.replace('-', "_");
        assert!(paper.contains(&format!("`{key}`")), "docs/configuration.md lacks the key {key}");
    }
}

#[test]
fn the_documented_example_file_is_good_and_complete() {
    let paper = read_paper("docs/configuration.md");
    let example = fenced_block(&paper, "<!-- example -->");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("roce.yml");
    fs::write(&file, example).unwrap();
    fs::write(directory.path().join("drivers.csv"), "").unwrap();
    fs::write(directory.path().join("policy.yml"), "").unwrap();
    fs::write(directory.path().join("links.yml"), "").unwrap();
    let cli = parse_from(["roce_exporter", "--config.file", &file.display().to_string()]).unwrap();
    let loaded = Settings::load(&cli);
    assert!(loaded.is_ok(), "{}", loaded.unwrap_err());
    for name in flags_with_a_key() {
        let key = name.replace('-', "_");
        let (section, key) = key.split_once('.').unwrap();
        let body = example.split_once(&format!("{section}:\n")).unwrap().1;
        let body: Vec<&str> = body.lines().take_while(|line| line.starts_with(' ')).collect();
        let shown = body.iter().any(|line| line.trim_start().starts_with(&format!("{key}:")));
        assert!(shown, "the example file lacks {section}.{key}");
    }
}
