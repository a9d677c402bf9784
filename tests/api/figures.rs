//! The figures of the API beside those of the metrics, of a host that stands still.

use std::collections::BTreeMap;

use roce_exporter::export::Format;
use serde_json::Value;

use crate::exposition::strict_parser::{parse, value};
use crate::json;
use crate::still::{SAMPLES, still};
use crate::web::Server;
use crate::web::client::{get, request};

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

#[test]
fn devices_and_priorities_have_the_values_of_the_metrics() {
    let server = Server::start(still());
    let metrics = parse(get(server.address, "/metrics").text(), Format::Text004);
    let devices = json(server.address, "/api/v1/devices");
    let figures = [
        ("pause_ratio", "roce_pfc_pause_ratio"),
        ("pause_ratio_peak", "roce_pfc_pause_ratio_peak"),
        ("pause_frame_rate_peak", "roce_pfc_pause_frame_rate_peak"),
        ("storms", "roce_pfc_storms_total"),
        ("storm_seconds", "roce_pfc_storm_seconds_total"),
        ("last_storm_unix_seconds", "roce_pfc_storm_last_start_timestamp_seconds"),
    ];
    let mut compared = 0;
    for device in devices["devices"].as_array().unwrap() {
        let name = device["device"].as_str().unwrap();
        assert_eq!(device["priorities"].as_array().unwrap().len(), 8, "{name}");
        for priority in device["priorities"].as_array().unwrap() {
            let which = priority["priority"].to_string();
            for direction in ["tx", "rx"] {
                let labels = [("device", name), ("priority", &*which), ("direction", direction)];
                let side = &priority[direction];
                for (key, metric) in figures {
                    let expected = value(&metrics, metric, &labels).map(|own| number(&own));
                    assert_eq!(side[key].as_f64(), expected, "{metric} {labels:?}");
                    compared += usize::from(expected.is_some());
                }
                let active = value(&metrics, "roce_pfc_storm_active", &labels).unwrap() == "1";
                assert_eq!(side["storm_active"], Value::Bool(active));
                let counters = side["counters"].as_object().unwrap();
                assert!(counters.len() >= 3, "{counters:?}");
                for (metric, own) in counters {
                    let expected = number(&value(&metrics, metric, &labels).unwrap());
                    assert_eq!(own.as_f64(), Some(expected), "{metric} {labels:?}");
                }
            }
            let labels = [("device", name), ("priority", &*which)];
            let expected = value(&metrics, "roce_pfc_asymmetry_ratio", &labels);
            assert_eq!(priority["asymmetry_ratio"].as_f64(), expected.map(|own| number(&own)));
        }
    }
    assert!(compared > 150, "{compared}");
    assert_eq!(devices["devices"][0], json(server.address, "/api/v1/devices/eth0"));
    assert_eq!(devices["devices"][1], json(server.address, "/api/v1/devices/blue%2Feth1"));
    server.stop();
}

#[test]
fn sources_and_checks_have_the_values_of_the_metrics() {
    let server = Server::start(still());
    let metrics = parse(get(server.address, "/metrics").text(), Format::Text004);
    let sources = json(server.address, "/api/v1/sources");
    for source in sources["sources"].as_array().unwrap() {
        let name = source["device"].as_str().unwrap();
        let labels = [("device", name), ("source", "ethtool")];
        for (key, metric) in [
            ("samples", "roce_sampler_samples_total"),
            ("missed", "roce_sampler_missed_total"),
            ("age_seconds", "roce_sample_age_seconds"),
            ("interval_seconds", "roce_sampler_interval_seconds"),
            ("resets", "roce_counter_resets_total"),
        ] {
            let expected = number(&value(&metrics, metric, &labels).unwrap());
            assert_eq!(source[key].as_f64(), Some(expected), "{name} {metric}");
        }
        let of_source = source["metrics"].as_array().unwrap();
        assert!(of_source.len() > 15, "{of_source:?}");
        for metric in of_source {
            let shown = value(&metrics, metric.as_str().unwrap(), &[("device", name)]);
            assert!(shown.is_some(), "{name} {metric}");
        }
    }
    let checks = json(server.address, "/api/v1/checks");
    let findings = checks["findings"].as_array().unwrap();
    assert!(findings.len() > 20);
    for finding in findings {
        let labels: Vec<(&str, &str)> =
            ["device", "check", "status"].map(|key| (key, finding[key].as_str().unwrap())).into();
        assert_eq!(value(&metrics, "roce_check_status", &labels).as_deref(), Some("1"));
    }
    server.stop();
}

#[test]
fn samples_come_whole_and_in_order_and_reach_as_far_as_asked() {
    let server = Server::start(still());
    let path = "/api/v1/devices/blue%2Feth1/priorities/3/samples";
    let all = json(server.address, &format!("{path}?seconds=180"));
    let samples = all["samples"].as_array().unwrap();
    // The first read has nothing to be compared with.
    assert_eq!(samples.len(), SAMPLES as usize - 1);
    let ends: Vec<f64> =
        samples.iter().map(|own| own["ended_unix_seconds"].as_f64().unwrap()).collect();
    assert!(ends.windows(2).all(|pair| (pair[1] - pair[0] - 0.01).abs() < 1e-5));
    for sample in samples {
        assert_eq!(sample["span_seconds"], 0.01);
        for direction in ["tx", "rx"] {
            assert_eq!(sample[direction]["pause_ratio"], 0.5, "{sample}");
            assert_eq!(sample[direction]["pause_frames"], 40, "{sample}");
        }
    }
    let usual = json(server.address, path);
    assert_eq!(usual["samples"].as_array().unwrap().len(), 1_000, "10 s");
    assert_eq!(
        json(server.address, &format!("{path}?seconds=2"))["samples"].as_array().unwrap().len(),
        200
    );
    let plain = get(server.address, &format!("{path}?seconds=180")).body.len();
    let zipped = request(
        server.address,
        "GET",
        &format!("{path}?seconds=180"),
        &[("Accept-Encoding", "gzip")],
    );
    assert_eq!(zipped.header("content-encoding"), Some("gzip"));
    assert!(zipped.body.len() * 10 < plain, "{} of {plain}", zipped.body.len());
    server.stop();
}

#[test]
fn trends_are_the_samples_by_the_second() {
    let server = Server::start(still());
    let trends = json(server.address, "/api/v1/trends");
    let trends = trends["trends"].as_array().unwrap();
    assert_eq!(trends.len(), 16);
    let lengths: BTreeMap<&str, usize> = trends
        .iter()
        .map(|own| (own["device"].as_str().unwrap(), own["seconds"].as_array().unwrap().len()))
        .collect();
    assert_eq!(lengths, BTreeMap::from([("eth0", 15), ("blue/eth1", 30)]));
    for trend in trends {
        let share = if trend["device"] == "eth0" { 1.0 } else { 0.5 };
        for second in trend["seconds"].as_array().unwrap() {
            assert_eq!(second["rx"]["peak"], share, "{second}");
            assert!((second["tx"]["mean"].as_f64().unwrap() - share).abs() < 1e-5, "{second}");
        }
    }
    let recent = json(server.address, "/api/v1/trends?seconds=1");
    assert!(recent["trends"][0]["seconds"].as_array().unwrap().len() <= 2);
    server.stop();
}
