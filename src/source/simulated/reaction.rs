//! The reaction point (RP): how a sender slows down on CNPs and recovers, after DCQCN (Zhu et al.,
//! SIGCOMM 2015), with whole numbers and without the byte counter.
//!
//! A CNP cuts the rate by half of alpha. Without CNPs the rate climbs back on a timer: halfway to the
//! rate before the cut a few times, then by a fixed step.

/// Time between two steps of recovery, which is also the time after which alpha decays (K of the paper).
const STEP_NS: u64 = 55_000;

/// Steps of fast recovery before the target itself rises.
const FAST_STEPS: u32 = 5;

/// Steps of additive increase before the target rises faster.
const ADDITIVE_STEPS: u32 = 5;

/// After so many missed steps a flow is surely back at line rate.
const FORGETS_AFTER_STEPS: u64 = 500;

/// Alpha is a fraction with this many bits.
const ALPHA_BITS: u32 = 10;

/// Alpha of one: cut to half.
const ALPHA_ONE: u64 = 1 << ALPHA_BITS;

/// Weight of a new observation in alpha: 1/16.
const ALPHA_SHIFT: u32 = 4;

/// Sending rate of one flow as its RP allows it, in bytes per second.
#[derive(Clone, Debug)]
pub(super) struct Reaction {
    line: u64,
    rate: u64,
    target: u64,
    alpha: u64,
    steps: u32,
    next_step: u64,
}

impl Reaction {
    /// At line rate, in bytes per second.
    pub(super) const fn new(line: u64) -> Self {
        Self { line, rate: line, target: line, alpha: ALPHA_ONE, steps: 0, next_step: 0 }
    }

    /// The rate that is allowed now.
    pub(super) const fn rate(&self) -> u64 {
        self.rate
    }

    /// One CNP arrived.
    pub(super) fn on_cnp(&mut self, now: u64) {
        self.target = self.rate;
        self.rate -= (self.rate * self.alpha) >> (ALPHA_BITS + 1);
        self.rate = self.rate.max(self.line / 1_000);
        self.alpha += (ALPHA_ONE - self.alpha) >> ALPHA_SHIFT;
        self.steps = 0;
        self.next_step = now + STEP_NS;
    }

    /// Takes the steps of recovery that are due.
    pub(super) fn recover(&mut self, now: u64) {
        if self.rate == self.line || now < self.next_step {
            return;
        }
        let due = (now - self.next_step) / STEP_NS + 1;
        if due > FORGETS_AFTER_STEPS {
            *self = Self::new(self.line);
            return;
        }
        self.next_step += due * STEP_NS;
        for _ in 0..due {
            self.climb();
        }
    }

    fn climb(&mut self) {
        self.alpha -= self.alpha >> ALPHA_SHIFT;
        self.steps += 1;
        let rise = if self.steps <= FAST_STEPS {
            0
        } else if self.steps <= FAST_STEPS + ADDITIVE_STEPS {
            self.line / 256
        } else {
            self.line / 32
        };
        self.target = (self.target + rise).min(self.line);
        self.rate = self.rate.midpoint(self.target);
        // The last fraction of a percent would take many halvings.
        if self.rate + self.line / 512 >= self.line {
            self.rate = self.line;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 12_500_000_000;

    #[test]
    fn the_first_cnp_halves_the_rate() {
        let mut reaction = Reaction::new(LINE);
        reaction.on_cnp(0);
        assert_eq!(reaction.rate(), LINE / 2);
    }

    #[test]
    fn cnps_without_end_leave_a_trickle() {
        let mut reaction = Reaction::new(LINE);
        for _ in 0..1_000 {
            reaction.on_cnp(0);
        }
        assert_eq!(reaction.rate(), LINE / 1_000);
    }

    #[test]
    fn recovery_is_halfway_first_and_full_in_the_end() {
        let mut reaction = Reaction::new(LINE);
        reaction.on_cnp(0);
        reaction.recover(STEP_NS - 1);
        assert_eq!(reaction.rate(), LINE / 2);
        reaction.recover(STEP_NS);
        assert_eq!(reaction.rate(), LINE / 4 * 3);
        reaction.recover(2 * STEP_NS);
        assert_eq!(reaction.rate(), LINE / 8 * 7);
        reaction.recover(100 * STEP_NS);
        assert_eq!(reaction.rate(), LINE);
    }

    #[test]
    fn a_long_silence_forgets_the_congestion() {
        let mut reaction = Reaction::new(LINE);
        reaction.on_cnp(0);
        reaction.recover(3_600_000_000_000);
        assert_eq!(reaction.rate(), LINE);
    }
}
