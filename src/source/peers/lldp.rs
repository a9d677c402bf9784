//! What LLDP says of a neighbour, as frames hold it, and which port that is.
//!
//! Everything here was said by whoever is on the wire: lengths are checked, text is cut and cleaned. Management addresses
//! and capabilities are not looked at.

use crate::model::PortName;

/// Longest name that is taken over, in letters.
const MOST_LETTERS: usize = 253;
/// Length of the Ethernet header before the LLDP data.
const ETHERNET_HEADER: usize = 14;
/// Its type for LLDP.
const ETHERTYPE: [u8; 2] = [0x88, 0xcc];

/// What a neighbour says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Announcement {
    /// Name of the system; empty where it says none.
    pub(super) system_name: String,
    /// Identity of the chassis, as text.
    pub(super) chassis_id: String,
    /// Identity of the port, as text.
    pub(super) port_id: String,
    /// The port's identity is a MAC address, which is no name.
    pub(super) port_id_is_mac: bool,
    /// Description of the port; empty where it says none.
    pub(super) port_description: String,
    /// The neighbour says that it goes away.
    pub(super) leaving: bool,
}

impl Announcement {
    /// The port that it stands for. Linux hosts give their ports a MAC address as identity and the name as
    /// description; switches give the name as identity and words of their operator as description.
    pub(super) fn port(&self) -> Option<PortName> {
        let pick = |first: &str, second: &str| {
            let first = clean(first);
            if first.is_empty() { clean(second) } else { first }
        };
        let host = pick(&self.system_name, &self.chassis_id);
        let device = if self.port_id_is_mac {
            pick(&self.port_description, &self.port_id)
        } else {
            pick(&self.port_id, &self.port_description)
        };
        let named = !host.is_empty() && !device.is_empty() && !self.leaving;
        named.then(|| PortName { host: host.into(), device: device.into() })
    }

    /// Reads an Ethernet frame; none where it is not LLDP or is cut short (IEEE 802.1AB-2016, clause 8).
    pub(super) fn of_frame(frame: &[u8]) -> Option<Self> {
        let (header, mut rest) = frame.split_at_checked(ETHERNET_HEADER)?;
        if !header.ends_with(&ETHERTYPE) {
            return None;
        }
        let mut found = Self::default();
        loop {
            let (head, after) = rest.split_at_checked(2)?;
            let [high, low] = head.first_chunk::<2>()?;
            let (kind, length) = (high >> 1, usize::from(high & 1) << 8 | usize::from(*low));
            let (value, after) = after.split_at_checked(length)?;
            rest = after;
            match kind {
                0 => break,
                1 => found.chassis_id = identity(value, 4, 5)?.0,
                2 => (found.port_id, found.port_id_is_mac) = identity(value, 3, 4)?,
                3 => found.leaving = value.first_chunk::<2>()? == &[0, 0],
                4 => found.port_description = String::from_utf8_lossy(value).into_owned(),
                5 => found.system_name = String::from_utf8_lossy(value).into_owned(),
                _ => {}
            }
        }
        Some(found)
    }
}

/// The text of a chassis or port identity, and whether it is a MAC address. The numbers of the kinds that are a MAC
/// address and a network address differ between the two.
fn identity(value: &[u8], mac: u8, network: u8) -> Option<(String, bool)> {
    let (kind, value) = value.split_first()?;
    if *kind == mac || *kind == network {
        let bytes: Vec<String> = value.iter().map(|byte| format!("{byte:02x}")).collect();
        Some((bytes.join(":"), *kind == mac))
    } else {
        Some((String::from_utf8_lossy(value).into_owned(), false))
    }
}

/// A name without control characters, of bounded length.
fn clean(text: &str) -> String {
    let plain = text.chars().filter(|letter| !letter.is_control()).take(MOST_LETTERS);
    plain.collect::<String>().trim().to_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A frame of these parts, each a kind and its value.
    pub(in super::super) fn frame(parts: &[(u8, &[u8])]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend(ETHERTYPE);
        for (kind, value) in parts {
            let length = u16::try_from(value.len()).unwrap();
            frame.extend((u16::from(*kind) << 9 | length).to_be_bytes());
            frame.extend(*value);
        }
        frame
    }

    fn port(parts: &[(u8, &[u8])]) -> Option<String> {
        let port = Announcement::of_frame(&frame(parts))?.port()?;
        Some(format!("{}/{}", port.host, port.device))
    }

    const MAC_CHASSIS: &[u8] = b"\x04\x02\0\0\0\0\x01";
    const MAC_PORT: &[u8] = b"\x03\x02\0\0\0\0\x02";
    const TTL: (u8, &[u8]) = (3, &[0, 120]);
    const END: (u8, &[u8]) = (0, &[]);

    #[test]
    fn hosts_and_switches_are_understood() {
        let name: (u8, &[u8]) = (5, b"leaf1");
        let switch =
            [(1, MAC_CHASSIS), (2, &b"\x05Ethernet1/1"[..]), TTL, (4, b"to node1"), name, END];
        assert_eq!(port(&switch).as_deref(), Some("leaf1/Ethernet1/1"));
        let host = [(1, MAC_CHASSIS), (2, MAC_PORT), TTL, (4, b"eth0"), name, END];
        assert_eq!(port(&host).as_deref(), Some("leaf1/eth0"));
        let bare = [(1, MAC_CHASSIS), (2, MAC_PORT), TTL, END];
        assert_eq!(port(&bare).as_deref(), Some("02:00:00:00:00:01/02:00:00:00:00:02"));
        let leaving = [(1, MAC_CHASSIS), (2, MAC_PORT), (3, &[0, 0]), END];
        assert_eq!(port(&leaving), None);
    }

    #[test]
    fn what_the_wire_says_is_cleaned_and_cut() {
        let long = [b'x'; 400];
        let nasty =
            [(1, MAC_CHASSIS), (2, &b"\x07\n\0"[..]), TTL, (4, b"a\nb\x1b"), (5, &long), END];
        let found = port(&nasty).unwrap();
        assert_eq!(found, format!("{}/ab", "x".repeat(MOST_LETTERS)));
    }

    #[test]
    fn cut_frames_are_refused() {
        let whole = frame(&[(1, MAC_CHASSIS), (2, MAC_PORT), TTL, END]);
        for length in 0..whole.len() {
            assert_eq!(Announcement::of_frame(&whole[..length]), None, "{length}");
        }
        assert_eq!(Announcement::of_frame(&frame(&[(1, &[]), END])), None);
    }

    proptest! {
        #[test]
        fn any_frame_is_judged(tail in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = frame(&[]);
            bytes.extend(tail);
            let _ = Announcement::of_frame(&bytes).and_then(|found| found.port());
        }
    }
}
