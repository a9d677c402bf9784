//! A small parser of both text formats that refuses what the formats forbid.
//!
//! It knows only what this exporter writes: no timestamps, no exemplars, no comments.

use std::collections::{BTreeMap, BTreeSet};

use roce_exporter::export::Format;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedFamily {
    pub name: String,
    pub help: String,
    pub kind: String,
    pub unit: Option<String>,
    pub samples: Vec<ParsedSample>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ParsedSample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: String,
}

/// The families of an exposition in their order.
///
/// Panics, with the line, on anything that a strict reader would refuse.
pub fn parse(text: &str, format: Format) -> Vec<ParsedFamily> {
    let body = match format {
        Format::OpenMetrics100 => {
            text.strip_suffix("# EOF\n").expect("OpenMetrics ends with # EOF")
        }
        Format::Text004 => text,
    };
    assert!(body.ends_with('\n'), "the last line has no end");
    let mut families: Vec<ParsedFamily> = Vec::new();
    let mut seen = BTreeSet::new();
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            take_comment(comment, &mut families, format);
        } else {
            let sample = parse_sample(line);
            let family = families.last_mut().expect("a sample before any HELP");
            let suffix = sample.name.strip_prefix(&family.name);
            let suffix =
                suffix.unwrap_or_else(|| panic!("{line} is not of family {}", family.name));
            assert!(suffixes(&family.kind, format).contains(&suffix), "{line}: suffix {suffix:?}");
            assert!(seen.insert((sample.name.clone(), sample.labels.clone())), "twice: {line}");
            family.samples.push(sample);
        }
    }
    let names: BTreeSet<&str> = families.iter().map(|family| family.name.as_str()).collect();
    assert_eq!(names.len(), families.len(), "a family comes twice");
    for family in &families {
        assert!(!family.kind.is_empty(), "{} has no TYPE", family.name);
        assert!(!family.samples.is_empty(), "{} has no series", family.name);
    }
    families
}

/// The value of the first series of a family that has these labels, whatever others it has.
pub fn value(families: &[ParsedFamily], name: &str, labels: &[(&str, &str)]) -> Option<String> {
    let matches = |sample: &&ParsedSample| {
        labels
            .iter()
            .all(|(label, value)| sample.labels.get(*label).is_some_and(|found| found == value))
    };
    let family = families.iter().find(|family| family.name == name)?;
    family.samples.iter().find(matches).map(|sample| sample.value.clone())
}

fn take_comment(comment: &str, families: &mut Vec<ParsedFamily>, format: Format) {
    let mut words = comment.splitn(3, ' ');
    let (keyword, name) = (words.next().unwrap(), words.next().unwrap());
    let rest = words.next().unwrap_or_else(|| panic!("# {comment}: nothing said"));
    if keyword == "HELP" {
        assert!(!rest.contains(['\\', '"']), "HELP is not escaped in both formats: {rest}");
        families.push(ParsedFamily {
            name: name.to_owned(),
            help: rest.to_owned(),
            ..ParsedFamily::default()
        });
        return;
    }
    let family = families.last_mut().expect("HELP comes first");
    assert_eq!(family.name, name, "# {comment} belongs to another family");
    assert!(family.samples.is_empty(), "# {comment} after samples");
    match (keyword, format) {
        ("TYPE", _) => {
            assert!(family.kind.is_empty(), "TYPE twice for {name}");
            rest.clone_into(&mut family.kind);
        }
        ("UNIT", Format::OpenMetrics100) => {
            assert!(family.unit.is_none(), "UNIT twice for {name}");
            assert!(
                name.ends_with(&format!("_{rest}")),
                "{name} does not end with its unit {rest}"
            );
            family.unit = Some(rest.to_owned());
        }
        _ => panic!("unexpected comment: # {comment}"),
    }
}

fn suffixes(kind: &str, format: Format) -> &'static [&'static str] {
    match (kind, format) {
        ("histogram", _) => &["_bucket", "_sum", "_count"],
        ("counter", Format::OpenMetrics100) => &["_total"],
        ("info", Format::OpenMetrics100) => &["_info"],
        ("gauge", _)
        | ("unknown", Format::OpenMetrics100)
        | ("counter" | "untyped", Format::Text004) => &[""],
        _ => panic!("type {kind} is not of {format:?}"),
    }
}

fn parse_sample(line: &str) -> ParsedSample {
    let name_end = line.find(['{', ' ']).unwrap_or_else(|| panic!("no value: {line}"));
    let (name, rest) = line.split_at(name_end);
    let name_is_legal =
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    assert!(name_is_legal, "{line}");
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => parse_labels(rest),
        None => (BTreeMap::new(), rest),
    };
    let value =
        rest.strip_prefix(' ').unwrap_or_else(|| panic!("no space before the value: {line}"));
    assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "value {value:?}: {line}");
    ParsedSample { name: name.to_owned(), labels, value: value.to_owned() }
}

/// Labels up to the closing brace, and what comes after it.
fn parse_labels(text: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    let mut rest = text;
    loop {
        let (name, quoted) = rest.split_once("=\"").unwrap_or_else(|| panic!("no label: {rest}"));
        let (value, after) = unescape(quoted);
        assert!(labels.insert(name.to_owned(), value).is_none(), "label {name} twice");
        rest = match after.strip_prefix(',') {
            Some(more) => more,
            None => {
                return (
                    labels,
                    after.strip_prefix('}').unwrap_or_else(|| panic!("no brace: {after}")),
                );
            }
        };
    }
}

/// A label value up to its closing quote, and what comes after it.
fn unescape(quoted: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[place + 1..]),
            '\\' => match characters.next().map(|(_, escaped)| escaped) {
                Some('n') => value.push('\n'),
                Some(escaped @ ('"' | '\\')) => value.push(escaped),
                other => panic!("escape of {other:?} in {quoted}"),
            },
            plain => value.push(plain),
        }
    }
    panic!("no closing quote: {quoted}");
}
