//! Devices that come, go and change their names while the program runs, on the kernel it is made for.
//!
//! Each test has network namespaces of its own. Without root, `ip` or `ethtool` a test says `SKIPPED` and why, and
//! fails where `ROCE_REQUIRE_ALL_TIERS=1` says that all must run. What was measured is printed.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "tests: the shared modules serve several test crates, and a panic is a failed test"
)]

#[path = "hotplug/churn.rs"]
mod churn;
#[path = "web/client.rs"]
mod client;
#[path = "kernel/exporter.rs"]
mod exporter;
#[path = "hotplug/inventory.rs"]
mod inventory;
#[path = "hotplug/lossless.rs"]
mod lossless;
mod network_namespace;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use exporter::{Exporter, named_statistics};
use network_namespace::{Namespace, add_veth, in_namespace, ip, receive_packets};

/// The longest that the exported series may take to follow the kernel.
const BOUND: Duration = Duration::from_millis(300);

/// Runs a test in a namespace while no other test here runs: all namespaces share the lock under which links change,
/// and what is measured would be the neighbour's.
fn alone(name: &str, body: impl FnOnce(&Namespace) + Send) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    in_namespace(name, body);
}

/// Waits for `condition`, prints how long it took since `since`, and holds it against the bound.
fn within_bound(exporter: &Exporter, what: &str, since: Instant, condition: impl FnMut() -> bool) {
    exporter.wait_for(what, condition);
    let took = since.elapsed();
    println!("{what}: after {took:?}");
    assert!(took < BOUND, "{what}: after {took:?}");
}

#[test]
fn a_new_device_is_sampled_and_a_deleted_one_leaves_no_series() {
    alone("hotplug", |namespace| {
        let exporter = Exporter::start(namespace, &[]);
        assert!(!exporter.scrape().knows("veth0"));
        for _ in 0..3 {
            add_veth("veth0", 4);
            // From when it is there and up, with whatever `ip` itself took behind us.
            let since = Instant::now();
            let expected = named_statistics("veth0");
            within_bound(&exporter, "veth0 sampled", since, || {
                exporter.scrape().statistics("veth0") == expected
            });
            let since = Instant::now();
            ip("link del veth0");
            within_bound(&exporter, "veth0 without a series", since, || {
                !exporter.scrape().knows("veth0")
            });
        }
        assert!(exporter.is_healthy());
        assert!(!exporter.log().contains("panic"), "{}", exporter.log());
    });
}

#[test]
fn a_renamed_device_never_shows_another_s_counters() {
    alone("identity", |namespace| {
        // Who a device is shows in the number of packets that it received.
        let packets = BTreeMap::from([("veth0", 100_u64), ("veth1", 37)]);
        for (subnet, (device, packets)) in (0..).zip(&packets) {
            add_veth(device, 4);
            receive_packets(device, subnet, u16::try_from(*packets).unwrap());
        }
        let exporter = Exporter::start(namespace, &[]);
        exporter.wait_for_statistics("veth0");
        for (from, to) in [("veth0", "veth9"), ("veth9", "veth0"), ("veth0", "veth9")] {
            ip(&format!("link set {from} down"));
            let since = Instant::now();
            ip(&format!("link set {from} name {to}"));
            let (mut ended, mut began) = (None, None);
            while ended.is_none() || began.is_none() {
                let scrape = exporter.scrape();
                for device in scrape.devices_with_statistics() {
                    let owner = if device == "veth1" { "veth1" } else { "veth0" };
                    // The peers received nothing.
                    if device.ends_with("-peer") {
                        continue;
                    }
                    let shown = scrape.received(&device);
                    assert_eq!(
                        shown,
                        packets[owner],
                        "under {device}, {:?} later",
                        since.elapsed()
                    );
                }
                if !scrape.knows(from) {
                    ended.get_or_insert_with(|| since.elapsed());
                }
                if scrape.received(to) > 0 {
                    began.get_or_insert_with(|| since.elapsed());
                }
                assert!(since.elapsed() < Duration::from_secs(5), "{from} to {to}");
            }
            println!("{from} to {to}: ended after {ended:?}, went on after {began:?}");
            assert!(ended < Some(BOUND) && began < Some(BOUND), "{ended:?} {began:?}");
            ip(&format!("link set {to} up"));
        }
        let scrape = exporter.scrape();
        assert_eq!((scrape.received("veth9"), scrape.received("veth1")), (100, 37));
    });
}

#[test]
fn a_device_that_is_renamed_out_of_the_pattern_leaves() {
    alone("outward", |namespace| {
        ip("link add veth-bare type bridge");
        add_veth("veth0", 4);
        let exporter = Exporter::start(namespace, &[]);
        assert!(exporter.scrape().knows("veth-bare"), "without statistics, still in the inventory");
        for (device, hidden) in [("veth0", "other0"), ("veth-bare", "other1")] {
            ip(&format!("link set {device} down"));
            let since = Instant::now();
            ip(&format!("link set {device} name {hidden}"));
            within_bound(&exporter, &format!("{device} gone"), since, || {
                !exporter.scrape().knows(device)
            });
            assert!(!exporter.scrape().knows(hidden));
            let since = Instant::now();
            ip(&format!("link set {hidden} name {device}"));
            within_bound(&exporter, &format!("{device} back"), since, || {
                exporter.scrape().knows(device)
            });
        }
    });
}

#[test]
fn c48_a_device_that_is_taken_out_of_the_namespace_vanishes_and_comes_back() {
    alone("there", |there| {
        // A thread of the inner namespace, in which the program runs and is asked.
        in_namespace("here", |here| {
            add_veth("veth0", 4);
            receive_packets("veth0", 0, 60);
            let exporter = Exporter::start(here, &[]);
            exporter.wait_for_statistics("veth0");
            for _ in 0..2 {
                let since = Instant::now();
                ip(&format!("link set veth0 netns {}", there.name));
                within_bound(&exporter, "veth0 gone", since, || !exporter.scrape().knows("veth0"));
                let since = Instant::now();
                ip(&format!("-n {} link set veth0 netns {}", there.name, here.name));
                within_bound(&exporter, "veth0 back", since, || {
                    exporter.scrape().received("veth0") == 60
                });
            }
        });
    });
}
