//! The program over captured texts: one exposition per fixture, read by other people's parsers, and cases from the field.
//!
//! `UPDATE_EXPECT=1 cargo test --test decode` writes the expositions anew; read the difference before keeping it.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests: the shared modules serve several test crates, and a panic is a failed test"
)]

#[path = "exposition/judges.rs"]
mod judges;
mod program;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use program::{Ran, decode, once, run};
use roce_exporter::export::{FAMILIES, Family, Format};
use strict_parser::ParsedFamily;

/// Families of `once` that differ from run to run.
const VOLATILE: [&str; 3] =
    ["roce_exporter_build_info", "roce_sampler_read_seconds", "roce_sample_age_seconds"];

/// What Prometheus' linter has against names that dashboards and alerts already use.
const LINT_OF_BINDING_NAMES: &str = "metric name should not include type 'counter'";

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found: Vec<PathBuf> =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn driver_of(fixture: &Path) -> String {
    fs::read_to_string(fixture.join("driver")).unwrap().trim().to_owned()
}

/// What the program makes of a fixture.
fn exposition(fixture: &Path) -> Ran {
    let (text, sysfs) = (fixture.join("ethtool-S.txt"), fixture.join("sys"));
    if text.is_file() {
        run(&["decode", "--driver", &driver_of(fixture), text.to_str().unwrap()], "")
    } else {
        once(&sysfs, &[])
    }
}

/// The exposition without what differs from run to run.
fn steady(exposition: &str) -> String {
    let is_volatile = |line: &&str| {
        let line = line.strip_prefix("# HELP ").or(line.strip_prefix("# TYPE ")).unwrap_or(line);
        VOLATILE.iter().any(|family| line.starts_with(family))
    };
    exposition.lines().filter(|line| !is_volatile(line)).flat_map(|line| [line, "\n"]).collect()
}

/// What the program makes of every fixture, without what differs from run to run.
static EXPOSITIONS: LazyLock<Vec<(PathBuf, String)>> = LazyLock::new(|| {
    let made = fixtures().into_iter().map(|fixture| {
        let ran = exposition(&fixture);
        ran.families();
        (fixture, steady(&ran.out))
    });
    made.collect()
});

