//! How a packet finds its priority, its class and its owner: trust, DSCP map, traffic classes, DCBX.

use super::evidence::{Evidence, NO_DCB, list};
use super::policy::{DcbxOwner, in_mask};
use super::verdict::{Status, Verdict};
use crate::model::{DCBX_DEVICE, DCBX_HOST, Priority, Trust};

/// Scheduling by bandwidth shares (`IEEE_8021QAZ_TSA_ETS`).
const SCHEDULED_BY_SHARE: u8 = 2;

const fn word(trust: Trust) -> &'static str {
    match trust {
        Trust::Dscp => "dscp",
        Trust::Pcp => "pcp",
    }
}

/// What the port trusts.
pub(super) fn trust(port: &Evidence<'_>) -> Option<Verdict> {
    let wanted = word(port.wanted.trust);
    let Some(trust) = port.facts.settings.trust else {
        return Some(Verdict::unknown("this driver does not say what it trusts", wanted));
    };
    Some(Verdict::unless(trust == port.wanted.trust, Status::Critical, word(trust), wanted))
}

/// Where a DSCP goes; an error is the reason why that is not known.
fn priority_of(port: &Evidence<'_>, dscp: u8) -> Result<Option<Priority>, &'static str> {
    let map = port.dcb().ok_or(NO_DCB)?.dscp.as_ref().ok_or("the driver shows no DSCP map")?;
    if map.is_empty() {
        return Err("the DSCP map is empty: the driver's own default counts");
    }
    Ok(map.iter().find(|(code, _)| *code == dscp).map(|(_, priority)| *priority))
}

/// RoCE's DSCP goes to a lossless priority. A port that trusts PCP does not look at the map.
pub(super) fn dscp_map(port: &Evidence<'_>) -> Option<Verdict> {
    if port.facts.settings.trust == Some(Trust::Pcp) {
        return None;
    }
    let dscp = port.wanted.roce_dscp;
    let wanted = format!("DSCP {dscp} on {}", list(port.wanted.lossless_priorities()));
    Some(match priority_of(port, dscp) {
        Err(reason) => Verdict::unknown(reason, wanted),
        Ok(None) => {
            let found = format!("no entry for DSCP {dscp}: the driver's own default counts");
            Verdict::warning(found, wanted)
        }
        Ok(Some(own)) => {
            let good = port.wanted.lossless >> own.number() & 1 == 1;
            Verdict::unless(good, Status::Critical, format!("DSCP {dscp} on {own}"), wanted)
        }
    })
}

/// CNPs travel on a priority of their own, so that pause on the data does not hold them.
pub(super) fn cnp_priority(port: &Evidence<'_>) -> Option<Verdict> {
    let (dscp, priority) = (port.wanted.cnp_dscp, port.wanted.cnp_priority);
    let wanted = format!("DSCP {dscp} on {priority}");
    if let Some(sent) = port.facts.details.ecn.cnp_dscp.filter(|sent| *sent != dscp) {
        return Some(Verdict::warning(format!("CNPs are sent with DSCP {sent}"), wanted));
    }
    if port.facts.settings.trust == Some(Trust::Pcp) {
        return None;
    }
    Some(match priority_of(port, dscp) {
        Err(reason) => Verdict::unknown(reason, wanted),
        Ok(None) => {
            let found = format!("no entry for DSCP {dscp}: the driver's own default counts");
            Verdict::warning(found, wanted)
        }
        Ok(Some(own)) => {
            let lossless = port.facts.link.lossless.unwrap_or(port.wanted.lossless);
            let with_data = lossless >> own.number() & 1 == 1;
            let note = if with_data { ", with the lossless data" } else { "" };
            let found = format!("DSCP {dscp} on {own}{note}");
            Verdict::unless(own == priority && !with_data, Status::Warning, found, wanted)
        }
    })
}

/// A lossless priority shares its class with nothing that moves, and its class may send.
pub(super) fn traffic_class(port: &Evidence<'_>) -> Option<Verdict> {
    const WANTED: &str = "a class of its own, with bandwidth";
    let Some(ets) = port.dcb().and_then(|dcb| dcb.ets) else {
        return Some(Verdict::unknown(NO_DCB, WANTED));
    };
    let class_of = |own: Priority| ets.traffic_class.get(own.position()).copied();
    let (mut found, mut faults, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
    for lossless in port.wanted.lossless_priorities() {
        let Some(class) = class_of(lossless) else { continue };
        let place = usize::from(class);
        let starved = ets.algorithm.get(place) == Some(&SCHEDULED_BY_SHARE)
            && ets.bandwidth.get(place) == Some(&0);
        if starved {
            faults.push(format!("class {class} of priority {lossless} has 0 % of the bandwidth"));
        }
        let mates = in_mask(!port.wanted.lossless).filter(|own| class_of(*own) == Some(class));
        let mates: Vec<(Priority, Option<u64>)> =
            mates.map(|own| (own, port.priority_bytes(own))).collect();
        let names = |in_use: fn(Option<u64>) -> bool| {
            let chosen = mates.iter().filter(|(_, bytes)| in_use(*bytes)).map(|(own, _)| *own);
            chosen.collect::<Vec<_>>()
        };
        let moving = names(|bytes| bytes.is_some_and(|bytes| bytes > 0));
        let uncounted = names(|bytes| bytes.is_none());
        let shared = format!("priority {lossless} in class {class}");
        if !moving.is_empty() {
            faults.push(format!("{shared}, where {} moves too", list(moving)));
        } else if !uncounted.is_empty() {
            doubts.push(format!("{shared} with {}, maybe in use", list(uncounted)));
        } else if mates.is_empty() {
            found.push(shared);
        } else {
            found.push(format!("{shared} with {}, idle", list(names(|_| true))));
        }
    }
    Some(if !faults.is_empty() {
        Verdict::warning(faults.join("; "), WANTED)
    } else if !doubts.is_empty() {
        Verdict::unknown(doubts.join("; "), WANTED)
    } else {
        Verdict::ok(found.join("; "), WANTED)
    })
}

/// One party rules DCBX, and where the host does, the peer does not overrule it.
pub(super) fn dcbx(port: &Evidence<'_>) -> Option<Verdict> {
    let wanted = match port.wanted.dcbx {
        DcbxOwner::Any => "one owner".to_owned(),
        owner => format!("the {owner}"),
    };
    let Some(mode) = port.dcb().and_then(|dcb| dcb.dcbx) else {
        return Some(Verdict::unknown("the driver does not say who rules DCBX", wanted));
    };
    let (host, device) = (mode & DCBX_HOST != 0, mode & DCBX_DEVICE != 0);
    let willing = port.dcb().and_then(|dcb| dcb.ets).is_some_and(|ets| ets.willing);
    let words = match (host, device) {
        (true, true) => "host and device",
        (true, false) => "the host",
        (false, true) => "the device",
        (false, false) => "nobody",
    };
    let found = if willing { format!("{words}, willing") } else { words.to_owned() };
    let good = match port.wanted.dcbx {
        DcbxOwner::Host => host && !device && !willing,
        DcbxOwner::Device => device && !host,
        DcbxOwner::Any => !host || !(device || willing),
    };
    Some(Verdict::unless(good, Status::Warning, found, wanted))
}
