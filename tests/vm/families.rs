//! Every driver's counters, through the kernel's own interfaces, under the contract's names.

use std::collections::BTreeMap;
use std::fs;

use roce_exporter::catalogue::ethtool_text;
use roce_exporter::export::Format;

use crate::exporter::Exporter;
use crate::nic::{Nic, rdma_statistics, run};
use crate::strict_parser::parse;

/// Where the image has the captures of `tests/fixtures`.
const FIXTURES: &str = "/fixtures";

/// A capture as a NIC in this kernel: the same driver, names and values.
fn replay(number: usize, driver: &str, text: &str) -> Nic {
    let nic = Nic::new(&format!("f{number}"), driver, "table=0");
    let captured = ethtool_text::parse(text);
    for (name, value) in captured.names.iter().zip(&captured.values) {
        nic.order("row", &format!("{value} {name}"));
    }
    nic
}

/// The captures say what `decode` makes of them; the sampler reads the same from the kernel.
pub fn every_capture_is_exported_as_decoded() {
    let mut directories: Vec<_> =
        fs::read_dir(FIXTURES).unwrap().map(|entry| entry.unwrap().path()).collect();
    directories.sort();
    let mut nics = Vec::new();
    let mut expected = Vec::new();
    for (number, directory) in directories.iter().enumerate() {
        let read = |file: &str| fs::read_to_string(directory.join(file)).unwrap();
        nics.push(replay(number, read("driver").trim(), &read("ethtool-S.txt")));
        let text: String = read("expected.prom")
            .lines()
            .filter(|line| {
                !line.starts_with('#') || line.starts_with("# HELP") || line.starts_with("# TYPE")
            })
            .flat_map(|line| [line, "\n"])
            .collect();
        expected.push(if text.is_empty() { Vec::new() } else { parse(&text, Format::Text004) });
    }
    let exporter = Exporter::start(&["--sampler.interval", "50ms"]);
    let scrape = exporter.scrape_until("sample of each", |scrape| {
        nics.iter().all(|nic| {
            let feed = [("device", nic.name.as_str()), ("source", "ethtool")];
            scrape.value("roce_sampler_samples_total", &feed).is_some_and(|samples| samples > 0.0)
        })
    });
    let mut compared = 0;
    for ((nic, families), directory) in nics.iter().zip(&expected).zip(&directories) {
        for sample in families.iter().flat_map(|family| &family.samples) {
            let mut labels = sample.labels.clone();
            labels.insert("device".to_owned(), nic.name.clone());
            let found =
                scrape.samples.iter().find(|own| own.name == sample.name && own.labels == labels);
            let value = found.map(|own| own.value.as_str());
            assert_eq!(
                value,
                Some(sample.value.as_str()),
                "{} {} {labels:?}",
                directory.display(),
                sample.name
            );
            compared += 1;
        }
    }
    println!("{compared} series of {} captures", nics.len());
    assert!(compared > 500, "{compared}");
}

