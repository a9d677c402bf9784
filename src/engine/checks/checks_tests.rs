//! Each check in each status that it can reach, from a port that is set up well and one thing changed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::buffers::needed_bytes;
use super::checks_bench::{Case, RX, SAMPLING, TX, priority, rail};
use super::*;
use crate::model::*;

type Change = fn(&mut Case);

/// Check, status, what leads to it, and a part of what is then found.
#[rustfmt::skip]
const TABLE: &[(Check, Status, Change, &str)] = {
    use Check as C;
    use Status::{Critical, Ok, Unknown, Warning};
    &[
        (C::Link, Warning, |own| own.eth0().link.up = Some(false), "down"),
        (C::Link, Unknown, |own| own.eth0().link.up = None, "does not say"),
        (C::PfcMask, Critical, |own| own.pfc(0), "none"),
        (C::PfcMask, Critical, |own| own.pfc(0b1_0000), "4"),
        (C::PfcMask, Unknown, |own| own.eth0().link.lossless = None, "DCB"),
        (C::LosslessPriorities, Warning, |own| own.pfc(0b1_1000), "further: 4"),
        (C::LosslessPriorities, Unknown, |own| own.eth0().link.lossless = None, "DCB"),
        (C::PfcCapability, Critical, |own| {
            own.pfc(0b1_1000);
            own.dcb().pfc.as_mut().unwrap().capability = 1;
        }, "1 class"),
        (C::PfcCapability, Unknown, |own| own.dcb().pfc.as_mut().unwrap().capability = 0, "no number"),
        (C::PfcCapability, Unknown, |own| own.eth0().settings.dcb = None, "DCB"),
        (C::LinkPause, Critical, |own| own.eth0().settings.link_pause.as_mut().unwrap().rx = true, "rx on, beside PFC"),
        (C::LinkPause, Warning, |own| {
            own.pfc(0);
            own.eth0().settings.link_pause.as_mut().unwrap().tx = true;
        }, "tx on, rx off"),
        (C::LinkPause, Ok, |own| {
            own.policy.wanted.link_pause = Allowed::Any;
            own.eth0().settings.link_pause.as_mut().unwrap().tx = true;
        }, "tx on"),
        (C::LinkPause, Unknown, |own| own.eth0().settings.link_pause = None, "cannot be read"),
        (C::Trust, Critical, |own| own.eth0().settings.trust = Some(Trust::Pcp), "pcp"),
        (C::Trust, Unknown, |own| own.eth0().settings.trust = None, "does not say"),
        (C::DscpMap, Critical, |own| own.dcb().dscp.as_mut().unwrap()[0].1 = Priority::ALL[0], "DSCP 26 on 0"),
        (C::DscpMap, Warning, |own| { own.dcb().dscp.as_mut().unwrap().remove(0); }, "no entry"),
        (C::DscpMap, Unknown, |own| own.dcb().dscp = Some(Vec::new()), "empty"),
        (C::DscpMap, Unknown, |own| own.dcb().dscp = None, "no DSCP map"),
        (C::CnpPriority, Warning, |own| own.dcb().dscp.as_mut().unwrap()[1].1 = Priority::ALL[3], "with the lossless data"),
        (C::CnpPriority, Warning, |own| own.dcb().dscp.as_mut().unwrap()[1].1 = Priority::ALL[5], "DSCP 48 on 5"),
        (C::CnpPriority, Warning, |own| { own.dcb().dscp.as_mut().unwrap().remove(1); }, "no entry"),
        (C::CnpPriority, Warning, |own| own.eth0().details.ecn.cnp_dscp = Some(46), "sent with DSCP 46"),
        (C::CnpPriority, Unknown, |own| own.eth0().settings.dcb = None, "DCB"),
        (C::TrafficClass, Warning, |own| {
            own.dcb().ets.as_mut().unwrap().traffic_class = [3; 8];
            own.count(Quantity::Bytes, TX, priority(0), 9);
        }, "where 0 moves too"),
        (C::TrafficClass, Warning, |own| own.dcb().ets.as_mut().unwrap().bandwidth = [0; 8], "0 %"),
        (C::TrafficClass, Ok, |own| own.dcb().ets.as_mut().unwrap().traffic_class[2] = 3, "with 2, idle"),
        (C::TrafficClass, Unknown, |own| {
            own.dcb().ets.as_mut().unwrap().traffic_class[2] = 3;
            own.forget(|(quantity, ..)| *quantity == Quantity::Bytes);
        }, "maybe in use"),
        (C::TrafficClass, Unknown, |own| own.eth0().settings.dcb = None, "DCB"),
        (C::Dcbx, Warning, |own| own.dcb().dcbx = Some(3), "host and device"),
        (C::Dcbx, Warning, |own| own.dcb().ets.as_mut().unwrap().willing = true, "willing"),
        (C::Dcbx, Warning, |own| own.policy.wanted.dcbx = DcbxOwner::Device, "the host"),
        (C::Dcbx, Ok, |own| own.dcb().dcbx = Some(2), "the device"),
        (C::Dcbx, Unknown, |own| own.dcb().dcbx = None, "does not say"),
        (C::Buffer, Critical, |own| own.dcb().buffers.as_mut().unwrap().bytes[1] = 0, "0 B"),
        (C::Buffer, Unknown, |own| own.dcb().buffers = None, "does not show"),
        (C::Headroom, Warning, |own| own.dcb().buffers.as_mut().unwrap().bytes[1] = 60_000, "60.0 kB"),
        (C::Headroom, Warning, |own| own.policy.wanted.cable_metres = 30, "reckons with 7 metres"),
        (C::Headroom, Unknown, |own| own.eth0().driver = "mlxsw".to_owned(), "formula"),
        (C::Headroom, Unknown, |own| own.eth0().link.speed = None, "not known"),
        (C::Headroom, Unknown, |own| own.dcb().buffers = None, "does not show"),
        (C::Mtu, Warning, |own| own.eth0().settings.mtu_bytes = Some(1_500), "1500, RDMA 1024"),
        (C::Mtu, Unknown, |own| own.eth0().settings.mtu_bytes = None, "cannot be read"),
        (C::MtuStack, Critical, |own| own.eth0().details.uppers[0].mtu_bytes = 9_100, "vlan7 9100"),
        (C::MtuStack, Warning, |own| own.eth0().details.uppers[0].mtu_bytes = 1_500, "vlan7 1500"),
        (C::MtuStack, Unknown, |own| own.eth0().settings.mtu_bytes = None, "cannot be read"),
        (C::MtuRails, Warning, |own| own.eth0().settings.mtu_bytes = Some(4_200), "4200"),
        (C::RoceVersion, Critical, |own| own.eth0().rdma_ports[0].gid_types = vec![GidType::V1], "v1"),
        (C::RoceVersion, Unknown, |own| own.eth0().rdma_ports[0].gid_types.clear(), "no GID"),
        (C::RdmaCmMode, Warning, |own| own.eth0().details.rdma_cm[0].default_gid = Some(GidType::V1), "v1"),
        (C::RdmaCmMode, Unknown, |own| own.eth0().details.rdma_cm.clear(), "configfs"),
        (C::RdmaCmTos, Warning, |own| own.eth0().details.rdma_cm[0].default_tos = Some(0), "ToS 0"),
        (C::RdmaCmTos, Unknown, |own| own.eth0().details.rdma_cm.clear(), "configfs"),
        (C::EcnNotificationPoint, Warning, |own| own.eth0().details.ecn.notification_point = Some(0), "off"),
        (C::EcnNotificationPoint, Ok, |own| {
            own.eth0().details.ecn.notification_point = None;
            own.count(Quantity::RdmaCnpSent, None, Index::None, 1);
        }, "on: 1 CNP sent"),
        (C::EcnNotificationPoint, Warning, |own| {
            own.eth0().details.ecn.notification_point = None;
            own.count(Quantity::RdmaCnpSent, None, Index::None, 0);
            own.count(Quantity::RdmaEcnMarkedPackets, None, Index::None, 7);
        }, "off: 7 marks"),
        (C::EcnNotificationPoint, Unknown, |own| own.eth0().details.ecn.notification_point = None, "no marks"),
        (C::EcnReactionPoint, Warning, |own| own.eth0().details.ecn.reaction_point = Some(1), "on for 0"),
        (C::EcnReactionPoint, Ok, |own| {
            own.eth0().details.ecn.reaction_point = None;
            own.count(Quantity::RdmaCnpHandled, None, Index::None, 2);
        }, "2 CNPs handled"),
        (C::EcnReactionPoint, Warning, |own| {
            own.eth0().details.ecn.reaction_point = None;
            own.count(Quantity::RdmaCnpHandled, None, Index::None, 0);
            own.count(Quantity::RdmaCnpIgnored, None, Index::None, 2);
        }, "2 CNPs ignored"),
        (C::EcnReactionPoint, Unknown, |own| own.eth0().details.ecn.reaction_point = None, "no CNPs"),
        (C::StallPrevention, Warning, |own| own.eth0().settings.stall_prevention = Some(Duration::ZERO), "off"),
        (C::StallPrevention, Unknown, |own| own.eth0().settings.stall_prevention = None, "no such limit"),
        (C::SpeedRails, Warning, |own| own.eth0().link.speed = Some(BitsPerSecond(25_000_000_000)), "25 Gbit/s"),
        (C::Fec, Warning, |own| own.eth0().details.fec = Some("none".to_owned()), "none"),
        (C::Fec, Unknown, |own| own.eth0().details.fec = None, "does not say"),
        (C::SymbolErrors, Warning, |own| own.count(Quantity::RdmaSymbolError, None, Index::None, 3), "3 errors"),
        (C::SymbolErrors, Unknown, |own| own.forget(|(quantity, ..)| *quantity == Quantity::RdmaSymbolError), "to compare"),
        (C::Pcie, Warning, |own| own.eth0().details.pcie.lanes = Some(8), "x8 at 16.0 GT/s"),
        (C::Pcie, Warning, |own| own.eth0().details.pcie.megatransfers = Some(8_000), "x16 at 8.0 GT/s"),
        (C::Pcie, Unknown, |own| own.eth0().details.pcie = PcieLink::default(), "does not say"),
        (C::FirmwareRails, Warning, |own| own.eth0().firmware = "28.35.1000".to_owned(), "28.35.1000"),
        (C::RdmaOnLossless, Critical, |own| {
            own.count(Quantity::Bytes, TX, priority(3), 0);
            own.count(Quantity::Bytes, TX, priority(0), 5_000_000);
        }, "most of the rest on 0"),
        (C::RdmaOnLossless, Warning, |own| {
            own.count(Quantity::Bytes, TX, priority(3), 1_000_000);
            own.count(Quantity::Bytes, TX, priority(5), 4_000_000);
        }, "most of the rest on 5"),
        (C::RdmaOnLossless, Unknown, |own| own.count(Quantity::Bytes, TX, priority(3), 0), "within the NIC"),
        (C::RdmaOnLossless, Unknown, |own| own.count(Quantity::RdmaBytes, TX, Index::None, 9), "9 B of RDMA"),
        (C::RdmaOnLossless, Unknown, |own| own.forget(|(quantity, ..)| *quantity == Quantity::Bytes), "are not counted"),
        (C::RdmaOnLossless, Unknown, |own| own.forget(|(quantity, ..)| *quantity == Quantity::RdmaBytes), "to compare"),
        (C::PauseOutsideMask, Warning, |own| {
            own.count(Quantity::PfcPauseFrames, RX, priority(0), 4);
            own.count(Quantity::Bytes, TX, priority(0), 1_500);
        }, "priority 0: 4 frames, 1.5 kB moved"),
        (C::PauseOutsideMask, Unknown, |own| own.forget(|(quantity, ..)| *quantity == Quantity::PfcPauseFrames), "no pause frames"),
        (C::PauseOutsideMask, Unknown, |own| own.eth0().link.lossless = None, "DCB"),
        (C::PauseWithoutFlowControl, Warning, |own| own.count(Quantity::LinkPauseFrames, RX, Index::None, 1), "rx 1 frame"),
        (C::PauseWithoutFlowControl, Ok, |own| {
            own.eth0().settings.link_pause.as_mut().unwrap().rx = true;
            own.count(Quantity::LinkPauseFrames, RX, Index::None, 1);
        }, "none"),
        (C::PauseWithoutFlowControl, Unknown, |own| own.forget(|(quantity, ..)| *quantity == Quantity::LinkPauseFrames), "to compare"),
        (C::PauseWithoutFlowControl, Unknown, |own| own.eth0().settings.link_pause = None, "cannot be read"),
        (C::Counters, Ok, |own| own.forget(|(quantity, ..)| *quantity == Quantity::PfcPauseTime), "lacks pause time"),
        (C::Counters, Warning, |own| own.forget(|(quantity, ..)| {
            matches!(quantity, Quantity::PfcPauseTime | Quantity::PfcPauseFrames)
        }), "lacks pause frames, pause time"),
        (C::Counters, Unknown, |own| own.forget(|(quantity, ..)| !quantity.as_str().starts_with("rdma_")), "cannot be read"),
        (C::Sampler, Warning, |own| own.reached = Some(Duration::from_millis(21)), "every 21ms"),
        (C::Sampler, Ok, |own| {
            own.reached = Some(Duration::from_millis(62));
            own.refresh = Some(Duration::from_secs(1));
        }, "every 62ms"),
        (C::Sampler, Ok, |own| (own.reached, own.samples) = (None, 1), "every 5ms is possible"),
        (C::Sampler, Warning, |own| {
            (own.reached, own.samples, own.read_seconds) = (None, 1, 0.02);
        }, "every 200ms is possible"),
        (C::Sampler, Unknown, |own| (own.reached, own.samples) = (None, 0), "not sampled yet"),
    ]
};

