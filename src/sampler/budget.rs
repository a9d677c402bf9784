//! The share of wall time that reads may take: one budget over all NICs for reads under rtnl, and one for each
//! feed that reads without.
//!
//! Each feed's demand is the time of its reads over its interval. While the demands together stay within the
//! limit, nobody waits. Beyond it the limit is shared max-min fair: a NIC with cheap reads keeps its interval,
//! the expensive ones stretch theirs. Reads under rtnl queue, so one that hangs makes all others long; time
//! in the queue is not theirs. Other programs hold rtnl too, for 100 ms at times: a read costs what the quickest of
//! the last few did, unless it is so long that the device itself must be at fault. Refuses to cut a read short: that cannot be done in the kernel.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::model::Monotonic;

/// The longest wait that one read can cause, so that a device that hung once comes back soon.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Shared by all threads whose reads must queue for one another.
#[derive(Debug)]
pub struct ReadBudget {
    limit: f64,
    account: Mutex<Account>,
}

/// A read that held this long is charged whole: no other program holds rtnl for so long.
const HANG: Duration = Duration::from_millis(500);
/// Reads of which the quickest shows what a read costs by itself.
const RECENT: usize = 8;

#[derive(Debug)]
struct Account {
    demands: BTreeMap<u64, Demand>,
    /// When the last read finished: whoever was in the queue then held nothing before.
    last_finished: Monotonic,
}

/// What one feed takes.
#[derive(Clone, Copy, Debug)]
struct Demand {
    /// Its share of wall time, smoothed.
    share: f64,
    recent: [Duration; RECENT],
    next: usize,
}

impl Demand {
    const NONE: Self = Self { share: 0.0, recent: [Duration::MAX; RECENT], next: 0 };

    /// Notes a read that held for `held`. Returns what it is charged.
    fn note(&mut self, held: Duration, interval: Duration) -> Duration {
        if let Some(slot) = self.recent.get_mut(self.next) {
            *slot = held;
        }
        self.next = (self.next + 1) % RECENT;
        let quickest = self.recent.iter().copied().min().unwrap_or(held);
        let cost = if held >= HANG { held } else { quickest };
        let now = cost.as_secs_f64() / interval.as_secs_f64().max(1e-9);
        self.share += (now - self.share) / 8.0;
        cost
    }
}

/// What a read cost and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// How long the read can have held what the others waited for.
    pub held: Duration,
    /// How long the feed must stay away now.
    pub wait: Duration,
}

impl ReadBudget {
    /// A budget of `limit`, a share of wall time between 0 and 1.
    #[must_use]
    pub const fn new(limit: f64) -> Self {
        let account = Account { demands: BTreeMap::new(), last_finished: Monotonic::ZERO };
        Self { limit, account: Mutex::new(account) }
    }

    /// Settles a read of feed `id` that took `took` until `finished`. The feed would like to read every
    /// `interval`.
    pub fn settle(
        &self,
        id: u64,
        finished: Monotonic,
        took: Duration,
        interval: Duration,
    ) -> Settled {
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        let held = took.min(finished.since(account.last_finished));
        account.last_finished = account.last_finished.max(finished);
        let demand = account.demands.entry(id).or_insert(Demand::NONE);
        let cost = demand.note(held, interval);
        let own = demand.share;
        let shares = account.demands.values().map(|demand| demand.share);
        let total: f64 = shares.clone().sum();
        if total <= self.limit {
            return Settled { held, wait: Duration::ZERO };
        }
        let level = water_level(&shares, self.limit);
        drop(account);
        let wait = if own <= level || level <= 0.0 {
            Duration::ZERO
        } else {
            let wait = cost.as_secs_f64() * (1.0 / level - 1.0);
            Duration::try_from_secs_f64(wait.max(0.0)).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT)
        };
        Settled { held, wait }
    }

    /// Forgets a feed that ended.
    pub fn forget(&self, id: u64) {
        self.account.lock().unwrap_or_else(PoisonError::into_inner).demands.remove(&id);
    }
}

