//! Reads the Prometheus text format, version 0.0.4, strictly.
//!
//! The format is small, and no well-kept crate reads it. Refuses what the format forbids, with the line, so that a page
//! of something else is not taken for an empty one. Comments are skipped: types and help texts are of no use here.

use std::collections::BTreeMap;

/// One series of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Name of the metric.
    pub name: String,
    /// Labels; an empty one is as good as none.
    pub labels: BTreeMap<String, String>,
    /// The value as written, which a float may not hold exactly.
    pub value: String,
}

impl Sample {
    /// A label's value; empty where there is none.
    #[must_use]
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

/// A line that the format forbids.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is no metric: {reason}")]
pub struct InvalidPage {
    /// From 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: &'static str,
}

/// The series of a page.
///
/// # Errors
/// The first line that the format forbids.
pub fn parse(text: &str) -> Result<Vec<Sample>, InvalidPage> {
    let mut samples = Vec::new();
    for (before, line) in text.lines().enumerate() {
        let line_text = line.trim_matches([' ', '\t']);
        if line_text.is_empty() || line_text.starts_with('#') {
            continue;
        }
        let sample =
            sample(line_text).map_err(|reason| InvalidPage { line: before + 1, reason })?;
        samples.push(sample);
    }
    Ok(samples)
}

fn sample(line: &str) -> Result<Sample, &'static str> {
    let (name, mut rest) = name(line, true).ok_or("no metric name")?;
    let mut labels = BTreeMap::new();
    if let Some(inside) = blank(rest).strip_prefix('{') {
        rest = read_labels(inside, &mut labels)?;
    } else if !rest.starts_with([' ', '\t']) {
        return Err("nothing between name and value");
    }
    let mut words = rest.split_ascii_whitespace();
    let value = words.next().ok_or("no value")?;
    if !is_number(value) {
        return Err("the value is no number");
    }
    // A time stamp, in milliseconds.
    if words.next().is_some_and(|time| time.parse::<i64>().is_err()) || words.next().is_some() {
        return Err("something after the value");
    }
    Ok(Sample { name: name.to_owned(), labels, value: value.to_owned() })
}

/// Labels up to the closing brace; returns what comes after it.
fn read_labels<'line>(
    text: &'line str,
    labels: &mut BTreeMap<String, String>,
) -> Result<&'line str, &'static str> {
    let mut rest = blank(text);
    loop {
        if let Some(after) = rest.strip_prefix('}') {
            return Ok(after);
        }
        let (label, after) = name(rest, false).ok_or("no label name")?;
        let after = blank(after).strip_prefix('=').ok_or("a label without `=`")?;
        let after = blank(after).strip_prefix('"').ok_or("a label value without quotes")?;
        let (value, after) = quoted(after)?;
        if labels.insert(label.to_owned(), value).is_some() {
            return Err("a label comes twice");
        }
        rest = blank(after);
        match rest.strip_prefix(',') {
            Some(after) => rest = blank(after),
            None if rest.starts_with('}') => {}
            None => return Err("labels without an end"),
        }
    }
}

/// A label value up to its closing quote.
fn quoted(text: &str) -> Result<(String, &str), &'static str> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((_, letter)) = letters.next() {
        match letter {
            '"' => return Ok((value, letters.as_str())),
            '\\' => match letters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped @ ('\\' | '"'))) => value.push(escaped),
                _ => return Err("an unknown escape"),
            },
            letter => value.push(letter),
        }
    }
    Err("a label value without an end")
}

fn blank(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

fn name(text: &str, colons: bool) -> Option<(&str, &str)> {
    let fits =
        |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || (colons && letter == ':');
    let end = text.find(|letter| !fits(letter)).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end)?;
    let first = name.chars().next()?;
    (!first.is_ascii_digit()).then_some((name, rest))
}

fn is_number(text: &str) -> bool {
    matches!(text, "+Inf" | "-Inf" | "NaN" | "Inf")
        || (text.parse::<f64>().is_ok()
            && text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn only(line: &str) -> Sample {
        let samples = parse(line).unwrap();
        assert_eq!(samples.len(), 1, "{line}");
        samples.into_iter().next().unwrap()
    }

    #[test]
    fn each_form_of_a_sample_is_read() {
        assert_eq!(only("up 1").value, "1");
        assert_eq!(only("a:b_c{} -1.5e3 1700000000000\n").name, "a:b_c");
        let all = only(r#" m { a = "x" , b="q\"\\\n,}" , } 18446744073709551615"#);
        assert_eq!(all.label("a"), "x");
        assert_eq!(all.label("b"), "q\"\\\n,}");
        assert_eq!(all.label("c"), "");
        assert_eq!(all.value, "18446744073709551615");
        assert_eq!(parse("# HELP up x\n# TYPE up gauge\n\n#\nup NaN\n").unwrap().len(), 1);
        assert_eq!(parse(""), Ok(Vec::new()));
    }

    #[test]
    fn what_the_format_forbids_is_refused_with_its_line() {
        for line in [
            "<html>",
            "up",
            "up ",
            "up1",
            "1up 1",
            "up one",
            "up infinity",
            "up 1 2 3",
            "up 1 x",
            "up{a} 1",
            "up{a=1} 1",
            r#"up{a="1} 1"#,
            r#"up{a="\x"} 1"#,
            r#"up{a="1"b="2"} 1"#,
            r#"up{a="1",a="2"} 1"#,
            r#"up{1a="1"} 1"#,
            r#"up{a="1""#,
            r#"up{a="1"}"#,
            "{} 1",
        ] {
            let error = parse(&format!("up 1\n{line}\n")).unwrap_err();
            assert_eq!(error.line, 2, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in "(\\PC|[{}\"\\\\=,\n 0-9a-c])*") {
            let _ = parse(&text);
        }

        #[test]
        fn any_label_value_comes_back(value in "\\PC*|[\"\\\\\n]*") {
            let escaped =
                value.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"");
            let line = format!("m{{a=\"{escaped}\"}} 1");
            // `lines` ends a line at more than a line feed.
            prop_assume!(!value.contains('\r'));
            prop_assert_eq!(only(&line).label("a").to_owned(), value);
        }
    }
}