#[test]
fn a_port_that_is_set_up_well_passes_every_check() {
    let figures = Case::good().figures();
    let own = figures.findings.iter().filter(|own| &*own.device == "eth0");
    let bad: Vec<_> = own.clone().filter(|own| own.status != Status::Ok).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    assert_eq!(own.map(|own| own.check).collect::<Vec<_>>(), Check::ALL);
    assert_eq!(figures.worst(), Status::Ok);
}

#[test]
fn each_change_is_found_by_its_check() {
    for (check, status, change, part) in TABLE {
        let mut case = Case::good();
        change(&mut case);
        let found = case.finding(*check).unwrap_or_else(|| panic!("{check:?}: no finding"));
        assert_eq!(found.status, *status, "{found:?}");
        assert!(found.found.contains(part), "{part:?} is not in {found:?}");
    }
}

#[test]
fn each_check_is_tried_in_each_status_that_its_source_has() {
    let tried: BTreeSet<(Check, Status)> =
        TABLE.iter().map(|(check, status, ..)| (*check, *status)).collect();
    for check in Check::ALL {
        let faulty = [Status::Warning, Status::Critical];
        assert!(faulty.iter().any(|own| tried.contains(&(*check, *own))), "{check:?}");
        // What is compared with siblings says nothing where there is nothing to compare.
        let compared = [Check::MtuRails, Check::SpeedRails, Check::FirmwareRails];
        let known = compared.contains(check) || *check == Check::LosslessPriorities;
        assert!(known || tried.contains(&(*check, Status::Unknown)), "{check:?}");
    }
}

