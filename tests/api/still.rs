//! A host that stands still: two NICs that pause, sampled up to one instant, so that two answers say the same.

use std::sync::Arc;
use std::time::Duration;

use roce_exporter::catalogue::Catalogue;
use roce_exporter::engine::checks::{Policy, SamplingWanted};
use roce_exporter::engine::{Circumstances, FeedEngine, StormSettings};
use roce_exporter::http::ServerState;
use roce_exporter::model::{DeviceFacts, Monotonic, Plan, Sample};
use roce_exporter::sampler::{Board, Tally};

use crate::paused_nic::{INTERVAL, PausedNic, circumstances, facts, feed};
use crate::web::state;

/// Samples of each NIC: of half a minute.
pub const SAMPLES: u32 = 3_000;
/// Their time on the monotonic clock, in nanoseconds.
const BEGAN: u64 = 1_000_000_000_000;
/// The same on the wall.
pub const BEGAN_UNIX: f64 = 1.7e9;

/// Its state: eth0 is in a storm on all its priorities, the other's name has a slash and it pauses half of the time.
pub fn still() -> ServerState {
    still_after(SAMPLES)
}

/// The same after so many samples.
pub fn still_after(samples: u32) -> ServerState {
    let board = Arc::new(Board::keeping(INTERVAL));
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let mut last = Monotonic::ZERO;
    let other = DeviceFacts { device: "blue/eth1".into(), netns: "blue".to_owned(), ..facts(1) };
    board.set_devices(vec![facts(0), other.clone()]);
    for (number, device) in [(0, facts(0).device), (1, other.device)] {
        let feed = roce_exporter::model::Feed { device, ..feed(number) };
        let slot = board.add(&feed, "mlx5_core");
        // Half of 10 ms is paused between two reads: all of it where they are 5 ms apart.
        let interval = if number == 0 { INTERVAL / 2 } else { INTERVAL };
        let mut source = PausedNic::full(300).planned(&catalogue);
        let mut sample = Sample::empty(Arc::new(Plan::default()));
        let (mut engine, mut tally) = (FeedEngine::new(StormSettings::default()), Tally::default());
        for tick in 0..samples {
            last = Monotonic::from_nanos(BEGAN).plus(interval * tick);
            source.read(&|| last, &mut sample).unwrap();
            let unix_seconds = BEGAN_UNIX + (interval * tick).as_secs_f64();
            engine.push(&sample, &Circumstances { interval, unix_seconds, ..circumstances() });
            tally.note_plan(&sample.plan, None);
            tally.note_sample(&feed, &sample);
            slot.set_target(interval);
            slot.publish(&engine, tally.figures());
        }
    }
    board.set_policy(
        Arc::new(Policy::default()),
        SamplingWanted { interval: INTERVAL, rtnl_budget: 0.1 },
    );
    board.check(last);
    let shown = Arc::clone(&board);
    let now = last.plus(Duration::from_millis(5));
    let snapshot = Arc::new(move || shown.snapshot(now));
    ServerState { snapshot, past: board, process_root: None, ..state() }
}
