//! The link, the slot and the firmware: what has to be alike on all rails and as good as the hardware can.

use super::evidence::{Evidence, count, is_roce};
use super::policy::Expected;
use super::verdict::{Status, Verdict};
use crate::model::{BitsPerSecond, Index, Quantity};

/// The port has carrier.
pub(super) fn link(port: &Evidence<'_>) -> Option<Verdict> {
    const WANTED: &str = "up";
    Some(match port.facts.link.up {
        None => Verdict::unknown("the kernel does not say", WANTED),
        Some(true) => Verdict::ok("up", WANTED),
        Some(false) => Verdict::warning("down", WANTED),
    })
}

/// All rails have the same speed.
pub(super) fn speed_rails(port: &Evidence<'_>) -> Option<Verdict> {
    let (own, rival) = port.among_rails(|facts| facts.link.speed)?;
    let words = |speed: BitsPerSecond| format!("{} Gbit/s", speed.0 / 1_000_000_000);
    let wanted = rival.map_or_else(|| "as the other rails".to_owned(), words);
    Some(Verdict::unless(rival.is_none(), Status::Warning, words(own), wanted))
}

/// Rails of one speed have the same error correction.
pub(super) fn fec(port: &Evidence<'_>) -> Option<Verdict> {
    const WANTED: &str = "as the other rails of this speed";
    let Some(own) = &port.facts.details.fec else {
        return Some(Verdict::unknown("the driver does not say", WANTED));
    };
    let speed = port.facts.link.speed;
    let compared =
        port.among_rails(|facts| facts.details.fec.clone().filter(|_| facts.link.speed == speed));
    Some(match compared {
        None | Some((_, None)) => Verdict::ok(own, WANTED),
        Some((_, Some(rival))) => Verdict::warning(own, rival),
    })
}

/// No symbol arrives damaged.
pub(super) fn symbol_errors(port: &Evidence<'_>) -> Option<Verdict> {
    const WANTED: &str = "none";
    let Some(errors) = port.grown(Quantity::RdmaSymbolError, None, Index::None) else {
        let reason = "no symbol errors to compare";
        return Some(Verdict::unknown(reason, WANTED));
    };
    let found = format!("{} {}", count(errors, "error", "errors"), port.growth.words());
    Some(Verdict::unless(errors == 0, Status::Warning, found, WANTED))
}

/// The slot gives the NIC all lanes and all speed that it has.
pub(super) fn pcie(port: &Evidence<'_>) -> Option<Verdict> {
    let link = port.facts.details.pcie;
    let (Some(lanes), Some(most_lanes)) = (link.lanes, link.most_lanes) else {
        return Some(Verdict::unknown("the slot does not say", "all that the NIC has"));
    };
    let (Some(speed), Some(most_speed)) = (link.megatransfers, link.most_megatransfers) else {
        return Some(Verdict::unknown("the slot does not say", "all that the NIC has"));
    };
    let words = |lanes: u32, speed: u32| {
        format!("x{lanes} at {}.{} GT/s", speed / 1_000, speed % 1_000 / 100)
    };
    let good = lanes >= most_lanes && speed >= most_speed;
    let wanted = words(most_lanes, most_speed);
    Some(Verdict::unless(good, Status::Warning, words(lanes, speed), wanted))
}

/// Rails with the same driver have the same firmware.
pub(super) fn firmware_rails(port: &Evidence<'_>) -> Option<Verdict> {
    let driver = &port.facts.driver;
    let (own, rival) = port.among_rails(|facts| {
        let known = facts.driver == *driver && !facts.firmware.is_empty();
        known.then(|| facts.firmware.clone())
    })?;
    let good = rival.is_none();
    let wanted = rival.unwrap_or_else(|| "as the other rails of this driver".to_owned());
    Some(Verdict::unless(good, Status::Warning, own, wanted))
}

/// The NIC ends a pause without end by itself.
pub(super) fn stall_prevention(port: &Evidence<'_>) -> Option<Verdict> {
    if !is_roce(port.facts) {
        return None;
    }
    let any = port.wanted.stall_prevention == Expected::Any;
    let wanted = if any { "any" } else { "on" };
    let Some(limit) = port.facts.settings.stall_prevention else {
        let reason = "no such limit, or it is not told";
        return Some(Verdict::unknown(reason, wanted));
    };
    let found = if limit.is_zero() { "off".to_owned() } else { format!("after {limit:?}") };
    Some(Verdict::unless(any || !limit.is_zero(), Status::Warning, found, wanted))
}
