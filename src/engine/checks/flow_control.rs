//! PFC and 802.3x: which priorities are lossless, and whether anything else pauses.

use super::evidence::{Evidence, NO_DCB, count, list};
use super::policy::{Allowed, in_mask};
use super::verdict::{Status, Verdict};
use crate::model::{Direction, Index, Priority, Quantity};

/// Drivers whose hardware has PFC for one traffic class of a port (Intel's E810 guide).
const ONE_PFC_CLASS: [&str; 1] = ["ice"];

/// The operational mask has all wanted priorities.
pub(super) fn pfc_mask(port: &Evidence<'_>) -> Option<Verdict> {
    let wanted = list(port.wanted.lossless_priorities());
    let Some(mask) = port.facts.link.lossless else {
        return Some(Verdict::unknown(NO_DCB, wanted));
    };
    let good = mask & port.wanted.lossless == port.wanted.lossless;
    Some(Verdict::unless(good, Status::Critical, list(in_mask(mask)), wanted))
}

/// No further priority is lossless.
pub(super) fn lossless_priorities(port: &Evidence<'_>) -> Option<Verdict> {
    let wanted = format!("{} only", list(port.wanted.lossless_priorities()));
    let Some(mask) = port.facts.link.lossless else {
        return Some(Verdict::unknown(NO_DCB, wanted));
    };
    let further = mask & !port.wanted.lossless;
    let found = if further == 0 {
        "no further".to_owned()
    } else {
        format!("further: {}", list(in_mask(further)))
    };
    Some(Verdict::unless(further == 0, Status::Warning, found, wanted))
}

/// The port can have PFC on as many classes as it is asked for.
pub(super) fn pfc_capability(port: &Evidence<'_>) -> Option<Verdict> {
    let enabled = port.facts.link.lossless.unwrap_or_default();
    let asked = port.wanted.lossless.count_ones().max(enabled.count_ones());
    let wanted = count(asked.into(), "class", "classes");
    let Some(pfc) = port.dcb().and_then(|dcb| dcb.pfc) else {
        return Some(Verdict::unknown(NO_DCB, wanted));
    };
    if ONE_PFC_CLASS.contains(&port.facts.driver.as_str()) {
        let found = "1 class: all that this hardware has";
        return Some(Verdict::unless(asked <= 1, Status::Critical, found, wanted));
    }
    if pfc.capability == 0 {
        return Some(Verdict::unknown("the driver gives no number", wanted));
    }
    let found = count(pfc.capability.into(), "class", "classes");
    Some(Verdict::unless(u32::from(pfc.capability) >= asked, Status::Critical, found, wanted))
}

/// 802.3x is off, above all where PFC is on: the two exclude each other.
pub(super) fn link_pause(port: &Evidence<'_>) -> Option<Verdict> {
    let wanted = port.wanted.link_pause.to_string();
    let Some(pause) = port.facts.settings.link_pause else {
        let reason = "pause parameters cannot be read";
        return Some(Verdict::unknown(reason, wanted));
    };
    let on = |on: bool| if on { "on" } else { "off" };
    let pfc = port.facts.link.lossless;
    let found = format!("tx {}, rx {}", on(pause.tx), on(pause.rx));
    if !pause.tx && !pause.rx || port.wanted.link_pause == Allowed::Any {
        return Some(Verdict::ok(found, wanted));
    }
    Some(match pfc {
        Some(mask) if mask != 0 => Verdict::critical(format!("{found}, beside PFC"), wanted),
        _ => Verdict::warning(found, wanted),
    })
}

/// No pause on a priority without PFC. How much moves there says how much it matters.
pub(super) fn pause_outside_mask(port: &Evidence<'_>) -> Option<Verdict> {
    const WANTED: &str = "none";
    let Some(mask) = port.facts.link.lossless else {
        return Some(Verdict::unknown(NO_DCB, WANTED));
    };
    let frames =
        |own: Priority| port.grown_both_ways(Quantity::PfcPauseFrames, Index::Priority(own));
    let class_of = |own: Priority| {
        port.facts.link.traffic_class.and_then(|classes| classes.get(own.position()).copied())
    };
    // Mates of a lossless class can count with it (ice).
    let mate = |own: Priority| {
        class_of(own).is_some() && in_mask(mask).any(|lossless| class_of(lossless) == class_of(own))
    };
    let outside = || in_mask(!mask).filter(|own| !mate(*own));
    if Priority::ALL.into_iter().all(|own| frames(own).is_none()) {
        let reason = "no pause frames per priority to compare";
        return Some(Verdict::unknown(reason, WANTED));
    }
    let paused = outside().filter_map(|own| Some((own, frames(own).filter(|frames| *frames > 0)?)));
    let words: Vec<String> = paused
        .map(|(own, frames)| {
            let moved = port.priority_bytes(own).map(super::evidence::bytes);
            let moved = moved.map(|bytes| format!(", {bytes} moved")).unwrap_or_default();
            format!("priority {own}: {}{moved}", count(frames, "frame", "frames"))
        })
        .collect();
    Some(if words.is_empty() {
        Verdict::ok(format!("none {}", port.growth.words()), WANTED)
    } else {
        Verdict::warning(format!("{} {}", words.join("; "), port.growth.words()), WANTED)
    })
}

/// No 802.3x frames where 802.3x is off.
pub(super) fn pause_without_flow_control(port: &Evidence<'_>) -> Option<Verdict> {
    const WANTED: &str = "none";
    let Some(pause) = port.facts.settings.link_pause else {
        return Some(Verdict::unknown("whether 802.3x is on cannot be read", WANTED));
    };
    let frames = |way| port.grown(Quantity::LinkPauseFrames, Some(way), Index::None);
    let ways = [(Direction::Tx, pause.tx), (Direction::Rx, pause.rx)];
    if ways.iter().all(|(way, _)| frames(*way).is_none()) {
        let reason = "no 802.3x frames to compare";
        return Some(Verdict::unknown(reason, WANTED));
    }
    let words: Vec<String> = ways
        .into_iter()
        .filter(|(_, on)| !on)
        .filter_map(|(way, _)| Some((way, frames(way).filter(|frames| *frames > 0)?)))
        .map(|(way, frames)| format!("{} {}", way.as_str(), count(frames, "frame", "frames")))
        .collect();
    Some(if words.is_empty() {
        Verdict::ok(format!("none {}", port.growth.words()), WANTED)
    } else {
        Verdict::warning(format!("{} {}", words.join(", "), port.growth.words()), WANTED)
    })
}
