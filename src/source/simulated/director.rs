//! Who does what when: the order of scenarios, random disturbances, and the loads that follow from both.
//!
//! All chance comes from one seeded generator that is asked at fixed times of the fabric, so a seed gives
//! the same course whoever reads the counters and when.

use std::time::Duration;

use super::network::lane_of;
use super::scenario::{Change, Class, Micros, Scenario, Scene};
use crate::model::{Priority, saturating_nanos};

/// How long the fabric is calm between two scenarios that are shown in turn.
const REST_NS: u64 = 20_000_000_000;

/// A draw from a range of microseconds, in nanoseconds.
pub(super) fn draw(rng: &mut fastrand::Rng, range: Micros) -> u64 {
    rng.u64(range.0 * 1_000..=range.1 * 1_000)
}

/// A scene, or a scenario for ever.
#[derive(Clone, Copy)]
struct Part {
    scenario: &'static Scenario,
    lasts: Option<u64>,
    slowed: u32,
}

impl Part {
    /// A time of the script, in nanoseconds from its beginning.
    fn at(&self, time: Duration) -> u64 {
        saturating_nanos(time.saturating_mul(self.slowed))
    }
}

/// What the timeline asks for.
pub(super) enum Turn {
    /// Puts everything in order.
    Restore,
    /// Makes a change.
    Make(Change),
}

/// The order of scenarios and the place in the present script.
pub(super) struct Timeline {
    parts: Vec<Part>,
    current: usize,
    /// When the present pass of the script began.
    began: u64,
    /// When the next scene is due.
    ends: u64,
    next_cue: usize,
}

impl Timeline {
    /// One scenario for ever.
    pub(super) fn of_one(scenario: &'static Scenario, start: u64) -> Self {
        Self::new(vec![Part { scenario, lasts: None, slowed: 1 }], start)
    }

    /// These scenes one after the other, then the first again; what lasts no time is left out.
    pub(super) fn of_course(course: &[Scene], start: u64) -> Self {
        let part = |scene: &Scene| Part {
            scenario: scene.scenario,
            lasts: Some(saturating_nanos(scene.lasts)),
            slowed: scene.slowed.max(1),
        };
        let lasting = course.iter().filter(|scene| !scene.lasts.is_zero());
        Self::new(lasting.map(part).collect(), start)
    }

    /// All that can be shown in turn, with rests in between, for ever.
    pub(super) fn walk(start: u64) -> Self {
        let part = |scenario, lasts| Part { scenario, lasts: Some(lasts), slowed: 1 };
        let rest = Scenario::all().first().map(|calm| part(calm, REST_NS));
        let shown = Scenario::all().iter().filter_map(|scenario| {
            scenario.walk.map(|walk| part(scenario, saturating_nanos(walk)))
        });
        Self::new(shown.flat_map(|shown| [Some(shown), rest]).flatten().collect(), start)
    }

    fn new(parts: Vec<Part>, start: u64) -> Self {
        let mut timeline = Self { parts, current: 0, began: start, ends: 0, next_cue: 0 };
        timeline.ends = timeline.end_of_part();
        timeline
    }

    fn part(&self) -> Option<Part> {
        self.parts.get(self.current).copied()
    }

    fn end_of_part(&self) -> u64 {
        let lasts = self.part().and_then(|part| part.lasts);
        lasts.map_or(u64::MAX, |lasts| self.began.saturating_add(lasts))
    }

