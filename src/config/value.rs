//! From text to one typed value. Each function's error says what is allowed.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use regex::{Regex, RegexBuilder};

/// Compiled size of a pattern, in bytes; a pattern that needs more is a mistake.
const PATTERN_SIZE_LIMIT: usize = 1 << 20;

/// A whole number within `allowed`.
pub(super) fn number<N>(text: &str, allowed: &RangeInclusive<N>) -> Result<N, String>
where
    N: FromStr + PartialOrd + Display,
{
    let value = text.parse().ok().filter(|value| allowed.contains(value));
    value.ok_or_else(|| {
        format!("must be a whole number from {} to {}", allowed.start(), allowed.end())
    })
}

/// A share of 1, written as a fraction or in percent, within `allowed`.
pub(super) fn share(text: &str, allowed: &RangeInclusive<f64>) -> Result<f64, String> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    let value = value.ok().filter(|value| allowed.contains(value));
    value.ok_or_else(|| {
        let (least, most) = (allowed.start(), allowed.end());
        format!("must be a share from {least} to {most}, such as 0.1 or 10%")
    })
}

/// A number with or without a fraction, within `allowed`.
pub(super) fn real(text: &str, allowed: &RangeInclusive<f64>) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| allowed.contains(value));
    value.ok_or_else(|| format!("must be a number from {} to {}", allowed.start(), allowed.end()))
}

/// One of a few words.
pub(super) fn one_of<T: Copy + Display>(text: &str, all: &[T]) -> Result<T, String> {
    all.iter().copied().find(|word| word.to_string() == text).ok_or_else(|| {
        let words: Vec<String> = all.iter().map(T::to_string).collect();
        format!("must be one of {}", words.join(", "))
    })
}

/// `true` or `false`.
pub(super) fn truth(text: &str) -> Result<bool, String> {
    one_of(text, &[true, false])
}

/// A regular expression that matches whole names only.
pub(super) fn pattern(text: &str) -> Result<Regex, String> {
    // Alone first: `a)|(b` is no pattern, but would become one between the added parentheses.
    compile(text).and_then(|_| compile(&format!("^(?:{text})$")))
}

fn compile(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text).size_limit(PATTERN_SIZE_LIMIT).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "the regular expression is too large".to_owned(),
        // The error shows the pattern over several lines; its last line says what is wrong.
        error => {
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("must be a regular expression: {reason}")
        }
    })
}

/// A path of the HTTP server that leaves the server's own paths alone.
///
/// Letters are restricted to those that need no escape and mean nothing to the router.
pub(super) fn telemetry_path(text: &str) -> Result<String, String> {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && name.bytes().all(plain);
    let names = text.strip_prefix('/').unwrap_or_default();
    if !names.split('/').all(is_name) {
        return Err("must be a path such as /metrics: letters, digits, `-._~`".to_owned());
    }
    if names == "-" || names.starts_with("-/") {
        return Err("must not be below /-/, where the health checks are".to_owned());
    }
    if names == "api" || names.starts_with("api/") {
        return Err("must not be below /api/, where the API is".to_owned());
    }
    Ok(text.to_owned())
}

/// A network namespace: `all`, a name, or the path of its file.
pub(super) fn namespace(text: &str) -> Result<String, String> {
    let name = !text.is_empty() && !text.contains(['/', '\0']) && text != "." && text != "..";
    if name || text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err("must be `all`, a name below /run/netns, or an absolute path".to_owned())
    }
}

