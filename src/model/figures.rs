//! A histogram with fixed buckets, as a plain value.

/// A cumulative histogram with `N` fixed upper bounds; observing allocates nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Histogram<const N: usize> {
    bounds: &'static [f64; N],
    counts: [u64; N],
    beyond: u64,
    sum: f64,
}

impl<const N: usize> Histogram<N> {
    /// An empty histogram over `bounds`, which ascend.
    #[must_use]
    pub const fn new(bounds: &'static [f64; N]) -> Self {
        Self { bounds, counts: [0; N], beyond: 0, sum: 0.0 }
    }

    /// Counts one value in the first bucket whose upper bound is not below it.
    pub fn observe(&mut self, value: f64) {
        let bucket = self.bounds.iter().position(|bound| value <= *bound);
        match bucket.and_then(|position| self.counts.get_mut(position)) {
            Some(count) => *count += 1,
            None => self.beyond += 1,
        }
        self.sum += value;
    }

    /// Upper bound and count of each bucket, not cumulated; the last bound is infinite.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let finite = self.bounds.iter().copied().zip(self.counts.iter().copied());
        finite.chain(std::iter::once((f64::INFINITY, self.beyond)))
    }

    /// How many values were observed.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.beyond
    }

    /// The sum of all values.
    #[must_use]
    pub const fn sum(&self) -> f64 {
        self.sum
    }
}
