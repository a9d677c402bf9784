//! Where the HTTP server listens, in the spelling of the Prometheus exporters.
//!
//! Refuses to look a name up: that belongs to binding, and may give another answer after a reload.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// One `--web.listen-address`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ListenAddress {
    /// `:PORT`: every address of the host, IPv6 and IPv4 alike.
    Any {
        /// TCP port; 0 lets the kernel choose.
        port: u16,
    },
    /// `192.0.2.1:PORT` or `[2001:db8::1]:PORT`: one address.
    Ip(SocketAddr),
    /// `HOST:PORT`: what the host name means when the socket is bound.
    Name {
        /// Host name.
        host: String,
        /// TCP port; 0 lets the kernel choose.
        port: u16,
    },
}

impl ListenAddress {
    /// TCP port; 0 lets the kernel choose.
    #[must_use]
    pub const fn port(&self) -> u16 {
        match self {
            Self::Any { port } | Self::Name { port, .. } => *port,
            Self::Ip(address) => address.port(),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any { port } => write!(formatter, ":{port}"),
            Self::Ip(address) => write!(formatter, "{address}"),
            Self::Name { host, port } => write!(formatter, "{host}:{port}"),
        }
    }
}

/// Text that is no listen address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    /// There is no colon before a port.
    #[error("must end in a port: `:PORT`, `HOST:PORT` or `[IPv6]:PORT`")]
    NoPort,
    /// What follows the last colon is no port.
    #[error("the port must be a number from 0 to 65535")]
    BadPort,
    /// An IPv6 address needs brackets, or what is in them is none.
    #[error("an IPv6 address must be valid and in brackets: `[::1]:PORT`")]
    BadIpv6,
    /// Neither an IPv4 address nor a host name.
    #[error("the host must be an IP address or a host name")]
    BadHost,
}

impl FromStr for ListenAddress {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Ip(address));
        }
        let (host, port) = text.rsplit_once(':').ok_or(InvalidAddress::NoPort)?;
        if host.starts_with('[') != host.ends_with(']') {
            // The last colon is inside the brackets, or a bracket is missing.
            return Err(if host.ends_with(']') || port.ends_with(']') {
                InvalidAddress::NoPort
            } else {
                InvalidAddress::BadIpv6
            });
        }
        // `u16::from_str` alone would let a plus sign through.
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidAddress::BadPort);
        }
        let port = port.parse().map_err(|_| InvalidAddress::BadPort)?;
        if host.is_empty() {
            return Ok(Self::Any { port });
        }
        if host.contains([':', '[', ']']) {
            return Err(InvalidAddress::BadIpv6);
        }
        if !is_host_name(host) {
            return Err(InvalidAddress::BadHost);
        }
        Ok(Self::Name { host: host.to_owned(), port })
    }
}

/// Host names as RFC 1123 writes them, and underscores, which are in use. A name of digits and dots only is a
/// mistyped IPv4 address.
fn is_host_name(host: &str) -> bool {
    let label_is_good = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let looks_like_ipv4 = host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    host.len() <= 253 && !looks_like_ipv4 && host.split('.').all(label_is_good)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{InvalidAddress, ListenAddress};

    fn name(host: &str, port: u16) -> ListenAddress {
        ListenAddress::Name { host: host.to_owned(), port }
    }

    #[test]
    fn reads_each_spelling() {
        for (text, expected) in [
            (":10479", ListenAddress::Any { port: 10479 }),
            (":0", ListenAddress::Any { port: 0 }),
            ("127.0.0.1:80", ListenAddress::Ip("127.0.0.1:80".parse().unwrap())),
            ("0.0.0.0:1", ListenAddress::Ip("0.0.0.0:1".parse().unwrap())),
            ("[::1]:10479", ListenAddress::Ip("[::1]:10479".parse().unwrap())),
            ("[fe80::1%2]:9", ListenAddress::Ip("[fe80::1%2]:9".parse().unwrap())),
            ("localhost:10479", name("localhost", 10479)),
            ("node-1.rack_2.example.com:65535", name("node-1.rack_2.example.com", 65535)),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, expected) in [
            ("", InvalidAddress::NoPort),
            ("10479", InvalidAddress::NoPort),
            ("localhost", InvalidAddress::NoPort),
            ("[::1]", InvalidAddress::NoPort),
            (":", InvalidAddress::BadPort),
            (":65536", InvalidAddress::BadPort),
            (":-1", InvalidAddress::BadPort),
            (":+80", InvalidAddress::BadPort),
            (":http", InvalidAddress::BadPort),
            ("127.0.0.1:", InvalidAddress::BadPort),
            ("::1:80", InvalidAddress::BadIpv6),
            ("[::1:80", InvalidAddress::BadIpv6),
            ("[::g]:80", InvalidAddress::BadIpv6),
            ("[]:80", InvalidAddress::BadIpv6),
            ("[localhost]:80", InvalidAddress::BadIpv6),
            ("256.0.0.1:80", InvalidAddress::BadHost),
            ("-a:80", InvalidAddress::BadHost),
            ("a b:80", InvalidAddress::BadHost),
            ("http//host:80", InvalidAddress::BadHost),
            (" :80", InvalidAddress::BadHost),
        ] {
            assert_eq!(text.parse::<ListenAddress>(), Err(expected), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged_and_good_text_survives_a_round_trip(text in "[\\[\\]:.0-9a-g%-]{0,24}|\\PC*") {
            if let Ok(address) = text.parse::<ListenAddress>() {
                prop_assert_eq!(address.to_string().parse(), Ok(address));
            }
        }
    }
}
