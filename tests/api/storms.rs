//! Storms by the API, on a host that stands still in one.

use serde_json::Value;

use crate::json;
use crate::still::{BEGAN_UNIX, still};
use crate::web::Server;

#[test]
fn storms_have_onset_peak_words_and_samples() {
    let server = Server::start(still());
    let storms = json(server.address, "/api/v1/storms");
    let storms = storms["storms"].as_array().unwrap();
    assert_eq!(storms.len(), 16, "8 priorities in both directions");
    let ids: Vec<u64> = storms.iter().map(|own| own["id"].as_u64().unwrap()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] > pair[1]), "the newest first: {ids:?}");
    for storm in storms {
        assert_eq!(storm["device"], "eth0");
        assert_eq!(storm["active"], true);
        assert!(storm.get("end_unix_seconds").is_none());
        let words = match storm["direction"].as_str().unwrap() {
            "tx" => "this port holds its peer",
            _ => "the peer holds this port",
        };
        assert_eq!(storm["meaning"], words);
        assert_eq!(storm["peak"]["pause_ratio"], 1.0);
        assert_eq!(storm["peak"]["pause_frame_rate"], 8_000.0);
        let onset = storm["onset_unix_seconds"].as_f64().unwrap();
        assert!((onset - BEGAN_UNIX).abs() < 0.05, "{onset}");
    }
    let one = json(server.address, &format!("/api/v1/storms/{}", ids[3]));
    for (key, own) in storms[3].as_object().unwrap() {
        assert_eq!(&one[key], own, "{key}");
    }
    let samples = one["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 256, "as many as are kept around an onset");
    assert!(samples.iter().all(|own| own["rx"]["pause_ratio"] == 1.0));
    let first = &samples[0]["ended_unix_seconds"];
    assert!((first.as_f64().unwrap() - BEGAN_UNIX - 0.005).abs() < 1e-4, "{first}");
    assert_eq!(json(server.address, "/api/v1/status")["storms_active"], Value::from(16));
    server.stop();
}
