//! Storms as they were raised, against holds as they were.

use roce_exporter::engine::StormFigures;

use crate::bench::Moment;

/// A storm as it was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// When it was first shown.
    pub(crate) raised: u64,
    /// When it was first no longer shown.
    pub(crate) over: Option<u64>,
    /// When it began, as the figures say, in nanoseconds of the clock.
    pub(crate) dated: u64,
    /// Time in it.
    pub(crate) seconds: f64,
}

/// All storms of a lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct StormLog {
    pub(crate) seen: Vec<Seen>,
    last: StormFigures,
}

impl StormLog {
    pub(crate) fn note(&mut self, moment: &Moment<'_>, figures: &StormFigures) {
        if figures.episodes > self.last.episodes {
            let dated = figures.last_start_unix_seconds.unwrap() - crate::bench::EPOCH;
            self.seen.push(Seen {
                raised: moment.now,
                over: None,
                dated: (dated * 1e9) as u64,
                seconds: -self.last.seconds,
            });
        }
        if let Some(last) = self.seen.last_mut().filter(|last| last.over.is_none())
            && !figures.active
        {
            last.over = Some(moment.now);
            last.seconds += figures.seconds;
        }
        self.last = *figures;
    }
}
