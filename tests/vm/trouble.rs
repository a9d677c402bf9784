//! NICs that fail: a driver that hangs inside rtnl, one that is slow, errors, resets, and counters that wrap.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::exporter::{Exporter, Scrape};
use crate::nic::Nic;

fn rails(count: usize) -> Vec<Nic> {
    let make = |number: usize| {
        let nic = Nic::new(
            &format!("rail{number}"),
            "mlx5_core",
            &format!("rdma=mlx5_{number} pfc=0x08"),
        );
        nic.counter("rx_prio3_pause", 0, 1000);
        nic.rdma_counter("np_cnp_sent", 0, 1_000_000);
        nic
    };
    (0..count).map(make).collect()
}

fn stale(scrape: &Scrape, device: &str, source: &str) -> f64 {
    scrape.expect("roce_device_stale", &[("device", device), ("source", source)])
}

fn samples(scrape: &Scrape, device: &str, source: &str) -> f64 {
    scrape.expect("roce_sampler_samples_total", &[("device", device), ("source", source)])
}

fn cnps(scrape: &Scrape, number: usize) -> f64 {
    let device = format!("rail{number}");
    scrape.expect("roce_cnp_sent_total", &[("device", device.as_str()), ("port", "1")])
}

/// The device whose read of statistics has taken longest.
fn longest_read(scrape: &Scrape) -> Option<String> {
    let reads = scrape.samples.iter().filter(|sample| {
        sample.name == "roce_sampler_read_in_progress_seconds"
            && sample.labels["source"] == "ethtool"
    });
    let seconds = |value: &str| value.parse::<f64>().unwrap();
    reads
        .max_by(|a, b| seconds(&a.value).total_cmp(&seconds(&b.value)))
        .map(|sample| sample.labels["device"].clone())
}

/// Scrapes answer, RDMA counters go on, and the longest read is the culprit's, until `end` after `since`.
fn others_go_on(exporter: &Exporter, since: Instant, end: Duration) {
    let mut slowest = Duration::ZERO;
    let mut before = exporter.scrape();
    let mut scrapes = 0;
    while since.elapsed() < end {
        sleep(Duration::from_millis(200));
        let asked = Instant::now();
        let scrape = exporter.scrape();
        slowest = slowest.max(asked.elapsed());
        for number in 0..4 {
            let device = format!("rail{number}");
            assert!(cnps(&scrape, number) > cnps(&before, number), "RDMA of {device} stands");
            assert_eq!(stale(&scrape, &device, "rdma_netlink"), 0.0);
            assert_eq!(stale(&scrape, &device, "ethtool"), 1.0);
        }
        assert_eq!(longest_read(&scrape).as_deref(), Some("rail2"), "the culprit is named");
        before = scrape;
        scrapes += 1;
    }
    println!("{scrapes} scrapes while it hangs, the slowest {slowest:?}");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
}

/// 3 s under the lock that all of the host's statistics wait for.
pub fn a_driver_hangs_inside_rtnl() {
    const HANG: Duration = Duration::from_secs(3);
    let nics = rails(4);
    let exporter = Exporter::start(&[]);
    sleep(Duration::from_millis(500));
    let threads = exporter.threads();
    let calm = exporter.scrape();
    assert!((0..4).all(|number| stale(&calm, &format!("rail{number}"), "ethtool") == 0.0));
    nics[2].set("hang_ms=3000");
    let since = Instant::now();

    // All of them wait, and say so.
    exporter.scrape_until("all stale", |scrape| {
        (0..4).all(|number| stale(scrape, &format!("rail{number}"), "ethtool") == 1.0)
    });
    println!("all stale after {:?}", since.elapsed());
    assert!(since.elapsed() < Duration::from_millis(600));

    others_go_on(&exporter, since, HANG.saturating_sub(Duration::from_millis(600)));
    assert!(exporter.threads() <= threads + 1, "threads pile up");

    // It ends: all recover, and the culprit is asked less often than the others.
    exporter.scrape_until("recovery of the others", |scrape| {
        [0, 1, 3].iter().all(|number| stale(scrape, &format!("rail{number}"), "ethtool") == 0.0)
    });
    let recovered = since.elapsed();
    println!("the others recovered {recovered:?} after the hang began");
    assert!(recovered < HANG + Duration::from_secs(1), "{recovered:?}");
    let at = exporter.scrape();
    sleep(Duration::from_secs(2));
    let later = exporter.scrape();
    let gained =
        |device: &str| samples(&later, device, "ethtool") - samples(&at, device, "ethtool");
    println!("samples in 2 s then: rail1 {}, rail2 {}", gained("rail1"), gained("rail2"));
    assert!(gained("rail2") * 2.0 < gained("rail1"), "the culprit is asked as often as before");
    exporter.scrape_until("recovery of the culprit", |scrape| {
        stale(scrape, "rail2", "ethtool") == 0.0
            && samples(scrape, "rail2", "ethtool") > samples(&at, "rail2", "ethtool")
    });
    println!("the culprit came back {:?} after the hang began", since.elapsed());
    assert!(exporter.log().contains("rail2"), "the log does not name it:\n{}", exporter.log());
}