#[test]
fn c75_nothing_that_could_not_be_read_is_ok() {
    let mut case = Case::good();
    case.counters.clear();
    (case.reached, case.samples) = (None, 0);
    let bare = |own: &DeviceFacts| DeviceFacts {
        device: Arc::clone(&own.device),
        rdma_ports: vec![RdmaPort { gid_types: Vec::new(), ..own.rdma_ports[0].clone() }],
        ..DeviceFacts::default()
    };
    case.devices = case.devices.iter().map(bare).collect();
    let figures = case.figures();
    assert!(!figures.findings.is_empty());
    let known: Vec<_> =
        figures.findings.iter().filter(|own| own.status != Status::Unknown).collect();
    assert!(known.is_empty(), "{known:#?}");
    assert_eq!(figures.worst(), Status::Ok, "and none of it is a fault");
}

#[test]
fn c75_one_priority_turns_on_the_notification_point_of_the_port() {
    let mut case = Case::good();
    case.eth0().details.ecn.notification_point = Some(1);
    assert_eq!(case.finding(Check::EcnNotificationPoint).unwrap().status, Status::Ok);
    case.eth0().details.ecn.reaction_point = Some(1);
    assert_eq!(case.finding(Check::EcnReactionPoint).unwrap().status, Status::Warning);
}

