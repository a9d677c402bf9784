//! The exposition as a whole: golden texts, other people's parsers, hostile names, the series budget and the
//! documentation.

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

mod exposition;

use std::collections::BTreeSet;
use std::path::Path;

use exposition::snapshots::{
    Counted, RX, TX, counted, detailed, device, ethtool, figures, hand_made, mlx5_host, priority,
    rdma, rdma_port, sampled, snapshot, unread, with_raw,
};
use exposition::strict_parser::{ParsedFamily, parse, value};
use exposition::{BUILD, PROCESS, judges, text_of};
use roce_exporter::engine::Snapshot;
use roce_exporter::export::{FAMILIES, Family, Format, Kind, Label, encode};
use roce_exporter::model::{
    DeviceFacts, Index, Monotonic, OptionalCounter, PortSettings, Quantity, RdmaPort, SourceKind,
    StandardPause,
};

const FORMATS: [Format; 2] = [Format::OpenMetrics100, Format::Text004];

/// What Prometheus' linter has against names that dashboards and alerts already use.
const LINT_OF_BINDING_NAMES: &str = "metric name should not include type 'counter'";

fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name} differs; UPDATE_EXPECT=1 rewrites it");
}

fn samples(families: &[ParsedFamily]) -> usize {
    families.iter().map(|family| family.samples.len()).sum()
}