/// A slow driver may not hold rtnl for more than the budget; the others keep their pace.
pub fn a_slow_driver_is_kept_within_the_budget() {
    let nics = rails(3);
    nics[0].set("delay_us=20000");
    let exporter = Exporter::start(&[]);
    sleep(Duration::from_secs(2));
    let (from, at) = (Instant::now(), exporter.scrape());
    let before = nics[0].number("reads");
    sleep(Duration::from_secs(3));
    let (took, later) = (from.elapsed().as_secs_f64(), exporter.scrape());
    let reads = (nics[0].number("reads") - before) as f64;
    let share = reads * 0.020 / took;
    let others = samples(&later, "rail1", "ethtool") - samples(&at, "rail1", "ethtool");
    println!(
        "the slow one: {reads} reads in {took:.1} s, {share:.3} of the time; another: {others}"
    );
    assert!(share < 0.13, "{share}");
    assert!(share > 0.03, "hardly read at all: {share}");
    assert!(others > 5.0 * reads, "the others suffer: {others} against {reads}");
    let interval = [("device", "rail0"), ("source", "ethtool")];
    let reached = later.expect("roce_sampler_interval_seconds", &interval);
    assert!((0.1..1.0).contains(&reached), "{reached}");
}

/// Errors of one NIC leave the others alone, are counted by reason, and end when they end.
pub fn errors_for_a_while() {
    let nics = rails(2);
    let exporter = Exporter::start(&[]);
    nics[0].set("netdev_eio=1 rdma_eio=1");
    let errors = |scrape: &Scrape, source: &str| {
        // Over netlink the kernel gives EINVAL for any errno of an RDMA driver.
        let reason = if source == "ethtool" { "io" } else { "invalid" };
        let labels = [("device", "rail0"), ("source", source), ("reason", reason)];
        scrape.value("roce_source_errors_total", &labels).unwrap_or(0.0)
    };
    let sources = ["ethtool", "rdma_netlink"];
    exporter.scrape_until("errors of both sources", |scrape| {
        sources
            .iter()
            .all(|source| errors(scrape, source) >= 2.0 && stale(scrape, "rail0", source) == 1.0)
    });
    let before = exporter.scrape();
    sleep(Duration::from_millis(500));
    let scrape = exporter.scrape();
    for source in sources {
        assert_eq!(stale(&scrape, "rail1", source), 0.0);
        assert!(samples(&scrape, "rail1", source) > samples(&before, "rail1", source));
    }
    nics[0].set("netdev_eio=0 rdma_eio=0");
    let since = Instant::now();
    exporter.scrape_until("end of the errors", |scrape| {
        sources.iter().all(|source| stale(scrape, "rail0", source) == 0.0)
    });
    println!("fresh again after {:?}", since.elapsed());
    let log = exporter.log();
    let told = log.lines().filter(|line| line.contains("read failed")).count();
    assert!(told <= 6, "{told} lines on it:\n{log}");
}

/// A reset is counted, and nothing of it is taken for traffic, pause or a storm.
pub fn counters_are_reset() {
    let nic = Nic::new("rail0", "mlx5_core", "rdma=mlx5_0 pfc=0x08");
    nic.counter("rx_prio3_pause", 1_000_000, 100);
    nic.counter("rx_prio3_pause_duration", 50_000_000, 0);
    let exporter = Exporter::start(&[]);
    let labels = [("device", "rail0"), ("priority", "3"), ("direction", "rx")];
    let resets = [("device", "rail0"), ("source", "ethtool")];
    assert_eq!(exporter.scrape().expect("roce_counter_resets_total", &resets), 0.0);
    nic.order("clear", "");
    let scrape = exporter
        .scrape_until("reset", |scrape| scrape.expect("roce_counter_resets_total", &resets) == 1.0);
    assert!(scrape.expect("roce_pfc_pause_frames_total", &labels) < 100_000.0);
    assert_eq!(scrape.expect("roce_pfc_pause_seconds_total", &labels), 0.0);
    sleep(Duration::from_millis(500));
    let scrape = exporter.scrape();
    assert_eq!(scrape.expect("roce_counter_resets_total", &resets), 1.0);
    assert_eq!(scrape.expect("roce_pfc_storms_total", &labels), 0.0);
    assert_eq!(scrape.expect("roce_pfc_pause_ratio_peak", &labels), 0.0);
    assert!(
        scrape
            .samples
            .iter()
            .all(|sample| !sample.value.starts_with('-')
                || sample.name == "roce_pfc_asymmetry_ratio")
    );
}

/// mlx5's Q counters have 32 bits: what the kernel shows starts anew, what is exported goes on.
pub fn a_narrow_counter_wraps() {
    let nic = Nic::new("rail0", "mlx5_core", "rdma=mlx5_0");
    let top = u64::from(u32::MAX);
    nic.rdma_counter("out_of_sequence", top - 5_000_000, 0);
    let exporter = Exporter::start(&[]);
    let labels = [("device", "rail0"), ("rdma_device", "mlx5_0"), ("port", "1")];
    let value = || exporter.scrape().expect("roce_rdma_out_of_sequence_total", &labels);
    assert_eq!(value(), (top - 5_000_000) as f64);
    let mut expected = top - 5_000_000;
    for _ in 0..6 {
        expected += 2_000_000;
        nic.rdma_counter("out_of_sequence", expected, 0);
        exporter.scrape_until("next value", |scrape| {
            let found = scrape.expect("roce_rdma_out_of_sequence_total", &labels);
            assert!(found >= (top - 5_000_000) as f64 && found <= expected as f64, "{found}");
            found == expected as f64
        });
    }
    assert!(expected > top);
    assert_eq!(crate::nic::rdma_statistics("mlx5_0/1")["out_of_sequence"], expected - top - 1);
    let resets = [("device", "rail0"), ("source", "rdma_netlink")];
    assert_eq!(exporter.scrape().expect("roce_counter_resets_total", &resets), 0.0);
}