#[test]
fn c77_a_fabric_without_ecn_on_purpose_is_well() {
    let mut case = Case::good();
    case.eth0().details.ecn =
        EcnSettings { notification_point: Some(0), reaction_point: Some(0), cnp_dscp: None };
    assert_eq!(case.figures().worst(), Status::Warning);
    case.policy.wanted.ecn = Expected::Any;
    assert_eq!(case.figures().worst(), Status::Ok);
    // Pause, marks and no CNP: a fault of the loop only where a loop is expected.
    case.eth0().details.ecn = EcnSettings::default();
    case.count(Quantity::PfcPauseFrames, RX, priority(3), 900);
    case.count(Quantity::RdmaEcnMarkedPackets, None, Index::None, 70);
    case.count(Quantity::RdmaCnpSent, None, Index::None, 0);
    assert_eq!(case.figures().worst(), Status::Ok);
    case.policy.wanted.ecn = Expected::Expected;
    assert_eq!(case.finding(Check::EcnNotificationPoint).unwrap().status, Status::Warning);
    case.policy.wanted.ecn = Expected::Any;
    case.eth0().details.ecn.reaction_point = Some(0);
    assert_eq!(case.finding(Check::EcnReactionPoint).unwrap().wanted, "not expected");
}

#[test]
fn c35_no_pause_received_is_well_and_e810_has_one_class() {
    let mut case = Case::good();
    case.eth0().driver = "ice".to_owned();
    case.count(Quantity::PfcPauseFrames, TX, priority(3), 0);
    case.count(Quantity::PfcPauseFrames, RX, priority(3), 0);
    let faults = |case: &Case| {
        let own = case.figures().findings.into_iter().filter(|own| &*own.device == "eth0");
        let bad = own.filter(|own| own.status > Status::Ok).map(|own| own.check);
        bad.collect::<Vec<_>>()
    };
    assert_eq!(faults(&case), []);
    case.pfc(0b1_1000);
    assert_eq!(faults(&case), [Check::LosslessPriorities, Check::PfcCapability]);
}

