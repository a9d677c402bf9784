//! What is kept of a NIC whose pause is made here.

use super::hand_driven_nic::{Kind, MS, Nic};

use super::history::{
    ALLOWANCE, EPISODES, Episode, FeedHistory, HistorySize, PastSample, SAMPLES_AROUND,
};
use super::*;
use crate::model::{Reading, Reason};

const RX: Direction = Direction::Rx;
const MINUTES: Duration = Duration::from_mins(10);

/// A NIC with its past, sample by sample.
struct Kept {
    nic: Nic,
    history: FeedHistory,
}

impl Kept {
    fn new(nic: Nic) -> Self {
        Self { nic, history: FeedHistory::new(Arc::new(HistorySize::default())) }
    }

    fn run(&mut self, share: f64, count: u32) {
        for _ in 0..count {
            self.nic.run(RX, share, 1);
            self.nic.engine.copy_history(&mut self.history);
        }
    }

    fn samples(&self) -> Vec<PastSample> {
        let kept = self.history.samples(Priority::ALL[3], MINUTES);
        kept.map(|own| own.samples).unwrap_or_default()
    }

    fn episode(&self) -> Episode {
        let mut all = self.history.episodes();
        assert_eq!(all.len(), 1);
        all.remove(0)
    }
}

#[test]
fn each_judged_sample_is_kept_once_with_its_share_and_frames() {
    let mut kept = Kept::new(Nic::new(Kind::Durations));
    kept.run(0.5, 3);
    kept.run(0.0, 1);
    let samples = kept.samples();
    let shares: Vec<Option<f32>> = samples.iter().map(|own| own.rx.share).collect();
    assert_eq!(shares, [Some(0.5), Some(0.5), Some(0.5), Some(0.0)]);
    assert!(samples.iter().all(|own| own.span == 10 * MS && own.tx.share == Some(0.0)));
    assert!(samples.iter().take(3).all(|own| own.rx.frames.is_some_and(|frames| frames > 10)));
    assert_eq!(samples[3].ended, kept.nic.now);
    let past = kept.history.samples(Priority::ALL[3], 15 * MS).unwrap();
    assert_eq!(past.samples.len(), 2, "the reach ends where it is asked to");
    assert_eq!(past.basis, [Some(Basis::Duration); 2]);
    let unix = past.unix_seconds(kept.nic.now.minus(Duration::from_secs(2)));
    assert!((past.newest_unix_seconds - unix - 2.0).abs() < 1e-6);
}

#[test]
fn a_priority_that_never_paused_and_is_not_lossless_takes_no_memory() {
    let mut kept = Kept::new(Nic::new(Kind::Durations));
    kept.nic.engine.shown = 0;
    kept.run(0.0, 10);
    assert!(kept.history.samples(Priority::ALL[3], MINUTES).is_none());
    let mut kept = Kept::new(Nic::new(Kind::Frames));
    kept.nic.link.lossless = Some(0b1000);
    kept.run(0.0, 2);
    assert_eq!(kept.samples().len(), 2, "a lossless one is kept");
    assert!(kept.history.samples(Priority::ALL[2], MINUTES).is_none());
}

#[test]
fn what_could_not_be_judged_is_a_gap_and_no_zero() {
    let mut kept = Kept::new(Nic::new(Kind::Durations));
    kept.run(0.5, 2);
    kept.nic.link.up = Some(false);
    kept.run(0.5, 5);
    kept.nic.link.up = Some(true);
    kept.run(0.5, 2);
    let samples = kept.samples();
    assert_eq!(samples.len(), 3, "neither while down nor across the return");
    assert_eq!(samples[2].ended.since(samples[1].ended), 70 * MS);
}

#[test]
fn what_one_direction_could_not_show_is_absent_beside_the_other() {
    let mut kept = Kept::new(Nic::new(Kind::Durations));
    kept.run(0.5, 1);
    for (value, own) in kept.nic.values.iter_mut().zip(&kept.nic.plan.counters) {
        if own.key.direction == Some(Direction::Tx) {
            *value = Reading::Missing(Reason::Io);
        }
    }
    kept.run(0.5, 1);
    let shares: Vec<_> = kept.samples().iter().map(|own| (own.tx.share, own.rx.share)).collect();
    assert_eq!(shares, [(Some(0.0), Some(0.5)), (None, Some(0.5))]);
}

