//! Binds the listen addresses, or takes the sockets that the service manager hands over, before anything is sampled.

use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::{Context, bail, ensure};
use listenfd::ListenFd;
use rustix::net::sockopt::{set_ipv6_v6only, socket_acceptconn};
use tokio::net::{TcpListener, TcpSocket, lookup_host};

use crate::config::ListenAddress;

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 128;
/// Sockets that may be handed over.
const MOST_SOCKETS: usize = 64;

/// The listening sockets that the service manager handed over. To be called before there are threads: what says so
/// in the environment is taken out of it, so that no other program is misled.
///
/// # Errors
/// When there is none, or one that is no listening TCP socket.
pub(super) fn handed_over() -> anyhow::Result<Vec<net::TcpListener>> {
    let said = |name| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    let own = usize::try_from(std::process::id()).ok();
    let count = said("LISTEN_FDS").filter(|_| said("LISTEN_PID") == own).unwrap_or(0);
    ensure!(count > 0, "--web.systemd-socket: no socket was handed over");
    ensure!(count <= MOST_SOCKETS, "--web.systemd-socket: more than {MOST_SOCKETS} sockets");
    let mut sockets = ListenFd::from_env();
    let mut listeners = Vec::new();
    for place in 0..count {
        let context = || format!("--web.systemd-socket: socket {}", place + 1);
        let listener = sockets.take_tcp_listener(place).with_context(context)?;
        let listener = listener.with_context(context)?;
        let listens =
            socket_acceptconn(&listener).map_err(io::Error::from).with_context(context)?;
        ensure!(listens, "{}: does not listen; Accept= must be no", context());
        listener.set_nonblocking(true).with_context(context)?;
        listeners.push(listener);
    }
    Ok(listeners)
}

/// The sockets that were handed over, for the server of the one host that they can serve.
///
/// # Errors
/// For a further host.
pub(super) fn adopt(
    sockets: &mut Vec<net::TcpListener>,
    offset: u16,
) -> anyhow::Result<Vec<TcpListener>> {
    if offset > 0 {
        bail!("--web.systemd-socket: the sockets serve one host; this is another");
    }
    let listeners: io::Result<Vec<_>> = sockets.drain(..).map(TcpListener::from_std).collect();
    listeners.context("--web.systemd-socket")
}

/// Binds all addresses, each `offset` ports higher than written; port 0 is the kernel's choice each time.
///
/// # Errors
/// The first address that cannot be bound, with its name.
pub(super) async fn bind(
    addresses: &[ListenAddress],
    offset: u16,
) -> anyhow::Result<Vec<TcpListener>> {
    let mut listeners = Vec::new();
    for address in addresses {
        let context = || format!("cannot listen on {address}");
        let port = match address.port() {
            0 => 0,
            port => port.checked_add(offset).with_context(context)?,
        };
        match address {
            ListenAddress::Any { .. } => listeners.push(bind_any(port).with_context(context)?),
            ListenAddress::Ip(ip) => {
                let socket = SocketAddr::new(ip.ip(), port);
                listeners.push(bind_one(socket).with_context(context)?);
            }
            ListenAddress::Name { host, .. } => {
                let found = lookup_host((host.as_str(), port)).await.with_context(context)?;
                for socket in found {
                    listeners.push(bind_one(socket).with_context(context)?);
                }
            }
        }
    }
    Ok(listeners)
}

/// IPv6 and IPv4 on one socket; IPv4 alone where the kernel has no IPv6.
fn bind_any(port: u16) -> io::Result<TcpListener> {
    bind_one(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))).or_else(|error| match error.kind() {
        io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => Err(error),
        _ => bind_one(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))),
    })
}

fn bind_one(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if address.is_ipv6() {
        let only = !address.ip().is_unspecified();
        set_ipv6_v6only(&socket, only)?;
    }
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
