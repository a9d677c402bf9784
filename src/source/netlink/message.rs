//! Netlink messages, read from any bytes (`struct nlmsghdr`).

use rustix::io::Errno;

use super::attribute::{Attributes, aligned, u16_at, u32_at};

/// Bytes of a message's header.
pub(super) const HEADER: usize = 16;

const NOOP: u16 = 1;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const OVERRUN: u16 = 4;

/// More messages of the same answer follow, up to the one that says it is done.
pub(super) const FLAG_MULTI: u16 = 0x2;
/// The dump was disturbed by a change and may miss something.
const FLAG_DUMP_INTERRUPTED: u16 = 0x10;
/// The error does not repeat the whole request.
const FLAG_CAPPED: u16 = 0x100;
/// Attributes follow the error.
const FLAG_ATTRIBUTES: u16 = 0x200;
/// `NLMSGERR_ATTR_MSG`.
const ERROR_TEXT: u16 = 1;

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// To be passed over.
    Noop,
    /// The request was done without an answer.
    Acknowledged,
    /// The request failed, or a dump ended in failure.
    Failed {
        /// The kernel's errno.
        errno: Errno,
        /// Its words, where it has some.
        text: Option<String>,
    },
    /// A dump is complete.
    Done,
    /// Messages were lost.
    Overrun,
    /// Data of this message type.
    Data(u16),
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    kind: u16,
    /// Flags of the header.
    pub flags: u16,
    /// Number of the request that it answers; 0 for an event.
    pub sequence: u32,
    /// What follows the header.
    pub payload: &'a [u8],
}

impl Message<'_> {
    /// What it is.
    #[must_use]
    pub fn kind(&self) -> MessageKind {
        match self.kind {
            NOOP => MessageKind::Noop,
            DONE => self.done(),
            OVERRUN => MessageKind::Overrun,
            ERROR => self.error(),
            kind => MessageKind::Data(kind),
        }
    }

    /// Whether more messages of the same answer follow.
    #[must_use]
    pub const fn is_part(&self) -> bool {
        self.flags & FLAG_MULTI != 0
    }

    /// Whether a dump was disturbed and should be asked for again.
    #[must_use]
    pub const fn is_interrupted(&self) -> bool {
        self.flags & FLAG_DUMP_INTERRUPTED != 0
    }

    /// The end of a dump carries the dump's errno.
    fn done(&self) -> MessageKind {
        match errno_at(self.payload) {
            Some(errno) => MessageKind::Failed { errno, text: None },
            None => MessageKind::Done,
        }
    }

    fn error(&self) -> MessageKind {
        if self.payload.len() < 4 {
            return MessageKind::Failed { errno: Errno::BADMSG, text: None };
        }
        let Some(errno) = errno_at(self.payload) else { return MessageKind::Acknowledged };
        MessageKind::Failed { errno, text: self.error_text() }
    }

    /// The extended acknowledgement's text, behind the request that the error repeats.
    fn error_text(&self) -> Option<String> {
        if self.flags & FLAG_ATTRIBUTES == 0 {
            return None;
        }
        let request = self.payload.get(4..)?;
        let whole = usize::try_from(u32_at(request, 0)?).ok()?;
        let repeated = if self.flags & FLAG_CAPPED == 0 { aligned(whole) } else { HEADER };
        let attributes = Attributes::new(request.get(repeated..)?);
        attributes.get(ERROR_TEXT)?.as_text().map(str::to_owned)
    }
}

/// The negated errno at the start of a payload; none for zero.
fn errno_at(payload: &[u8]) -> Option<Errno> {
    let code = u32_at(payload, 0)?.cast_signed();
    let errno = code.checked_neg().filter(|errno| (1..4096).contains(errno));
    match (code, errno) {
        (0, _) => None,
        (_, Some(errno)) => Some(Errno::from_raw_os_error(errno)),
        (_, None) => Some(Errno::BADMSG),
    }
}

