//! The program on the kernel it is made for: veth devices in network namespaces, read by the real system calls.
//!
//! Each test has a namespace of its own. Without root, `ip` or `ethtool` a test says `SKIPPED` and why, and fails
//! where `ROCE_REQUIRE_ALL_TIERS=1` says that all must run.

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

#[path = "web/client.rs"]
mod client;
#[path = "kernel/exporter.rs"]
mod exporter;
mod network_namespace;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use exporter::{Exporter, Scrape, copy_of_the_program, named_statistics};
use network_namespace::{add_veth, ethtool, in_namespace, ip, receive_packets};
use rustix::process::Signal;

#[test]
fn values_are_those_of_ethtool() {
    in_namespace("equal", |namespace| {
        add_veth("veth0", 16);
        receive_packets("veth0", 0, 400);
        let exporter = Exporter::start(namespace, &[]);
        let expected = named_statistics("veth0");
        assert_eq!(expected.len(), 1 + 16 * 9);
        assert!(expected["rx_queue_7_xdp_packets"] > 0, "each queue has its packets");
        assert_eq!(exporter.scrape().statistics("veth0"), expected);
        receive_packets("veth0", 0, 400);
        exporter.wait_for_statistics("veth0");
        assert_eq!(exporter.scrape().errors("veth0", "names_changed"), 0);
    });
}

#[test]
fn a_set_that_changes_its_size_never_mixes_its_names() {
    in_namespace("resize", |namespace| {
        add_veth("veth0", 16);
        receive_packets("veth0", 0, 2_000);
        let all = named_statistics("veth0");
        assert!((0..16).all(|queue| all[&format!("rx_queue_{queue}_xdp_packets")] > 0), "{all:?}");
        let exporter = Exporter::start(namespace, &["--sampler.interval", "1ms"]);
        let (mut scrapes, mut sizes) = (0, std::collections::BTreeSet::new());
        let resizing = Resizing::start();
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until {
            let seen = exporter.scrape().statistics("veth0");
            for (name, value) in &seen {
                assert_eq!(all.get(name), Some(value), "{name} after {scrapes} scrapes");
            }
            scrapes += 1;
            sizes.insert(seen.len());
        }
        drop(resizing);
        assert!(scrapes > 50 && sizes.len() > 3, "{scrapes} scrapes saw sets of {sizes:?}");
        exporter.wait_for_statistics("veth0");
        assert!(exporter.scrape().errors("veth0", "names_changed") > 0, "no change was met");
    });
}

