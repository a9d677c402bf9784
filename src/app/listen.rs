//! Binds the listen addresses, before anything is sampled.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::Context;
use rustix::net::sockopt::set_ipv6_v6only;
use tokio::net::{TcpListener, TcpSocket, lookup_host};

use crate::config::ListenAddress;

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 128;

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
