//! Drivers that are not ours: software RoCE with traffic, and QEMU's Ethernet port.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::exporter::Exporter;
use crate::modules;
use crate::nic::{ethtool_statistics, rdma_statistics, run};

/// A counter, its metric, and the labels of that beside those of every RDMA port.
type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const RXE: [Row; 5] = [
    ("sent_pkts", "roce_rdma_packets_total", &[("direction", "tx")]),
    ("rcvd_pkts", "roce_rdma_packets_total", &[("direction", "rx")]),
    ("duplicate_request", "roce_rdma_duplicate_request_total", &[]),
    ("out_of_seq_request", "roce_rdma_out_of_sequence_total", &[]),
    ("completer_retry_err", "roce_rdma_retransmit_total", &[]),
];

fn pingpong(arguments: &str) -> Child {
    let mut command = Command::new("ibv_rc_pingpong");
    command.args(["-d", "rxe0", "-g", "1", "-s", "2048", "-n", "3000"]);
    command.args(arguments.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

pub fn software_roce_agrees_with_the_rdma_tool() {
    for module in ["veth", "crc32_generic", "rdma_rxe", "ib_uverbs"] {
        modules::load(module);
    }
    run("ip", "link add veth0 type veth peer name veth1");
    for device in ["veth0", "veth1"] {
        run("ip", &format!("link set {device} up"));
    }
    run("ip", "addr add 10.1.1.1/24 dev veth0");
    run("rdma", "link add rxe0 type rxe netdev veth0");
    let exporter = Exporter::start(&["--device.include", "veth0"]);
    let value = |metric: &str, further: &[(&str, &str)]| {
        let labels = [&[("rdma_device", "rxe0"), ("port", "1")], further].concat();
        exporter.scrape().expect(metric, &labels)
    };
    let server = pingpong("");
    sleep(Duration::from_millis(700));
    let client = pingpong("127.0.0.1");
    let mut during = Vec::new();
    for _ in 0..8 {
        during.push(value("roce_rdma_packets_total", &[("direction", "tx")]));
        sleep(Duration::from_millis(60));
    }
    for child in [server, client] {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    sleep(Duration::from_millis(200));
    let truth = rdma_statistics("rxe0/1");
    for (counter, metric, further) in RXE {
        assert_eq!(value(metric, further), truth[counter] as f64, "{counter}");
    }
    let moving =
        during.iter().filter(|sent| **sent > 0.0 && **sent < truth["sent_pkts"] as f64).count();
    assert!(moving >= 2, "no scrape while it ran: {during:?}");
    println!("{} packets sent; while it ran: {during:?}", truth["sent_pkts"]);
    assert!(truth["sent_pkts"] > 600, "{truth:?}");
    assert!(during.is_sorted(), "{during:?}");
    drop(exporter);
    run("rdma", "link del rxe0");
    run("ip", "link del veth0");
}

pub fn e1000e_agrees_with_ethtool() {
    modules::load("e1000e");
    run("ip", "link set eth0 up");
    let exporter = Exporter::start(&[]);
    let device = [("device", "eth0")];
    // The port takes a second to find its link.
    let scrape = exporter.scrape_until("link", |scrape| {
        scrape.value("roce_port_up", &device) == Some(1.0)
            && scrape.value("roce_port_speed_bytes", &device) == Some(125e6)
    });
    let truth = ethtool_statistics("eth0");
    for (name, metric, direction) in [
        ("rx_flow_control_xoff", "roce_link_pause_frames_total", "rx"),
        ("tx_flow_control_xoff", "roce_link_pause_frames_total", "tx"),
        ("rx_flow_control_xon", "roce_link_resume_frames_total", "rx"),
        ("tx_flow_control_xon", "roce_link_resume_frames_total", "tx"),
    ] {
        let labels = [("device", "eth0"), ("direction", direction)];
        assert_eq!(scrape.expect(metric, &labels), truth[name] as f64, "{name}");
    }
    let shown = run("ethtool", "-a eth0");
    let on = |word: &str| shown.lines().any(|line| line.starts_with(word) && line.ends_with("on"));
    for (word, direction) in [("RX:", "rx"), ("TX:", "tx")] {
        let labels = [("device", "eth0"), ("direction", direction)];
        let enabled = scrape.expect("roce_link_pause_enabled", &labels);
        assert_eq!(enabled, f64::from(u8::from(on(word))), "{shown}");
    }
    assert!(scrape.value("roce_pfc_enabled", &[("device", "eth0"), ("priority", "3")]).is_none());
    drop(exporter);
    run("ip", "link set eth0 down");
    run("rmmod", "e1000e");
}