#[test]
fn c61_a_mate_of_a_lossless_class_may_count_with_it() {
    let mut case = Case::good();
    case.count(Quantity::PfcPauseFrames, RX, priority(2), 9);
    case.count(Quantity::Bytes, TX, priority(2), 7_500_000);
    let finding = case.finding(Check::PauseOutsideMask).unwrap();
    assert_eq!(finding.status, Status::Warning);
    assert!(finding.found.starts_with("priority 2: 9 frames, 7.5 MB moved"), "{}", finding.found);
    case.eth0().link.traffic_class = Some([0, 1, 3, 3, 4, 5, 6, 7]);
    assert_eq!(case.finding(Check::PauseOutsideMask).unwrap().status, Status::Ok);
}

#[test]
fn c69_pfc_gone_after_a_reboot_is_critical_in_settings_and_in_traffic() {
    let mut case = Case::good();
    case.pfc(0);
    case.eth0().settings.trust = Some(Trust::Pcp);
    *case.eth0().settings.link_pause.as_mut().unwrap() =
        LinkPause { negotiated: false, rx: true, tx: true };
    case.count(Quantity::Bytes, TX, priority(3), 0);
    case.count(Quantity::Bytes, TX, priority(0), 11_600_000_000);
    for check in [Check::PfcMask, Check::Trust, Check::RdmaOnLossless] {
        assert_eq!(case.finding(check).unwrap().status, Status::Critical, "{check:?}");
    }
    assert_eq!(case.finding(Check::LinkPause).unwrap().status, Status::Warning);
    assert_eq!(case.finding(Check::DscpMap), None, "nobody looks at the map under trust of PCP");
}

