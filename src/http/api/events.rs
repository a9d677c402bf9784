//! Server-sent events: the current figures for pages that are open, twice a second.
//!
//! One task writes each event once for all listeners, and rests while there is none. A listener keeps no queue: who
//! reads slowly gets the newest event and misses those between, and who missed too many is dropped. An event stream
//! ends after a minute and the page asks again, so that a change of users or certificates reaches it too.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::answer::Refusal;
use super::question::no_parameters;
use super::{Status, status_of, trends_of};
use crate::export::json;
use crate::http::serve::Stopping;
use crate::http::{ServerState, Shared};

/// Pages that may listen at the same time; a further one is told 503.
pub(super) const MOST_LISTENERS: usize = 16;
/// Between two events.
const PERIOD: Duration = Duration::from_millis(500);
/// Events between two that tell of checks and sources as well, which change slowly and are long.
const WHOLE_EVERY: u64 = 10;
/// Events that a listener may miss in a row.
const MOST_MISSED: u64 = 20;
/// How long a stream lasts; shorter than a connection may go without a byte from the client.
const LONGEST: Duration = Duration::from_mins(1);
/// What an event's trends reach back to: whole seconds, with one to spare.
const TREND_REACH: Duration = Duration::from_secs(3);

/// One event.
#[derive(Clone, Debug, Default)]
struct Event {
    number: u64,
    text: Bytes,
}

/// The events of a server.
pub(in crate::http) struct Events {
    places: Arc<Semaphore>,
    newest: watch::Sender<Event>,
    /// Whether the task is there.
    written: Mutex<bool>,
}

impl Events {
    pub(in crate::http) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(MOST_LISTENERS)),
            newest: watch::Sender::new(Event::default()),
            written: Mutex::new(false),
        }
    }
}

#[derive(Serialize)]
struct Figures<'a> {
    status: Status,
    devices: Vec<json::Device<'a>>,
    storms: Vec<json::Storm<'a>>,
    trends: Vec<json::Trend>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<json::Findings<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<Vec<json::Source<'a>>>,
}

/// One listener.
struct Listener {
    newest: watch::Receiver<Event>,
    seen: u64,
    until: Instant,
    stopping: Option<watch::Receiver<bool>>,
    first: Option<Bytes>,
    _place: OwnedSemaphorePermit,
}

pub(super) async fn events(
    State(shared): State<Arc<Shared>>,
    stopping: Option<Extension<Stopping>>,
    uri: Uri,
) -> Result<Response, Refusal> {
    no_parameters(&uri)?;
    let Ok(place) = Arc::clone(&shared.events.places).try_acquire_owned() else {
        let error = format!("{MOST_LISTENERS} pages listen already");
        return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error));
    };
    let newest = listen(&shared);
    let seen = newest.borrow().number;
    let listener = Listener {
        newest,
        seen,
        until: Instant::now() + LONGEST,
        stopping: stopping.map(|Extension(Stopping(stop))| stop),
        first: Some(written(&shared, true).await?),
        _place: place,
    };
    let stream = unfold(listener, |mut own| async move {
        let text = own.next().await?;
        Some((Ok::<Bytes, Infallible>(text), own))
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(stream)).into_response())
}

impl Listener {
    /// The next event; none at the end of the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let stopped = async {
            match &mut self.stopping {
                // A sender that is gone means stop, too.
                Some(stop) => drop(stop.wait_for(|stop| *stop).await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = self.newest.changed() => changed.ok()?,
            () = stopped => return None,
            () = sleep_until(self.until) => return None,
        }
        let event = self.newest.borrow_and_update().clone();
        let before = std::mem::replace(&mut self.seen, event.number);
        let missed = event.number.saturating_sub(before);
        if missed > MOST_MISSED {
            tracing::debug!(missed, "a page listens too slowly");
            return None;
        }
        Some(event.text)
    }
}

/// Joins the listeners, and has events written if nobody did.
fn listen(shared: &Arc<Shared>) -> watch::Receiver<Event> {
    let mut written = shared.events.written.lock().unwrap_or_else(PoisonError::into_inner);
    let newest = shared.events.newest.subscribe();
    if !std::mem::replace(&mut *written, true) {
        tokio::spawn(write_events(Arc::clone(shared)));
    }
    newest
}

/// Writes events for as long as somebody listens.
async fn write_events(shared: Arc<Shared>) {
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        {
            let mut written = shared.events.written.lock().unwrap_or_else(PoisonError::into_inner);
            if shared.events.newest.receiver_count() == 0 {
                *written = false;
                return;
            }
        }
        let number = shared.events.newest.borrow().number + 1;
        // A fault of one event is logged, and is not of the next.
        if let Ok(text) = self::written(&shared, number.is_multiple_of(WHOLE_EVERY)).await {
            shared.events.newest.send_replace(Event { number, text });
        }
    }
}

/// An event's text, written off the async threads. It takes no scrape's place: there is one writer for all pages, and
/// as many first events as listeners.
async fn written(shared: &Arc<Shared>, whole: bool) -> Result<Bytes, Refusal> {
    let shared = Arc::clone(shared);
    let writing = tokio::task::spawn_blocking(move || write(&shared.state, whole));
    writing.await.map_err(|error| Refusal::failed(&error))?
}

fn write(state: &ServerState, whole: bool) -> Result<Bytes, Refusal> {
    let (snapshot, storms) = ((state.snapshot)(), state.past.storms());
    let figures = Figures {
        status: status_of(state),
        devices: json::devices(&snapshot),
        storms: json::storms(&storms),
        trends: trends_of(state, TREND_REACH),
        checks: whole.then(|| json::findings(&snapshot)),
        sources: whole.then(|| json::sources(&snapshot)),
    };
    let mut text = b"retry: 1000\nevent: figures\ndata: ".to_vec();
    serde_json::to_writer(&mut text, &figures).map_err(|error| Refusal::failed(&error))?;
    text.extend_from_slice(b"\n\n");
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listener(sender: &watch::Sender<Event>, lasts: Duration) -> Listener {
        let places = Arc::new(Semaphore::new(1));
        Listener {
            newest: sender.subscribe(),
            seen: sender.borrow().number,
            until: Instant::now() + lasts,
            stopping: None,
            first: None,
            _place: places.try_acquire_owned().unwrap(),
        }
    }

    fn send(sender: &watch::Sender<Event>, number: u64) {
        sender.send_replace(Event { number, text: number.to_string().into() });
    }

    #[tokio::test]
    async fn a_slow_listener_gets_the_newest_and_a_very_slow_one_is_dropped() {
        let sender = watch::Sender::new(Event::default());
        let mut own = listener(&sender, LONGEST);
        send(&sender, 1);
        assert_eq!(own.next().await.unwrap(), "1");
        (2..=MOST_MISSED + 1).for_each(|number| send(&sender, number));
        assert_eq!(own.next().await.unwrap(), (MOST_MISSED + 1).to_string());
        send(&sender, 2 * MOST_MISSED + 2);
        assert_eq!(own.next().await, None);
    }

    #[tokio::test]
    async fn a_stream_ends_by_time_by_stop_and_with_its_server() {
        let sender = watch::Sender::new(Event::default());
        assert_eq!(listener(&sender, Duration::ZERO).next().await, None);
        let mut own = listener(&sender, LONGEST);
        let (stop, stopping) = watch::channel(false);
        own.stopping = Some(stopping);
        stop.send_replace(true);
        assert_eq!(own.next().await, None);
        let mut own = listener(&sender, LONGEST);
        drop(sender);
        assert_eq!(own.next().await, None);
    }
}
