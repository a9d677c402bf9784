//! One end of a link as it is named on the command line: `HOST[:PORT]/DEVICE`, with a scheme before it if need be.

use std::fmt;
use std::str::FromStr;

/// An exporter and a device of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Over TLS, over plain HTTP, or as the command says.
    pub tls: Option<bool>,
    /// Host or address, IPv6 in brackets, with its port if one is given.
    pub authority: String,
    /// Whether the authority has a port.
    pub has_port: bool,
    /// Device there.
    pub device: String,
}

/// Text that names no end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be HOST[:PORT]/DEVICE, such as node1/eth0, with http:// or https:// before it if need be"
)]
pub struct InvalidTarget;

impl FromStr for Target {
    type Err = InvalidTarget;

    fn from_str(text: &str) -> Result<Self, InvalidTarget> {
        let (tls, rest) = match text.split_once("://") {
            Some(("http", rest)) => (Some(false), rest),
            Some(("https", rest)) => (Some(true), rest),
            Some(_) => return Err(InvalidTarget),
            None => (None, text),
        };
        let (authority, device) = rest.split_once('/').ok_or(InvalidTarget)?;
        let after_host = match authority.strip_prefix('[') {
            Some(address) => address.split_once(']').ok_or(InvalidTarget)?.1,
            None => authority
                .split_once(':')
                .map_or("", |(host, _)| authority.strip_prefix(host).unwrap_or_default()),
        };
        let has_port = match after_host.strip_prefix(':') {
            Some(port) => port.parse::<u16>().map_err(|_| InvalidTarget).map(|_| true)?,
            None if after_host.is_empty() => false,
            None => return Err(InvalidTarget),
        };
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._:[]%".contains(letter);
        let good_host =
            !authority.is_empty() && !authority.starts_with(':') && authority.chars().all(plain);
        let good_device = !device.is_empty() && !device.contains(char::is_control);
        if !good_host || !good_device {
            return Err(InvalidTarget);
        }
        Ok(Self { tls, authority: authority.to_owned(), has_port, device: device.to_owned() })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.authority, self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_read_as_people_write_them() {
        for (text, tls, authority, has_port, device) in [
            ("node1/eth0", None, "node1", false, "eth0"),
            ("node1:99/blue/eth0", None, "node1:99", true, "blue/eth0"),
            ("http://node1/eth0", Some(false), "node1", false, "eth0"),
            ("https://[::1]:10479/swp1", Some(true), "[::1]:10479", true, "swp1"),
            ("[fe80::1%2]/Ethernet1/1", None, "[fe80::1%2]", false, "Ethernet1/1"),
        ] {
            let expected =
                Target { tls, authority: authority.into(), has_port, device: device.into() };
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for text in [
            "",
            "node1",
            "/eth0",
            "node1/",
            "ftp://a/b",
            "a:b/c",
            "a:/c",
            "a:99999/c",
            "[::1/c",
            "[::1]x/c",
            "user@node1/eth0",
            "a b/c",
            "a/\n",
            ":1/c",
        ] {
            assert_eq!(text.parse::<Target>(), Err(InvalidTarget), "{text:?}");
        }
    }
}
