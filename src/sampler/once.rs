//! One read of everything, in turn, for a text that nobody scrapes.

use std::sync::Arc;

use super::supervisor::rules_of;
use super::{Board, SamplerOptions, Slot, Tally};
use crate::catalogue::Catalogue;
use crate::engine::{Circumstances, FeedEngine, Snapshot};
use crate::model::{Plan, Sample};
use crate::source::{FoundFeed, Host, PlannedSource, SourceError, monotonic_now, unix_seconds_now};

/// Reads every feed of `host` once and returns what came of it. A feed that fails is in it with its reason.
#[must_use]
pub fn sample_once(
    host: &dyn Host,
    catalogue: &Arc<Catalogue>,
    options: &SamplerOptions,
) -> Snapshot {
    let board = Board::default();
    let found = host.discover();
    for found in &found.feeds {
        let slot = board.add(&found.feed, &found.driver);
        slot.set_target(options.interval);
        if let Err(error) = read(host, found, catalogue, options, &slot) {
            tracing::warn!(device = &*found.feed.device, %error, "read failed");
            let mut tally = Tally::default();
            tally.note_failure(error.reason());
            slot.publish_sampling(tally.figures());
        }
    }
    board.set_devices(found.devices);
    board.snapshot(monotonic_now())
}

fn read(
    host: &dyn Host,
    found: &FoundFeed,
    catalogue: &Arc<Catalogue>,
    options: &SamplerOptions,
    slot: &Slot,
) -> Result<(), SourceError> {
    let rules = rules_of(found, catalogue, options);
    let mut source = PlannedSource::new(host.open(&found.feed)?, rules, Arc::default());
    let mut sample = Sample::empty(Arc::new(Plan::default()));
    source.read(&monotonic_now, &mut sample)?;
    let mut engine = FeedEngine::new(options.storm);
    let around = Circumstances {
        link: slot.link(),
        interval: options.interval,
        unix_seconds: unix_seconds_now(),
    };
    engine.push(&sample, &around);
    let mut tally = Tally::default();
    tally.note_plan(&sample.plan, source.cache_period());
    tally.note_sample(&found.feed, &sample);
    tally.note_refresh(engine.refresh_period());
    slot.publish(&engine, tally.figures());
    Ok(())
}
