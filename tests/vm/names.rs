//! Names that change under the reader: mlx5 shows pause counters of the priorities that have PFC, so moving PFC from one
//! priority to another keeps their number and changes their meaning.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::exporter::{Exporter, Scrape};
use crate::nic::{Nic, dcb, ethtool_statistics, run};

/// A priority's values lie in a range that is its alone.
const RANGE: u64 = 1_000_000_000;

fn label_all_priorities(nic: &Nic) {
    for priority in 0..8_u64 {
        let base = RANGE * (priority + 1);
        for counter in ["rx_prio{}_pause", "tx_prio{}_pause", "rx_prio{}_pause_transition"] {
            nic.counter(&counter.replace("{}", &priority.to_string()), base, 1000);
        }
        for counter in ["rx_prio{}_pause_duration", "tx_prio{}_pause_duration"] {
            nic.counter(&counter.replace("{}", &priority.to_string()), base, 100);
        }
    }
}

/// The priorities that a scrape shows pause of. Panics if a value is another priority's.
fn shown(scrape: &Scrape) -> BTreeSet<u64> {
    let mut shown = BTreeSet::new();
    for (metric, unit) in [
        ("roce_pfc_pause_frames_total", 1.0),
        ("roce_pfc_pause_transitions_total", 1.0),
        ("roce_pfc_pause_seconds_total", 1e6),
    ] {
        for sample in scrape.samples.iter().filter(|sample| sample.name == metric) {
            let priority: u64 = sample.labels["priority"].parse().unwrap();
            let value = sample.value.parse::<f64>().unwrap() * unit;
            let of = (value / RANGE as f64).floor();
            assert_eq!(of, priority as f64 + 1.0, "{metric} {:?} is {value}", sample.labels);
            shown.insert(priority);
        }
    }
    shown
}

/// Ends a loop of another thread, also when this one fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Scrapes all the while as PFC moves to and fro, by `move_to`.
fn no_sample_is_mislabelled(interval: &str, move_to: impl Fn(&Nic, u32)) {
    let nic = Nic::new("rail0", "mlx5_core", "rdma=mlx5_0 pfc=0x08");
    label_all_priorities(&nic);
    let count = ethtool_statistics("rail0").len();
    let exporter = Exporter::start(&["--sampler.interval", interval]);
    assert_eq!(shown(&exporter.scrape()), BTreeSet::from([3]));
    let over = AtomicBool::new(false);
    let (mut latest, mut scrapes) = (Duration::ZERO, 0);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut scrapes = 0;
            while !over.load(Ordering::Relaxed) {
                shown(&exporter.scrape());
                scrapes += 1;
            }
            scrapes
        });
        let running = SetOnDrop(&over);
        for turn in 0..30 {
            let priority = if turn % 2 == 0 { 4 } else { 3 };
            move_to(&nic, priority);
            let since = Instant::now();
            exporter.scrape_until("moved priority", |scrape| {
                shown(scrape) == BTreeSet::from([u64::from(priority)])
            });
            latest = latest.max(since.elapsed());
            assert_eq!(ethtool_statistics("rail0").len(), count, "the number of names stays");
        }
        drop(running);
        scrapes = watcher.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    println!("30 moves, {scrapes} scrapes beside; shown at most {latest:?} after a move");
    assert_eq!(
        exporter
            .scrape()
            .value("roce_counter_resets_total", &[("device", "rail0"), ("source", "ethtool")]),
        Some(0.0)
    );
}

pub fn moved_by_the_dcb_tool() {
    no_sample_is_mislabelled("10ms", |_, priority| {
        let (on, off) = (priority, 7 - priority);
        dcb(&format!("pfc set dev rail0 prio-pfc all:off {on}:on {off}:off"));
    });
}

/// As an agent in the firmware does it.
pub fn moved_by_the_firmware() {
    no_sample_is_mislabelled("1ms", |nic, priority| nic.set(&format!("pfc={}", 1 << priority)));
}

/// `ethtool -A` adds names to mlx5's set, and takes them away.
pub fn link_pause_adds_and_removes_names() {
    let nic = Nic::new("rail0", "mlx5_core", "pfc=0x08");
    nic.counter("rx_global_pause", 4711, 0);
    label_all_priorities(&nic);
    let exporter = Exporter::start(&[]);
    let frames = [("device", "rail0"), ("direction", "rx")];
    let enabled = [("device", "rail0"), ("direction", "tx")];
    for _ in 0..3 {
        run("ethtool", "-A rail0 rx on tx on");
        let since = Instant::now();
        exporter.scrape_until("link pause", |scrape| {
            shown(scrape);
            scrape.value("roce_link_pause_frames_total", &frames) == Some(4711.0)
                && scrape.value("roce_link_pause_enabled", &enabled) == Some(1.0)
        });
        println!("link pause shown after {:?}", since.elapsed());
        run("ethtool", "-A rail0 rx off tx off");
        exporter.scrape_until("end of link pause", |scrape| {
            shown(scrape);
            scrape.value("roce_link_pause_frames_total", &frames).is_none()
                && scrape.value("roce_link_pause_enabled", &enabled) == Some(0.0)
        });
    }
}
