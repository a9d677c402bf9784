//! Scrapes beside the fastest sampling: a short form of `examples/scrapes.rs`, in which a server that held up the sampler,
//! or a sampler that held up the server, would show.

use std::time::Duration;

use crate::load::Host8;

const TIME: Duration = Duration::from_secs(3);
/// Scrapes a second.
const RATE: u32 = 5;
const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn scrapes_hold_up_no_sampling_and_sampling_no_scrape() {
    let host = Host8::start();
    let alone = host.scrape(TIME, 1, &[]);
    let loaded = host.scrape(TIME, RATE, &[]);
    for (what, own) in [("1/s", &alone), ("5/s", &loaded)] {
        println!(
            "{what}: p50 {:?}, p99 {:?}, {:.0} samples, {:.0} missed, {} series",
            own.quantile(500),
            own.quantile(990),
            own.samples,
            own.missed,
            own.series
        );
    }
    assert_eq!(loaded.took.len(), 15);
    // Not optimised, and on a machine that may be busy with all else: what is bounded is that both go on. How fast is for
    // the example to say.
    assert!(loaded.samples > 100.0, "{} samples", loaded.samples);
    assert!(loaded.quantile(500) < PATIENCE, "{:?}", loaded.quantile(500));
    host.stop();
}
