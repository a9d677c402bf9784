//! How long the queries of the fleet dashboard take over many hosts. Slow, so it runs only when asked: `make scale`.
//!
//! Series are made for hosts of 8 NICs with two judged priorities each, an hour of scrapes every 15 s. What is only
//! asked for as it is now has its last five minutes.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::files::{dashboard, interpolated};
use crate::live::{encoded, has_prometheus, unix_seconds};
use crate::servers::{Prometheus, create_blocks};

const NICS: u32 = 8;
const SCRAPE: u64 = 15;
const HOUR: u64 = 3600;
const LATEST: u64 = 300;
const LIMIT: Duration = Duration::from_secs(2);

/// A family of the dashboard: its type, how much of it is needed, and the labels of its series on one NIC.
struct Made {
    name: &'static str,
    kind: &'static str,
    span: u64,
    labels: Vec<String>,
}

fn made(name: &'static str, kind: &'static str, span: u64, labels: Vec<String>) -> Made {
    Made { name, kind, span, labels }
}

fn ways() -> Vec<String> {
    let ways = ["tx", "rx"];
    let of = |priority| ways.map(move |way| format!(r#",priority="{priority}",direction="{way}""#));
    ["3", "4"].into_iter().flat_map(of).collect()
}

fn all() -> Vec<Made> {
    let none = || vec![String::new()];
    let priorities: Vec<_> = (0..8).map(|priority| format!(r#",priority="{priority}""#)).collect();
    let drops = ways().into_iter().map(|labels| format!(r#"{labels},reason="buffer""#)).collect();
    let checks = (0..27).map(|check| format!(r#",check="check_{check}",status="ok""#)).collect();
    let settings = (0..6).map(|setting| format!(r#",setting="setting_{setting}""#)).collect();
    vec![
        made("roce_pfc_storm_active", "gauge", HOUR, ways()),
        made("roce_pfc_storms", "counter", HOUR, ways()),
        made("roce_pfc_pause_ratio_peak", "gauge", HOUR, ways()),
        made("roce_config_changes", "counter", HOUR, settings),
        made("roce_pfc_pause_ratio", "gauge", LATEST, ways()),
        made("roce_pfc_asymmetry_ratio", "gauge", LATEST, vec![r#",priority="3""#.into()]),
        made("roce_pfc_enabled", "gauge", LATEST, priorities),
        made("roce_priority_discards", "counter", LATEST, drops),
        made("roce_check_status", "gauge", LATEST, checks),
        made("roce_device_stale", "gauge", LATEST, vec![r#",source="ethtool""#.into()]),
        made("up", "gauge", LATEST, none()),
        made("roce_pfc_pause_ratio_upper_bound", "gauge", LATEST, ways()),
        made("roce_mtu_bytes", "gauge", LATEST, none()),
        made("roce_trust", "info", LATEST, vec![r#",mode="dscp""#.into()]),
        made("roce_device", "info", LATEST, vec![r#",driver="mlx5_core",firmware="28.39""#.into()]),
    ]
}

/// The value of a series at a scrape: counters grow, PFC is on, other gauges wander between 0 and 1.
fn value(family: &Made, series: u64, scrape: u64) -> f64 {
    match family.kind {
        _ if family.name == "roce_pfc_enabled" => 1.0,
        "counter" => f64::from(u32::try_from(scrape / 40).unwrap()),
        "info" => 1.0,
        _ => f64::from(u32::try_from(series * 37 % 101 * (scrape % 7)).unwrap()) / 700.0,
    }
}

/// Writes the series of so many hosts up to `end` and returns how many there are.
fn write(path: &Path, hosts: u32, end: u64) -> u64 {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let mut series = 0;
    for family in all() {
        writeln!(file, "# TYPE {} {}", family.name, family.kind).unwrap();
        let suffix = match family.kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        for (host, nic) in (0..hosts).flat_map(|host| (0..NICS).map(move |nic| (host, nic))) {
            for labels in &family.labels {
                let name = format!(
                    r#"{}{suffix}{{cluster="lab",job="roce",instance="host{host}",device="eth{nic}"{labels}}}"#,
                    family.name
                );
                series += 1;
                let mut lines = String::new();
                for at in (end - family.span..=end).step_by(usize::try_from(SCRAPE).unwrap()) {
                    let scrape = (at + HOUR - end) / SCRAPE;
                    writeln!(lines, "{name} {} {at}", value(&family, series, scrape)).unwrap();
                }
                file.write_all(lines.as_bytes()).unwrap();
            }
        }
    }
    writeln!(file, "# EOF").unwrap();
    series
}

/// Makes blocks for a Prometheus and starts it.
fn fleet_of(hosts: u32, end: u64) -> (Prometheus, u64) {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("series.txt");
    let series = write(&text, hosts, end);
    let prometheus = Prometheus::configured_with("scrape_configs: []\n", &[], |data| {
        create_blocks(&text, data);
    });
    (prometheus, series)
}

#[test]
#[ignore = "takes minutes and a gigabyte of disk: make scale"]
fn each_query_of_the_fleet_dashboard_takes_less_than_two_seconds() {
    if !has_prometheus("each_query_of_the_fleet_dashboard_takes_less_than_two_seconds") {
        return;
    }
    let fleet = dashboard("roce-fleet");
    for hosts in [50, 100, 250] {
        let end = unix_seconds();
        let (prometheus, series) = fleet_of(hosts, end);
        let mut times = Vec::new();
        for target in fleet.targets() {
            let query = encoded(&interpolated(target.expression(), "1h", "1m"));
            let path = if target.is_instant() {
                format!("query?query={query}&time={end}")
            } else {
                // Grafana asks for no more points than a panel wants, and a scrape is enough.
                let step =
                    target.panel["maxDataPoints"].as_u64().map_or(SCRAPE, |points| HOUR / points);
                format!("query_range?query={query}&start={}&end={end}&step={step}", end - HOUR)
            };
            let mut tries: Vec<_> = (0..3)
                .map(|_| {
                    let since = Instant::now();
                    let found = prometheus.get(&path)["result"].as_array().unwrap().len();
                    (since.elapsed(), found)
                })
                .collect();
            tries.sort_unstable();
            assert!(tries[1].1 > 0, "nothing was asked: {}", target.place());
            times.push((tries[1].0, tries[1].1, target.place()));
        }
        times.sort_by_key(|(time, ..)| Reverse(*time));
        let whole: Duration = times.iter().map(|(time, ..)| *time).sum();
        println!(
            "{hosts} hosts, {series} series: all {} queries {whole:.2?}, slowest:",
            times.len()
        );
        for (time, found, place) in times.iter().take(4) {
            println!("  {time:.2?} {place}: {found} series");
        }
        assert!(times[0].0 < LIMIT, "{times:#?}");
    }
}
