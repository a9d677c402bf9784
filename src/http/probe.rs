//! Whether a server answers, for the watchdog of the program that runs it.
//!
//! What is sent is no request, in the clear or over TLS: a server that lives refuses it, and that is the answer
//! looked for. So it needs no certificate and no password, and takes nothing from the rate limit.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

const NO_REQUEST: &[u8] = b"watchdog\r\n\r\n";

/// Whether the server that listens at `address` answers within about twice `patience`, or closes the connection. Blocks.
///
/// A connection that cannot be made for another reason than that nobody takes it says nothing of the server, such as
/// where a packet filter stands before it.
#[must_use]
pub fn answers(address: SocketAddr, patience: Duration) -> bool {
    let mut stream = match TcpStream::connect_timeout(&reachable(address), patience) {
        Ok(stream) => stream,
        Err(error) => return !is_of_server(&error),
    };
    let asked = stream
        .set_read_timeout(Some(patience))
        .and_then(|()| stream.set_write_timeout(Some(patience)))
        .and_then(|()| stream.write_all(NO_REQUEST))
        .and_then(|()| stream.read(&mut [0]));
    match asked {
        Ok(_) => true,
        Err(error) => !is_of_server(&error),
    }
}

/// Whether an error is that of a server that does not answer. A reset is an answer.
fn is_of_server(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, TimedOut, WouldBlock};
    matches!(error.kind(), ConnectionRefused | TimedOut | WouldBlock)
}

/// Where a server that listens at `address` is reached from this host.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let loopback: IpAddr =
            if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    address
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(200);

    #[test]
    fn a_server_that_takes_no_connection_does_not_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // The kernel takes the connection for a program that does nothing.
        assert!(!answers(address, PATIENCE));
        drop(listener);
        assert!(!answers(address, PATIENCE));
    }

    #[test]
    fn one_that_answers_or_closes_does() {
        for answer in [&b"HTTP/1.1 400"[..], b""] {
            let listener = TcpListener::bind("0.0.0.0:0").unwrap();
            let address = listener.local_addr().unwrap();
            let server = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(answer).unwrap();
            });
            assert!(answers(address, Duration::from_secs(20)));
            server.join().unwrap();
        }
    }
}