fn change_of(figures: &CheckFigures, setting: &str) -> Option<u64> {
    let of = |own: &&ChangeFigure| &*own.device == "eth0" && own.setting == setting;
    figures.changes.iter().find(of).map(|own| own.count)
}

#[test]
fn c74_an_agent_that_takes_pfc_away_and_back_is_counted() {
    let mut watch = CheckWatch::default();
    let mut case = Case::good();
    let mut at = 0;
    let mut look = |case: &Case| {
        at += 1_000_000_000;
        let now = Monotonic::from_nanos(at);
        watch.look(&case.policy, SAMPLING, now, &case.devices, &case.feeds())
    };
    assert_eq!(change_of(&look(&case), "pfc"), Some(0));
    case.pfc(0);
    let figures = look(&case);
    assert_eq!(change_of(&figures, "pfc"), Some(1));
    assert_eq!(figures.worst(), Status::Critical);
    case.pfc(8);
    assert_eq!(change_of(&look(&case), "pfc"), Some(2));
    case.eth0().link.lossless = None;
    assert_eq!(change_of(&look(&case), "pfc"), Some(2), "what cannot be read is no change");
    case.eth0().link.lossless = Some(8);
    let figures = look(&case);
    assert_eq!(change_of(&figures, "pfc"), Some(2), "and comes back as it was");
    assert_eq!(change_of(&figures, "trust"), Some(0));
    assert_eq!(change_of(&figures, "dcbx"), Some(0));
    case.dcb().dcbx = Some(DCBX_HOST | DCBX_DEVICE);
    let figures = look(&case);
    assert_eq!(change_of(&figures, "dcbx"), Some(1));
    let owner = figures.findings.iter().find(|own| own.check == Check::Dcbx).unwrap();
    assert_eq!((owner.status, owner.found.as_str()), (Status::Warning, "host and device"));
    case.eth0().incarnation = 9;
    assert_eq!(change_of(&look(&case), "pfc"), Some(0), "another device under the same name");
}