/// Walks the messages of one datagram. Ends at the first that does not fit into it.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    /// The messages in a datagram.
    #[must_use]
    pub const fn new(datagram: &'a [u8]) -> Self {
        Self { rest: datagram }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let length = usize::try_from(u32_at(self.rest, 0)?).ok()?;
        let message = Message {
            kind: u16_at(self.rest, 4)?,
            flags: u16_at(self.rest, 6)?,
            sequence: u32_at(self.rest, 8)?,
            payload: self.rest.get(HEADER..length)?,
        };
        self.rest = self.rest.get(aligned(length)..).unwrap_or_default();
        Some(message)
    }
}

/// Writes a request to `bytes`, whose room is used again.
pub(super) fn write_request(
    bytes: &mut Vec<u8>,
    kind: u16,
    flags: u16,
    sequence: u32,
    body: &[u8],
) {
    const FLAG_REQUEST: u16 = 1;
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    bytes.clear();
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((flags | FLAG_REQUEST).to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend(body);
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::source::netlink::RequestBody;

    /// A message as the kernel would send it.
    pub(in crate::source) fn message(
        kind: u16,
        flags: u16,
        sequence: u32,
        payload: &[u8],
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_request(&mut bytes, kind, flags, sequence, payload);
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    fn only(bytes: &[u8]) -> MessageKind {
        let mut messages = Messages::new(bytes);
        let kind = messages.next().unwrap().kind();
        assert_eq!(messages.next(), None);
        kind
    }

    #[test]
    fn control_messages_by_table() {
        let error = |code: i32| [code.to_ne_bytes().as_slice(), &[0; HEADER]].concat();
        let failed = |errno| MessageKind::Failed { errno, text: None };
        for (kind, payload, expected) in [
            (NOOP, vec![], MessageKind::Noop),
            (OVERRUN, vec![], MessageKind::Overrun),
            (DONE, 0_i32.to_ne_bytes().to_vec(), MessageKind::Done),
            (DONE, vec![], MessageKind::Done),
            (DONE, (-95_i32).to_ne_bytes().to_vec(), failed(Errno::OPNOTSUPP)),
            (ERROR, error(0), MessageKind::Acknowledged),
            (ERROR, error(-19), failed(Errno::NODEV)),
            (ERROR, error(19), failed(Errno::BADMSG)),
            (ERROR, error(i32::MIN), failed(Errno::BADMSG)),
            (ERROR, vec![1, 2], failed(Errno::BADMSG)),
            (0x1411, vec![1], MessageKind::Data(0x1411)),
        ] {
            assert_eq!(only(&message(kind, 0, 1, &payload)), expected, "{kind} {payload:?}");
        }
    }

    #[test]
    fn the_kernel_s_words_are_kept_whether_it_repeats_the_request_or_not() {
        let mut asked = Vec::new();
        write_request(&mut asked, 78, 0, 1, &[1, 2, 3, 4]);
        let words = RequestBody::default().text(ERROR_TEXT, "no such device");
        for (flags, repeated) in
            [(FLAG_ATTRIBUTES, &asked[..]), (FLAG_ATTRIBUTES | FLAG_CAPPED, &asked[..HEADER])]
        {
            let payload = [&(-19_i32).to_ne_bytes()[..], repeated, words.bytes()].concat();
            let text = Some("no such device".to_owned());
            let expected = MessageKind::Failed { errno: Errno::NODEV, text };
            assert_eq!(only(&message(ERROR, flags, 1, &payload)), expected);
        }
    }

    #[test]
    fn a_datagram_that_was_cut_ends_the_walk() {
        let whole = [message(20, 0, 1, &[1; 8]), message(21, 0, 1, &[2; 8])].concat();
        assert_eq!(Messages::new(&whole).count(), 2);
        for length in 0..whole.len() {
            let count = Messages::new(&whole[..length]).count();
            assert_eq!(count, length / (HEADER + 8), "{length}");
        }
    }

    #[test]
    fn any_bytes_end() {
        proptest::proptest!(|(bytes: Vec<u8>)| {
            for message in Messages::new(&bytes) {
                let _ = message.kind();
            }
        });
    }
}