fn family<'a>(families: &'a [ParsedFamily], name: &str) -> &'a ParsedFamily {
    families.iter().find(|family| family.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn text_families(snapshot: &Snapshot) -> Vec<ParsedFamily> {
    parse(&text_of(snapshot, Format::Text004), Format::Text004)
}

/// All checks that any exposition must pass.
fn judge(snapshot: &Snapshot) {
    for format in FORMATS {
        let text = text_of(snapshot, format);
        let families = parse(&text, format);
        if let Some(found) = judges::python_samples(&text, format) {
            assert_eq!(found, samples(&families), "{format:?}");
        }
        match format {
            Format::OpenMetrics100 => judges::promtool_import(&text),
            Format::Text004 => {
                let lint = judges::promtool_lint(&text).unwrap_or_default();
                let serious: Vec<&String> =
                    lint.iter().filter(|line| !line.ends_with(LINT_OF_BINDING_NAMES)).collect();
                assert!(serious.is_empty(), "{serious:#?}");
            }
        }
    }
}

#[test]
fn golden_texts() {
    let snapshot = hand_made();
    golden("exposition.openmetrics.txt", &text_of(&snapshot, Format::OpenMetrics100));
    golden("exposition.prometheus.txt", &text_of(&snapshot, Format::Text004));
}

#[test]
fn other_parsers_read_the_exposition() {
    judge(&hand_made());
    judge(&mlx5_host(2));
    judge(&snapshot(Vec::new(), Vec::new()));
}

#[test]
fn both_formats_say_the_same() {
    let snapshot = hand_made();
    let [open, text] = FORMATS.map(|format| parse(&text_of(&snapshot, format), format));
    assert_eq!(open.len(), text.len());
    for (one, other) in open.iter().zip(&text) {
        assert_eq!(one.help, other.help);
        let plain = |family: &ParsedFamily| -> BTreeSet<(String, String)> {
            let kept = family.samples.iter().filter(|sample| !sample.name.ends_with("_bucket"));
            kept.map(|sample| {
                (format!("{} {:?}", sample.name, sample.labels), sample.value.clone())
            })
            .collect()
        };
        assert_eq!(plain(one), plain(other));
        assert_eq!(one.samples.len(), other.samples.len());
    }
}

#[test]
fn values_are_in_base_units_and_integers_stay_exact() {
    let families = text_families(&hand_made());
    let of = |name, labels: &[(&str, &str)]| value(&families, name, labels);
    assert_eq!(of("roce_priority_bytes_total", &[]).as_deref(), Some("1152921504606846977"));
    assert_eq!(
        of("roce_pfc_pause_seconds_total", &[("direction", "rx")]).as_deref(),
        Some("1.234567")
    );
    assert_eq!(of("roce_pcie_stalled_ratio", &[]).as_deref(), Some("0.42"));
    assert_eq!(of("roce_pcie_stalled_seconds_total", &[]).as_deref(), Some("90"));
    assert_eq!(of("roce_sample_age_seconds", &[("source", "ethtool")]).as_deref(), Some("0.005"));
    assert_eq!(
        of("roce_sampler_interval_seconds", &[("source", "ethtool")]).as_deref(),
        Some("0.01")
    );
}

#[test]
fn absent_is_not_zero() {
    let families = text_families(&hand_made());
    let of = |name, labels: &[(&str, &str)]| value(&families, name, labels);
    assert_eq!(of("roce_pfc_pause_frames_total", &[("direction", "rx")]).as_deref(), Some("0"));
    assert_eq!(of("roce_link_pause_frames_total", &[]), None);
    assert_eq!(of("roce_sample_age_seconds", &[("device", "eth1")]), None);
    assert_eq!(of("roce_raw_counter", &[("name", "ch0_poll")]), None);
    assert_eq!(of("roce_source_errors_total", &[("reason", "busy")]).as_deref(), Some("4"));
    assert_eq!(of("roce_source_errors_total", &[("reason", "gone")]), None);
    assert_eq!(of("process_max_fds", &[]), None);
    assert_eq!(of("process_threads", &[]).as_deref(), Some("5"));
}

#[test]
fn supported_says_which_families_a_device_gives() {
    let families = text_families(&hand_made());
    let supported = |device: &str, counter: &str| {
        value(&families, "roce_counter_supported", &[("device", device), ("counter", counter)])
    };
    assert_eq!(supported("eth0", "roce_pfc_pause_frames_total").as_deref(), Some("1"));
    assert_eq!(supported("eth0", "roce_link_pause_frames_total").as_deref(), Some("0"));
    assert_eq!(supported("eth0", "roce_cnp_sent_total").as_deref(), Some("1"));
    assert_eq!(supported("eth0", "roce_cnp_handled_total").as_deref(), Some("0"));
    assert_eq!(supported("eth1", "roce_pfc_pause_frames_total").as_deref(), Some("0"));
    assert_eq!(supported("eth1", "roce_cnp_sent_total"), None, "eth1 has no RDMA port");
    let asked = family(&families, "roce_counter_supported");
    let names: BTreeSet<&String> =
        asked.samples.iter().map(|sample| &sample.labels["counter"]).collect();
    assert_eq!(names.len(), 12 + 9);
}

/// Devices with standard pause statistics: 5 received, none counted on the way out.
fn with_standard_pause(name: &str, link_only: bool) -> DeviceFacts {
    let pause = StandardPause { rx_frames: Some(5), tx_frames: None, link_only };
    let settings = PortSettings { standard_pause: Some(pause), ..PortSettings::default() };
    DeviceFacts { settings, ..device(name, Vec::new()) }
}

#[test]
fn standard_pause_statistics_stand_in_where_the_driver_has_no_name_for_them() {
    let bytes = || vec![counted(Quantity::Bytes, TX, Index::None, 1)];
    let named = |quantity| vec![unread(counted(quantity, RX, Index::None, 9))];
    let feed = |name, counters| figures(ethtool(name), "some", counters);
    let feeds = vec![
        sampled(feed("link", bytes())),
        sampled(feed("mac", bytes())),
        sampled(feed("own-link", named(Quantity::LinkPauseFrames))),
        sampled(feed("own-mac", named(Quantity::MacPauseFrames))),
        feed("not-read-yet", bytes()),
    ];
    let devices = ["link", "own-link", "own-mac", "not-read-yet", "no-feed"];
    let mut devices: Vec<_> = devices.map(|name| with_standard_pause(name, true)).into();
    devices.push(with_standard_pause("mac", false));
    let families = text_families(&snapshot(devices, feeds));
    let shown = |name: &str| -> Vec<String> {
        let family = families.iter().find(|family| family.name == name);
        let samples = family.iter().flat_map(|family| &family.samples);
        samples
            .map(|own| {
                format!("{} {} {}", own.labels["device"], own.labels["direction"], own.value)
            })
            .collect()
    };
    assert_eq!(shown("roce_link_pause_frames_total"), ["link rx 5", "no-feed rx 5"]);
    assert_eq!(shown("roce_mac_pause_frames_total"), ["mac rx 5"]);
    for (name, supported) in [("link", "1"), ("mac", "0"), ("own-link", "0")] {
        let asked = [("device", name), ("counter", "roce_link_pause_frames_total")];
        let answer = value(&families, "roce_counter_supported", &asked);
        assert_eq!(answer.as_deref(), Some(supported), "{name}");
    }
}

#[test]
fn optional_counters_show_what_an_operator_could_switch_on() {
    let optional = |name: &str, enabled| OptionalCounter { name: name.to_owned(), enabled };
    let port = RdmaPort {
        optional_counters: vec![optional("cc_rx_ce_pkts", true), optional("cc_tx_cnp_pkts", false)],
        ..rdma_port("mlx5_0", 1)
    };
    let families = text_families(&snapshot(vec![device("eth0", vec![port])], Vec::new()));
    for (counter, on) in [("cc_rx_ce_pkts", "1"), ("cc_tx_cnp_pkts", "0")] {
        let labels =
            [("device", "eth0"), ("rdma_device", "mlx5_0"), ("port", "1"), ("counter", counter)];
        let shown = value(&families, "roce_rdma_optional_counter_enabled", &labels);
        assert_eq!(shown.as_deref(), Some(on), "{counter}");
    }
}

#[test]
fn two_sources_of_one_rdma_port_answer_together() {
    let with = |source, quantity| {
        let counters = vec![counted(quantity, None, Index::None, 1)];
        sampled(figures(rdma("eth0", "mlx5_0", Some(1), source), "mlx5_ib", counters))
    };
    let feeds = vec![
        with(SourceKind::RdmaSysfs, Quantity::RdmaCnpSent),
        with(SourceKind::RdmaNetlink, Quantity::RdmaTimeout),
    ];
    let families = text_families(&snapshot(Vec::new(), feeds));
    for counter in ["roce_cnp_sent_total", "roce_rdma_timeout_total"] {
        let found = value(&families, "roce_counter_supported", &[("counter", counter)]);
        assert_eq!(found.as_deref(), Some("1"), "{counter}");
    }
}

#[test]
fn no_two_series_are_equal_with_two_rdma_ports_on_one_netdev() {
    let counters = || -> Vec<Counted> {
        vec![
            counted(Quantity::RdmaTimeout, None, Index::None, 1),
            counted(Quantity::RdmaBytes, RX, Index::None, 2),
        ]
    };
    let feed = |rdma_device: &str, port, source| {
        with_raw(
            sampled(figures(rdma("eth0", rdma_device, port, source), "x", counters())),
            &[("same", Some(3))],
        )
    };
    let feeds = vec![
        with_raw(sampled(figures(ethtool("eth0"), "x", counters())), &[("same", Some(3))]),
        feed("mlx5_0", None, SourceKind::RdmaSysfs),
        feed("mlx5_0", Some(1), SourceKind::RdmaNetlink),
        feed("mlx5_0", Some(2), SourceKind::RdmaNetlink),
        feed("mlx5_1", Some(1), SourceKind::RdmaNetlink),
    ];
    let ports = vec![rdma_port("mlx5_0", 1), rdma_port("mlx5_0", 2), rdma_port("mlx5_1", 1)];
    let snapshot = snapshot(vec![device("eth0", ports)], feeds);
    // The parser refuses equal series.
    let families = text_families(&snapshot);
    let per_feed = [
        "roce_rdma_timeout_total",
        "roce_rdma_bytes_total",
        "roce_raw_counter",
        "roce_sampler_samples_total",
    ];
    for name in per_feed {
        assert_eq!(family(&families, name).samples.len(), 5, "{name}");
    }
    assert_eq!(family(&families, "roce_device_info").samples.len(), 3);
    assert_eq!(
        value(&families, "roce_exporter_skipped_series", &[("reason", "duplicate")]).as_deref(),
        Some("0")
    );
    judge(&snapshot);
}

#[test]
fn equal_feeds_give_one_series_and_are_counted() {
    let feed = || {
        with_raw(
            sampled(figures(ethtool("eth0"), "x", Vec::new())),
            &[("a", Some(1)), ("a", Some(2))],
        )
    };
    let families = text_families(&snapshot(vec![device("eth0", vec![]); 2], vec![feed(), feed()]));
    let raw = family(&families, "roce_raw_counter");
    assert_eq!(raw.samples.len(), 1);
    assert_eq!(raw.samples[0].value, "1", "the first stays");
    let duplicates =
        value(&families, "roce_exporter_skipped_series", &[("reason", "duplicate")]).unwrap();
    assert!(duplicates.parse::<u32>().unwrap() > 3, "{duplicates}");
}

#[test]
fn hostile_names_survive_every_parser() {
    let nasty = "a\"b\\c\nd{e=\"f\"},\u{1f980}é\u{fffd}\r\t # EOF";
    let mut facts = device(nasty, vec![rdma_port(nasty, 1)]);
    facts.driver = nasty.to_owned();
    facts.firmware = nasty.to_owned();
    facts.pci_address = nasty.to_owned();
    facts.master = nasty.to_owned();
    let discard = detailed(nasty, counted(Quantity::Discards, RX, Index::None, 1));
    let counters = vec![discard, counted(Quantity::PfcPauseFrames, TX, priority(0), 1)];
    let netdev = with_raw(
        sampled(figures(ethtool(nasty), nasty, counters)),
        &[(nasty, Some(1)), ("", Some(2))],
    );
    let snapshot = snapshot(vec![facts], vec![netdev]);
    for format in FORMATS {
        let families = parse(&text_of(&snapshot, format), format);
        let raw = value(
            &families,
            "roce_raw_counter",
            &[("name", nasty), ("device", nasty), ("driver", nasty)],
        );
        assert_eq!(raw.as_deref(), Some("1"), "{format:?}");
        assert_eq!(value(&families, "roce_raw_counter", &[("name", "")]).as_deref(), Some("2"));
    }
    let text = text_families(&snapshot);
    let info = &family(&text, "roce_device_info").samples[0].labels;
    assert!(
        ["driver", "firmware", "pci_address", "master", "rdma_device"]
            .iter()
            .all(|label| info[*label] == nasty)
    );
    assert!(value(&text, "roce_port_discards_total", &[("reason", nasty)]).is_some());
    judge(&snapshot);
}

#[test]
fn an_empty_snapshot_shows_the_exporter_only() {
    let empty = Snapshot { taken_at: Monotonic::ZERO, ..snapshot(Vec::new(), Vec::new()) };
    let mut out = String::new();
    encode(&empty, &BUILD, None, Format::Text004, &mut out).unwrap();
    let families = parse(&out, Format::Text004);
    let names: Vec<&str> = families.iter().map(|family| family.name.as_str()).collect();
    assert_eq!(names, ["roce_exporter_build_info", "roce_exporter_skipped_series"]);
}

#[test]
fn eight_nics_stay_within_the_series_budget() {
    const BUDGET: usize = 2000;
    const RESERVE_FOR_COMPUTED: usize = 500;
    let host = mlx5_host(8);
    let families = text_families(&host);
    let series = samples(&families);
    println!("{series} series");
    assert!(series < BUDGET - RESERVE_FOR_COMPUTED, "{series} series");
    assert!(series > 1000, "{series} series: the host of this test is too small to prove anything");
    assert_eq!(
        value(&families, "roce_exporter_skipped_series", &[("reason", "duplicate")]).as_deref(),
        Some("0")
    );
}

#[test]
fn the_table_keeps_its_own_rules() {
    let mut names = BTreeSet::new();
    for family in FAMILIES.iter() {
        let name = family.name;
        assert!(names.insert(family.full_name()), "{name} twice");
        assert!(
            !name.ends_with("_total") && !name.ends_with("_info"),
            "{name}: the type adds its suffix"
        );
        assert!(name.starts_with("roce_") || name.starts_with("process_"), "{name}");
        let help = family.help;
        assert!(
            !help.contains(['\\', '"', '\n']) && !help.ends_with('.') && help.is_ascii(),
            "{name}: {help}"
        );
        assert!(!help.contains("  "), "{name}: two spaces in {help}");
        let labels: Vec<Label> =
            family.labels.iter().chain(family.optional_labels).copied().collect();
        let distinct: BTreeSet<&str> = labels.iter().map(|label| label.as_str()).collect();
        assert_eq!(distinct.len(), labels.len(), "{name}: a label twice");
        let is_pause = name.contains("pause") && family.labels.contains(&Label::Direction);
        let says_who = help.contains("tx = ") && help.contains("rx = ");
        assert!(
            !is_pause || says_who || name == "roce_continuous_pause_events",
            "{name}: which way is which?"
        );
        if matches!(family.kind, Kind::Info) {
            assert_eq!(family.unit(), None, "{name}: an info has no unit");
        }
    }
}

#[test]
fn health_families_are_named_after_their_quantity() {
    let contract = [
        "rdma_ecn_marked_packets",
        "rdma_cnp_sent",
        "rdma_cnp_handled",
        "rdma_cnp_ignored",
        "rdma_cnp_received",
    ];
    let full_names: BTreeSet<String> = FAMILIES.iter().map(Family::full_name).collect();
    for word in Quantity::ALL
        .iter()
        .map(|quantity| quantity.as_str())
        .filter(|word| word.starts_with("rdma_"))
    {
        let name =
            if contract.contains(&word) { word.replacen("rdma_", "", 1) } else { word.to_owned() };
        assert!(full_names.contains(&format!("roce_{name}_total")), "{word}");
    }
}

fn documentation() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md")).unwrap()
}

