//! What each driver shows of the truth: names in the kernel's order, units, widths and refresh periods.
//!
//! Tables only. A driver is a list of groups of rows, as the kernel's own tables are; a group can repeat
//! per priority or per channel. Rows of other kinds of counters are there too, since a real set of names
//! is mostly made of them.

mod bnxt;
mod i40e;
mod ice;
mod ionic;
mod mlx5;
mod mlxsw;
mod shown;

use std::time::Duration;

pub(super) use shown::{Shown, show};

use crate::model::{Direction, Priority};

pub(super) use bnxt::BNXT;
pub(super) use i40e::I40E;
pub(super) use ice::ICE;
pub(super) use ionic::IONIC;
pub(super) use mlx5::MLX5;
pub(super) use mlxsw::MLXSW;

/// Shorthand of the tables.
const TX: Direction = Direction::Tx;
/// Shorthand of the tables.
const RX: Direction = Direction::Rx;

/// Channels (queue pairs of the kernel's own traffic) of every simulated NIC.
pub(super) const CHANNELS: u64 = 4;

/// A driver's tables.
pub(super) struct Driver {
    /// As `ETHTOOL_GDRVINFO` gives it.
    pub(super) name: &'static str,
    /// The RDMA driver, where there is one.
    pub(super) rdma_name: Option<&'static str>,
    /// `ethtool -S`.
    pub(super) ethtool: &'static [Group],
    /// RDMA counters of the port.
    pub(super) rdma: &'static [Group],
    /// How often the driver or firmware refreshes its statistics; none where a read is live.
    pub(super) refresh: Option<Duration>,
    /// Traffic class per priority, where the driver counts pause per class.
    pub(super) traffic_classes: [u8; Priority::COUNT],
    /// After how long a pause the NIC's stall detector steps in.
    pub(super) stall_timeout: Option<Duration>,
}

/// Rows that repeat together.
pub(super) struct Group {
    pub(super) each: Each,
    pub(super) rows: &'static [Row],
}

/// What a group repeats over. `{}` in a name stands for the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Each {
    /// Once.
    Port,
    /// All eight priorities, or whatever the driver numbers like them.
    Priority,
    /// Priorities with PFC on.
    PfcPriority,
    /// Once, and only while 802.3x pause is on.
    LinkPause,
    /// Each channel.
    Channel,
}

/// One counter of a table.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) shown: Shown,
    pub(super) bits: u8,
}

/// A 64-bit row.
const fn row(name: &'static str, shown: Shown) -> Row {
    Row { name, shown, bits: 64 }
}

/// A 32-bit row.
const fn row32(name: &'static str, shown: Shown) -> Row {
    Row { name, shown, bits: 32 }
}

/// A row that has nothing to count in this fabric.
const fn quiet(name: &'static str) -> Row {
    row(name, Shown::Nothing)
}

/// A counter at a position of a set of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counter {
    pub(super) shown: Shown,
    /// Priority or channel, where the row repeats.
    pub(super) number: u8,
    pub(super) bits: u8,
}

/// What decides which rows there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Presence {
    /// PFC per priority.
    pub(super) pfc: [bool; Priority::COUNT],
    /// 802.3x pause.
    pub(super) link_pause: bool,
}

impl Presence {
    /// The priorities with PFC as a mask.
    pub(super) fn pfc_mask(&self) -> u8 {
        let on = |(number, on): (u8, &bool)| u8::from(*on) << number;
        (0..).zip(&self.pfc).map(on).fold(0, |mask, bit| mask | bit)
    }
}

/// The set of names of some tables, with what stands behind each.
pub(super) fn expand(groups: &[Group], presence: Presence) -> (Vec<String>, Vec<Counter>) {
    let mut names = Vec::new();
    let mut counters = Vec::new();
    for group in groups {
        for number in numbers(group.each, presence) {
            for row in group.rows {
                names.push(row.name.replace("{}", &number.to_string()));
                counters.push(Counter { shown: row.shown, number, bits: row.bits });
            }
        }
    }
    (names, counters)
}

fn numbers(each: Each, presence: Presence) -> Vec<u8> {
    let priorities = Priority::ALL.iter().map(|priority| priority.number());
    match each {
        Each::Port => vec![0],
        Each::Priority => priorities.collect(),
        Each::PfcPriority => {
            priorities.zip(presence.pfc).filter(|(_, on)| *on).map(|(number, _)| number).collect()
        }
        Each::LinkPause => {
            if presence.link_pause {
                vec![0]
            } else {
                Vec::new()
            }
        }
        Each::Channel => (0..CHANNELS).filter_map(|channel| u8::try_from(channel).ok()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const ALL: [&Driver; 6] = [&MLX5, &BNXT, &ICE, &I40E, &IONIC, &MLXSW];

    fn presence(priority: usize) -> Presence {
        let mut pfc = [false; Priority::COUNT];
        pfc[priority] = true;
        Presence { pfc, link_pause: false }
    }

    #[test]
    fn names_are_unique_and_fit_the_kernel_slot() {
        for driver in ALL {
            let both = Presence { link_pause: true, ..presence(3) };
            for groups in [driver.ethtool, driver.rdma] {
                let (names, counters) = expand(groups, both);
                assert_eq!(names.len(), counters.len());
                let set: HashSet<&String> = names.iter().collect();
                assert_eq!(set.len(), names.len(), "{} repeats a name", driver.name);
                for name in &names {
                    assert!(name.len() <= 32, "{}: {name} is too long", driver.name);
                    assert!(!name.contains('{'), "{}: {name} was not filled in", driver.name);
                }
            }
        }
    }

    #[test]
    fn every_driver_shows_dozens_of_other_names() {
        for driver in ALL {
            let (names, _) = expand(driver.ethtool, presence(3));
            assert!(names.len() > 80, "{} has {}", driver.name, names.len());
        }
    }

    #[test]
    fn mlx5_names_follow_pfc_and_keep_their_number() {
        let (before, _) = expand(MLX5.ethtool, presence(3));
        let (after, _) = expand(MLX5.ethtool, presence(4));
        assert_eq!(before.len(), after.len());
        assert!(before.contains(&"rx_prio3_pause_duration".to_owned()));
        assert!(!before.contains(&"rx_prio4_pause_duration".to_owned()));
        assert!(after.contains(&"rx_prio4_pause_duration".to_owned()));
        let link_pause = Presence { link_pause: true, ..presence(3) };
        let (more, _) = expand(MLX5.ethtool, link_pause);
        assert_eq!(more.len(), before.len() + 5);
        assert!(more.contains(&"rx_global_pause_transition".to_owned()));
    }

    #[test]
    fn rdma_tables_go_with_an_rdma_driver() {
        for driver in ALL {
            assert_eq!(driver.rdma_name.is_some(), !driver.rdma.is_empty(), "{}", driver.name);
        }
    }
}
