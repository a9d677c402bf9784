//! What an operator wants of lossless ports, checked. The one place of all defaults of a policy.

use std::fmt;

use regex::Regex;

use crate::model::{Priority, Trust};

/// What is wanted, by device.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Looked through in order; the first whose pattern matches counts.
    pub profiles: Vec<Profile>,
    /// What is wanted of all other devices.
    pub wanted: Wanted,
    /// Whether the priority of each DSCP is shown, not only of those that are named here.
    pub all_dscps: bool,
}

/// How many DSCPs there are.
const DSCPS: u8 = 64;

/// What is wanted of some devices.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name in reports.
    pub name: String,
    /// Matches whole names of netdevs.
    pub device: Regex,
    /// What is wanted.
    pub wanted: Wanted,
}

/// What is wanted of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Lossless priorities, as a mask; at least one.
    pub lossless: u8,
    /// What decides a packet's priority.
    pub trust: Trust,
    /// DSCP of RoCE.
    pub roce_dscp: u8,
    /// DSCP of CNPs.
    pub cnp_dscp: u8,
    /// Priority of CNPs.
    pub cnp_priority: Priority,
    /// Whether 802.3x pause may be on.
    pub link_pause: Allowed,
    /// Whether both ECN roles must be on.
    pub ecn: Expected,
    /// Least MTU of the netdev, in bytes.
    pub mtu_least_bytes: u32,
    /// Recommended MTU of the netdev, in bytes.
    pub mtu_recommended_bytes: u32,
    /// Whether the NIC's own stall detector must be on.
    pub stall_prevention: Expected,
    /// Whether RoCE v2 must be there.
    pub roce_v2: Expected,
    /// Who is to rule DCBX.
    pub dcbx: DcbxOwner,
    /// Length of the cable, in metres.
    pub cable_metres: u32,
}

impl Wanted {
    /// The usual set-up of RoCE; `docs/policy.md` has the source of each value.
    pub const DEFAULT: Self = Self {
        lossless: 1 << 3,
        trust: Trust::Dscp,
        roce_dscp: 26,
        cnp_dscp: 48,
        cnp_priority: Priority::ALL[6],
        link_pause: Allowed::Off,
        ecn: Expected::Expected,
        mtu_least_bytes: 4_200,
        mtu_recommended_bytes: 9_000,
        stall_prevention: Expected::Expected,
        roce_v2: Expected::Expected,
        dcbx: DcbxOwner::Any,
        cable_metres: 7,
    };

    /// The lossless priorities, ascending.
    pub fn lossless_priorities(&self) -> impl Iterator<Item = Priority> + use<> {
        in_mask(self.lossless)
    }
}

impl Default for Wanted {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The priorities of a mask, ascending.
pub(super) fn in_mask(mask: u8) -> impl Iterator<Item = Priority> {
    Priority::ALL.into_iter().filter(move |own| mask >> own.number() & 1 == 1)
}

macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $each:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[doc = $each])+ $variant,)+ }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(match self { $(Self::$variant => $word,)+ })
            }
        }
    };
}

words! {
    /// Whether something may be on.
    Allowed {
        /// It must be off.
        Off = "off",
        /// Either is well.
        Any = "any",
    }
}

words! {
    /// Whether something must be there.
    Expected {
        /// It must.
        Expected = "expected",
        /// Either is well.
        Any = "any",
    }
}

words! {
    /// Who is to rule DCBX.
    DcbxOwner {
        /// The host: an agent or an administrator sets the port up.
        Host = "host",
        /// The device: its firmware talks to the switch.
        Device = "device",
        /// Either is well.
        Any = "any",
    }
}

impl Policy {
    /// What is wanted of a device and the name of the profile; none for the policy's own values.
    #[must_use]
    pub fn of(&self, device: &str) -> (&Wanted, Option<&str>) {
        let profile = self.profiles.iter().find(|profile| profile.device.is_match(device));
        profile.map_or((&self.wanted, None), |own| (&own.wanted, Some(&own.name)))
    }

    /// The DSCPs whose priority is shown, ascending: all that the policy names, or all.
    #[must_use]
    pub fn dscps(&self) -> Vec<u8> {
        if self.all_dscps {
            return (0..DSCPS).collect();
        }
        let all = self.profiles.iter().map(|profile| &profile.wanted).chain([&self.wanted]);
        let mut dscps: Vec<u8> = all.flat_map(|own| [own.roce_dscp, own.cnp_dscp]).collect();
        dscps.sort_unstable();
        dscps.dedup();
        dscps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_profile_that_matches_counts() {
        let profile = |name: &str, pattern: &str, roce_dscp| Profile {
            name: name.to_owned(),
            device: Regex::new(pattern).unwrap(),
            wanted: Wanted { roce_dscp, ..Wanted::DEFAULT },
        };
        let policy = Policy {
            profiles: vec![profile("a", "^eth1$", 10), profile("b", "^eth.$", 20)],
            ..Policy::default()
        };
        let of = |device| (policy.of(device).0.roce_dscp, policy.of(device).1);
        assert_eq!(of("eth1"), (10, Some("a")));
        assert_eq!(of("eth2"), (20, Some("b")));
        assert_eq!(of("ens1"), (26, None));
        assert_eq!(policy.dscps(), [10, 20, 26, 48]);
        let all = Policy { all_dscps: true, ..policy }.dscps();
        assert_eq!((all.len(), all.first(), all.last()), (64, Some(&0), Some(&63)));
    }
}
