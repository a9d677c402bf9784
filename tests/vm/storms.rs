//! Storms of known beginning and end, played by the module, and how the program dates and judges them.

use std::thread::sleep;
use std::time::Duration;

use roce_exporter::source::{monotonic_now, unix_seconds_now};

use crate::exporter::{Exporter, Scrape};
use crate::nic::{Nic, truth};

const DETECTION: f64 = 0.2;
const RECOVERY: f64 = 0.4;
/// What a scrape and the way to it may take in an emulated machine.
const SLACK: f64 = 0.25;

struct Storm {
    driver: &'static str,
    direction: &'static str,
    refresh_ms: u64,
    length_ms: u64,
    /// A counter of traffic that the storm holds.
    traffic: &'static [&'static str],
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn now() -> f64 {
    seconds(monotonic_now().as_nanos())
}

/// When the module says that the NIC's storm began and ended, on the monotonic clock.
fn course(nic: &Nic) -> (f64, f64) {
    let lines = truth(&nic.name);
    let storm = lines.iter().find(|line| line.contains_key("priority")).unwrap();
    let at = |key: &str| seconds(storm[key].parse().unwrap());
    (at("start_ns"), at("end_ns"))
}

/// Scrapes until a storm is active or no longer; gives the time at which that was asked.
fn wait(exporter: &Exporter, labels: &[(&str, &str)], active: f64) -> (f64, Scrape) {
    let mut asked = now();
    let scrape = exporter.scrape_until("change of the storm", |scrape| {
        let holds = scrape.value("roce_pfc_storm_active", labels) == Some(active);
        if !holds {
            asked = now();
        }
        holds
    });
    (asked, scrape)
}

fn play(storm: &Storm) {
    let facts = format!("pfc=0x08 refresh={}", storm.refresh_ms);
    let nic = Nic::new("rail0", storm.driver, &facts);
    for counter in storm.traffic {
        nic.counter(counter, 5_000_000_000, 1_250_000_000);
    }
    let exporter = Exporter::start(&[]);
    let refresh = storm.refresh_ms as f64 / 1e3;
    // A driver that refreshes slowly has to be learned before.
    sleep(Duration::from_millis(500 + 3 * storm.refresh_ms));
    let labels = [("device", "rail0"), ("priority", "3"), ("direction", storm.direction)];
    let before = exporter.scrape();
    assert!(before.value("roce_pfc_storm_active", &labels).is_none_or(|active| active == 0.0));
    let paused_before = before.value("roce_pfc_pause_seconds_total", &labels);
    nic.order("storm", &format!("3 {} 300 {} 1000", storm.direction, storm.length_ms));
    let (start, end) = course(&nic);
    let wall = unix_seconds_now() - now();

    let (seen, scrape) = wait(&exporter, &labels, 1.0);
    let interval = scrape
        .expect("roce_sampler_interval_seconds", &[("device", "rail0"), ("source", "ethtool")]);
    // The detection time, one interval, one refresh; two refreshes where those are longer than the detection time.
    let bound = DETECTION.max(2.0 * refresh) + refresh + interval + SLACK;
    let late = seen - start;
    println!(
        "{} {}: active {late:.3} s after its start, bound {bound:.3}",
        storm.driver, storm.direction
    );
    assert!(late > 0.0 && late < bound, "active {late} s after its start, bound {bound}");
    assert!(late >= DETECTION - refresh - interval, "sooner than it can be known: {late}");

    let (over, scrape) = wait(&exporter, &labels, 0.0);
    let late = over - end;
    let bound = RECOVERY.max(refresh) + 2.0 * refresh + interval + SLACK;
    println!(
        "{} {}: over {late:.3} s after its end, bound {bound:.3}",
        storm.driver, storm.direction
    );
    assert!(late > 0.0 && late < bound, "over {late} s after its end, bound {bound}");

    assert_eq!(scrape.expect("roce_pfc_storms_total", &labels), 1.0);
    let length = end - start;
    let counted = scrape.expect("roce_pfc_storm_seconds_total", &labels);
    // The slack is for samples that the emulated processor lost at one of the ends.
    let tolerance = 2.0 * (interval + refresh) + SLACK;
    assert!((counted - length).abs() <= tolerance, "{counted} s of {length} s, within {tolerance}");
    let began = scrape.expect("roce_pfc_storm_last_start_timestamp_seconds", &labels) - wall;
    assert!(
        (began - start).abs() <= interval + refresh + SLACK,
        "began at {began}, in truth {start}"
    );
    if let Some(before) = paused_before {
        let paused = scrape.expect("roce_pfc_pause_seconds_total", &labels) - before;
        assert!((paused - length).abs() < 2e-6, "{paused} s paused of {length}");
        assert!(scrape.expect("roce_pfc_pause_ratio_peak", &labels) > 0.95);
    }
}

