//! A netlink socket: one question at a time, or a stream of events.
//!
//! The kernel works on a request within `send`, in our thread: one that waits for rtnl waits here. Refuses
//! messages that do not come from the kernel.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, sendto,
    socket_with,
};

use super::message::{Message, MessageKind, Messages, write_request};
use crate::source::system_call::ask_for_extended_errors;

/// The largest message that a kernel sends for a dump is 32 KiB; link messages with many VFs come near.
const BUFFER_BYTES: usize = 64 * 1024;
/// How long an answer may take to arrive after the kernel took the request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// What a socket for events may queue in the kernel before it drops.
const EVENT_QUEUE_BYTES: usize = 1 << 20;
/// How often a dump that was disturbed by changes is asked for again.
const DUMP_ATTEMPTS: u32 = 4;
/// Messages that an answer may have at most; more is nonsense.
const MOST_MESSAGES: usize = 1 << 20;

/// Asks for all objects of a kind.
const FLAG_DUMP: u16 = 0x300;

/// Which of the kernel's subsystems a socket talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Links and DCB.
    Route,
    /// Generic families, such as ethtool.
    Generic,
    /// RDMA. Opening one loads `ib_core` where that is a module: look for `/sys/class/infiniband` first.
    Rdma,
    /// uevents.
    Uevent,
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetlinkError {
    /// The kernel said no.
    #[error("{errno}{}", text.as_deref().map(|text| format!(" ({text})")).unwrap_or_default())]
    Kernel {
        /// Its errno.
        errno: Errno,
        /// Its words, where it has some.
        text: Option<String>,
    },
    /// Messages were lost: what is known must be asked for anew.
    #[error("messages were lost")]
    Lost,
    /// The answer does not fit the question.
    #[error("an answer that makes no sense")]
    Nonsense,
    /// A dump that is disturbed again and again.
    #[error("the answer changed while it was given")]
    Unsettled,
}

impl NetlinkError {
    /// The kernel's errno, or the nearest to it.
    #[must_use]
    pub const fn errno(&self) -> Errno {
        match self {
            Self::Kernel { errno, .. } => *errno,
            Self::Lost => Errno::NOBUFS,
            Self::Nonsense => Errno::BADMSG,
            Self::Unsettled => Errno::AGAIN,
        }
    }
}

impl From<Errno> for NetlinkError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOBUFS => Self::Lost,
            errno => Self::Kernel { errno, text: None },
        }
    }
}

/// A socket.
#[derive(Debug)]
pub struct NetlinkSocket {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
    outgoing: Vec<u8>,
    /// Length of the datagram in the buffer.
    filled: usize,
}

impl NetlinkSocket {
    /// Opens a socket for questions, in the calling thread's network namespace.
    ///
    /// # Errors
    /// The kernel's errno: `EPROTONOSUPPORT` where it lacks the protocol.
    pub fn open(protocol: Protocol) -> Result<Self, Errno> {
        Self::with_groups(protocol, 0, SocketFlags::empty())
    }

    /// Opens a socket for events of the groups in a mask; group 1 is bit 0.
    ///
    /// # Errors
    /// The kernel's errno.
    pub fn subscribe(protocol: Protocol, groups: u32) -> Result<Self, Errno> {
        Self::for_events(protocol, groups, SocketFlags::empty())
    }

    /// As [`NetlinkSocket::subscribe`], but nothing is waited for: `EAGAIN` at once when no event is there.
    ///
    /// # Errors
    /// The kernel's errno.
    pub fn overhear(protocol: Protocol, groups: u32) -> Result<Self, Errno> {
        Self::for_events(protocol, groups, SocketFlags::NONBLOCK)
    }

    fn for_events(protocol: Protocol, groups: u32, flags: SocketFlags) -> Result<Self, Errno> {
        let socket = Self::with_groups(protocol, groups, flags)?;
        // A smaller queue only means that events are lost, and noticed, sooner.
        let _ = set_socket_recv_buffer_size(&socket.socket, EVENT_QUEUE_BYTES);
        Ok(socket)
    }