/// A host's name as links files have it.
pub(super) fn host_name(text: &str) -> Result<String, String> {
    let fits = (1..=253).contains(&text.len()) && !text.contains('/');
    if fits && !text.contains(|letter: char| letter.is_control() || letter.is_whitespace()) {
        Ok(text.to_owned())
    } else {
        Err("must be a host's name, without slashes and spaces".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{number, one_of, pattern, real, share, telemetry_path, truth};

    #[test]
    fn numbers_stay_in_their_range() {
        assert_eq!(number("1", &(1..=5)), Ok(1));
        assert_eq!(number("5", &(1..=5)), Ok(5));
        for text in ["", "0", "6", "-1", "1.0", "1 ", "0x1", "99999999999999999999"] {
            let message = number(text, &(1..=5)).unwrap_err();
            assert_eq!(message, "must be a whole number from 1 to 5", "{text:?}");
        }
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "the same decimal gives the same float")]
    fn shares_are_fractions_or_percent() {
        for (text, expected) in
            [("0.1", 0.1), ("10%", 0.1), ("10 %", 0.1), ("1", 1.0), ("100%", 1.0), ("1e-2", 0.01)]
        {
            assert_eq!(share(text, &(0.01..=1.0)), Ok(expected), "{text}");
        }
        for text in ["", "%", "0", "-0.1", "1.1", "101%", "nan", "NaN%", "inf", "0,1", "10%%"] {
            assert!(share(text, &(0.01..=1.0)).is_err(), "{text:?}");
        }
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "the same decimal gives the same float")]
    fn numbers_may_have_a_fraction() {
        for (text, expected) in [("0.1", 0.1), ("1", 1.0), ("2.5e2", 250.0), ("1000", 1000.0)] {
            assert_eq!(real(text, &(0.1..=1000.0)), Ok(expected), "{text}");
        }
        for text in ["", "0", "0.09", "1000.1", "-1", "nan", "inf", "1x", "10%"] {
            let message = real(text, &(0.1..=1000.0)).unwrap_err();
            assert_eq!(message, "must be a number from 0.1 to 1000", "{text:?}");
        }
    }

    #[test]
    fn words_are_exact() {
        assert_eq!(truth("true"), Ok(true));
        assert_eq!(truth("no"), Err("must be one of true, false".to_owned()));
        assert_eq!(one_of("B", &['a', 'b']), Err("must be one of a, b".to_owned()));
    }

    #[test]
    fn patterns_match_whole_names() {
        let eth = pattern("eth0|eth1").unwrap();
        assert!(eth.is_match("eth0") && eth.is_match("eth1"));
        assert!(!eth.is_match("eth01") && !eth.is_match("veth0") && !eth.is_match("eth0\n"));
        assert!(pattern("").unwrap().is_match("") && !pattern("").unwrap().is_match("eth0"));
        assert!(pattern("(?i)ETH[0-9]+").unwrap().is_match("eth12"), "case can be ignored");
        assert!(
            !pattern("(?m)a").unwrap().is_match("b\na"),
            "flags inside do not undo the anchors"
        );
    }

    #[test]
    fn bad_patterns_say_why_in_one_line() {
        for text in ["(", "a)|(b", "[", "*", "(?x)a # comment", "(?P<", r"(a)\1", "(?=a)"] {
            let message = pattern(text).unwrap_err();
            assert!(message.starts_with("must be a regular expression: "), "{text}: {message}");
            assert!(!message.contains('\n'), "{text}: {message}");
        }
        assert_eq!(pattern("(a{1000}){1000}").unwrap_err(), "the regular expression is too large");
    }

    #[test]
    fn telemetry_paths_leave_the_servers_own_alone() {
        for text in ["/metrics", "/a/b", "/roce-1_x.y~z", "/-metrics", "/apis", "/a/api"] {
            assert_eq!(telemetry_path(text), Ok(text.to_owned()));
        }
        for text in [
            "",
            "/",
            "metrics",
            "//",
            "/metrics/",
            "/a//b",
            "/./a",
            "/a/..",
            "/{name}",
            "/:a",
            "/*a",
            "/a b",
            "/a?b",
            "/%41",
            "/é",
            "/-/healthy",
            "/-/ready",
            "/-/other",
            "/-",
            "/api",
            "/api/v1/devices",
        ] {
            assert!(telemetry_path(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in "\\PC{0,40}") {
            let _ = number::<u64>(&text, &(0..=9));
            let _ = share(&text, &(0.0..=1.0));
            let _ = real(&text, &(0.0..=1.0));
            let _ = telemetry_path(&text);
            if let Ok(pattern) = pattern(&text) {
                let _ = pattern.is_match(&text);
            }
        }
    }
}
