//! When exactly a NIC was paused, kept from the fabric's edges: the paused time of any window.

use roce_exporter::model::{Direction, Priority};
use roce_exporter::source::simulated::EdgeRing;

/// A pause, in nanoseconds of the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Hold {
    pub(crate) const fn length(&self) -> u64 {
        self.to - self.from
    }
}

/// One priority and direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    holds: Vec<Hold>,
    /// Time paused before each hold.
    before: Vec<u64>,
    paused: u64,
    open: Option<u64>,
}

impl Course {
    /// Takes an edge, later than those before it.
    pub(crate) fn note(&mut self, at: u64, paused: bool) {
        match (self.open, paused) {
            (None, true) => self.open = Some(at),
            (Some(from), false) => {
                self.holds.push(Hold { from, to: at });
                self.before.push(self.paused);
                self.paused += at - from;
                self.open = None;
            }
            _ => panic!("two edges of a kind in a row at {at}"),
        }
    }

    /// Time paused from the beginning to `at`.
    pub(crate) fn paused_by(&self, at: u64) -> u64 {
        let open = self.open.map_or(0, |from| at.saturating_sub(from));
        let begun = self.holds.partition_point(|hold| hold.from < at);
        let Some(last) = begun.checked_sub(1) else { return open };
        let hold = self.holds[last];
        self.before[last] + (hold.to.min(at) - hold.from) + open
    }

    /// Holds that began before `at`.
    pub(crate) fn begun_by(&self, at: u64) -> u64 {
        self.holds.partition_point(|hold| hold.from < at) as u64
    }

    /// Time paused between two instants.
    pub(crate) fn paused(&self, from: u64, to: u64) -> u64 {
        self.paused_by(to) - self.paused_by(from)
    }

    /// Share of time paused between two instants.
    pub(crate) fn share(&self, from: u64, to: u64) -> f64 {
        self.paused(from, to) as f64 / (to - from).max(1) as f64
    }

    /// All holds up to `now`, those at most `gap` apart joined, if that is also at most this percentage of what is
    /// before it.
    pub(crate) fn joined(&self, gap: u64, percent: u64, now: u64) -> Vec<Hold> {
        let begun = self.open.filter(|from| *from <= now);
        let open = begun.map(|from| Hold { from, to: now });
        let mut joined: Vec<Hold> = Vec::new();
        for hold in self.holds.iter().copied().chain(open) {
            match joined.last_mut() {
                Some(last) if hold.from - last.to <= gap.min(last.length() * percent / 100) => {
                    last.to = hold.to;
                }
                _ => joined.push(hold),
            }
        }
        joined
    }

    /// Forgets what ended before `time`; windows that begin earlier are then wrong.
    pub(crate) fn forget(&mut self, time: u64) {
        let old = self.holds.partition_point(|hold| hold.to < time);
        self.holds.drain(..old);
        self.before.drain(..old);
    }
}

/// All priorities and directions of a NIC.
#[derive(Clone, Debug, Default)]
pub(crate) struct NicCourse {
    lanes: [[Course; 2]; Priority::COUNT],
    seen: u64,
}

impl NicCourse {
    /// Takes what is new in the fabric's ring.
    pub(crate) fn take(&mut self, edges: &EdgeRing) {
        if edges.count() == self.seen {
            return;
        }
        let new = edges.since(self.seen);
        let mut taken = 0;
        for edge in new {
            taken += 1;
            if let Some(priority) = edge.priority {
                let lane = &mut self.lanes[priority.position()][edge.direction as usize];
                lane.note(edge.at.as_nanos(), edge.paused);
            }
        }
        self.seen += taken;
        assert_eq!(self.seen, edges.count(), "edges were forgotten before they were taken");
    }

    pub(crate) fn lane(&self, priority: Priority, direction: Direction) -> &Course {
        &self.lanes[priority.position()][direction as usize]
    }

    pub(crate) fn forget(&mut self, time: u64) {
        self.lanes.iter_mut().flatten().for_each(|lane| lane.forget(time));
    }
}

#[test]
fn paused_time_is_exact_at_any_instant() {
    let mut course = Course::default();
    for (at, paused) in [(100, true), (150, false), (200, true), (300, false), (400, true)] {
        course.note(at, paused);
    }
    let by = |at| course.paused_by(at);
    assert_eq!([by(50), by(120), by(160), by(250), by(350), by(410)], [0, 20, 50, 100, 150, 160]);
    assert_eq!(course.paused(120, 250), 80);
    let joined = course.joined(50, 4, 500);
    assert_eq!(joined.len(), 3, "a gap as long as the hold before it joins nothing");
}