/// How the documentation must show a family.
fn documentation_row(family: &Family) -> String {
    let always = family.labels.iter().map(|label| label.as_str().to_owned());
    let sometimes = family.optional_labels.iter().map(|label| format!("({})", label.as_str()));
    let labels: Vec<String> = always.chain(sometimes).collect();
    let (name, kind) = (family.full_name(), family.kind.as_str());
    format!("| `{name}` | {kind} | {} | {} |", labels.join(", "), family.help)
}

#[test]
fn the_documentation_lists_every_family_as_it_is() {
    let documentation = documentation();
    let is_metric = |line: &&str| line.starts_with("| `roce_") || line.starts_with("| `process_");
    let found: Vec<&str> = documentation.lines().filter(is_metric).collect();
    let missing: Vec<String> = FAMILIES
        .iter()
        .map(documentation_row)
        .filter(|row| !found.contains(&row.as_str()))
        .collect();
    assert!(missing.is_empty(), "docs/metrics.md lacks these rows:\n{}", missing.join("\n"));
    assert_eq!(
        found.len(),
        FAMILIES.len(),
        "docs/metrics.md lists a metric twice or one that does not exist"
    );
}

#[test]
fn the_documentation_names_no_metric_that_does_not_exist() {
    let known: BTreeSet<String> = FAMILIES.iter().map(Family::full_name).collect();
    let words = regex::Regex::new(r"\b(?:roce|process)_[a-z0-9_]+").unwrap();
    for found in words.find_iter(&documentation()).map(|found| found.as_str()) {
        let base =
            ["_bucket", "_sum", "_count"].iter().find_map(|suffix| found.strip_suffix(suffix));
        let is_metric = known.contains(found) || base.is_some_and(|base| known.contains(base));
        // Some drivers' own names begin with the same word.
        let is_drivers_name = FAMILIES.iter().any(|family| family.help.contains(found));
        let exists = is_metric || is_drivers_name;
        assert!(exists || found == "roce_exporter", "docs/metrics.md names {found}");
    }
}

#[test]
fn process_figures_are_left_out_on_request() {
    let mut out = String::new();
    encode(&hand_made(), &BUILD, None, Format::OpenMetrics100, &mut out).unwrap();
    assert!(!out.contains("process_"));
    assert!(
        PROCESS.threads.is_some()
            && text_of(&hand_made(), Format::OpenMetrics100).contains("process_threads 5")
    );
}
