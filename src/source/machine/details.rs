//! Facts in files that only some drivers and kernels have, for the check of the configuration.
//!
//! All are readable by anybody and none takes rtnl: the ECN trees of the vendor's mlx5 driver ask the firmware, PCIe
//! files read the configuration space, `rdma_cm` is the kernel's memory. What is not there is absent, never a
//! default.

use crate::model::{DeviceFacts, EcnSettings, GidType, PcieLink, PortDetails, RdmaCm};
use crate::source::SysfsRoot;

/// What files say of a netdev.
pub(super) fn of_netdev(sysfs: &SysfsRoot, netdev: &str) -> PortDetails {
    let base = format!("class/net/{netdev}");
    PortDetails {
        ecn: EcnSettings {
            notification_point: enabled(sysfs, &format!("{base}/ecn/roce_np/enable")),
            reaction_point: enabled(sysfs, &format!("{base}/ecn/roce_rp/enable")),
            cnp_dscp: sysfs
                .number(&format!("{base}/ecn/roce_np/cnp_dscp"))
                .and_then(|own| u8::try_from(own).ok().filter(|own| *own < 64)),
        },
        pcie: pcie(sysfs, &format!("{base}/device")),
        ..PortDetails::default()
    }
}

/// One file per priority, `0` or `1`. None unless all eight can be read: a part would hide that a role is off.
fn enabled(sysfs: &SysfsRoot, below: &str) -> Option<u8> {
    if !sysfs.exists(below) {
        return None;
    }
    (0..8_u8).try_fold(0, |mask, priority| match sysfs.number(&format!("{below}/{priority}"))? {
        0 => Some(mask),
        1 => Some(mask | 1 << priority),
        _ => None,
    })
}

/// A function that is not on PCIe, or whose slot cannot tell, has no numbers in these files.
fn pcie(sysfs: &SysfsRoot, device: &str) -> PcieLink {
    let lanes = |file: &str| {
        let lanes = u32::try_from(sysfs.number(&format!("{device}/{file}"))?).ok()?;
        // 0: no link; 255: the width is not known.
        (1..=32).contains(&lanes).then_some(lanes)
    };
    let speed = |file: &str| megatransfers(&sysfs.text(&format!("{device}/{file}"))?);
    PcieLink {
        lanes: lanes("current_link_width"),
        most_lanes: lanes("max_link_width"),
        megatransfers: speed("current_link_speed"),
        most_megatransfers: speed("max_link_speed"),
    }
}

/// `16.0 GT/s PCIe`, or `16 GT/s` on older kernels.
fn megatransfers(text: &str) -> Option<u32> {
    let (number, unit) = text.split_once(' ')?;
    if !unit.starts_with("GT/s") {
        return None;
    }
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let tenths: u32 = part.parse().ok().filter(|tenths| *tenths < 10)?;
    whole.parse::<u32>().ok()?.checked_mul(1_000)?.checked_add(tenths * 100)
}

/// Adds what configfs says of `rdma_cm`. A port's directory is there only after somebody made it.
pub(super) fn add_rdma_cm(sysfs: &SysfsRoot, devices: &mut [DeviceFacts]) {
    for facts in devices {
        let ports = facts.rdma_ports.iter().filter_map(|port| {
            let base = format!("kernel/config/rdma_cm/{}/ports/{}", port.rdma_device, port.port);
            let mode = sysfs.text(&format!("{base}/default_roce_mode"));
            let tos = sysfs.number(&format!("{base}/default_roce_tos"));
            let default_gid = mode.as_deref().and_then(|mode| match mode {
                "IB/RoCE v1" => Some(GidType::V1),
                "RoCE v2" => Some(GidType::V2),
                _ => None,
            });
            let default_tos = tos.and_then(|tos| tos.try_into().ok());
            (default_gid.is_some() || default_tos.is_some()).then(|| RdmaCm {
                rdma_device: port.rdma_device.to_string(),
                port: port.port,
                default_gid,
                default_tos,
            })
        });
        facts.details.rdma_cm = ports.collect();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::RdmaPort;

    fn write(root: &std::path::Path, below: &str, text: &str) {
        let path = root.join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn pcie_speeds_of_all_kernels_are_understood() {
        for (text, expected) in [
            ("16.0 GT/s PCIe", Some(16_000)),
            ("2.5 GT/s PCIe", Some(2_500)),
            ("8 GT/s", Some(8_000)),
            ("Unknown", None),
            ("Unknown speed", None),
            ("", None),
            ("99999999999 GT/s", None),
        ] {
            assert_eq!(megatransfers(text), expected, "{text:?}");
        }
    }

    #[test]
    fn c75_a_tree_that_is_not_whole_says_nothing_of_its_role() {
        let folder = tempfile::tempdir().unwrap();
        let sysfs = SysfsRoot::new(folder.path());
        assert_eq!(of_netdev(&sysfs, "eth0"), PortDetails::default());
        for priority in 0..8 {
            let text = if priority == 3 { "1\n" } else { "0\n" };
            for role in ["roce_np", "roce_rp"] {
                let below = format!("class/net/eth0/ecn/{role}/enable/{priority}");
                write(folder.path(), &below, text);
            }
        }
        write(folder.path(), "class/net/eth0/ecn/roce_np/cnp_dscp", "48\n");
        let ecn = EcnSettings {
            notification_point: Some(8),
            reaction_point: Some(8),
            cnp_dscp: Some(48),
        };
        assert_eq!(of_netdev(&sysfs, "eth0").ecn, ecn);
        fs::remove_file(folder.path().join("class/net/eth0/ecn/roce_rp/enable/5")).unwrap();
        assert_eq!(of_netdev(&sysfs, "eth0").ecn, EcnSettings { reaction_point: None, ..ecn });
    }

    #[test]
    fn a_width_of_no_link_is_no_width() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "class/net/eth0/device/current_link_width", "0\n");
        write(folder.path(), "class/net/eth0/device/max_link_width", "16\n");
        write(folder.path(), "class/net/eth0/device/max_link_speed", "32.0 GT/s PCIe\n");
        let pcie = PcieLink {
            most_lanes: Some(16),
            most_megatransfers: Some(32_000),
            ..PcieLink::default()
        };
        assert_eq!(of_netdev(&SysfsRoot::new(folder.path()), "eth0").pcie, pcie);
    }

    #[test]
    fn defaults_of_rdma_cm_are_there_only_where_somebody_made_them() {
        let folder = tempfile::tempdir().unwrap();
        let port = RdmaPort {
            rdma_device: "mlx5_0".into(),
            port: 1,
            link_layer: None,
            gid_types: Vec::new(),
            optional_counters: Vec::new(),
        };
        let mut devices = [DeviceFacts { rdma_ports: vec![port], ..DeviceFacts::default() }];
        add_rdma_cm(&SysfsRoot::new(folder.path()), &mut devices);
        assert_eq!(devices[0].details.rdma_cm, []);
        let base = "kernel/config/rdma_cm/mlx5_0/ports/1";
        write(folder.path(), &format!("{base}/default_roce_mode"), "RoCE v2\n");
        write(folder.path(), &format!("{base}/default_roce_tos"), "106\n");
        add_rdma_cm(&SysfsRoot::new(folder.path()), &mut devices);
        let expected = RdmaCm {
            rdma_device: "mlx5_0".to_owned(),
            port: 1,
            default_gid: Some(GidType::V2),
            default_tos: Some(106),
        };
        assert_eq!(devices[0].details.rdma_cm, [expected]);
    }
}