    fn with_groups(protocol: Protocol, groups: u32, flags: SocketFlags) -> Result<Self, Errno> {
        let number = match protocol {
            Protocol::Route => None,
            Protocol::Generic => Some(rustix::net::netlink::GENERIC),
            Protocol::Rdma => Some(rustix::net::netlink::RDMA),
            Protocol::Uevent => Some(rustix::net::netlink::KOBJECT_UEVENT),
        };
        let flags = flags | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, number)?;
        bind(&socket, &SocketAddrNetlink::new(0, groups))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_TIMEOUT))?;
        // Kernels before 4.12 have no words for their errors.
        let _ = ask_for_extended_errors(&socket);
        Ok(Self {
            socket,
            sequence: 0,
            buffer: vec![0; BUFFER_BYTES],
            outgoing: Vec::new(),
            filled: 0,
        })
    }

    /// Asks a question that has one answer, and hands its payload to `read`.
    ///
    /// # Errors
    /// The kernel's refusal, or an answer that makes no sense.
    pub fn ask<T>(
        &mut self,
        kind: u16,
        body: &[u8],
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, NetlinkError> {
        self.send(kind, 0, body)?;
        loop {
            self.receive()?;
            let sequence = self.sequence;
            let datagram = self.buffer.get(..self.filled).unwrap_or_default();
            for message in Messages::new(datagram).filter(|own| own.sequence == sequence) {
                match message.kind() {
                    MessageKind::Data(_) => return Ok(read(message.payload)),
                    MessageKind::Failed { errno, text } => {
                        return Err(NetlinkError::Kernel { errno, text });
                    }
                    MessageKind::Overrun => return Err(NetlinkError::Lost),
                    MessageKind::Acknowledged | MessageKind::Done => {
                        return Err(NetlinkError::Nonsense);
                    }
                    MessageKind::Noop => {}
                }
            }
        }
    }

    /// Asks for all objects of a kind and hands each payload to `read`, which must start anew when told to.
    ///
    /// # Errors
    /// The kernel's refusal, an answer that makes no sense, or one that never settles.
    pub fn dump(
        &mut self,
        kind: u16,
        body: &[u8],
        read: &mut dyn FnMut(Dumped<'_>),
    ) -> Result<(), NetlinkError> {
        for _ in 0..DUMP_ATTEMPTS {
            read(Dumped::Begin);
            self.send(kind, FLAG_DUMP, body)?;
            if self.collect(read)? {
                return Ok(());
            }
        }
        Err(NetlinkError::Unsettled)
    }

    /// Reads the parts of a dump. Returns whether it was undisturbed.
    fn collect(&mut self, read: &mut dyn FnMut(Dumped<'_>)) -> Result<bool, NetlinkError> {
        let (mut settled, mut seen) = (true, 0_usize);
        loop {
            self.receive()?;
            let sequence = self.sequence;
            let datagram = self.buffer.get(..self.filled).unwrap_or_default();
            for message in Messages::new(datagram).filter(|own| own.sequence == sequence) {
                settled &= !message.is_interrupted();
                seen += 1;
                match message.kind() {
                    MessageKind::Data(_) => read(Dumped::Object(message.payload)),
                    MessageKind::Done => return Ok(settled),
                    MessageKind::Failed { errno, text } => {
                        return Err(NetlinkError::Kernel { errno, text });
                    }
                    MessageKind::Overrun => return Err(NetlinkError::Lost),
                    MessageKind::Acknowledged | MessageKind::Noop => {}
                }
                if matches!(message.kind(), MessageKind::Data(_)) && !message.is_part() {
                    return Ok(settled);
                }
            }
            if seen > MOST_MESSAGES {
                return Err(NetlinkError::Nonsense);
            }
        }
    }

    fn send(&mut self, kind: u16, flags: u16, body: &[u8]) -> Result<(), NetlinkError> {
        // 0 is the number of events.
        self.sequence = self.sequence.checked_add(1).unwrap_or(1);
        write_request(&mut self.outgoing, kind, flags, self.sequence, body);
        let kernel = SocketAddrNetlink::new(0, 0);
        let sent = sendto(&self.socket, &self.outgoing, SendFlags::empty(), &kernel)?;
        if sent == self.outgoing.len() { Ok(()) } else { Err(NetlinkError::Nonsense) }
    }

    /// Takes the next datagram of the kernel into the buffer. A datagram that is larger than the buffer makes
    /// the buffer grow for the next time, and is lost.
    fn receive(&mut self) -> Result<(), NetlinkError> {
        loop {
            let answer = recvfrom(&self.socket, &mut *self.buffer, RecvFlags::TRUNC);
            let (taken, length, from) = match answer {
                Err(Errno::INTR) => continue,
                answer => answer?,
            };
            let kernel = from
                .and_then(|from| SocketAddrNetlink::try_from(from).ok())
                .is_some_and(|from| from.pid() == 0);
            if length > self.buffer.len() {
                self.buffer.resize(length.min(1 << 24), 0);
                return Err(NetlinkError::Lost);
            }
            if kernel {
                self.filled = taken;
                return Ok(());
            }
        }
    }

    /// Waits for events and hands each datagram to `read`. For sockets of [`NetlinkSocket::subscribe`]; returns
    /// with `EAGAIN` when nothing came for a while.
    ///
    /// # Errors
    /// [`NetlinkError::Lost`] when events were lost.
    pub fn next_event(&mut self, read: impl FnOnce(&[u8])) -> Result<(), NetlinkError> {
        self.receive()?;
        read(self.buffer.get(..self.filled).unwrap_or_default());
        Ok(())
    }

    /// The events' messages of the next datagram.
    ///
    /// # Errors
    /// As [`NetlinkSocket::next_event`].
    pub fn next_messages(
        &mut self,
        mut read: impl FnMut(&Message<'_>),
    ) -> Result<(), NetlinkError> {
        self.next_event(|datagram| Messages::new(datagram).for_each(|message| read(&message)))
    }
}

impl AsFd for NetlinkSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What a dump hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dumped<'a> {
    /// The dump begins, or begins anew: forget what came before.
    Begin,
    /// One object.
    Object(&'a [u8]),
}
