//! Whether what a process takes grows with time.

use crate::program::Taken;

/// The run in so many blocks. A block's least figure has nothing in it of clients that come and go.
const BLOCKS: usize = 12;
/// Blocks at the start that do not count: tables fill and the allocator finds its size.
const WARM_UP: usize = 4;
/// Student's t for the slope of eight blocks, at one in a thousand by chance.
const CERTAIN: f64 = 5.2;
/// Growth over the counted part that is none, whatever its slope, in KiB: a few pages of each thread. In the first minutes
/// the allocator's pools and the windows of the last minute still fill.
const NO_GROWTH: f64 = 1_024.0;
const NO_GROWTH_EARLY: f64 = 3_072.0;
/// When that is over, in seconds.
const SETTLED: f64 = 300.0;

/// All that was taken of one process, in turn, with the bytes that it keeps of the past by design.
#[derive(Default)]
pub struct Growth(Vec<(Taken, u64)>);

impl Growth {
    pub fn note(&mut self, taken: Taken, kept: u64) {
        self.0.push((taken, kept));
    }

    /// Panics if memory grew by more than `room` in bytes and what is kept by design, or descriptors or threads did. Says
    /// what there was.
    pub fn assert_none(&self, whose: &str, room: u64) {
        let memory = self.blocks(|taken| taken.memory);
        let (slope, error) = slope(&memory[WARM_UP..]);
        let grown = slope * (BLOCKS - WARM_UP) as f64;
        let kept = self.newly_kept();
        let (first, last) = (self.0.first().unwrap().0, self.0.last().unwrap().0);
        let seconds = last.at.duration_since(first.at).as_secs_f64();
        let none = if seconds < SETTLED { NO_GROWTH_EARLY } else { NO_GROWTH };
        let leaks = slope > CERTAIN * error && grown > none + kept + room as f64 / 1_024.0;
        assert!(
            !leaks,
            "{whose}: memory grew by {grown:.0} KiB, {kept:.0} of it to keep: {memory:?}"
        );
        for (what, figure) in [
            ("descriptors", (|taken| taken.descriptors) as fn(&Taken) -> u64),
            ("threads", |taken| taken.threads),
        ] {
            let blocks = self.blocks(figure);
            let (early, late) = (&blocks[WARM_UP..WARM_UP + 4], &blocks[BLOCKS - 4..]);
            let most = |part: &[f64]| part.iter().copied().fold(0.0, f64::max);
            let lowest = |part: &[f64]| part.iter().copied().fold(f64::MAX, f64::min);
            assert!(lowest(late) <= most(early), "{whose}: {what} grew: {blocks:?}");
        }
        let load = (last.processor - first.processor) / seconds;
        println!(
            "{whose}: memory {:.0} to {:.0} KiB after warm-up, slope {:.2} ± {:.2} KiB/s, {:.2} to keep; {} descriptors, \
             {} threads; {:.1} % of a core",
            memory[WARM_UP],
            memory[BLOCKS - 1],
            slope * BLOCKS as f64 / seconds,
            error * BLOCKS as f64 / seconds,
            kept * BLOCKS as f64 / (BLOCKS - WARM_UP) as f64 / seconds,
            last.descriptors,
            last.threads,
            load * 100.0
        );
    }

    /// By how much what is kept grew at most after the warm-up, in KiB: rings that fill, and those of a reload that begin
    /// anew.
    fn newly_kept(&self) -> f64 {
        let counted = &self.0[WARM_UP * self.0.len() / BLOCKS..];
        let kept = || counted.iter().map(|(_, kept)| *kept);
        (kept().max().unwrap() - kept().min().unwrap()) as f64 / 1_024.0
    }

    fn blocks(&self, figure: fn(&Taken) -> u64) -> Vec<f64> {
        assert!(self.0.len() >= BLOCKS, "only {} looks", self.0.len());
        let block = |number: usize| {
            let bounds = [number, number + 1].map(|number| number * self.0.len() / BLOCKS);
            let least =
                self.0[bounds[0]..bounds[1]].iter().map(|(taken, _)| figure(taken)).min().unwrap();
            least as f64
        };
        (0..BLOCKS).map(block).collect()
    }
}

/// The slope of the straight line through values at equal distances, and its standard error.
fn slope(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / count;
    let places = || (0..values.len()).map(|place| place as f64 - middle);
    let spread: f64 = places().map(|place| place * place).sum();
    let slope =
        places().zip(values).map(|(place, value)| place * (value - mean)).sum::<f64>() / spread;
    let left = |(place, value): (f64, &f64)| (value - mean - slope * place).powi(2);
    let variance = places().zip(values).map(left).sum::<f64>() / (count - 2.0);
    (slope, (variance / spread).sqrt())
}