/// A driver, its RDMA device, and its counters.
type RdmaDriver = (&'static str, &'static str, &'static [RdmaCounter]);
/// A counter, its metric, and the labels of that beside those of every RDMA port.
type RdmaCounter = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Counters of the RDMA port, and the metric that each must be.
const RDMA: &[RdmaDriver] = &[
    (
        "mlx5_core",
        "mlx5_7",
        &[
            ("np_ecn_marked_roce_packets", "roce_ecn_marked_packets_total", &[]),
            ("np_cnp_sent", "roce_cnp_sent_total", &[]),
            ("rp_cnp_handled", "roce_cnp_handled_total", &[]),
            ("rp_cnp_ignored", "roce_cnp_ignored_total", &[]),
            ("out_of_sequence", "roce_rdma_out_of_sequence_total", &[]),
            ("out_of_buffer", "roce_rdma_out_of_buffer_total", &[]),
            ("packet_seq_err", "roce_rdma_seq_nak_received_total", &[]),
            ("local_ack_timeout_err", "roce_rdma_timeout_total", &[]),
            ("rnr_nak_retry_err", "roce_rdma_rnr_nak_received_total", &[]),
            ("duplicate_request", "roce_rdma_duplicate_request_total", &[]),
            ("rx_icrc_encapsulated", "roce_rdma_icrc_error_total", &[]),
        ],
    ),
    (
        "bnxt_en",
        "bnxt_re7",
        &[
            ("rx_ecn_marked_pkts", "roce_ecn_marked_packets_total", &[]),
            ("tx_cnp_pkts", "roce_cnp_sent_total", &[]),
            ("rx_cnp_pkts", "roce_cnp_received_total", &[]),
            ("oos_drop_count", "roce_rdma_out_of_sequence_total", &[]),
            ("rx_out_of_buffer", "roce_rdma_out_of_buffer_total", &[]),
            ("to_retransmits", "roce_rdma_timeout_total", &[]),
            ("rx_bytes", "roce_rdma_bytes_total", &[("direction", "rx")]),
            ("tx_pkts", "roce_rdma_packets_total", &[("direction", "tx")]),
        ],
    ),
    (
        "ice",
        "irdma7",
        &[
            ("RxECNMrkd", "roce_ecn_marked_packets_total", &[]),
            ("cnpSent", "roce_cnp_sent_total", &[]),
            ("cnpHandled", "roce_cnp_handled_total", &[]),
            ("cnpIgnored", "roce_cnp_ignored_total", &[]),
            ("RetransSegs", "roce_rdma_retransmit_total", &[]),
            ("RNR sent", "roce_rdma_rnr_nak_sent_total", &[]),
            ("ip4InOctets", "roce_rdma_bytes_total", &[("direction", "rx")]),
        ],
    ),
    (
        "ionic",
        "ionic_7",
        &[
            ("rx_rdma_ecn_pkts", "roce_ecn_marked_packets_total", &[]),
            ("tx_rdma_cnp_pkts", "roce_cnp_sent_total", &[]),
            ("rx_rdma_cnp_pkts", "roce_cnp_received_total", &[]),
            ("resp_rx_outouf_seq", "roce_rdma_out_of_sequence_total", &[]),
            ("tx_rdma_retx_pkts", "roce_rdma_retransmit_total", &[]),
            ("tx_rdma_ucast_bytes", "roce_rdma_bytes_total", &[("direction", "tx")]),
        ],
    ),
];

pub fn rdma_counters_of_each_driver_are_exported() {
    let mut nics = Vec::new();
    for (number, (driver, rdma, counters)) in RDMA.iter().enumerate() {
        let nic = Nic::new(&format!("rail{number}"), driver, &format!("rdma={rdma} pfc=0x08"));
        for (place, (counter, ..)) in counters.iter().enumerate() {
            nic.rdma_counter(counter, (number * 100 + place) as u64 + 1_000_000_007, 0);
        }
        nics.push(nic);
    }
    let exporter = Exporter::start(&[]);
    let scrape = exporter.scrape();
    for (number, (driver, rdma, counters)) in RDMA.iter().enumerate() {
        let device = nics[number].name.as_str();
        for (place, (counter, family, further)) in counters.iter().enumerate() {
            let mut labels = vec![("device", device), ("rdma_device", *rdma), ("port", "1")];
            labels.extend(*further);
            let expected = (number * 100 + place) as f64 + 1_000_000_007.0;
            assert_eq!(scrape.expect(family, &labels), expected, "{driver} {counter}");
        }
        let info = [
            ("device", device),
            ("rdma_device", rdma),
            ("driver", driver),
            ("firmware", "22.41.1000"),
        ];
        assert_eq!(scrape.expect("roce_device_info", &info), 1.0);
        for kind in ["v1", "v2"] {
            let gid = [("device", device), ("rdma_device", rdma), ("type", kind)];
            assert_eq!(scrape.expect("roce_gid_info", &gid), 1.0);
        }
        let source = [("device", device), ("rdma_device", rdma), ("source", "rdma_netlink")];
        assert!(scrape.expect("roce_sampler_samples_total", &source) > 0.0);
    }
}

/// Counters that exist but are off are absent, not 0; they come once an operator switches them on.
pub fn optional_counters_come_when_switched_on() {
    let nic = Nic::new("rail0", "mlx5_core", "rdma=mlx5_0");
    nic.rdma_counter("cc_rx_cnp_pkts", 77, 0);
    let exporter = Exporter::start(&[]);
    let labels = [("device", "rail0"), ("rdma_device", "mlx5_0"), ("port", "1")];
    assert_eq!(exporter.scrape().value("roce_cnp_received_total", &labels), None);
    assert!(!rdma_statistics("mlx5_0/1").contains_key("cc_rx_cnp_pkts"));
    run("rdma", "statistic set link mlx5_0/1 optional-counters cc_rx_cnp_pkts");
    assert_eq!(rdma_statistics("mlx5_0/1")["cc_rx_cnp_pkts"], 77);
    exporter.scrape_until("optional counter", |scrape| {
        scrape.value("roce_cnp_received_total", &labels) == Some(77.0)
    });
    run("rdma", "statistic unset link mlx5_0/1 optional-counters");
    exporter.scrape_until("end of the optional counter", |scrape| {
        scrape.value("roce_cnp_received_total", &labels).is_none()
    });
}

/// Many counters at once, each with its own value, the way a user of the tools sees them.
pub fn exported_values_are_those_of_the_tools() {
    let nic = Nic::new("rail0", "mlx5_core", "rdma=mlx5_0 pfc=0xff");
    let names = crate::nic::ethtool_statistics("rail0");
    for (number, name) in names.keys().enumerate() {
        nic.counter(name, 1_000_003 + 10_007 * number as u64, 0);
    }
    let exporter = Exporter::start(&[]);
    let scrape = exporter.scrape();
    let shown: BTreeMap<String, u64> = crate::nic::ethtool_statistics("rail0");
    for priority in 0..8 {
        let label = priority.to_string();
        for (direction, metric, name) in [
            ("rx", "roce_pfc_pause_frames_total", format!("rx_prio{priority}_pause")),
            ("tx", "roce_pfc_pause_frames_total", format!("tx_prio{priority}_pause")),
            ("rx", "roce_priority_bytes_total", format!("rx_prio{priority}_bytes")),
            ("tx", "roce_priority_packets_total", format!("tx_prio{priority}_packets")),
        ] {
            let labels =
                [("device", "rail0"), ("priority", label.as_str()), ("direction", direction)];
            assert_eq!(scrape.expect(metric, &labels), shown[&name] as f64, "{name}");
        }
        let labels = [("device", "rail0"), ("priority", label.as_str()), ("direction", "rx")];
        let seconds = shown[&format!("rx_prio{priority}_pause_duration")] as f64 / 1e6;
        assert_eq!(scrape.expect("roce_pfc_pause_seconds_total", &labels), seconds);
    }
}
