//! The two text formats and the choice between them by a request's Accept header.
//!
//! OpenMetrics 1.0.0 only goes to those who ask for it; everyone else gets the Prometheus text format
//! 0.0.4, which every scraper can read. Newer versions and protobuf are refused: a client that asks for
//! nothing else gets 0.0.4 too, and never an error.

use std::cmp::Reverse;

/// A format that the metrics can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// OpenMetrics 1.0.0.
    OpenMetrics100,
    /// Prometheus text format 0.0.4, the oldest and the default.
    Text004,
}

impl Format {
    /// The value of the Content-Type header.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics100 => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text004 => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    const fn media_type(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::OpenMetrics100 => ("application", "openmetrics-text", "1.0.0"),
            Self::Text004 => ("text", "plain", "0.0.4"),
        }
    }

    /// The format that suits an Accept header best (RFC 9110, section 12.5.1).
    ///
    /// The most specific range that names a format sets its quality. Of two formats that are equally
    /// welcome, the one asked for more specifically wins, then the one named first, then 0.0.4. A range of a
    /// version that is not written here names no format.
    #[must_use]
    pub fn negotiate(accept: Option<&str>) -> Self {
        let ranges: Vec<Range<'_>> =
            accept.unwrap_or_default().split(',').filter_map(Range::parse).collect();
        // Of equals the last wins.
        [Self::OpenMetrics100, Self::Text004]
            .into_iter()
            .filter_map(|format| Some((format, format.welcome(&ranges)?)))
            .max_by_key(|(_, welcome)| *welcome)
            .map_or(Self::Text004, |(format, _)| format)
    }

    fn welcome(self, ranges: &[Range<'_>]) -> Option<Welcome> {
        let named = ranges.iter().enumerate().filter_map(|(place, range)| {
            let specificity = range.specificity(self)?;
            Some((specificity, Reverse(place), range.quality))
        });
        let (specificity, place, quality) = named.max()?;
        (quality > 0).then_some(Welcome { quality, specificity, place })
    }
}

/// How much a client likes a format; the greater the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Welcome {
    quality: u16,
    specificity: u8,
    place: Reverse<usize>,
}

/// One media range of an Accept header.
#[derive(Clone, Copy, Debug)]
struct Range<'a> {
    main: &'a str,
    sub: &'a str,
    version: Option<&'a str>,
    /// In thousandths.
    quality: u16,
}

impl<'a> Range<'a> {
    /// None for text that is no media range or has a quality outside 0 to 1.
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (main, sub) = parts.next()?.split_once('/')?;
        let mut range = Self { main: main.trim(), sub: sub.trim(), version: None, quality: 1000 };
        for (name, value) in parts.filter_map(|parameter| parameter.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim() {
                name if name.eq_ignore_ascii_case("q") => range.quality = thousandths(value)?,
                name if name.eq_ignore_ascii_case("version") => range.version = Some(value),
                _ => {}
            }
        }
        Some(range)
    }

    /// How closely the range names `format`; none if it does not.
    fn specificity(&self, format: Format) -> Option<u8> {
        let (main, sub, version) = format.media_type();
        if self.main == "*" && self.sub == "*" {
            return Some(0);
        }
        if !self.main.eq_ignore_ascii_case(main) {
            return None;
        }
        if self.sub == "*" {
            return Some(1);
        }
        if !self.sub.eq_ignore_ascii_case(sub) {
            return None;
        }
        match self.version {
            None => Some(2),
            Some(asked) => (asked == version).then_some(3),
        }
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value was checked to be within 0 and 1000"
)]
fn thousandths(quality: &str) -> Option<u16> {
    let quality: f32 = quality.parse().ok()?;
    (0.0..=1.0).contains(&quality).then_some((quality * 1000.0).round() as u16)
}

#[cfg(test)]
mod tests {
    use super::Format::{OpenMetrics100, Text004};
    use super::*;

    const PROMETHEUS_2: &str = "application/openmetrics-text;version=1.0.0,\
        application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    const PROMETHEUS_3: &str = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
        application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
        text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    const PROTOBUF_FIRST: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
        encoding=delimited;q=0.7,text/plain;version=0.0.4;q=0.6,*/*;q=0.5";
    const BROWSER: &str =
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8";

    #[test]
    fn what_scrapers_and_people_send() {
        let cases = [
            (PROMETHEUS_2, OpenMetrics100),
            (PROMETHEUS_3, OpenMetrics100),
            (PROTOBUF_FIRST, Text004),
            (BROWSER, Text004),
            ("*/*", Text004),
            ("", Text004),
        ];
        for (accept, expected) in cases {
            assert_eq!(Format::negotiate(Some(accept)), expected, "{accept}");
        }
        assert_eq!(Format::negotiate(None), Text004);
    }

    #[test]
    fn quality_decides_then_specificity_then_order() {
        let cases = [
            ("application/openmetrics-text;q=0.4,text/plain;q=0.5", Text004),
            ("application/openmetrics-text;q=0.5,text/plain;q=0.4", OpenMetrics100),
            ("application/openmetrics-text;q=0.001,text/plain;q=0", OpenMetrics100),
            ("text/plain,application/openmetrics-text", Text004),
            ("application/openmetrics-text,text/plain", OpenMetrics100),
            ("text/*,application/openmetrics-text", OpenMetrics100),
            ("application/openmetrics-text,*/*", OpenMetrics100),
            ("application/openmetrics-text;q=0,*/*", Text004),
            ("text/plain;q=0,*/*;q=0.1", OpenMetrics100),
            ("application/*", OpenMetrics100),
            (
                "APPLICATION/OpenMetrics-Text; Version=\"1.0.0\" ; Q=0.9, text/plain;q=0.8",
                OpenMetrics100,
            ),
        ];
        for (accept, expected) in cases {
            assert_eq!(Format::negotiate(Some(accept)), expected, "{accept}");
        }
    }

    #[test]
    fn an_unknown_version_falls_back_to_the_oldest_format() {
        let cases = [
            ("application/openmetrics-text;version=2.0.0", Text004),
            ("application/openmetrics-text;version=0.0.1", Text004),
            ("text/plain;version=1.0.0", Text004),
            (
                "application/openmetrics-text;version=2.0.0;q=0.9,application/openmetrics-text;version=1.0.0;q=0.1",
                OpenMetrics100,
            ),
        ];
        for (accept, expected) in cases {
            assert_eq!(Format::negotiate(Some(accept)), expected, "{accept}");
        }
    }

    #[test]
    fn nonsense_gets_the_oldest_format() {
        for accept in [
            "application/json",
            ";;;",
            ",",
            "/",
            "text",
            "text/plain;q=NaN",
            "a/b;q=-1",
            "\u{fffd}",
        ] {
            assert_eq!(Format::negotiate(Some(accept)), Text004, "{accept}");
        }
        assert_eq!(
            Format::negotiate(Some("application/openmetrics-text;q=2")),
            Text004,
            "a quality outside 0 to 1 voids its range"
        );
    }
}