#[test]
fn every_fixture_gives_its_exposition() {
    let mut wrong = String::new();
    for (fixture, got) in EXPOSITIONS.iter() {
        let file = fixture.join("expected.prom");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&file, got).unwrap();
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        if *got != expected {
            writeln!(wrong, "{}\nexpected:\n{expected}\ngot:\n{got}", file.display()).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn prometheus_own_linter_accepts_every_fixture() {
    for (fixture, text) in EXPOSITIONS.iter() {
        let Some(lint) = judges::promtool_lint(text) else { return };
        let serious: Vec<&String> =
            lint.iter().filter(|line| !line.ends_with(LINT_OF_BINDING_NAMES)).collect();
        assert!(serious.is_empty(), "{}: {serious:#?}", fixture.display());
    }
}

#[test]
fn the_python_client_reads_every_sample_of_every_fixture() {
    let texts: Vec<&String> = EXPOSITIONS.iter().map(|(_, text)| text).collect();
    let Some(found) = judges::python_samples_of_each(&texts, Format::Text004) else { return };
    let written = |text: &&String| text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(found, texts.iter().map(written).collect::<Vec<_>>());
}

/// By the short name that HELP texts use: the drivers of both tables.
const DRIVERS_IN_HELP: [(&str, &str, &str); 11] = [
    ("mlx5", "mlx5_core", "mlx5_ib"),
    ("mlx4", "mlx4_en", "mlx4_ib"),
    ("bnxt", "bnxt_en", "bnxt_re"),
    ("ice", "ice", "irdma"),
    ("irdma", "ice", "irdma"),
    ("qede", "qede", "qede"),
    ("hns3", "hns3", "hns_roce"),
    ("hns", "hns", "hns_roce"),
    ("ionic", "ionic", "ionic_rdma"),
    ("cxgb4", "cxgb4", "iw_cxgb4"),
    ("mlxsw", "mlxsw_spectrum", ""),
];

/// The drivers' names that the last bracket of a HELP text gives as examples, by short driver name.
fn examples(family: &Family) -> Vec<(&'static str, &'static str)> {
    let bracket = family.help.rsplit_once('(').map_or("", |(_, rest)| rest.trim_end_matches(')'));
    let mut driver = None;
    let named = bracket.split(", ").filter_map(|part| {
        let (first, rest) = part.split_once(' ').unwrap_or((part, ""));
        let known = DRIVERS_IN_HELP.iter().find(|(short, ..)| *short == first);
        let name = if known.is_some() { rest } else { part };
        driver = known.map_or(driver, |(short, ..)| Some(*short));
        Some((driver?, name))
    });
    named.collect()
}

/// Whether a family shows a counter of this value, in whatever unit.
fn shows(families: &[ParsedFamily], name: &str, counted: u32) -> bool {
    let counted = f64::from(counted);
    let in_units = [counted, counted / 1e2, counted / 1e6].map(|value| value.to_string());
    let of_name = families.iter().filter(|family| family.name == name);
    let mut values = of_name.flat_map(|family| &family.samples).map(|sample| &sample.value);
    values.any(|value| in_units.contains(&value.parse::<f64>().unwrap().to_string()))
}

#[test]
fn each_name_in_a_help_text_becomes_that_metric() {
    let mut asked: BTreeMap<&str, Vec<(&str, String)>> = BTreeMap::new();
    for family in FAMILIES.iter() {
        for (driver, name) in examples(family) {
            asked.entry(driver).or_default().push((name, family.full_name()));
        }
    }
    assert!(asked.values().map(Vec::len).sum::<usize>() > 60, "{asked:?}");
    for (short, ethtool, rdma) in DRIVERS_IN_HELP {
        let names = asked.remove(short).unwrap_or_default();
        let captures = [("ethtool", ethtool, ""), ("rdma", rdma, ""), ("rdma", rdma, "counters/")];
        let shown = captures.map(|(table, driver, prefix)| {
            let lines = (10_007..)
                .zip(&names)
                .map(|(counted, (name, _))| format!("{prefix}{name}: {counted}\n"));
            let capture = lines.collect::<String>() + "another: 1\n";
            run(&["decode", "--table", table, "--driver", driver], capture).families()
        });
        for (counted, (name, family)) in (10_007..).zip(&names) {
            let becomes_it = shown.iter().any(|families| shows(families, family, counted));
            assert!(becomes_it, "{short} {name} does not become {family}");
        }
    }
    assert!(asked.is_empty(), "{asked:?}");
}

#[test]
fn c21_no_name_can_stop_the_program() {
    let text = b"NIC statistics:\n     Queue[0] AllocFails: 1\n        leading: 2\n     port.VF_admin_queue_requests: 3\n\
        \xff\xfe\x00rx_pause: 4\n     {}\"\\: 5\n     : 6\n     rx_prio3_pause: 7\n     no value\n     big: 99999999999999999999\n";
    for driver in ["mlx5_core", "ice", "", "\u{1f980}", "*"] {
        let ran = decode(driver, *text);
        ran.families();
        assert!(!ran.log.contains("panicked"), "{driver}: {}", ran.log);
    }
    let ran = decode("mlx5_core", *text);
    let labels = [("priority", "3"), ("direction", "rx")];
    assert_eq!(ran.value("roce_pfc_pause_frames_total", &labels).as_deref(), Some("7"));
}

#[test]
fn c23_a_name_that_needs_cleaning_keeps_its_value() {
    let text = "     rx_ppp3_frames      : 41\n  tx_pause_frames:42\n";
    let ran = decode("cxgb4", text);
    let labels = [("priority", "3"), ("direction", "rx")];
    assert_eq!(ran.value("roce_pfc_pause_frames_total", &labels).as_deref(), Some("41"));
    let tx = [("direction", "tx")];
    assert_eq!(ran.value("roce_link_pause_frames_total", &tx).as_deref(), Some("42"));
}

#[test]
fn c25_a_nic_with_18_000_rows_gives_a_few_series() {
    let mut text = String::new();
    for ring in 0..3000 {
        for name in ["packets", "bytes", "csum_none", "xdp_drop", "ecn_mark", "wqe_err"] {
            writeln!(text, "     rx{ring}_{name}: {ring}").unwrap();
        }
    }
    text.push_str("     rx_prio3_pause: 5\n");
    let series: usize =
        decode("mlx5_core", text).families().iter().map(|family| family.samples.len()).sum();
    assert_eq!(series, 1);
}

#[test]
fn c27_a_colon_or_bracket_belongs_to_the_name() {
    let ran = decode("bnx2x", "     [0]: rx_discards: 5\n     rx_discards: 6\n");
    assert_eq!(
        ran.value("roce_port_discards_total", &[("reason", "no_buffer")]).as_deref(),
        Some("6")
    );
    assert!(
        ran.remarks().contains(&"# not exported: [0]: rx_discards: 5 (per queue)"),
        "{}",
        ran.out
    );
    let ran = decode("be2net", "     rxq0: rx_drops_no_frags: 7\n     rx_pause_frames: 8\n");
    assert_eq!(
        ran.value("roce_link_pause_frames_total", &[("direction", "rx")]).as_deref(),
        Some("8")
    );
}

#[test]
fn c29_a_blank_at_the_end_of_a_name_hides_nothing() {
    let ran = decode("mlx5_core", "     tx_pause_storm_warning_events : 3\n");
    let warnings = ran.value("roce_pfc_stall_events_total", &[("severity", "warning")]);
    assert_eq!(warnings.as_deref(), Some("3"));
}

#[test]
fn c31_link_pause_is_never_added_to_priority_0() {
    let text = "     rx_prio0_pause: 20\n     rx_global_pause: 300\n     rx_prio0_pause_duration: 4000000\n";
    let ran = decode("mlx5_core", text);
    let rx = [("direction", "rx")];
    assert_eq!(ran.value("roce_pfc_pause_frames_total", &rx).as_deref(), Some("20"));
    assert_eq!(ran.value("roce_link_pause_frames_total", &rx).as_deref(), Some("300"));
    assert_eq!(ran.value("roce_pfc_pause_seconds_total", &rx).as_deref(), Some("4.0"));
    assert_eq!(ran.value("roce_link_pause_seconds_total", &rx), None, "absent is not zero");
}

#[test]
fn c32_pause_is_seen_with_pfc_and_link_pause_off() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mlx5_core-no-pfc");
    let ran = exposition(&fixture);
    assert_eq!(
        ran.value("roce_mac_pause_frames_total", &[("direction", "tx")]).as_deref(),
        Some("2")
    );
    for absent in ["roce_pfc_pause_frames_total", "roce_link_pause_frames_total"] {
        assert_eq!(ran.value(absent, &[]), None);
    }
}

#[test]
fn c33_a_name_under_the_wrong_driver_is_pointed_out() {
    let text =
        "     rx_prio3_pause: 9\n     rx_pfc_ena_frames_pri3: 10\n     rx_ucast_frames: 11\n";
    let ran = decode("bnxt_en", text);
    assert_eq!(ran.remarks(), ["# not catalogued, looks related: rx_prio3_pause: 9"]);
    let labels = [("priority", "3"), ("direction", "rx")];
    assert_eq!(ran.value("roce_pfc_pause_frames_total", &labels).as_deref(), Some("10"));
}

#[test]
fn c37_a_percentage_is_a_gauge_from_0_to_1() {
    let text = "     outbound_pci_stalled_rd: 37\n     outbound_pci_stalled_rd_events: 12\n";
    let families = decode("mlx5_core", text).families();
    let found: Vec<(&str, &str, &str)> = families
        .iter()
        .map(|family| {
            (family.name.as_str(), family.kind.as_str(), family.samples[0].value.as_str())
        })
        .collect();
    let expected = [
        ("roce_pcie_stalled_seconds_total", "counter", "12"),
        ("roce_pcie_stalled_ratio", "gauge", "0.37"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn c38_help_says_who_sent_the_frames() {
    for fixture in ["mlx5_core-full", "ice-full", "ixgbe-full", "mana-full", "bnxt_en-full"] {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
        let families = exposition(&fixture).families();
        let frames = families.iter().filter(|family| {
            family.name.ends_with("_frames_total")
                && family.samples[0].labels.contains_key("direction")
        });
        let mut seen = 0;
        for family in frames {
            let sender = family.help.split_once("tx = sent by this port");
            assert!(
                sender.is_some_and(|(_, rest)| rest.contains("rx = received")),
                "{}: {}",
                family.name,
                family.help
            );
            seen += 1;
        }
        assert!(seen > 0, "{}", fixture.display());
    }
}