pub fn a_storm_is_timed_on_a_live_driver() {
    for direction in ["rx", "tx"] {
        let traffic = if direction == "rx" { &["tx_prio3_bytes"] } else { &["rx_prio3_bytes"] };
        play(&Storm { driver: "mlx5_core", direction, refresh_ms: 0, length_ms: 1500, traffic });
    }
}

pub fn a_storm_is_timed_on_a_driver_with_durations_alone() {
    play(&Storm { driver: "ionic", direction: "rx", refresh_ms: 0, length_ms: 1000, traffic: &[] });
}

pub fn a_storm_is_timed_on_a_driver_that_refreshes_each_second() {
    let traffic = &["tx_bytes_pri3"];
    play(&Storm { driver: "bnxt_en", direction: "rx", refresh_ms: 1000, length_ms: 6000, traffic });
}

/// Frames alone are an upper bound: without a word of traffic they make no storm.
pub fn frames_alone_make_no_storm() {
    let nic = Nic::new("rail0", "ice", "pfc=0x08");
    let exporter = Exporter::start(&[]);
    let labels = [("device", "rail0"), ("priority", "3"), ("direction", "rx")];
    nic.order("storm", "3 rx 100 1500 1000");
    let (_, end) = course(&nic);
    let mut bounds = Vec::new();
    while now() < end + 0.5 {
        let scrape = exporter.scrape();
        assert!(scrape.value("roce_pfc_storm_active", &labels).is_none_or(|active| active == 0.0));
        assert_eq!(scrape.value("roce_pfc_pause_ratio", &labels), None);
        bounds.extend(scrape.value("roce_pfc_pause_ratio_upper_bound", &labels));
    }
    assert!(bounds.last().is_some_and(|bound| *bound > 0.0), "{bounds:?}");
    let scrape = exporter.scrape();
    let frames = scrape.expect("roce_pfc_pause_frames_total", &labels);
    assert_eq!(frames, 15_000.0, "one frame each 100 µs");
    assert_eq!(
        scrape.expect("roce_pfc_basis_info", &[("device", "rail0"), ("basis", "frames")]),
        1.0
    );
}

/// A burst shorter than any storm is counted whole, and is none.
pub fn a_burst_is_no_storm() {
    let nic = Nic::new("rail0", "mlx5_core", "pfc=0x08");
    let exporter = Exporter::start(&[]);
    let labels = [("device", "rail0"), ("priority", "3"), ("direction", "rx")];
    for _ in 0..3 {
        nic.order("storm", "3 rx 100 80 1000");
        let (_, end) = course(&nic);
        while now() < end + 0.3 {
            let active = exporter.scrape().value("roce_pfc_storm_active", &labels);
            assert!(active.is_none_or(|active| active == 0.0));
        }
    }
    let scrape = exporter.scrape();
    assert_eq!(scrape.value("roce_pfc_storms_total", &labels), Some(0.0));
    assert_eq!(scrape.expect("roce_pfc_burst_duration_seconds_count", &labels), 3.0);
    let paused = scrape.expect("roce_pfc_pause_seconds_total", &labels);
    assert!((paused - 0.24).abs() < 1e-5, "{paused}");
}