#[test]
fn a_storm_is_kept_with_onset_end_peak_and_the_samples_around() {
    let mut kept = Kept::new(Nic::new(Kind::Durations));
    kept.run(0.0, 50);
    let onset = kept.nic.now;
    kept.run(1.0, 30);
    let running = kept.episode();
    assert!(running.active);
    assert_eq!((running.lasted, running.peak_share), (300 * MS, Some(1.0)));
    kept.run(0.0, 39);
    assert!(kept.episode().active, "quiet, but not for long enough");
    kept.run(0.0, 61);
    let over = kept.episode();
    assert!(!over.active);
    assert_eq!((over.id, over.priority, over.direction), (1, Priority::ALL[3], RX));
    assert!(over.onset.since(onset) <= MS && onset.since(over.onset) <= MS, "{over:?}");
    assert!(over.lasted.abs_diff(300 * MS) <= MS, "{:?}", over.lasted);
    assert_eq!(over.basis, Some(Basis::Duration));
    assert!(over.peak_frame_rate.is_some_and(|rate| rate > 2_000.0), "{:?}", over.peak_frame_rate);
    let unix = 1.7e9 + over.onset.since(Monotonic::ZERO).as_secs_f64();
    assert!((over.onset_unix_seconds - unix).abs() < 1e-3);
    // 50 before, 30 in it, 100 after, each once and in order.
    assert_eq!(over.samples.len(), 180);
    assert!(over.samples.windows(2).all(|pair| pair[1].ended.since(pair[0].ended) == 10 * MS));
    let held = over.samples.iter().filter(|own| own.rx.share == Some(1.0)).count();
    assert_eq!(held, 30);
}

#[test]
fn a_long_storm_has_the_samples_of_both_its_edges_and_no_more() {
    let mut kept = Kept::new(Nic::new(Kind::Durations));
    kept.run(0.0, 500);
    kept.run(1.0, 3_000);
    kept.run(0.0, 500);
    let samples = kept.episode().samples;
    assert_eq!(samples.len(), 2 * SAMPLES_AROUND);
    let shares = |part: &[PastSample]| -> usize {
        part.iter().filter(|own| own.rx.share == Some(1.0)).count()
    };
    let (onset, end) = samples.split_at(SAMPLES_AROUND);
    assert_eq!((shares(onset), shares(end)), (SAMPLES_AROUND / 2, SAMPLES_AROUND / 2));
    assert!(end[0].ended.since(onset[255].ended) > Duration::from_secs(20));
}

#[test]
fn the_oldest_storm_makes_room_and_ids_go_on() {
    let mut kept = Kept::new(Nic::new(Kind::Durations));
    for _ in 0..EPISODES + 3 {
        kept.run(1.0, 25);
        kept.run(0.0, 45);
    }
    let all = kept.history.episodes();
    let ids: Vec<u64> = all.iter().map(|own| own.id).collect();
    let newest = EPISODES as u64 + 3;
    let expected: Vec<u64> = (newest + 1 - EPISODES as u64..=newest).rev().collect();
    assert_eq!(ids, expected);
    assert!(all.iter().all(|own| !own.active));
}

#[test]
fn an_engine_that_begins_anew_ends_the_storm_of_its_forerunner() {
    let mut kept = Kept::new(Nic::new(Kind::Durations));
    kept.run(1.0, 30);
    assert!(kept.episode().active);
    kept.nic.engine = FeedEngine::new(StormSettings::default());
    kept.run(1.0, 2);
    assert!(!kept.episode().active);
    kept.run(1.0, 30);
    let all = kept.history.episodes();
    assert_eq!(all.len(), 2);
    assert!(all[0].active && !all[1].active);
}

#[test]
fn a_link_that_goes_down_ends_a_storm() {
    let mut kept = Kept::new(Nic::new(Kind::Durations));
    kept.run(1.0, 30);
    kept.nic.link.up = Some(false);
    kept.run(1.0, 2);
    let over = kept.episode();
    assert!(!over.active);
    assert_eq!(over.lasted, 300 * MS);
}

#[test]
fn memory_ends_with_the_allowance_and_comes_back() {
    let size = Arc::new(HistorySize::of(MS));
    let mut all = Vec::new();
    while ALLOWANCE - size.bytes_in_use()
        >= size.bytes_per_priority() + HistorySize::bytes_per_device()
    {
        let mut kept = Kept::new(Nic::new(Kind::Durations));
        kept.history = FeedHistory::new(Arc::clone(&size));
        kept.run(0.5, 3);
        assert_eq!(kept.samples().len(), 3);
        all.push(kept);
    }
    assert!((15..=20).contains(&all.len()), "{} NICs at 1 ms", all.len());
    let mut one_more = Kept::new(Nic::new(Kind::Durations));
    one_more.history = FeedHistory::new(Arc::clone(&size));
    one_more.run(0.5, 3);
    assert_eq!(one_more.samples(), [], "nothing is kept of it, and nothing else is wrong");
    drop((all, one_more));
    assert_eq!(size.bytes_in_use(), 0);
}
