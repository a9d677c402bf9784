//! Which hosts and NICs there are.
//!
//! The first hosts are fixed, since the scenarios name their NICs; further ones repeat the pattern. There
//! are always at least [`FEWEST_HOSTS`], so that the NICs of a single served host have peers.

use super::drivers::{BNXT, Driver, I40E, ICE, IONIC, MLX5};
use super::port::PortSpec;
use crate::model::saturating_nanos;

/// Hosts in the smallest fabric.
pub(super) const FEWEST_HOSTS: usize = 4;

/// Hosts in the largest fabric: a switch with some 128 ports.
pub const MOST_HOSTS: usize = 64;

/// The switch's name.
pub(super) const SWITCH: &str = "switch0";

/// The switch port that the NIC at `port`, from 0, hangs on.
pub(super) fn port_name(port: usize) -> String {
    format!("swp{}", port + 1)
}

/// The name of the host of this number.
pub(super) fn host_name(host: usize) -> String {
    format!("host{host}")
}

/// Firmware versions as the drivers print them.
const FIRMWARES: [(&str, &str); 5] = [
    ("mlx5_core", "28.39.1002 (MT_0000000838)"),
    ("bnxt_en", "229.0.154.0/pkg 229.1.123.0"),
    ("ice", "4.40 0x8001c967 1.3534.0"),
    ("i40e", "9.20 0x8000d8c5 1.3353.0"),
    ("ionic", "1.70.0-E-15"),
];

/// Slots of a host in the order of its NICs.
const PCI_ADDRESSES: [&str; 3] = ["0000:17:00.0", "0000:65:00.0", "0000:b1:00.0"];

/// A NIC by host and place, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nic {
    pub(super) host: usize,
    pub(super) place: usize,
}

/// A NIC of the fabric.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) nic: Nic,
    pub(super) driver: &'static Driver,
    pub(super) bits_per_second: u64,
    /// How many NICs of the same driver come before it in its host.
    pub(super) twin: usize,
}

impl Member {
    pub(super) fn port_spec(&self) -> PortSpec {
        PortSpec {
            bits_per_second: self.bits_per_second,
            roce: self.driver.rdma_name.is_some(),
            stall_timeout_ns: self.driver.stall_timeout.map(saturating_nanos),
        }
    }

    pub(super) fn host_name(&self) -> String {
        host_name(self.nic.host)
    }

    pub(super) fn device_name(&self) -> String {
        format!("eth{}", self.nic.place)
    }

    pub(super) fn rdma_device_name(&self) -> Option<String> {
        let stem = match self.driver.rdma_name? {
            "mlx5_ib" => "mlx5_",
            "bnxt_re" => "bnxt_re",
            "ionic_rdma" => "ionic_",
            other => other,
        };
        Some(format!("{stem}{}", self.twin))
    }

    pub(super) fn firmware(&self) -> &'static str {
        let found = FIRMWARES.iter().find(|(driver, _)| *driver == self.driver.name);
        found.map_or("", |(_, firmware)| *firmware)
    }

    pub(super) fn pci_address(&self) -> &'static str {
        PCI_ADDRESSES.get(self.nic.place).copied().unwrap_or("")
    }
}

/// All NICs of a fabric with `hosts` hosts, in the order of their ports.
pub(super) fn members(hosts: usize) -> Vec<Member> {
    const GIGABIT: u64 = 1_000_000_000;
    let first: [&[(&'static Driver, u64)]; FEWEST_HOSTS] = [
        &[(&MLX5, 100), (&BNXT, 100), (&ICE, 100)],
        &[(&MLX5, 100), (&IONIC, 100)],
        &[(&I40E, 40), (&MLX5, 100)],
        &[(&MLX5, 100)],
    ];
    let mut members = Vec::new();
    for host in 0..hosts.clamp(FEWEST_HOSTS, MOST_HOSTS) {
        // Hosts beyond the first repeat all but the one with three vendors.
        let pattern = if host == 0 { 0 } else { 1 + (host - 1) % (FEWEST_HOSTS - 1) };
        let nics = first.get(pattern).copied().unwrap_or_default();
        for (place, (driver, gigabits)) in nics.iter().enumerate() {
            let before = nics.iter().take(place);
            let twin = before.filter(|(other, _)| other.name == driver.name).count();
            members.push(Member {
                nic: Nic { host, place },
                driver,
                bits_per_second: gigabits * GIGABIT,
                twin,
            });
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_peers_even_for_one_host() {
        assert_eq!(members(1).len(), 8);
        assert_eq!(members(7).len(), 13);
        assert_eq!(members(1_000).last().unwrap().nic.host, MOST_HOSTS - 1);
    }

    #[test]
    fn every_driver_has_firmware_and_every_nic_a_slot() {
        for member in members(7) {
            assert!(!member.firmware().is_empty());
            assert!(!member.pci_address().is_empty());
            assert_eq!(member.rdma_device_name().is_some(), member.driver.name != "i40e");
        }
    }
}