    /// What is on now.
    pub(super) fn scenario(&self) -> Option<&'static Scenario> {
        self.part().map(|part| part.scenario)
    }

    /// When there is something to do next.
    pub(super) fn next_at(&self) -> u64 {
        let Some(part) = self.part() else { return u64::MAX };
        let pass_end = self.began + part.at(part.scenario.duration);
        let cue = part.scenario.script.get(self.next_cue);
        let cue = cue.map_or(u64::MAX, |cue| self.began + part.at(cue.at));
        self.ends.min(pass_end).min(cue)
    }

    /// The next thing that is due at `now`.
    pub(super) fn turn(&mut self, now: u64) -> Option<Turn> {
        loop {
            let part = self.part()?;
            let scenario = part.scenario;
            if self.ends <= now {
                self.current = (self.current + 1) % self.parts.len().max(1);
                self.began = self.ends;
                self.ends = self.end_of_part();
                self.next_cue = 0;
                return Some(Turn::Restore);
            }
            if let Some(cue) = scenario.script.get(self.next_cue)
                && self.began + part.at(cue.at) <= now
            {
                self.next_cue += 1;
                return Some(Turn::Make(cue.change));
            }
            if self.began + part.at(scenario.duration) > now {
                return None;
            }
            self.began += part.at(scenario.duration.saturating_sub(scenario.repeat_from));
            let kept = scenario.script.iter().filter(|cue| cue.at < scenario.repeat_from);
            self.next_cue = kept.count();
            if scenario.repeat_from.is_zero() {
                return Some(Turn::Restore);
            }
        }
    }
}

/// What a disturbance does while it acts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// The receive side of a lane is stopped.
    Stall { lane: usize },
    /// `count` senders from `first` on send to a port.
    Burst { to: usize, first: usize, count: usize, percent: u64 },
}

/// Something that happens again and again, at random.
#[derive(Clone, Debug)]
pub(super) struct Disturbance {
    pub(super) kind: DisturbanceKind,
    every: Micros,
    lasts: Micros,
    /// Belongs to the script and ends with it.
    pub(super) scripted: bool,
    pub(super) next: u64,
    pub(super) act: Option<Act>,
}

/// What a disturbance does. No port: a random one each time.
#[derive(Clone, Copy, Debug)]
pub(super) enum DisturbanceKind {
    Stalls { port: Option<usize>, class: Class },
    Bursts { to: Option<usize>, senders: usize, percent: u64 },
}

impl Disturbance {
    pub(super) fn new(
        kind: DisturbanceKind,
        (every, lasts): (Micros, Micros),
        scripted: bool,
        now: u64,
        rng: &mut fastrand::Rng,
    ) -> Self {
        Self { kind, every, lasts, scripted, next: now + draw(rng, every), act: None }
    }

    /// Begins or ends the act that is due at `now`; gives the one that ended and the one that began.
    pub(super) fn turn(
        &mut self,
        now: u64,
        (ports, lossless): (usize, Priority),
        rng: &mut fastrand::Rng,
    ) -> (Option<Act>, Option<Act>) {
        if let Some(ended) = self.act.take() {
            self.next = now + draw(rng, self.every);
            return (Some(ended), None);
        }
        let begun = match self.kind {
            DisturbanceKind::Stalls { port, class } => {
                let port = port.unwrap_or_else(|| rng.usize(0..ports));
                Act::Stall { lane: lane_of(port, class.priority(lossless)) }
            }
            DisturbanceKind::Bursts { to, senders, percent } => Act::Burst {
                to: to.unwrap_or_else(|| rng.usize(0..ports)),
                first: rng.usize(0..ports),
                count: senders,
                percent,
            },
        };
        self.act = Some(begun);
        self.next = now + draw(rng, self.lasts);
        (None, Some(begun))
    }
}

