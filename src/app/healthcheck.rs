//! `roce_exporter healthcheck`: asks the exporter of this host whether it answers, for containers without a shell.
//!
//! Needs no password and no certificate: a server that demands one answers too. Whether it speaks TLS is tried, so
//! that one command fits every set-up. The certificate is not checked, since it bears the host's name and not that
//! of the loopback address, and since nothing secret is sent.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use rustls::AlertDescription::{BadCertificate, CertificateRequired, HandshakeFailure};
use ureq::tls::TlsConfig;

use crate::config::{ListenAddress, Settings};
use crate::http::{HEALTHY_PATH, HEALTHY_TEXT};

const CONNECT_TIME: Duration = Duration::from_secs(2);
/// For each of the two tries.
const WHOLE_TIME: Duration = Duration::from_secs(4);
const MOST_BYTES: u64 = 1024;
/// How an alert of TLS begins, in every version.
const TLS_ALERT: [u8; 2] = [21, 3];

/// Asks, and prints the answer.
///
/// # Errors
/// When there is none, or it is not that of an exporter that works.
pub(super) fn healthcheck(settings: &Settings) -> anyhow::Result<()> {
    let authority = authority(&settings.web.listen)?;
    let agent = agent();
    let found = match ask(&agent, "http", &authority) {
        Ok(found) => found,
        Err(error) if is_final(&error) => return Err(failed(&authority, &error)),
        Err(error) if !speaks_tls(&authority) => return Err(failed(&authority, &error)),
        Err(_) => match ask(&agent, "https", &authority) {
            Err(error) if is_demand(&error) => Found::Demand,
            answer => answer.map_err(|error| failed(&authority, &error))?,
        },
    };
    let said = found.judge().map_err(|what| anyhow::anyhow!("{authority} answers {what}"))?;
    super::once::print(&format!("{said}\n"))
}

fn failed(authority: &str, error: &ureq::Error) -> anyhow::Error {
    anyhow::anyhow!("{authority}: {error}")
}

/// Where the exporter is asked: at a loopback address if it listens there.
fn authority(listen: &[ListenAddress]) -> anyhow::Result<String> {
    let is_loopback = |address: &&ListenAddress| match address {
        ListenAddress::Any { .. } => true,
        ListenAddress::Ip(address) => address.ip().is_unspecified() || address.ip().is_loopback(),
        ListenAddress::Name { host, .. } => host == "localhost",
    };
    let chosen = listen.iter().find(is_loopback).or(listen.first());
    let chosen = chosen.ok_or_else(|| anyhow::anyhow!("no address to ask"))?;
    let port = chosen.port();
    anyhow::ensure!(port != 0, "port 0 is none to ask; give --web.listen-address its port");
    Ok(match chosen {
        ListenAddress::Any { .. } => format!("{}:{port}", Ipv4Addr::LOCALHOST),
        ListenAddress::Ip(address) => match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => format!("{}:{port}", Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => format!("[{}]:{port}", Ipv6Addr::LOCALHOST),
            _ => address.to_string(),
        },
        ListenAddress::Name { host, .. } => format!("{host}:{port}"),
    })
}

fn agent() -> ureq::Agent {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = TlsConfig::builder()
        .disable_verification(true)
        .unversioned_rustls_crypto_provider(provider)
        .build();
    ureq::Agent::config_builder()
        .tls_config(tls)
        .timeout_connect(Some(CONNECT_TIME))
        .timeout_global(Some(WHOLE_TIME))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .proxy(None)
        .user_agent(concat!("roce_exporter/", env!("CARGO_PKG_VERSION")))
        .build()
        .into()
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Status(u16, String),
    /// It broke the handshake off for want of a certificate.
    Demand,
}

impl Found {
    /// What is said where the exporter works, or else what was answered.
    fn judge(&self) -> Result<&'static str, String> {
        match self {
            Self::Status(200, text) if text == HEALTHY_TEXT => Ok("healthy"),
            Self::Status(200, _) => Err("as another program would".to_owned()),
            Self::Status(401, _) => Ok("healthy; it asks for a user"),
            Self::Status(429, _) => Ok("healthy; its rate limit is reached"),
            Self::Status(status, _) => Err(format!("with status {status}")),
            Self::Demand => Ok("healthy; it asks for a certificate"),
        }
    }
}

fn ask(agent: &ureq::Agent, scheme: &str, authority: &str) -> Result<Found, ureq::Error> {
    let url = format!("{scheme}://{authority}{HEALTHY_PATH}");
    let mut answer = agent.get(url).call()?;
    let text = answer.body_mut().with_config().limit(MOST_BYTES).read_to_string()?;
    Ok(Found::Status(answer.status().as_u16(), text))
}

/// Whether it is TLS that is spoken there: what is no TLS is answered by an alert, whatever clients must show.
fn speaks_tls(authority: &str) -> bool {
    let ask = || -> io::Result<[u8; 2]> {
        let mut answer = [0; 2];
        let address = authority.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
        let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIME)?;
        stream.set_read_timeout(Some(WHOLE_TIME))?;
        stream.write_all(b"healthcheck\r\n\r\n")?;
        stream.read_exact(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer == TLS_ALERT)
}

/// Whether a server that speaks TLS breaks the handshake off for want of a client's certificate. Its alert may be lost
/// when it closes the connection while the client still writes.
fn is_demand(error: &ureq::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let broken = match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => match error.kind() {
            BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => return true,
            _ => error.get_ref().and_then(|error| error.downcast_ref()),
        },
        _ => None,
    };
    matches!(
        broken,
        Some(rustls::Error::AlertReceived(CertificateRequired | HandshakeFailure | BadCertificate))
    )
}

/// Whether TLS would fare no better.
fn is_final(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::Timeout(_) | ureq::Error::HostNotFound => true,
        ureq::Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loopback_address_is_asked_where_there_is_one() {
        let asked = |listen: &[&str]| {
            let listen: Vec<ListenAddress> =
                listen.iter().map(|text| text.parse().unwrap()).collect();
            authority(&listen).map_err(|error| error.to_string())
        };
        for (listen, expected) in [
            (&[":10479"][..], "127.0.0.1:10479"),
            (&["0.0.0.0:1"], "127.0.0.1:1"),
            (&["[::]:1"], "[::1]:1"),
            (&["192.0.2.1:1", "[::1]:2"], "[::1]:2"),
            (&["192.0.2.1:1", "node1:2", "localhost:3"], "localhost:3"),
            (&["192.0.2.1:1", "node1:2"], "192.0.2.1:1"),
            (&["node1:2"], "node1:2"),
        ] {
            assert_eq!(asked(listen).as_deref(), Ok(expected), "{listen:?}");
        }
        assert!(asked(&[":0"]).is_err());
    }

    #[test]
    fn a_refusal_is_an_answer_and_another_program_is_none() {
        let status = |status, text: &str| Found::Status(status, text.to_owned()).judge().is_ok();
        assert!(status(200, HEALTHY_TEXT));
        assert!(status(401, "unauthorized\n") && status(429, ""));
        assert!(!status(200, "<html>") && !status(404, HEALTHY_TEXT) && !status(503, ""));
    }
}
