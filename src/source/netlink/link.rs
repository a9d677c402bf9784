//! Links over rtnetlink (`include/uapi/linux/if_link.h`): what netdevs there are, without one file of sysfs.
//!
//! sysfs restarts reads of `carrier`, `speed` and the like until it gets rtnl, and shows the namespace of whoever
//! mounted it; a dump shows ours, at once.

use std::fmt::Write as _;

use super::attribute::{Attributes, RequestBody, u16_at, u32_at};
use super::socket::{Dumped, NetlinkError, NetlinkSocket};

/// `RTM_NEWLINK`: an object of a dump, or a new or changed link.
pub const NEW: u16 = 16;
/// `RTM_DELLINK`: a link that went.
pub const GONE: u16 = 17;
const GET: u16 = 18;

/// Bytes of `struct ifinfomsg`.
const HEADER: usize = 16;

const IFNAME: u16 = 3;
const MTU: u16 = 4;
const LINK: u16 = 5;
const MASTER: u16 = 10;
const LINKINFO: u16 = 18;
const EXT_MASK: u16 = 29;
const CARRIER: u16 = 33;
const PHYS_PORT_ID: u16 = 34;
const PHYS_SWITCH_ID: u16 = 36;
const PHYS_PORT_NAME: u16 = 38;
const PARENT_DEVICE: u16 = 56;
const PARENT_BUS: u16 = 57;

/// `IFLA_INFO_KIND`.
const INFO_KIND: u16 = 1;
/// `RTEXT_FILTER_SKIP_STATS`: leave statistics out, which cost a driver call each.
const SKIP_STATISTICS: u32 = 1 << 3;
/// `ARPHRD_LOOPBACK`.
const TYPE_LOOPBACK: u16 = 772;

/// A netdev.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its number; never used again in its namespace while the machine runs.
    pub index: u32,
    /// Its name now.
    pub name: String,
    /// What it is, for software devices: `veth`, `bond`, `vlan`, `bridge` …; empty for hardware.
    pub kind: String,
    /// Whether it is the loopback.
    pub is_loopback: bool,
    /// Largest packet, in bytes.
    pub mtu: Option<u32>,
    /// Bond or bridge that it belongs to.
    pub master: Option<u32>,
    /// The link below, of a VLAN or macvlan.
    pub lower: Option<u32>,
    /// Carrier.
    pub carrier: Option<bool>,
    /// Bus and address of the device behind it, such as `pci` and `0000:3b:00.0`; empty where there is none.
    pub parent: (String, String),
    /// The physical port that several functions can share; empty where the driver does not say.
    pub physical_port: String,
    /// The switch that the port belongs to, for representors and switch ports.
    pub switch: String,
    /// The port's name within that switch: `p0` for an uplink, `pf0vf1` for a representor.
    pub switch_port: String,
}

/// All links of the socket's network namespace.
///
/// # Errors
/// The kernel's refusal.
pub fn links(socket: &mut NetlinkSocket) -> Result<Vec<Link>, NetlinkError> {
    let mut links = Vec::new();
    let body = RequestBody::with_header(&[0; HEADER]).number(EXT_MASK, SKIP_STATISTICS);
    socket.dump(GET, body.bytes(), &mut |part| match part {
        Dumped::Begin => links.clear(),
        Dumped::Object(payload) => links.extend(parse(payload)),
    })?;
    Ok(links)
}

/// One link, of a dump or an event; none where the bytes hold none.
#[must_use]
pub fn parse(payload: &[u8]) -> Option<Link> {
    let mut link = Link {
        index: u32_at(payload, 4)?,
        is_loopback: u16_at(payload, 2)? == TYPE_LOOPBACK,
        ..Link::default()
    };
    for attribute in Attributes::new(payload.get(HEADER..)?) {
        let text = || attribute.as_text().unwrap_or_default().to_owned();
        match attribute.kind {
            IFNAME => link.name = text(),
            MTU => link.mtu = attribute.as_u32(),
            LINK => link.lower = attribute.as_u32().filter(|index| *index != 0),
            MASTER => link.master = attribute.as_u32().filter(|index| *index != 0),
            CARRIER => link.carrier = attribute.as_u8().map(|carrier| carrier != 0),
            LINKINFO => {
                let kind = attribute.nested().get(INFO_KIND);
                link.kind =
                    kind.and_then(|own| own.as_text()).map(str::to_owned).unwrap_or_default();
            }
            PHYS_PORT_ID => link.physical_port = hexadecimal(attribute.payload),
            PHYS_SWITCH_ID => link.switch = hexadecimal(attribute.payload),
            PHYS_PORT_NAME => link.switch_port = text(),
            PARENT_DEVICE => link.parent.1 = text(),
            PARENT_BUS => link.parent.0 = text(),
            _ => {}
        }
    }
    (!link.name.is_empty()).then_some(link)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().take(32).fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::netlink::Protocol;

    fn header(index: u32, kind: u16) -> Vec<u8> {
        let mut bytes = vec![0, 0];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(index.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes
    }

    #[test]
    fn a_link_is_read_as_it_was_written() {
        let info = RequestBody::default().text(INFO_KIND, "vlan");
        let body = RequestBody::with_header(&header(12, 1))
            .text(IFNAME, "rail0.100")
            .number(MTU, 9_000)
            .number(LINK, 4)
            .number(MASTER, 9)
            .attribute(CARRIER, &[1])
            .nested(LINKINFO, &info)
            .attribute(PHYS_PORT_ID, &[0xb8, 0x3f])
            .text(PHYS_PORT_NAME, "pf0vf1")
            .text(PARENT_DEVICE, "0000:3b:00.0")
            .text(PARENT_BUS, "pci");
        let expected = Link {
            index: 12,
            name: "rail0.100".to_owned(),
            kind: "vlan".to_owned(),
            is_loopback: false,
            mtu: Some(9_000),
            master: Some(9),
            lower: Some(4),
            carrier: Some(true),
            parent: ("pci".to_owned(), "0000:3b:00.0".to_owned()),
            physical_port: "b83f".to_owned(),
            switch: String::new(),
            switch_port: "pf0vf1".to_owned(),
        };
        assert_eq!(parse(body.bytes()), Some(expected));
        assert_eq!(parse(&header(3, 1)), None, "a link without a name is none");
    }

    #[test]
    fn the_real_kernel_has_a_loopback() {
        let mut socket = NetlinkSocket::open(Protocol::Route).unwrap();
        let links = links(&mut socket).unwrap();
        let loopback = links.iter().find(|link| link.name == "lo").unwrap();
        assert!(loopback.is_loopback && loopback.kind.is_empty());
        assert_eq!(loopback.parent, (String::new(), String::new()));
    }

    #[test]
    fn any_bytes_are_survived() {
        proptest::proptest!(|(bytes: Vec<u8>)| {
            let _ = parse(&bytes);
        });
    }
}