/// Changes the number of veth0's queues some fifty times a second until dropped, and then sets it to 16. With no pause
/// between the changes hardly a read has names that are still true when it ends.
struct Resizing {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Resizing {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        // A thread inherits the network namespace of the one that starts it.
        let thread = std::thread::spawn(move || {
            let sizes = [2, 16, 5, 9, 1, 12, 3].into_iter().cycle();
            for queues in sizes.take_while(|_| !asked.load(Ordering::Relaxed)).chain([16]) {
                ethtool(&format!("-L veth0 rx {queues}"));
                std::thread::sleep(Duration::from_millis(15));
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Resizing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || ended.is_some_and(|ended| ended.is_ok()));
    }
}

#[test]
fn a_deleted_device_leaves_at_once_and_comes_back() {
    in_namespace("delete", |namespace| {
        add_veth("veth0", 4);
        add_veth("veth1", 4);
        receive_packets("veth0", 0, 100);
        let exporter = Exporter::start(namespace, &[]);
        exporter.wait_for_statistics("veth0");
        ip("link del veth0");
        let took = exporter.wait_for("end of veth0", || !exporter.scrape().knows("veth0"));
        assert!(took < Duration::from_secs(1), "gone after {took:?}");
        assert!(exporter.is_healthy());
        assert_eq!(exporter.scrape().statistics("veth1"), named_statistics("veth1"));
        add_veth("veth0", 2);
        let took = exporter.wait_for_statistics("veth0");
        assert!(took < Duration::from_secs(6), "back after {took:?}");
        // Another device under the same name, without a moment in between.
        ip("link del veth0");
        add_veth("veth0", 2);
        receive_packets("veth0", 0, 33);
        let took = exporter.wait_for_statistics("veth0");
        assert!(took < Duration::from_secs(6), "exchanged after {took:?}");
    });
}

#[test]
fn c42_two_alike_devices_never_mix() {
    in_namespace("alike", |namespace| {
        add_veth("veth0", 4);
        add_veth("veth1", 4);
        receive_packets("veth0", 0, 100);
        let exporter = Exporter::start(namespace, &["--sampler.interval", "1ms"]);
        let still = named_statistics("veth0");
        for packets in 1..30 {
            receive_packets("veth1", 1, packets);
            assert_eq!(exporter.scrape().statistics("veth0"), still);
        }
        exporter.wait_for_statistics("veth1");
        let moved = named_statistics("veth1");
        let packets = (0..4).map(|queue| moved[&format!("rx_queue_{queue}_xdp_packets")]);
        assert_eq!(packets.sum::<u64>(), (1..30).sum::<u64>());
        assert_eq!(exporter.scrape().statistics("veth0"), still);
    });
}

#[test]
fn eighteen_thousand_statistics_keep_the_interval() {
    in_namespace("many", |namespace| {
        add_veth("veth0", 2_048);
        receive_packets("veth0", 0, 400);
        let exporter = Exporter::start(namespace, &[]);
        let expected = named_statistics("veth0");
        assert_eq!(expected.len(), 18_433);
        let keeps_its_interval = || {
            let (before, since) = (exporter.scrape(), Instant::now());
            std::thread::sleep(Duration::from_secs(2));
            let (after, seconds) = (exporter.scrape(), since.elapsed().as_secs_f64());
            let samples = |scrape: &Scrape| scrape.value("roce_sampler_samples_total", "veth0");
            let taken = samples(&after).unwrap() - samples(&before).unwrap();
            let reached = after.value("roce_sampler_interval_seconds", "veth0").unwrap();
            taken > 0.95 * seconds / 0.01 && (0.0095..0.0105).contains(&reached)
        };
        // What else the machine does may hold it up for a while, but not each time.
        assert!((0..8).any(|_| keeps_its_interval()), "{}", exporter.log());
        let after = exporter.scrape();
        let shown = after.statistics("veth0");
        assert!(shown.len() >= 1_000, "as many raw counters as are allowed, and the catalogued");
        for (name, value) in shown {
            assert_eq!(expected.get(&name), Some(&value), "{name}");
        }
    });
}

#[test]
fn c47_a_user_without_privileges_reads_the_same() {
    in_namespace("nobody", |namespace| {
        add_veth("veth0", 4);
        receive_packets("veth0", 0, 100);
        let directory = tempfile::tempdir().unwrap();
        let program = copy_of_the_program(directory.path());
        let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
        let nobody = [&nobody[..], &["--bounding-set", "-all", "--no-new-privs"]].concat();
        let exporter = Exporter::start_as(namespace, &nobody, &program, &[]);
        let status = fs::read_to_string(format!("/proc/{}/status", exporter.id())).unwrap();
        assert!(status.contains("Uid:\t65534\t65534\t65534\t65534"), "{status}");
        assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
        exporter.wait_for_statistics("veth0");
        assert!(!exporter.log().contains("level=warn"), "{}", exporter.log());
    });
}

#[test]
fn a_renamed_device_goes_on_under_its_new_name() {
    in_namespace("rename", |namespace| {
        add_veth("veth0", 4);
        add_veth("veth1", 4);
        receive_packets("veth0", 0, 100);
        receive_packets("veth1", 1, 50);
        let exporter = Exporter::start(namespace, &[]);
        let rename = |from: &str, to: &str| {
            ip(&format!("link set {from} down"));
            ip(&format!("link set {from} name {to}"));
            ip(&format!("link set {to} up"));
        };
        rename("veth0", "veth9");
        let took = exporter.wait_for("end of veth0", || !exporter.scrape().knows("veth0"));
        assert!(took < Duration::from_secs(1), "gone after {took:?}");
        let took = exporter.wait_for_statistics("veth9");
        assert!(took < Duration::from_secs(6), "there after {took:?}");
        // A name that passes from one device to another.
        rename("veth9", "veth5");
        rename("veth1", "veth9");
        for device in ["veth5", "veth9"] {
            let took = exporter.wait_for_statistics(device);
            assert!(took < Duration::from_secs(6), "{device} after {took:?}");
        }
    });
}

#[test]
fn a_signal_stops_it_within_a_second() {
    in_namespace("stop", |namespace| {
        add_veth("veth0", 64);
        for signal in [Signal::TERM, Signal::INT] {
            let mut exporter = Exporter::start(namespace, &["--sampler.interval", "1ms"]);
            exporter.wait_for_statistics("veth0");
            exporter.signal(signal);
            let (status, took) = exporter.wait_for_end();
            assert_eq!(status.code(), Some(0), "{}", exporter.log());
            assert!(took < Duration::from_secs(1), "ended after {took:?}");
        }
    });
}

#[test]
fn a_hangup_reads_the_settings_again_and_refuses_faulty_ones() {
    in_namespace("reload", |namespace| {
        add_veth("veth0", 4);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("settings.yaml");
        let write = |interval: &str| {
            fs::write(&file, format!("sampler:\n  interval: {interval}\n")).unwrap();
        };
        write("20ms");
        let exporter = Exporter::start(namespace, &["--config.file", file.to_str().unwrap()]);
        let interval = || exporter.scrape().value("roce_sampler_interval_seconds", "veth0");
        let near =
            |seconds: f64| interval().is_some_and(|reached| (reached / seconds - 1.0).abs() < 0.2);
        exporter.wait_for("interval of 20 ms", || near(0.02));
        write("50ms");
        exporter.signal(Signal::HUP);
        exporter.wait_for("interval of 50 ms", || near(0.05));
        write("3 parsecs");
        exporter.signal(Signal::HUP);
        exporter.wait_for("refusal", || exporter.log().contains("reload refused"));
        std::thread::sleep(Duration::from_millis(1_500));
        exporter.wait_for("interval that is still 50 ms", || near(0.05));
        assert_eq!(exporter.scrape().statistics("veth0"), named_statistics("veth0"));
        write("20ms");
        exporter.signal(Signal::HUP);
        exporter.wait_for("interval of 20 ms again", || near(0.02));
    });
}
