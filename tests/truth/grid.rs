//! The truth at the instants at which values were taken: what peaks and histograms must be made of.

use roce_exporter::engine::PauseFigures;

use crate::bench::SECOND;
use crate::findings::Findings;
use crate::judge::Lane;

/// Durations are whole microseconds, so each span is off by up to one.
const ROUNDING_NS: f64 = 1_000.0;
/// Seconds that a peak lives for, with the one that is still running.
const PEAK_SECONDS: u64 = 61;

/// One judged span: its end and its true share, with what rounding can shift.
#[derive(Clone, Copy, Debug)]
struct Cell {
    at: u64,
    share: f64,
    rounding: f64,
}

/// One lane.
#[derive(Default)]
pub(crate) struct Grid {
    last: Option<(u64, u64)>,
    cells: Vec<Cell>,
    /// The figures as last shown.
    pub(crate) figures: Option<PauseFigures>,
}

impl Grid {
    /// Takes the truth of the instant at which values were taken.
    pub(crate) fn note(&mut self, at: u64, paused: u64, left_out: bool) {
        let Some((before, was)) = self.last.replace((at, paused)) else { return };
        if at > before && !left_out {
            let length = (at - before) as f64;
            let share = (paused - was) as f64 / length;
            self.cells.push(Cell { at, share, rounding: ROUNDING_NS / length });
        }
    }

    /// The last figures against all cells.
    pub(crate) fn conclude(&self, driver: &str, lane: Lane, findings: &mut Findings) {
        let (Some(figures), Some((now, _))) = (self.figures, self.last) else { return };
        if crate::bench::refresh_of(driver).is_some() {
            return;
        }
        let told = |what: &str| format!("{what} of {lane:?}: {figures:?}");
        if let Some(peak) = figures.ratio_peak {
            let living = |cell: &&Cell| cell.at / SECOND + PEAK_SECONDS > now / SECOND;
            let most = self.cells.iter().filter(living).map(|cell| cell.share).fold(0.0, f64::max);
            let rounding = self.cells.iter().map(|cell| cell.rounding).fold(0.0, f64::max);
            let error = (peak - most).abs();
            findings.within("peak", driver, error, rounding, || told(&format!("truly {most}")));
        }
        let Some(histogram) = figures.sample_ratio else { return };
        let mut counted = 0;
        for (bound, count) in histogram.buckets() {
            counted += count;
            let certain = self.cells.iter().filter(|own| own.share + own.rounding <= bound).count();
            let possible =
                self.cells.iter().filter(|own| own.share - own.rounding <= bound).count();
            let so = (certain as u64..=possible as u64).contains(&counted);
            findings.holds("histogram", driver, so, || {
                told(&format!("{counted} up to {bound}, truly {certain} to {possible}"))
            });
        }
    }
}
