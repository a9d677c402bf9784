//! Reads both ends of a link again and again during a test load, and adds up what each counted.

use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use super::client::Client;
use super::port::{PauseCounters, PerPriority, Port};
use super::target::Target;

/// How often both ends are read during the load, so that a reset and an end that vanishes are seen.
const BETWEEN: Duration = Duration::from_secs(2);

/// What one end counted during the load.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counted {
    /// What was added to each counter.
    pub(super) growth: PauseCounters,
    /// A counter went back.
    pub(super) reset: bool,
    /// The exporter could not read the device at some time.
    pub(super) stale: bool,
}

/// Both ends over one load.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measurement {
    /// Both ends as they were at the end.
    pub(super) ports: [Port; 2],
    pub(super) counted: [Counted; 2],
    /// Time between the first and the last reading.
    pub(super) span: Duration,
    /// By how much the two readings of one time can be apart.
    pub(super) skew: Duration,
}

/// An end that could not be read, with its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{target} {message}")]
pub(super) struct Unread {
    pub(super) target: String,
    pub(super) message: String,
}

/// One reading of both ends, and how long it took.
struct Reading {
    ports: [Port; 2],
    taken: Duration,
}

/// Measures for `span`. `progress` is called now and then with the share that is done.
///
/// # Errors
/// The first end that cannot be read, before or during the load.
pub(super) fn measure(
    client: &Client,
    ends: &[Target; 2],
    span: Duration,
    progress: &dyn Fn(f64),
) -> Result<Measurement, Unread> {
    let begun = Instant::now();
    let first = read(client, ends)?;
    let started = Instant::now();
    let mut counted = [Counted::default(), Counted::default()];
    let mut last = first.ports;
    let mut skew = first.taken;
    loop {
        let left = span.saturating_sub(started.elapsed());
        wait(left.min(BETWEEN), &|| {
            progress((started.elapsed().as_secs_f64() / span.as_secs_f64()).min(1.0));
        });
        let now = read(client, ends).map_err(|unread| Unread {
            message: format!(
                "{}, {:.0} s after the start",
                unread.message,
                begun.elapsed().as_secs_f64()
            ),
            ..unread
        })?;
        for ((counted, before), after) in counted.iter_mut().zip(&last).zip(&now.ports) {
            counted.add(before, after);
        }
        last = now.ports;
        skew = skew.max(now.taken);
        if started.elapsed() >= span {
            return Ok(Measurement { ports: last, counted, span: started.elapsed(), skew });
        }
    }
}

/// Sleeps for `time`, with a look at the clock now and then.
fn wait(time: Duration, look: &dyn Fn()) {
    const LOOK: Duration = Duration::from_millis(200);
    let started = Instant::now();
    while let Some(left) = time.checked_sub(started.elapsed()).filter(|left| !left.is_zero()) {
        sleep(left.min(LOOK));
        look();
    }
}

/// Both ends at the same time, so that they are as little apart as can be.
fn read(client: &Client, ends: &[Target; 2]) -> Result<Reading, Unread> {
    let started = Instant::now();
    let [one, other] = ends;
    let (one, other) = scope(|threads| {
        let other = threads.spawn(|| port(client, other));
        let one = port(client, one);
        (one, other.join())
    });
    let other = other.unwrap_or_else(|_| {
        Err(Unread { target: String::new(), message: "the reader failed".to_owned() })
    });
    Ok(Reading { ports: [one?, other?], taken: started.elapsed() })
}

fn port(client: &Client, target: &Target) -> Result<Port, Unread> {
    client
        .port(target)
        .map_err(|error| Unread { target: target.to_string(), message: error.to_string() })
}

impl Counted {
    fn add(&mut self, before: &Port, after: &Port) {
        self.stale |= after.stale;
        let (before, after) = (&before.counters, &after.counters);
        for ((sum, before), after) in
            self.growth.frames.iter_mut().zip(&before.frames).zip(&after.frames)
        {
            self.reset |= grow(sum, before, after, |from, to| to.checked_sub(from));
        }
        for ((sum, before), after) in
            self.growth.seconds.iter_mut().zip(&before.seconds).zip(&after.seconds)
        {
            self.reset |= grow(sum, before, after, |from, to| (to >= from).then_some(to - from));
        }
    }
}

/// Adds the growth of each counter that both readings have; returns whether one went back.
fn grow<T: Copy + Default + std::ops::Add<Output = T>>(
    sums: &mut PerPriority<T>,
    before: &PerPriority<T>,
    after: &PerPriority<T>,
    growth: impl Fn(T, T) -> Option<T>,
) -> bool {
    let mut reset = false;
    for ((sum, before), after) in sums.iter_mut().zip(before).zip(after) {
        let Some((before, after)) = before.zip(*after) else { continue };
        match growth(before, after) {
            Some(more) => *sum = Some(sum.unwrap_or_default() + more),
            None => reset = true,
        }
    }
    reset
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(frames: Option<u64>) -> Port {
        let mut port = Port::default();
        port.counters.frames[0][3] = frames;
        port
    }

    #[test]
    fn growth_adds_up_and_a_step_back_is_a_reset() {
        let mut counted = Counted::default();
        for pair in [Some(5), Some(9), None, Some(20), Some(21)].windows(2) {
            counted.add(&port(pair[0]), &port(pair[1]));
        }
        assert_eq!(counted.growth.frames[0][3], Some(5), "what nobody saw is not counted");
        assert_eq!(counted.growth.frames[1][3], None, "absent is not zero");
        assert!(!counted.reset);
        counted.add(&port(Some(21)), &port(Some(3)));
        assert!(counted.reset);
    }
}
