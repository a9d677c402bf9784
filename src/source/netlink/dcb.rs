//! DCB: what makes an Ethernet lossless (`include/uapi/linux/dcbnl.h`, IEEE commands).
//!
//! One question gives everything, per device; it takes rtnl. Each change is broadcast with the same content, so
//! one read at start, events and a slow re-read suffice. Refuses the counters of `ieee_pfc` as a source unless
//! the catalogue says that the driver keeps them fresh: on mlx5 they are stale, on ixgbe reversed.

use super::attribute::{Attribute, Attributes, RequestBody, u16_at, u32_at, u64_at};
use super::socket::{NetlinkError, NetlinkSocket};
use crate::model::{Buffers, Dcb, Ets, Pfc, Priority, Trust};

/// `RTM_GETDCB`; also the type of the answer.
pub const MESSAGE: u16 = 78;
/// `RTM_SETDCB`, which changes are broadcast as.
pub const CHANGED: u16 = 79;
const COMMAND_IEEE_GET: u8 = 21;

const IFNAME: u16 = 1;
const IEEE: u16 = 13;
const DCBX: u16 = 14;

const IEEE_ETS: u16 = 1;
const IEEE_PFC: u16 = 2;
const IEEE_APP_TABLE: u16 = 3;
const IEEE_MAXRATE: u16 = 7;
const DCB_BUFFER: u16 = 10;
const APP_TRUST_TABLE: u16 = 11;

/// `IEEE_8021QAZ_APP_SEL_DSCP`.
const SELECTOR_DSCP: u8 = 5;
/// `DCB_APP_SEL_PCP`.
const SELECTOR_PCP: u8 = 255;

/// Bytes of the family's header: family, command, padding.
const HEADER: usize = 4;

/// Asks a device. `Ok(None)`: this driver has no DCB.
///
/// # Errors
/// The kernel's refusal, such as `ENODEV`.
pub fn dcb(socket: &mut NetlinkSocket, device: &str) -> Result<Option<Dcb>, NetlinkError> {
    let body = RequestBody::with_header(&[0, COMMAND_IEEE_GET, 0, 0]).text(IFNAME, device);
    match socket.ask(MESSAGE, body.bytes(), |payload| parse(payload).map(|(_, dcb)| dcb)) {
        Ok(dcb) => Ok(dcb),
        Err(NetlinkError::Kernel { errno: rustix::io::Errno::OPNOTSUPP, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Which device a DCB message is about, whatever it says.
#[must_use]
pub fn device_of(payload: &[u8]) -> Option<&str> {
    Attributes::new(payload.get(HEADER..)?).get(IFNAME)?.as_text()
}

/// A DCB message's device and content; none where it is no IEEE content.
#[must_use]
pub fn parse(payload: &[u8]) -> Option<(String, Dcb)> {
    let attributes = Attributes::new(payload.get(HEADER..)?);
    let device = attributes.get(IFNAME)?.as_text()?.to_owned();
    let mut dcb = Dcb { dcbx: attributes.get(DCBX).and_then(|own| own.as_u8()), ..Dcb::default() };
    for attribute in attributes.get(IEEE)?.nested() {
        match attribute.kind {
            IEEE_PFC => dcb.pfc = pfc(attribute.payload),
            IEEE_ETS => dcb.ets = ets(attribute.payload),
            IEEE_APP_TABLE => dcb.dscp = Some(dscp(attribute)),
            IEEE_MAXRATE => dcb.max_rate = max_rate(attribute.payload),
            DCB_BUFFER => dcb.buffers = buffers(attribute.payload),
            APP_TRUST_TABLE => dcb.trust = trust(attribute),
            _ => {}
        }
    }
    Some((device, dcb))
}

/// `struct ieee_pfc`, 136 bytes.
fn pfc(bytes: &[u8]) -> Option<Pfc> {
    Some(Pfc {
        capability: *bytes.first()?,
        enabled: *bytes.get(1)?,
        delay: u16_at(bytes, 4)?,
        requests: numbers(bytes, 8)?,
        indications: numbers(bytes, 72)?,
    })
}

/// `struct ieee_ets`, 59 bytes.
fn ets(bytes: &[u8]) -> Option<Ets> {
    Some(Ets {
        willing: *bytes.first()? != 0,
        bandwidth: eight(bytes, 3)?,
        algorithm: eight(bytes, 19)?,
        traffic_class: eight(bytes, 27)?,
    })
}

/// `struct dcbnl_buffer`, 44 bytes.
fn buffers(bytes: &[u8]) -> Option<Buffers> {
    let mut sizes = [0; Priority::COUNT];
    for (place, size) in sizes.iter_mut().enumerate() {
        *size = u32_at(bytes, 8 + place * 4)?;
    }
    Some(Buffers { buffer: eight(bytes, 0)?, bytes: sizes, total_bytes: u32_at(bytes, 40)? })
}

/// `struct ieee_maxrate`, eight numbers of kbit/s.
fn max_rate(bytes: &[u8]) -> Option<[u64; Priority::COUNT]> {
    numbers(bytes, 0).map(|rates| rates.map(|kilobits| kilobits.saturating_mul(1_000)))
}

/// DSCP entries of the application table: `struct dcb_app` is selector, priority and protocol.
fn dscp(table: Attribute<'_>) -> Vec<(u8, Priority)> {
    let entries = table.nested().filter_map(|entry| {
        let (selector, priority) = (*entry.payload.first()?, *entry.payload.get(1)?);
        let code = u8::try_from(u16_at(entry.payload, 2)?).ok().filter(|code| *code < 64)?;
        let priority = Priority::new(priority).ok()?;
        (selector == SELECTOR_DSCP).then_some((code, priority))
    });
    let mut entries: Vec<(u8, Priority)> = entries.collect();
    // Of several priorities for one DSCP the highest counts (dcb_ieee_getapp_dscp_prio_mask_map).
    entries.sort_unstable_by(|a, b| (a.0, b.1).cmp(&(b.0, a.1)));
    entries.dedup_by_key(|entry| entry.0);
    entries
}

/// Selectors in order of trust.
fn trust(table: Attribute<'_>) -> Option<Trust> {
    table.nested().find_map(|entry| match entry.as_u8()? {
        SELECTOR_DSCP => Some(Trust::Dscp),
        SELECTOR_PCP => Some(Trust::Pcp),
        _ => None,
    })
}

fn eight(bytes: &[u8], at: usize) -> Option<[u8; Priority::COUNT]> {
    bytes.get(at..at.checked_add(Priority::COUNT)?)?.try_into().ok()
}

fn numbers(bytes: &[u8], at: usize) -> Option<[u64; Priority::COUNT]> {
    let mut numbers = [0; Priority::COUNT];
    for (place, number) in numbers.iter_mut().enumerate() {
        *number = u64_at(bytes, at + place * 8)?;
    }
    Some(numbers)
}

#[cfg(test)]
#[path = "dcb_tests.rs"]
mod tests;
