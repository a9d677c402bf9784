//! Scrapes beside the fastest sampling: a short form of `examples/scrapes.rs`, in which a server that held up the sampler,
//! or a sampler that held up the server, would show.

use std::time::Duration;

use crate::load::{Host8, INTERVAL, NICS};

const TIME: Duration = Duration::from_secs(3);

#[test]
fn scrapes_hold_up_no_sampling_and_sampling_no_scrape() {
    let host = Host8::start();
    let alone = host.scrape(TIME, 1, &[]);
    let loaded = host.scrape(TIME, 20, &[]);
    for (what, own) in [("1/s", &alone), ("20/s", &loaded)] {
        println!(
            "{what}: p50 {:?}, p99 {:?}, {:.0} samples, {:.0} missed, {} series",
            own.quantile(500),
            own.quantile(990),
            own.samples,
            own.missed,
            own.series
        );
    }
    assert_eq!(loaded.took.len(), 60);
    // Not optimised, and beside other tests: what is bounded is that both go on.
    let due = TIME.as_secs_f64() / INTERVAL.as_secs_f64() * f64::from(u32::try_from(NICS).unwrap());
    assert!(loaded.samples > due / 20.0, "{} of {due} samples", loaded.samples);
    assert!(loaded.quantile(500) < Duration::from_secs(2), "{:?}", loaded.quantile(500));
    host.stop();
}