/// The share `level` for which the demands, each cut to `level`, sum to `limit`. Each round lets those who want
/// no more than the level have it and shares the rest among the others, so nothing has to be sorted.
fn water_level(demands: &(impl Iterator<Item = f64> + Clone), limit: f64) -> f64 {
    let mut level = 0.0;
    loop {
        let (mut left, mut others) = (limit, 0_u32);
        for demand in demands.clone() {
            if demand <= level {
                left -= demand;
            } else {
                others += 1;
            }
        }
        let share = left / f64::from(others);
        if others == 0 || share <= level {
            return level;
        }
        level = share;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Runs feeds with the given read times against one budget for a minute of virtual time and returns
    /// each one's share of wall time and mean interval.
    fn run(limit: f64, interval: Duration, reads: &[Duration]) -> Vec<(f64, Duration)> {
        let budget = ReadBudget::new(limit);
        let mut next = vec![Duration::ZERO; reads.len()];
        let mut spent = vec![(Duration::ZERO, 0_u32); reads.len()];
        let (end, mut free_from) = (Duration::from_mins(1), Duration::ZERO);
        while let Some((id, now)) =
            next.iter().copied().enumerate().min_by_key(|(_, at)| *at).filter(|(_, at)| *at < end)
        {
            let took = reads[id];
            // Reads queue: one that comes while another is on begins when that ends.
            let begins = now.max(free_from);
            free_from = begins + took;
            let finished = Monotonic::ZERO.plus(free_from);
            let wait =
                budget.settle(id as u64, finished, free_from.saturating_sub(now), interval).wait;
            next[id] = (now + interval).max(free_from + wait);
            spent[id].0 += took;
            spent[id].1 += 1;
        }
        let share = |(time, count): (Duration, u32)| (time.as_secs_f64() / 60.0, end / count);
        spent.into_iter().map(share).collect()
    }

    #[test]
    fn cheap_reads_keep_their_interval() {
        for (_, interval) in run(0.1, 10 * MS, &[MS / 20; 8]) {
            assert!(interval <= 10 * MS + MS / 100, "{interval:?}");
        }
    }

    #[test]
    fn slow_reads_stay_within_the_budget() {
        for count in [1, 3, 8] {
            let shares = run(0.1, 10 * MS, &vec![20 * MS; count]);
            let total: f64 = shares.iter().map(|(share, _)| share).sum();
            assert!(total <= 0.105, "{count} NICs took {total} of wall time");
            assert!(total >= 0.08, "{count} NICs left the budget unused: {total}");
        }
    }

    #[test]
    fn one_slow_nic_does_not_stretch_the_others() {
        let shares = run(0.1, 10 * MS, &[20 * MS, MS / 20, MS / 20, MS / 20]);
        assert!(shares[0].1 > 200 * MS, "{shares:?}");
        for (_, interval) in &shares[1..] {
            // They lose the ticks that they spend in the queue, a tenth of the time.
            assert!(*interval <= 12 * MS, "{shares:?}");
        }
    }

    #[test]
    fn time_that_others_held_rtnl_is_not_charged_but_a_hang_is() {
        let budget = ReadBudget::new(0.1);
        let mut now = Monotonic::ZERO.plus(Duration::from_secs(10));
        let mut waited = Duration::ZERO;
        for tick in 0..1_000 {
            // Every third read waits 100 ms for somebody who makes and removes links.
            let took = if tick % 3 == 2 { 100 * MS } else { MS / 20 };
            now = now.plus(took + 10 * MS);
            waited += budget.settle(0, now, took, 10 * MS).wait;
        }
        assert_eq!(waited, Duration::ZERO);
        now = now.plus(HANG);
        assert!(budget.settle(0, now, HANG, 10 * MS).wait >= HANG);
    }

    #[test]
    fn the_level_cuts_demands_to_the_limit() {
        proptest::proptest!(|(demands in proptest::collection::vec(0.0_f64..3.0, 1..40), share in 0.01_f64..0.99)| {
            let total: f64 = demands.iter().sum();
            proptest::prop_assume!(total > 0.0);
            let limit = total * share;
            let level = water_level(&demands.iter().copied(), limit);
            let cut: f64 = demands.iter().map(|demand| demand.min(level)).sum();
            proptest::prop_assert!((cut - limit).abs() < 1e-9 * total, "{cut} for {limit}");
        });
    }

    #[test]
    fn a_device_that_hung_is_back_in_seconds_and_those_who_queued_at_once() {
        let budget = ReadBudget::new(0.1);
        let mut now = Monotonic::ZERO.plus(Duration::from_secs(10));
        let mut settle = |id: u64, took: Duration| {
            now = now.plus(took.min(MS));
            budget.settle(id, now, took, 10 * MS)
        };
        for id in 0..3 {
            assert_eq!(settle(id, MS / 20).wait, Duration::ZERO);
        }
        let hang = Duration::from_secs(3);
        let culprit = budget.settle(0, Monotonic::ZERO.plus(hang + hang * 4), hang, 10 * MS);
        assert_eq!(culprit, Settled { held: hang, wait: LONGEST_WAIT });
        let after = Monotonic::ZERO.plus(hang + hang * 4 + MS / 20);
        let queued = budget.settle(1, after, hang, 10 * MS);
        assert_eq!(queued, Settled { held: MS / 20, wait: Duration::ZERO });
        let mut waited = Duration::ZERO;
        let mut now = after;
        for _ in 0..100 {
            now = now.plus(10 * MS);
            waited += budget.settle(0, now, MS / 20, 10 * MS).wait;
        }
        assert!(waited < Duration::from_secs(1), "{waited:?}");
        budget.forget(0);
    }
}
