//! Whether the receive buffer of a lossless priority can hold what arrives after it asked for pause.

use super::evidence::{Evidence, bytes, count};
use super::verdict::{Status, Verdict};
use crate::model::{BitsPerSecond, Buffers, Priority};

/// The driver whose formula this is, and whose `delay` is in metres.
const FORMULA_OF: &str = "mlx5_core";
/// The formula counts slower links as this.
const LEAST_SPEED: BitsPerSecond = BitsPerSecond(40_000_000_000);
/// Granularity of the buffers, in bytes.
const CELL: u64 = 128;

const NO_BUFFERS: &str = "the driver does not show its receive buffers";

/// Bytes that a lossless buffer needs: those that still arrive after XOFF was sent, and one packet to start with.
///
/// `(301 + 2.16 × metres) × Gbit/s + 2.72 × MTU`, then one MTU and one cell more: what mlx5 itself demands
/// (`mlx5/core/en/port_buffer.c`: `calculate_xoff`, `update_xoff_threshold`).
pub(super) fn needed_bytes(speed: BitsPerSecond, mtu_bytes: u32, cable_metres: u32) -> u64 {
    let megabits = speed.max(LEAST_SPEED).0 / 1_000_000;
    let mtu = u64::from(mtu_bytes);
    let flight = (301 + 216 * u64::from(cable_metres) / 100) * megabits / 1_000;
    flight + 272 * mtu / 100 + mtu + CELL
}

fn size_of(buffers: &Buffers, priority: Priority) -> Option<u64> {
    let buffer = buffers.buffer.get(priority.position())?;
    buffers.bytes.get(usize::from(*buffer)).map(|own| u64::from(*own))
}

/// The smallest buffer of the lossless priorities.
fn smallest(port: &Evidence<'_>) -> Option<(Priority, u64)> {
    let buffers = port.dcb()?.buffers?;
    let sizes = port.wanted.lossless_priorities();
    sizes.filter_map(|own| Some((own, size_of(&buffers, own)?))).min_by_key(|(_, size)| *size)
}

/// It has one at all.
pub(super) fn buffer(port: &Evidence<'_>) -> Option<Verdict> {
    const WANTED: &str = "not 0";
    let Some((priority, size)) = smallest(port) else {
        return Some(Verdict::unknown(NO_BUFFERS, WANTED));
    };
    let found = format!("priority {priority}: {}", bytes(size));
    Some(Verdict::unless(size > 0, Status::Critical, found, WANTED))
}

/// It is large enough for the speed, the MTU and the cable.
pub(super) fn headroom(port: &Evidence<'_>) -> Option<Verdict> {
    let metres = port.wanted.cable_metres;
    let for_cable = count(metres.into(), "metre", "metres");
    let (speed, mtu) = (port.facts.link.speed, port.facts.settings.mtu_bytes);
    let (Some(speed), Some(mtu)) = (speed, mtu) else {
        let wanted = format!("enough for {for_cable}");
        return Some(Verdict::unknown("speed or MTU is not known", wanted));
    };
    let needed = needed_bytes(speed, mtu, metres);
    let wanted = format!("{} for {for_cable}", bytes(needed));
    let Some((priority, size)) = smallest(port) else {
        return Some(Verdict::unknown(NO_BUFFERS, wanted));
    };
    if port.facts.driver != FORMULA_OF {
        let reason = format!("{}; the formula is mlx5's, not this driver's", bytes(size));
        return Some(Verdict::unknown(reason, wanted));
    }
    let assumed = port.dcb().and_then(|dcb| dcb.pfc).map_or(0, |pfc| u32::from(pfc.delay));
    let found = format!("priority {priority}: {}", bytes(size));
    if assumed > 0 && assumed < metres {
        let assumed = count(assumed.into(), "metre", "metres");
        let found = format!("{found}; the driver reckons with {assumed} of cable");
        return Some(Verdict::warning(found, wanted));
    }
    Some(Verdict::unless(size >= needed, Status::Warning, found, wanted))
}
