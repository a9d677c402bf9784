//! Durations as people write them: `10ms`, `2s`.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Reads a duration and holds it to `allowed`.
///
/// # Errors
/// What is allowed, for a person, when the text is no duration or out of range.
pub(super) fn parse(text: &str, allowed: &RangeInclusive<Duration>) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).ok();
    duration.filter(|duration| allowed.contains(duration)).ok_or_else(|| {
        let (least, most) = (show(*allowed.start()), show(*allowed.end()));
        format!("must be a duration with its unit from {least} to {most}, such as 10ms or 2s")
    })
}

/// The spelling that [`parse`] reads.
pub(super) fn show(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::parse;

    #[test]
    fn holds_durations_to_their_range() {
        let allowed = Duration::from_millis(1)..=Duration::from_secs(10);
        for (text, millis) in
            [("1ms", 1), ("10ms", 10), ("2s", 2000), ("10s", 10_000), ("1s 5ms", 1005)]
        {
            assert_eq!(parse(text, &allowed), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in
            ["", "10", "0", "0ms", "999us", "10s 1ms", "-1s", "1 parsec", "99999999999999999999s"]
        {
            let message = parse(text, &allowed).unwrap_err();
            assert!(message.contains("from 1ms to 10s"), "{text:?}: {message}");
        }
    }
}
