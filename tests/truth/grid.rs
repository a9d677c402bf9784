//! The truth at the instants at which values were taken: what peaks and histograms must be made of.

use roce_exporter::engine::PauseFigures;

use crate::bench::SECOND;
use crate::findings::Findings;
use crate::judge::Lane;

/// Durations are whole microseconds, so each span is off by up to one.
const ROUNDING_NS: f64 = 1_000.0;
/// Seconds that a peak lives for, with the one that is still running.
const PEAK_SECONDS: u64 = 61;

/// One judged span: its end and its true share, with what rounding and dating can shift.
#[derive(Clone, Copy, Debug)]
struct Cell {
    at: u64,
    share: f64,
    off: f64,
}

/// One lane.
#[derive(Default)]
pub(crate) struct Grid {
    last: Option<(u64, u64)>,
    cells: Vec<Cell>,
    /// By what part of its length a span may be dated wrongly.
    pub(crate) blur: f64,
    /// The figures as last shown.
    pub(crate) figures: Option<PauseFigures>,
}

impl Grid {
    /// Takes the truth of the instant at which values were taken. What began before `since` or was left out makes
    /// no cell.
    pub(crate) fn note(&mut self, at: u64, paused: u64, since: u64, left_out: bool) {
        let Some((before, was)) = self.last else {
            self.last = Some((at, paused));
            return;
        };
        if at == before {
            return;
        }
        self.last = Some((at, paused));
        if before >= since && !left_out {
            let length = (at - before) as f64;
            let share = (paused - was) as f64 / length;
            let off = (ROUNDING_NS / length).max(share * self.blur);
            self.cells.push(Cell { at, share, off });
        }
    }

    /// The last figures against all cells.
    pub(crate) fn conclude(&self, driver: &str, lane: Lane, findings: &mut Findings) {
        let (Some(figures), Some((now, _))) = (self.figures, self.last) else { return };
        // Reads that are no faster than refreshes tell the window's ratio, but not that of a refresh.
        if self.blur > 0.5 {
            return;
        }
        let told = |what: String| format!("{what} of {lane:?}: {figures:?}");
        if let Some(peak) = figures.ratio_peak {
            let living = |cell: &&Cell| cell.at / SECOND + PEAK_SECONDS > now / SECOND;
            let most = self.cells.iter().filter(living).map(|cell| cell.share).fold(0.0, f64::max);
            let off = self.cells.iter().map(|cell| cell.off).fold(0.0, f64::max);
            let error = (peak - most).abs();
            findings.within("peak", driver, error, off, || told(format!("truly {most}")));
        }
        let Some(histogram) = figures.sample_ratio else { return };
        // A refresh that was passed over by lost ticks is one with the next.
        let missed = if self.blur > 0.0 { self.cells.len() as u64 / 10 } else { 0 };
        let mut counted = 0;
        for (bound, count) in histogram.buckets() {
            counted += count;
            let up_to = |share: fn(&Cell) -> f64| {
                self.cells.iter().filter(|own| share(own) <= bound).count() as u64
            };
            let certain = up_to(|own| own.share + own.off).saturating_sub(missed);
            let possible = up_to(|own| own.share - own.off);
            let so = (certain..=possible).contains(&counted);
            findings.holds("histogram", driver, so, || {
                told(format!("{counted} up to {bound}, truly {certain} to {possible}"))
            });
        }
    }
}
