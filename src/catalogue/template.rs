//! Names with a placeholder: of counters and of drivers.
//!
//! Both match whole. A placeholder stands for a decimal number without leading zeros, or, where nothing
//! is exported, for any text.

use std::fmt;

/// A counter's name without what is no part of it: blanks around it and a colon after it. Drivers pad
/// with blanks (cxgb4), end in `: ` (octeontx2) or forgot a blank (an older mlx5).
pub(super) fn trim_name(name: &str) -> &str {
    name.trim().trim_end_matches(':').trim_end()
}

/// A name in the catalogue, with at most one `{n}` and one `{*}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Template(String);

/// What a template stands for once its number is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NamePattern {
    /// This very name.
    Exact(String),
    /// Any name with this beginning and end and something between.
    Around { prefix: String, suffix: String },
}

impl NamePattern {
    /// Whether `name`, trimmed, is such a name.
    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Around { prefix, suffix } => name
                .strip_prefix(prefix.as_str())
                .and_then(|rest| rest.strip_suffix(suffix.as_str()))
                .is_some_and(|between| !between.is_empty()),
        }
    }
}

impl Template {
    const NUMBER: &str = "{n}";
    const ANYTHING: &str = "{*}";

    /// # Errors
    /// When the text is empty or has a brace that is no placeholder, or a placeholder twice.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = trim_name(text);
        if text.is_empty() {
            return Err("the template is empty".into());
        }
        let literal = text.replacen(Self::NUMBER, "", 1).replacen(Self::ANYTHING, "", 1);
        if literal.contains(['{', '}']) {
            return Err(format!(
                "template `{text}` may have one {{n}} and one {{*}} and no other brace"
            ));
        }
        Ok(Self(text.to_owned()))
    }

    pub(super) fn has_number(&self) -> bool {
        self.0.contains(Self::NUMBER)
    }

    pub(super) fn has_wildcard(&self) -> bool {
        self.0.contains(Self::ANYTHING)
    }

    /// The name for this number; a template without `{n}` ignores it.
    pub(super) fn with_number(&self, number: u8) -> NamePattern {
        let text = self.0.replace(Self::NUMBER, &number.to_string());
        match text.split_once(Self::ANYTHING) {
            Some((prefix, suffix)) => {
                NamePattern::Around { prefix: prefix.to_owned(), suffix: suffix.to_owned() }
            }
            None => NamePattern::Exact(text),
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A driver's name; with a trailing `*` any driver whose name begins so.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct DriverPattern {
    stem: String,
    any_ending: bool,
}

impl DriverPattern {
    /// # Errors
    /// When the text is empty or has a `*` before its end.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (stem, any_ending) = match text.strip_suffix('*') {
            Some(stem) => (stem, true),
            None => (text, false),
        };
        if text.is_empty() {
            return Err("the driver is empty".into());
        }
        if stem.contains('*') {
            return Err(format!("driver `{text}` may have a * only at its end"));
        }
        Ok(Self { stem: stem.to_owned(), any_ending })
    }

    pub(super) fn matches(&self, driver: &str) -> bool {
        if self.any_ending { driver.starts_with(&self.stem) } else { driver == self.stem }
    }

    /// The part before the `*`: also the shortest driver that the pattern matches.
    pub(super) fn stem(&self) -> &str {
        &self.stem
    }

    /// Orders patterns that match the same driver: the greater one is more precise.
    pub(super) fn precision(&self) -> (bool, usize) {
        (!self.any_ending, self.stem.len())
    }
}

impl fmt::Display for DriverPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = if self.any_ending { "*" } else { "" };
        write!(f, "{}{ending}", self.stem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_trimmed_of_blanks_and_a_colon_but_keeps_its_inside() {
        for (raw, trimmed) in [
            ("rx_ppp3_frames      ", "rx_ppp3_frames"),
            ("cgx_rxstat3: ", "cgx_rxstat3"),
            ("  [0]: rx_bytes", "[0]: rx_bytes"),
            ("\trx : ", "rx"),
            (": ", ""),
            ("", ""),
        ] {
            assert_eq!(trim_name(raw), trimmed, "{raw:?}");
        }
    }

    #[test]
    fn a_template_allows_its_two_placeholders_only() {
        for good in ["rx_prio{n}_pause", "rx{*}_x", "i{*}_p{n}", "[mac] rx pause", "{n}"] {
            assert!(Template::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "  ", "a{n}b{n}", "{*}{*}", "a{prio}", "a{", "a}", "{{n}}"] {
            assert!(Template::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_wildcard_stands_for_something() {
        let pattern = Template::parse("rx{*}_ecn_mark").unwrap().with_number(0);
        assert!(pattern.matches("rx12_ecn_mark"));
        for other in ["rx_ecn_mark", "rx", "_ecn_mark", "rx1_ecn_mark2", "xrx1_ecn_mark"] {
            assert!(!pattern.matches(other), "{other}");
        }
        let overlapping = Template::parse("aa{*}aa").unwrap().with_number(0);
        assert!(!overlapping.matches("aaa"));
    }

    #[test]
    fn a_driver_pattern_matches_whole_or_by_its_stem() {
        let spectrum = DriverPattern::parse("mlxsw_spectrum*").unwrap();
        assert!(spectrum.matches("mlxsw_spectrum") && spectrum.matches("mlxsw_spectrum4"));
        assert!(!spectrum.matches("mlxsw"));
        assert!(!DriverPattern::parse("ice").unwrap().matches("icex"));
        assert!(DriverPattern::parse("a*b").is_err() && DriverPattern::parse(" ").is_err());
    }
}