#[test]
fn a_finding_from_traffic_goes_ten_minutes_after_its_cause() {
    let mut watch = CheckWatch::default();
    let mut case = Case::good();
    let mut status = |case: &Case, seconds: u64| {
        let now = Monotonic::from_nanos(seconds * 1_000_000_000);
        let figures = watch.look(&case.policy, SAMPLING, now, &case.devices, &case.feeds());
        let own = |own: &&Finding| &*own.device == "eth0" && own.check == Check::SymbolErrors;
        figures.findings.iter().find(own).unwrap().status
    };
    case.count(Quantity::RdmaSymbolError, None, Index::None, 50);
    assert_eq!(status(&case, 10), Status::Unknown, "nothing to compare with");
    assert_eq!(status(&case, 20), Status::Ok, "errors of before do not count");
    case.count(Quantity::RdmaSymbolError, None, Index::None, 51);
    assert_eq!(status(&case, 60), Status::Warning);
    let later: Vec<Status> = (3..25).map(|half| status(&case, half * 30)).collect();
    assert_eq!(later[10], Status::Warning);
    assert_eq!(later.last(), Some(&Status::Ok), "{later:?}");
    case.count(Quantity::RdmaSymbolError, None, Index::None, 1);
    assert_eq!(status(&case, 760), Status::Unknown, "a counter that went back says nothing");
}

#[test]
fn rails_that_differ_from_most_hear_of_it_and_all_do_at_a_tie() {
    let mut case = Case::good();
    case.eth0().settings.mtu_bytes = Some(4_200);
    let rails = |case: &Case| {
        let all = case.figures().findings.into_iter();
        let all = all.filter(|own| own.check == Check::MtuRails);
        all.map(|own| (own.device.to_string(), own.status)).collect::<Vec<_>>()
    };
    let named = |status: [Status; 3]| -> Vec<(String, Status)> {
        ["eth0", "eth1", "eth2"].map(str::to_owned).into_iter().zip(status).collect()
    };
    assert_eq!(rails(&case), named([Status::Warning, Status::Ok, Status::Ok]));
    case.devices.truncate(2);
    assert_eq!(
        rails(&case),
        named([Status::Warning; 3])[..2],
        "of two that differ, either may be wrong"
    );
    case.devices.truncate(1);
    assert_eq!(rails(&case), [], "one rail is like itself");
}

#[test]
fn what_is_no_roce_port_is_left_alone() {
    let mut case = Case::good();
    let plain = DeviceFacts { rdma_ports: Vec::new(), ..rail("eth3") };
    let plain = DeviceFacts { link: LinkFacts::default(), ..plain };
    case.devices = vec![
        DeviceFacts { role: PortRole::Bond, ..rail("bond0") },
        DeviceFacts { role: PortRole::Representor, ..rail("eth5") },
        plain,
    ];
    assert_eq!(case.figures().findings, []);
    let device = regex::Regex::new("^eth3$").unwrap();
    case.policy.profiles.push(Profile { name: "all".to_owned(), device, wanted: Wanted::DEFAULT });
    let figures = case.figures();
    assert!(figures.findings.iter().all(|own| &*own.device == "eth3"));
    assert!(!figures.findings.is_empty(), "a profile names it");
}

#[test]
fn headroom_is_what_mlx5_itself_demands() {
    let gigabits = |own: u64| BitsPerSecond(own * 1_000_000_000);
    assert_eq!(needed_bytes(gigabits(100), 9_000, 7), 31_600 + 24_480 + 9_000 + 128);
    assert_eq!(needed_bytes(gigabits(10), 1_500, 7), 12_640 + 4_080 + 1_500 + 128);
    assert_eq!(needed_bytes(gigabits(400), 9_000, 100), 206_800 + 24_480 + 9_000 + 128);
}

#[test]
fn the_command_to_look_closer_is_for_this_port() {
    let mut case = Case::good();
    let look = |case: &Case, check| case.finding(check).unwrap().look;
    assert_eq!(look(&case, Check::PfcMask), "dcb pfc show dev eth0");
    assert_eq!(look(&case, Check::Pcie), "lspci -vv -s 0000:3b:00.0");
    assert!(look(&case, Check::RoceVersion).contains("mlx5_eth0/ports/1/"));
    for check in Check::ALL {
        assert!(!look(&case, *check).contains('{'), "{check:?}");
    }
    case.eth0().netns = "blue".to_owned();
    assert_eq!(look(&case, Check::LinkPause), "ip netns exec blue ethtool -a eth0");
}
