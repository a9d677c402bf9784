//! What the engine made of the time between samples.

use roce_exporter::engine::{PauseSummary, Skip};

/// A span between two samples of a feed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) kind: SpanKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanKind {
    Judged,
    /// In ratios, but no verdict on storms.
    Gap,
    LeftOut,
}

/// The spans of one feed, from what was left out of its figures.
#[derive(Default)]
pub(crate) struct Spans {
    all: Vec<Span>,
    before: Option<u64>,
    skipped: [u64; Skip::ALL.len()],
}

impl Spans {
    /// Notes the span that ends with a sample at `now`. Returns why something of it was left out.
    pub(crate) fn note(&mut self, now: u64, pause: &PauseSummary) -> Vec<Skip> {
        let count = |skip: &&Skip| pause.skipped[skip.position()] > self.skipped[skip.position()];
        let new: Vec<Skip> = Skip::ALL.iter().filter(count).copied().collect();
        self.skipped = pause.skipped;
        let kind = match new.as_slice() {
            [] => SpanKind::Judged,
            [Skip::Gap] => SpanKind::Gap,
            _ => SpanKind::LeftOut,
        };
        if let Some(from) = self.before.replace(now) {
            self.all.push(Span { from, to: now, kind });
        }
        new
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Span] {
        &self.all
    }

    /// From the one that is on at `time`.
    pub(crate) fn since(&self, time: u64) -> &[Span] {
        &self.all[self.all.partition_point(|span| span.to <= time)..]
    }

    /// How far apart the samples around `time` are.
    pub(crate) fn length_at(&self, time: u64) -> u64 {
        self.since(time).first().map_or(0, |span| span.to - span.from)
    }

    /// Whether nothing of the last span was judged.
    pub(crate) fn is_left_out(&self) -> bool {
        self.all.last().is_some_and(|span| span.kind == SpanKind::LeftOut)
    }

    /// Forgets what ended before `time`.
    pub(crate) fn forget(&mut self, time: u64) {
        let old = self.all.partition_point(|span| span.to < time);
        self.all.drain(..old);
    }
}
