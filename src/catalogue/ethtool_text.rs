//! Reads the text that `ethtool -S` prints.
//!
//! For decoding what somebody sent and for fixtures; the exporter itself asks the kernel. A name may hold
//! colons (`[0]: rx_bytes`, `rxq0: rx_bytes`), so a line is split at its last one. What cannot be read is
//! told with its line and never becomes a zero.

/// The counters of a text, and the lines that are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EthtoolText {
    /// Names, in the order of the text, without blanks around them.
    pub names: Vec<String>,
    /// Their values, in the same order.
    pub values: Vec<u64>,
    /// Lines without a name or a number.
    pub unreadable: Vec<UnreadableLine>,
}

/// A line that is no counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableLine {
    /// Its number in the text, from 1.
    pub line: usize,
    /// The line itself.
    pub text: String,
}

const HEADING: &str = "NIC statistics:";

/// Reads a text. The heading, empty lines and lines that start with `#` are passed over.
#[must_use]
pub fn parse(text: &str) -> EthtoolText {
    let mut parsed = EthtoolText::default();
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed == HEADING || trimmed.starts_with('#') {
            continue;
        }
        if let Some((name, value)) = counter(trimmed) {
            parsed.names.push(name.to_owned());
            parsed.values.push(value);
        } else {
            let unreadable = UnreadableLine { line: number + 1, text: line.to_owned() };
            parsed.unreadable.push(unreadable);
        }
    }
    parsed
}

fn counter(line: &str) -> Option<(&str, u64)> {
    let (name, value) = line.rsplit_once(':')?;
    let name = name.trim();
    let value = value.trim().parse().ok()?;
    (!name.is_empty()).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_at_the_last_colon_and_keeps_what_it_cannot_read() {
        let text = "NIC statistics:\n     [0]: rx_bytes: 7\r\n# a note: 1\n\n     cgx_rxstat3: : 8\n\
                    no stats available\n     : 5\n     rx: N/A (no PMA)\n     rx: -1\n     \
                    tx: 18446744073709551615\n     tx: 18446744073709551616\n";
        let parsed = parse(text);
        assert_eq!(parsed.names, ["[0]: rx_bytes", "cgx_rxstat3:", "tx"]);
        assert_eq!(parsed.values, [7, 8, u64::MAX]);
        let lines: Vec<usize> =
            parsed.unreadable.iter().map(|unreadable| unreadable.line).collect();
        assert_eq!(lines, [6, 7, 8, 9, 11]);
        assert_eq!(parsed.unreadable[2].text, "     rx: N/A (no PMA)");
    }
}
