//! Generic netlink: the ethtool family's number and its group of events.

use super::attribute::{Attribute, Attributes, RequestBody};
use super::socket::{NetlinkError, NetlinkSocket};

/// `GENL_ID_CTRL`, the family that knows the others.
const CONTROLLER: u16 = 16;
const COMMAND_GETFAMILY: u8 = 3;
const FAMILY_NAME: u16 = 2;
const FAMILY_ID: u16 = 1;
const GROUPS: u16 = 7;
const GROUP_NAME: u16 = 1;
const GROUP_ID: u16 = 2;
/// Bytes of `struct genlmsghdr`.
const HEADER: usize = 4;

/// A generic family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// Message type of its messages.
    pub id: u16,
    /// Its groups of events, by name and number.
    pub groups: Vec<(String, u32)>,
}

impl Family {
    /// The number of a group.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<u32> {
        self.groups.iter().find(|(own, _)| own == name).map(|(_, number)| *number)
    }
}

/// Looks a family up.
///
/// # Errors
/// `ENOENT` where the kernel lacks it.
pub fn family(socket: &mut NetlinkSocket, name: &str) -> Result<Family, NetlinkError> {
    let body = RequestBody::with_header(&[COMMAND_GETFAMILY, 1, 0, 0]).text(FAMILY_NAME, name);
    let found = socket.ask(CONTROLLER, body.bytes(), parse)?;
    found.ok_or(NetlinkError::Nonsense)
}

/// A family, as the controller describes it; none where the bytes hold none.
#[must_use]
pub fn parse(payload: &[u8]) -> Option<Family> {
    let attributes = Attributes::new(payload.get(HEADER..)?);
    let id = attributes.get(FAMILY_ID)?.as_u16()?;
    let groups = attributes.get(GROUPS);
    let groups = groups.iter().flat_map(Attribute::nested).filter_map(|group| {
        let name = group.nested().get(GROUP_NAME)?.as_text()?.to_owned();
        Some((name, group.nested().get(GROUP_ID)?.as_u32()?))
    });
    Some(Family { id, groups: groups.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::netlink::Protocol;

    #[test]
    fn the_ethtool_family_has_its_group_of_events() {
        let mut socket = NetlinkSocket::open(Protocol::Generic).unwrap();
        let family = family(&mut socket, "ethtool").unwrap();
        assert!(family.id >= CONTROLLER);
        assert!(family.group("monitor").is_some(), "{family:?}");
    }

    #[test]
    fn a_family_that_is_not_there_says_so() {
        let mut socket = NetlinkSocket::open(Protocol::Generic).unwrap();
        let error = family(&mut socket, "no-such-family").unwrap_err();
        assert_eq!(error.errno(), rustix::io::Errno::NOENT);
    }

    #[test]
    fn any_bytes_are_survived() {
        proptest::proptest!(|(bytes: Vec<u8>)| {
            let _ = parse(&bytes);
        });
    }
}
