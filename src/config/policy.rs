//! The policy file: YAML to a checked [`Policy`], all faults listed at once.
//!
//! Keys at the top are wanted of all devices; each profile changes some of them for the devices that its pattern
//! matches. What is left out keeps its default, which stands in the engine's [`Wanted::DEFAULT`] and nowhere else.

use std::ops::RangeInclusive;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::check::Checker;
use super::errors::Problem;
use super::file::{self, Text, Texts, UnknownKey, mapping};
use super::value;
use crate::engine::checks::{Allowed, DcbxOwner, Expected, Policy, Profile, Wanted};
use crate::model::{Priority, Trust};

/// DSCPs are of six bits.
const DSCP: RangeInclusive<u8> = 0..=63;
const PRIORITY: RangeInclusive<u8> = 0..=7;
/// What IPv4 needs at least, and what a netdev can have at most.
const MTU: RangeInclusive<u32> = 68..=65_535;
/// The longest cable of a data centre's link that PFC is used on, generously.
const CABLE_METRES: RangeInclusive<u32> = 1..=100_000;

mapping! {
    /// The keys of a policy, and of each of its profiles.
    PolicyKeys {
        name: Option<Text>,
        device: Option<Text>,
        lossless_priorities: Option<Texts>,
        trust: Option<Text>,
        roce_dscp: Option<Text>,
        cnp_dscp: Option<Text>,
        cnp_priority: Option<Text>,
        link_pause: Option<Text>,
        ecn: Option<Text>,
        mtu_least: Option<Text>,
        mtu_recommended: Option<Text>,
        stall_prevention: Option<Text>,
        roce_v2: Option<Text>,
        dcbx: Option<Text>,
        cable_metres: Option<Text>,
        profiles: Vec<PolicyKeys>,
    }
}

impl PolicyKeys {
    fn unknown_keys(&self) -> Vec<UnknownKey> {
        let mut found = self.unknown_below("");
        found.extend(self.profiles.iter().flat_map(|own| own.unknown_below("profiles.")));
        found.sort_by_key(|unknown| unknown.line);
        found
    }
}

/// Reads and checks the file. What is not good has its default in what is returned, and a fault beside it.
pub(super) fn load(path: &Path) -> (Policy, Vec<Problem>) {
    let (keys, problems) = file::read_as::<PolicyKeys>(path, PolicyKeys::unknown_keys);
    let mut checker = Checker::new(Some(path), problems);
    for (name, key) in [("name", &keys.name), ("device", &keys.device)] {
        refuse(&mut checker, name, key.as_ref(), "belongs to a profile");
    }
    let wanted = wanted(&mut checker, &keys, Wanted::DEFAULT);
    let profiles = keys.profiles.iter().filter_map(|own| profile(&mut checker, own, wanted));
    let policy = Policy { profiles: profiles.collect(), wanted, ..Policy::default() };
    (policy, checker.into_problems())
}

fn refuse(checker: &mut Checker<'_>, name: &'static str, key: Option<&Text>, message: &str) {
    if let Some(text) = key {
        let place = checker.place(name, None, Some(text));
        checker.refuse(place, text.value.clone(), message.to_owned());
    }
}

fn profile(checker: &mut Checker<'_>, keys: &PolicyKeys, of_all: Wanted) -> Option<Profile> {
    if !keys.profiles.is_empty() {
        checker.complain("profiles", "a profile has no profiles of its own");
    }
    let wanted = wanted(checker, keys, of_all);
    let device = checker.required("device", keys.device.as_ref(), value::pattern);
    let name = checker.required("name", keys.name.as_ref(), |text| {
        let good = !text.is_empty() && !text.chars().any(char::is_control);
        if good { Ok(text.to_owned()) } else { Err("must be a word".to_owned()) }
    });
    Some(Profile { name: name?, device: device?, wanted })
}

