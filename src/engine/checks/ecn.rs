//! Whether both ends of the ECN loop are on: the notification point, which answers marks, and the reaction point,
//! which slows down.
//!
//! Only some builds of drivers show it. Elsewhere traffic tells: an answered mark shows the one, a handled CNP the
//! other. That is marked as inferred, and without traffic it is unknown. Fabrics without ECN on purpose say so in
//! their policy.

use super::evidence::{Evidence, count, is_roce, list};
use super::policy::{Expected, in_mask};
use super::verdict::{Status, Verdict};
use crate::model::{Index, Quantity};

const NOT_EXPECTED: &str = "not expected";

/// The notification point is on. On mlx5 it is one switch for the port, though shown per priority.
pub(super) fn ecn_notification_point(port: &Evidence<'_>) -> Option<Verdict> {
    const WANTED: &str = "on";
    if !is_roce(port.facts) {
        return None;
    }
    let mask = port.facts.details.ecn.notification_point;
    let found = mask.map(|mask| if mask == 0 { "off" } else { "on" });
    if port.wanted.ecn == Expected::Any {
        return Some(Verdict::ok(found.unwrap_or("not looked at"), NOT_EXPECTED));
    }
    if let Some(found) = found {
        return Some(Verdict::unless(found == "on", Status::Warning, found, WANTED));
    }
    let marked = port.grown(Quantity::RdmaEcnMarkedPackets, None, Index::None);
    let sent = port.grown(Quantity::RdmaCnpSent, None, Index::None);
    let words = port.growth.words();
    Some(match (marked, sent) {
        (_, Some(sent)) if sent > 0 => {
            let found = format!("on: {} sent {words}", count(sent, "CNP", "CNPs"));
            Verdict::ok(found, WANTED).inferred()
        }
        (Some(marked), Some(_)) if marked > 0 => {
            let marks = count(marked, "mark", "marks");
            Verdict::warning(format!("off: {marks} and no CNP {words}"), WANTED).inferred()
        }
        _ => Verdict::unknown(format!("not shown here, and no marks were seen {words}"), WANTED),
    })
}

/// The reaction point is on for the lossless priorities.
pub(super) fn ecn_reaction_point(port: &Evidence<'_>) -> Option<Verdict> {
    if !is_roce(port.facts) {
        return None;
    }
    let lossless = port.wanted.lossless;
    let wanted = format!("on for {}", list(in_mask(lossless)));
    let mask = port.facts.details.ecn.reaction_point;
    let found = mask.map(|mask| format!("on for {}", list(in_mask(mask))));
    if port.wanted.ecn == Expected::Any {
        let found = found.unwrap_or_else(|| "not looked at".to_owned());
        return Some(Verdict::ok(found, NOT_EXPECTED));
    }
    if let Some((mask, found)) = mask.zip(found) {
        return Some(Verdict::unless(mask & lossless == lossless, Status::Warning, found, wanted));
    }
    let handled = port.grown(Quantity::RdmaCnpHandled, None, Index::None);
    let ignored = port.grown(Quantity::RdmaCnpIgnored, None, Index::None);
    let words = port.growth.words();
    Some(match (handled, ignored) {
        (Some(handled), _) if handled > 0 => {
            let found = format!("on: {} handled {words}", count(handled, "CNP", "CNPs"));
            Verdict::ok(found, wanted).inferred()
        }
        (Some(_), Some(ignored)) if ignored > 0 => {
            let found = format!("off: {} ignored {words}", count(ignored, "CNP", "CNPs"));
            Verdict::warning(found, wanted).inferred()
        }
        _ => Verdict::unknown(format!("not shown here, and no CNPs came {words}"), wanted),
    })
}
