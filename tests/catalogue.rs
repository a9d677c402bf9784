//! The catalogue against fixtures, against reports from the field, and against arbitrary names.
#![allow(missing_docs, reason = "tests")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test is a panic"
)]

#[path = "catalogue/fixtures.rs"]
mod fixtures;
#[path = "catalogue/operator.rs"]
mod operator;
#[path = "catalogue/properties.rs"]
mod properties;

use regex::Regex;
use roce_exporter::catalogue::{Catalogue, NameUse, RawSelection, Table, concerns_flow_control};
use roce_exporter::model::{
    CounterKey, Direction, Freshness, Index, Plan, PlanCounter, Priority, Quantity, ReadingKind,
    Unit, Width,
};

fn shipped() -> Catalogue {
    Catalogue::embedded().unwrap()
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn plan(table: Table, driver: &str, names: &[&str]) -> Plan {
    shipped().plan(table, driver, &strings(names), &RawSelection::default())
}

fn uses(table: Table, driver: &str, names: &[&str]) -> Vec<NameUse> {
    shipped().classify(table, driver, &strings(names))
}

/// What the plan makes of a value that is the same for all names.
fn gather(plan: &Plan, value_at: impl Fn(usize) -> u64) -> Vec<u64> {
    let value = |term: &(u32, u64)| {
        value_at(plan.wanted[term.0 as usize] as usize).checked_mul(term.1).unwrap()
    };
    plan.terms.iter().map(|terms| terms.iter().map(value).sum()).collect()
}

fn key(quantity: Quantity, direction: Direction, index: Index) -> CounterKey {
    CounterKey { quantity, direction: Some(direction), index, detail: None }
}

fn priority(number: u8) -> Index {
    Index::Priority(Priority::new(number).unwrap())
}

fn keys(plan: &Plan) -> Vec<CounterKey> {
    plan.counters.iter().map(|counter| counter.key.clone()).collect()
}

fn only(plan: &Plan) -> &PlanCounter {
    assert_eq!(plan.counters.len(), 1, "{:?}", keys(plan));
    &plan.counters[0]
}

#[test]
fn c04_the_best_source_of_rdma_octets_wins() {
    let all = ["counters/port_rcv_data", "rx_bytes", "rx_roce_only_bytes"];
    for (names, position, factor) in [(&all[..], 2, 1), (&all[..2], 1, 1), (&all[..1], 0, 4)] {
        let plan = plan(Table::RdmaPort, "bnxt_re", names);
        assert_eq!(only(&plan).key, key(Quantity::RdmaBytes, Direction::Rx, Index::None));
        assert_eq!((&plan.wanted[..], &plan.terms[0][..]), (&[position][..], &[(0, factor)][..]));
    }
    let uses = uses(Table::RdmaPort, "bnxt_re", &all);
    assert_eq!(uses[..2], [NameUse::Shadowed, NameUse::Shadowed]);
}

#[test]
fn c09_port_data_are_words_of_four_octets() {
    let plan = plan(Table::RdmaPort, "mlx5_ib", &["counters/port_xmit_data"]);
    assert_eq!((only(&plan).unit, gather(&plan, |_| 250)), (Unit::Bytes, vec![1000]));
}

#[test]
fn c16_mlx5_takes_traffic_from_the_port_counters() {
    let plan = plan(Table::RdmaPort, "mlx5_ib", &["np_cnp_sent", "counters/port_rcv_packets"]);
    let quantities: Vec<_> = keys(&plan).into_iter().map(|key| key.quantity).collect();
    assert_eq!(quantities, [Quantity::RdmaCnpSent, Quantity::RdmaPackets]);
}

#[test]
fn c17_ionic_octets_are_unicast_and_multicast() {
    let names = ["rx_rdma_mcast_bytes", "tx_rdma_ucast_bytes", "rx_rdma_ucast_bytes"];
    let plan = plan(Table::RdmaPort, "ionic_rdma", &names);
    assert_eq!(gather(&plan, |position| [5, 70, 900][position]), [70, 905]);
}

#[test]
fn c21_a_hostile_name_is_an_unknown_name() {
    let full = "x".repeat(32);
    let names = [
        "Queue[0] AllocFails",
        "   leading",
        "port.VF_admin_queue_requests",
        "",
        " : ",
        "\u{0}\u{7}\u{1b}[2J",
        "rx_\u{fffd}\u{202e}_pause",
        "{n}",
        "rx_prio{n}_pause",
        "\u{0}",
        &full,
    ];
    let raw = RawSelection { pattern: Some(Regex::new("").unwrap()), cap: usize::MAX };
    let catalogue = shipped();
    for table in [Table::Ethtool, Table::RdmaPort, Table::RdmaDevice] {
        for driver in catalogue.drivers(table).iter().map(String::as_str).chain(["", "\u{0}"]) {
            let plan = catalogue.plan(table, driver, &strings(&names), &raw);
            assert!(plan.counters.is_empty(), "{driver}: {:?}", keys(&plan));
            for (_, name) in &plan.raw {
                assert!(!name.is_empty() && !name.contains(char::is_control), "{name:?}");
            }
        }
    }
    let plan = shipped().plan(Table::Ethtool, "ice", &strings(&names), &raw);
    let raw: Vec<&str> = plan.raw.iter().map(|(_, name)| name.as_str()).collect();
    let shown = ["Queue[0] AllocFails", "leading", "port.VF_admin_queue_requests"];
    assert_eq!(raw[..3], shown);
    assert_eq!(raw[3..6], ["\u{fffd}\u{fffd}\u{fffd}[2J", "rx_\u{fffd}\u{fffd}_pause", "{n}"]);
    assert_eq!(plan.wanted, [0, 1, 2, 5, 6, 7, 8, 9, 10], "two names are empty");
}

#[test]
fn c23_an_odd_name_keeps_its_value() {
    let names = ["rx_pause_frames     ", "\trx_ppp3_frames", "tx_ppp0_frames: ", "tx_pause_frames"];
    let plan = plan(Table::Ethtool, "cxgb4", &names);
    let values: Vec<_> = keys(&plan)
        .into_iter()
        .map(|key| (key.direction, key.index))
        .zip(gather(&plan, |position| [11, 22, 33, 44][position]))
        .collect();
    let (tx, rx) = (Some(Direction::Tx), Some(Direction::Rx));
    let expected = [((tx, priority(0)), 33), ((rx, priority(3)), 22)];
    assert_eq!(values[..2], expected);
    assert_eq!(values[2..], [((tx, Index::None), 44), ((rx, Index::None), 11)]);
}

#[test]
fn c27_colons_and_brackets_belong_to_the_name() {
    let per_queue = |driver, name| {
        let found = uses(Table::Ethtool, driver, &[name]);
        assert!(matches!(&found[0], NameUse::Known(_)), "{driver} {name}: {:?}", found[0]);
    };
    per_queue("bnx2x", "[0]: rx_discards");
    per_queue("be2net", "rxq12: rx_drops_no_frags");
    per_queue("fsl_enetc", "Rx ring  3 discarded frames");
    let whole = ["[0]: rx_discards", "rx_discards", "[mac] rx pause"];
    assert_eq!(plan(Table::Ethtool, "bnx2x", &whole).wanted, [1]);
    assert_eq!(plan(Table::Ethtool, "fsl_dpaa2_eth", &whole).wanted, [2]);
}

#[test]
fn c29_trailing_blank_in_a_name() {
    let plan = plan(Table::Ethtool, "mlx5_core", &["tx_pause_storm_warning_events "]);
    let key = &only(&plan).key;
    assert_eq!((key.quantity, key.detail.as_deref()), (Quantity::PfcStallEvents, Some("warning")));
}

#[test]
fn c30_moving_pfc_to_another_priority_moves_the_key() {
    for (name, number) in [("rx_prio3_pause", 3), ("rx_prio4_pause", 4)] {
        let plan = plan(Table::Ethtool, "mlx5_core", &["rx_prio0_bytes", name]);
        let expected = key(Quantity::PfcPauseFrames, Direction::Rx, priority(number));
        assert!(keys(&plan).contains(&expected), "{name}: {:?}", keys(&plan));
    }
}

#[test]
fn c31_global_pause_and_priority_0_stay_apart() {
    let names = ["rx_global_pause", "rx_prio0_pause", "tx_pause_storm_error_events"];
    let plan = plan(Table::Ethtool, "mlx5_core", &names);
    let found = keys(&plan);
    assert_eq!(found[0], key(Quantity::PfcPauseFrames, Direction::Rx, priority(0)));
    assert_eq!((found[1].quantity, found[1].index), (Quantity::PfcStallEvents, Index::None));
    assert_eq!(found[2], key(Quantity::LinkPauseFrames, Direction::Rx, Index::None));
    assert!(plan.terms.iter().all(|terms| terms.len() == 1), "never summed");
}

#[test]
fn c32_the_mac_counter_is_there_without_pfc() {
    let plan = plan(Table::Ethtool, "mlx5_core", &["tx_pause_ctrl_phy"]);
    assert_eq!(only(&plan).key, key(Quantity::MacPauseFrames, Direction::Tx, Index::None));
}

#[test]
fn c33_a_name_of_another_driver_is_unknown_and_looks_related() {
    let name = "rx_prio3_pause";
    assert_eq!(uses(Table::Ethtool, "bnxt_en", &[name]), [NameUse::Unknown]);
    assert!(concerns_flow_control(name) && !concerns_flow_control("rx_bytes"));
    let plan =
        plan(Table::Ethtool, "bnxt_en", &["rx_pfc_ena_frames_pri3", "pfc_pri3_rx_duration_us"]);
    let (rx, class) = (Direction::Rx, priority(3));
    let expected =
        [key(Quantity::PfcPauseFrames, rx, class), key(Quantity::PfcPauseTime, rx, class)];
    assert_eq!(keys(&plan), expected);
    assert_eq!(plan.counters[1].unit, Unit::Microseconds);
}

#[test]
fn c37_a_percentage_is_a_gauge() {
    let names = ["outbound_pci_stalled_rd", "outbound_pci_stalled_rd_events"];
    let plan = plan(Table::Ethtool, "mlx5_core", &names);
    let figures: Vec<_> = plan.counters.iter().map(|c| (c.key.quantity, c.kind, c.unit)).collect();
    let time = (Quantity::PcieStalledTime, ReadingKind::Counter, Unit::Seconds);
    let ratio = (Quantity::PcieStalledRatio, ReadingKind::Gauge, Unit::Percent);
    assert_eq!(figures, [time, ratio]);
}

#[test]
fn a_traffic_class_or_buffer_is_never_a_priority() {
    let class = Index::TrafficClass(2);
    let buffer = Index::Buffer(2);
    for (driver, name, index) in [
        ("mlx5_core", "rx_prio2_buf_discard", class),
        ("mlx5_core", "rx_prio2_cong_discard", class),
        ("mlx5_core", "rx_prio2_marked", class),
        ("bnxt_en", "rx_bytes_cos2", class),
        ("bnxt_en", "rx_discard_packets_cos2", class),
        ("i40e", "veb.tc_2_rx_bytes", class),
        ("mana", "hc_tc2_rx_pause_phy", class),
        ("mlxsw_spectrum", "tc_no_buffer_discard_uc_tc_2", class),
        ("ixgbe", "tx_pb_2_pxoff", buffer),
        ("cxgb4", "rx_bg2_frames_dropped", buffer),
        ("fsl_enetc", "ICM DR2 discarded frames", buffer),
        ("fbnic", "rxb_fifo2_dropped_frames", buffer),
    ] {
        assert_eq!(
            only(&plan(Table::Ethtool, driver, &[name])).key.index,
            index,
            "{driver} {name}"
        );
    }
}

#[test]
fn a_number_that_is_no_priority_never_matches() {
    for (driver, names) in [
        ("mlx5_core", ["rx_prio8_pause", "rx_prio03_pause", "rx_prio_pause", "rx_prio33_pause"]),
        (
            "funeth",
            ["mac_tx_CBFCPAUSE8", "mac_rx_CBFCPAUSE15", "mac_tx_CBFCPAUSE07", "mac_tx_CBFCPAUSE"],
        ),
        ("hns", ["xgmac_rx_pfc_per_0pause_frame", "xgmac_tx_pfc_per_8pause_framer", "", ""]),
        ("cxgb4", ["rx_bg4_frames_dropped", "rx_ppp9_frames", "bg1_frames_dropped", ""]),
    ] {
        let plan = plan(Table::Ethtool, driver, &names);
        assert!(plan.is_empty() && plan.wanted.is_empty(), "{driver}: {:?}", keys(&plan));
    }
    assert!(matches!(uses(Table::Ethtool, "funeth", &["mac_tx_CBFCPAUSE8"])[0], NameUse::Known(_)));
}

#[test]
fn a_false_friend_is_known_and_left_out() {
    for (table, driver, name) in [
        (Table::Ethtool, "bna", "fc_rx_ucast"),
        (Table::Ethtool, "Neterion", "pfc_err_cnt"),
        (Table::Ethtool, "ena", "admin_q_pause"),
        (Table::Ethtool, "st_gmac", "mac_tx_in_pause"),
        (Table::Ethtool, "bnx2x", "tx_exhaustion_events"),
        (Table::Ethtool, "xaxienet", "RX Good PFC Frames"),
        (Table::Ethtool, "hns3", "mac_tx_pfc_pri3_xoff_time"),
        (Table::Ethtool, "rvu-nicpf", "cgx_rxstat2"),
        (Table::Ethtool, "fbnic", "rxb_fifo3_ecn"),
        (Table::Ethtool, "mlx5_core", "rx3_ecn_mark"),
        (Table::RdmaPort, "bnxt_re", "recoverable_errors"),
        (Table::RdmaPort, "hns_roce", "ecn_doorbell"),
    ] {
        assert!(plan(table, driver, &[name]).is_empty(), "{driver} {name}");
        let NameUse::Known(note) = &uses(table, driver, &[name])[0] else {
            panic!("{driver} {name} is not known");
        };
        assert!(!note.is_empty(), "{driver} {name}");
    }
}

#[test]
fn a_repeated_name_counts_once_at_its_first_place() {
    let names = ["rx_prio1_pause", "other", "rx_prio1_pause", "rx_prio1_pause "];
    let plan = plan(Table::Ethtool, "mlx5_core", &names);
    assert_eq!((plan.wanted, plan.terms), (vec![0], vec![vec![(0, 1)]]));
    assert_eq!(
        uses(Table::Ethtool, "mlx5_core", &names)[2..],
        [NameUse::Shadowed, NameUse::Shadowed]
    );
}

#[test]
fn two_words_of_32_bits_make_one_counter() {
    let plan = plan(Table::Ethtool, "be2net", &["rx_roce_bytes_msd", "rx_roce_bytes_lsd"]);
    assert_eq!(only(&plan).width, Width::FULL);
    assert_eq!(gather(&plan, |position| [3, 7][position]), [3 * (1 << 32) + 7]);
}

#[test]
fn width_and_freshness_come_with_a_counter() {
    let of = |table, driver, name| {
        let plan = plan(table, driver, &[name]);
        (only(&plan).width, only(&plan).freshness)
    };
    let every = |milliseconds| Freshness::Every(std::time::Duration::from_millis(milliseconds));
    let bits = |bits, saturates| Width { bits, saturates };
    let port = Table::RdmaPort;
    assert_eq!(of(port, "mlx5_ib", "out_of_sequence"), (bits(32, false), Freshness::Live));
    assert_eq!(of(port, "bnxt_re", "tx_roce_discards"), (Width::FULL, every(1000)));
    assert_eq!(of(port, "mlx4_ib", "counters/link_downed"), (bits(8, true), Freshness::Live));
    assert_eq!(of(Table::Ethtool, "mlx4_en", "rx_pause"), (Width::FULL, every(250)));
    assert_eq!(of(Table::Ethtool, "ionic", "frames_rx_pause"), (Width::FULL, Freshness::Unknown));
    assert_eq!(of(Table::Ethtool, "ag71xx", "Rx Pause Frame Packet").0, bits(12, false));
}

#[test]
fn driver_keys_are_those_of_the_kernel() {
    let pause = |driver, name| plan(Table::Ethtool, driver, &[name]).counters.len();
    assert_eq!(pause("mlxsw_spectrum4", "rx_pause_prio_7"), 1);
    assert_eq!(pause("st_xgmac", "mmc_tx_pause_frame"), 1);
    assert_eq!(pause("mlx4_core", "rx_pause_prio_7"), 0, "the driver calls itself mlx4_en");
    assert_eq!(pause("mlx5e_rep", "rx_prio3_pause"), 0, "a representor has no wire");
    let catalogue = shipped();
    for (bus_driver, device, key) in [
        ("mlx5_core", "mlx5_0", "mlx5_ib"),
        ("ice", "rocep1s0f0", "irdma"),
        ("i40e", "i40iw0", "irdma"),
        ("mlx5_core", "rxe0", "rdma_rxe"),
        ("", "rxe_eth0", "rdma_rxe"),
        ("qede", "qedr0", "qede"),
        ("", "siw0", "siw0"),
    ] {
        assert_eq!(catalogue.rdma_table_key(bus_driver, device), key);
    }
    assert!(catalogue.drivers(Table::RdmaDevice).contains("mlx5_ib"));
    assert!(!catalogue.drivers(Table::RdmaDevice).contains("mlx4_ib"), "its ports count already");
}

#[test]
fn a_set_of_18_000_names_resolves() {
    let names: Vec<String> =
        (0..18_000)
            .map(|number| {
                if number == 17_999 {
                    "rx_prio3_pause".into()
                } else {
                    format!("rx{number}_packets")
                }
            })
            .collect();
    let plan = shipped().plan(Table::Ethtool, "mlx5_core", &names, &RawSelection::default());
    assert_eq!(plan.wanted, [17_999]);
}

#[test]
fn raw_names_are_what_is_not_exported_up_to_the_cap() {
    let names =
        ["rx_prio3_pause", "rx1_ecn_mark", "rx_b", "rx_b ", "rx_prio3_pause:", "tx_c", "rx_d"];
    let names = strings(&names);
    let select = |pattern: &str, cap| {
        let selection = RawSelection { pattern: Some(Regex::new(pattern).unwrap()), cap };
        shipped().plan(Table::Ethtool, "mlx5_core", &names, &selection)
    };
    let plan = select("^rx", 2);
    assert_eq!(plan.wanted, [0, 1, 2]);
    assert_eq!(plan.raw, [(1, "rx1_ecn_mark".to_owned()), (2, "rx_b".to_owned())]);
    let raw: Vec<String> = select("^rx_", 9).raw.into_iter().map(|(_, name)| name).collect();
    assert_eq!(raw, ["rx_b", "rx_d"], "one series per name");
}