/// A steady load from one port to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) class: Class,
    /// Bytes per second at a factor of 100 %.
    pub(super) rate: u64,
    /// Percent of the rate that is used now.
    pub(super) factor: u64,
    /// Belongs to the script and ends with it.
    pub(super) scripted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Plays `timeline` for `seconds` and gives the number of restores and of changes.
    fn play(timeline: &mut Timeline, seconds: u64) -> (usize, usize) {
        let (mut restores, mut changes) = (0, 0);
        while timeline.next_at() <= seconds * SECOND {
            let now = timeline.next_at();
            while let Some(turn) = timeline.turn(now) {
                match turn {
                    Turn::Restore => restores += 1,
                    Turn::Make(_) => changes += 1,
                }
            }
        }
        (restores, changes)
    }

    #[test]
    fn a_lasting_scenario_makes_its_changes_once() {
        let mut timeline = Timeline::of_one(Scenario::by_name("incast").unwrap(), 0);
        assert_eq!(play(&mut timeline, 3_600), (0, 1));
    }

    #[test]
    fn an_episode_comes_again_each_pass() {
        let mut timeline = Timeline::of_one(Scenario::by_name("nic-storm").unwrap(), 0);
        assert_eq!(play(&mut timeline, 119), (2, 6));
    }

    #[test]
    fn a_course_shows_its_scenarios_each_for_its_time_and_begins_anew() {
        let scenario = |name| Scenario::by_name(name).unwrap();
        let course = [("calm", 20), ("reset", 0), ("incast", 10), ("calm", 30)];
        let course = course.map(|(name, lasts)| Scene {
            scenario: scenario(name),
            lasts: Duration::from_secs(lasts),
            slowed: 1,
        });
        let mut timeline = Timeline::of_course(&course, 0);
        let mut seen = Vec::new();
        for second in [0, 19, 21, 29, 31, 59, 61, 81, 91] {
            play(&mut timeline, second);
            seen.push(timeline.scenario().unwrap().name);
        }
        let expected =
            ["calm", "calm", "incast", "incast", "calm", "calm", "calm", "incast", "calm"];
        assert_eq!(seen, expected);
        let nothing = Timeline::of_course(&course[1..2], 0);
        assert!(nothing.scenario().is_none() && nothing.next_at() == u64::MAX);
    }

    #[test]
    fn a_slowed_scene_does_all_of_it_later() {
        // The storm of seconds 5 to 15 of 40.
        let scenario = Scenario::by_name("nic-storm").unwrap();
        let scene = Scene { scenario, lasts: Duration::from_secs(1_000), slowed: 10 };
        let mut timeline = Timeline::of_course(&[scene], 0);
        let until = [49, 50, 149, 150, 399, 400, 449, 450];
        let played: Vec<_> = until.iter().map(|second| play(&mut timeline, *second)).collect();
        let nothing = (0, 0);
        let (change, restore) = ((0, 1), (1, 0));
        assert_eq!(played, [nothing, change, nothing, change, nothing, restore, nothing, change]);
    }

    #[test]
    fn the_walk_shows_every_scenario_that_is_not_for_itself() {
        let mut timeline = Timeline::walk(0);
        let mut seen = Vec::new();
        for _ in 0..timeline.parts.len() {
            seen.push(timeline.scenario().unwrap().name);
            let end = timeline.ends;
            while timeline.scenario().is_some() && timeline.ends == end {
                let now = timeline.next_at();
                timeline.turn(now);
            }
        }
        for scenario in Scenario::all() {
            assert_eq!(seen.contains(&scenario.name), scenario.walk.is_some(), "{}", scenario.name);
        }
    }

    #[test]
    fn a_disturbance_begins_and_ends_in_turn() {
        let mut rng = fastrand::Rng::with_seed(1);
        let kind = DisturbanceKind::Stalls { port: Some(2), class: Class::Lossless };
        let spans = (Micros(10, 20), Micros(1, 2));
        let mut disturbance = Disturbance::new(kind, spans, true, 0, &mut rng);
        assert!((10_000..=20_000).contains(&disturbance.next));
        let begun = disturbance.turn(disturbance.next, (4, Priority::ALL[3]), &mut rng);
        assert!(matches!(begun, (None, Some(Act::Stall { lane: 19 }))));
        let ended = disturbance.turn(disturbance.next, (4, Priority::ALL[3]), &mut rng);
        assert!(matches!(ended, (Some(Act::Stall { lane: 19 }), None)));
    }
}