/// What these keys change of `before`.
fn wanted(checker: &mut Checker<'_>, keys: &PolicyKeys, before: Wanted) -> Wanted {
    let priorities =
        checker.list("lossless_priorities", &[], keys.lossless_priorities.as_ref(), |text| {
            value::number(text, &PRIORITY)
        });
    let is_empty = |own: &Texts| own.with_lines().is_empty();
    if keys.lossless_priorities.as_ref().is_some_and(is_empty) {
        checker.complain("lossless_priorities", "must name at least one priority");
    }
    let mask = priorities.iter().fold(0, |mask, own| mask | 1 << own);
    let trust = checker.optional("trust", None, keys.trust.as_ref(), trust);
    let dscp = |text: &str| value::number(text, &DSCP);
    let mtu = |text: &str| value::number(text, &MTU);
    let roce_dscp = checker.optional("roce_dscp", None, keys.roce_dscp.as_ref(), dscp);
    let cnp_dscp = checker.optional("cnp_dscp", None, keys.cnp_dscp.as_ref(), dscp);
    let cnp_priority = checker.optional("cnp_priority", None, keys.cnp_priority.as_ref(), |text| {
        let number = value::number(text, &PRIORITY)?;
        Priority::new(number).map_err(|error| error.to_string())
    });
    let link_pause = checker.optional("link_pause", None, keys.link_pause.as_ref(), |text| {
        value::one_of(text, Allowed::ALL)
    });
    let expected = |text: &str| value::one_of(text, Expected::ALL);
    let ecn = checker.optional("ecn", None, keys.ecn.as_ref(), expected);
    let mtu_least = checker.optional("mtu_least", None, keys.mtu_least.as_ref(), mtu);
    let recommended = keys.mtu_recommended.as_ref();
    let mtu_recommended = checker.optional("mtu_recommended", None, recommended, mtu);
    let stall = keys.stall_prevention.as_ref();
    let stall_prevention = checker.optional("stall_prevention", None, stall, expected);
    let roce_v2 = checker.optional("roce_v2", None, keys.roce_v2.as_ref(), expected);
    let dcbx = checker
        .optional("dcbx", None, keys.dcbx.as_ref(), |text| value::one_of(text, DcbxOwner::ALL));
    let cable_metres = checker.optional("cable_metres", None, keys.cable_metres.as_ref(), |text| {
        value::number(text, &CABLE_METRES)
    });
    let wanted = Wanted {
        lossless: if mask == 0 { before.lossless } else { mask },
        trust: trust.unwrap_or(before.trust),
        roce_dscp: roce_dscp.unwrap_or(before.roce_dscp),
        cnp_dscp: cnp_dscp.unwrap_or(before.cnp_dscp),
        cnp_priority: cnp_priority.unwrap_or(before.cnp_priority),
        link_pause: link_pause.unwrap_or(before.link_pause),
        ecn: ecn.unwrap_or(before.ecn),
        mtu_least_bytes: mtu_least.unwrap_or(before.mtu_least_bytes),
        mtu_recommended_bytes: mtu_recommended.unwrap_or(before.mtu_recommended_bytes),
        stall_prevention: stall_prevention.unwrap_or(before.stall_prevention),
        roce_v2: roce_v2.unwrap_or(before.roce_v2),
        dcbx: dcbx.unwrap_or(before.dcbx),
        cable_metres: cable_metres.unwrap_or(before.cable_metres),
    };
    fits(checker, keys, &wanted);
    wanted
}

/// Values that are good by themselves and do not go together.
fn fits(checker: &mut Checker<'_>, keys: &PolicyKeys, wanted: &Wanted) {
    let lossless = wanted.lossless >> wanted.cnp_priority.number() & 1 == 1;
    let written = keys.cnp_priority.is_some() || keys.lossless_priorities.is_some();
    if lossless && written {
        let own = wanted.cnp_priority;
        let message = format!("is {own}, a lossless priority: CNPs would be held with the data");
        checker.complain("cnp_priority", &message);
    }
    let below = wanted.mtu_recommended_bytes < wanted.mtu_least_bytes;
    let written = [("mtu_recommended", &keys.mtu_recommended), ("mtu_least", &keys.mtu_least)];
    let written = written.into_iter().find_map(|(name, key)| Some((name, key.as_ref()?)));
    if let Some((name, text)) = written.filter(|_| below) {
        let place = checker.place(name, None, Some(text));
        let (least, best) = (wanted.mtu_least_bytes, wanted.mtu_recommended_bytes);
        let message = format!("mtu_least, {least}, must not be above mtu_recommended, {best}");
        checker.refuse(place, text.value.clone(), message);
    }
}

fn trust(text: &str) -> Result<Trust, String> {
    match text {
        "dscp" => Ok(Trust::Dscp),
        "pcp" => Ok(Trust::Pcp),
        _ => Err("must be one of dscp, pcp".to_owned()),
    }
}
