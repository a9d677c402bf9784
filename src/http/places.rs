//! The places that connections take, and who gives way where places or memory run short.
//!
//! Connections are bounded, and so is the memory of answers that clients have not taken. At a bound the connection
//! that has waited longest for its client is closed: who sends half a request, or takes no answer, keeps nobody out.
//! Refuses to close a connection whose answer is being put together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::connection::Times;
use super::seldom::Seldom;

/// Bytes of answers that clients have not taken.
const MOST_UNSENT: usize = 64 << 20;
/// How long a client may take nothing while the server stops.
const STALLED_MILLISECONDS: u64 = 1_000;
/// For the connection that gives way to do so.
const LEAVING_TIME: Duration = Duration::from_millis(200);

/// All places of a process.
pub struct Places {
    free: Arc<Semaphore>,
    most: u32,
    most_unsent: usize,
    pub(super) times: Times,
    began: Instant,
    guests: Mutex<BTreeMap<u64, Arc<Guest>>>,
    next: AtomicU64,
    unsent: AtomicUsize,
    full: Seldom,
    heavy: Seldom,
}

/// One connection as the others see it.
pub(super) struct Guest {
    pub(super) places: Arc<Places>,
    /// When it last began to wait for its client, or its client took something: milliseconds since the places began.
    moved: AtomicU64,
    /// Requests whose answer is being put together.
    working: AtomicU32,
    /// Bytes of answers that the client has not taken.
    unsent: AtomicUsize,
    leaving: AtomicBool,
    leave: Notify,
}

/// A place while it is taken.
pub(super) struct Place {
    pub(super) guest: Arc<Guest>,
    number: u64,
    _permit: OwnedSemaphorePermit,
}

impl Places {
    /// `most` places, at least one, whose connections have these times.
    #[must_use]
    pub fn new(most: u32, times: Times) -> Self {
        Self::bounded(most, times, MOST_UNSENT)
    }

    fn bounded(most: u32, times: Times, most_unsent: usize) -> Self {
        let most = most.max(1);
        Self {
            free: Arc::new(Semaphore::new(most.try_into().unwrap_or(Semaphore::MAX_PERMITS))),
            most,
            most_unsent,
            times,
            began: Instant::now(),
            guests: Mutex::default(),
            next: AtomicU64::new(0),
            unsent: AtomicUsize::new(0),
            full: Seldom::default(),
            heavy: Seldom::default(),
        }
    }

    /// A place for a further connection, if need be that of the one that has waited longest for its client. None
    /// where all are at work.
    pub(super) async fn take(self: &Arc<Self>) -> Option<Place> {
        let free = Arc::clone(&self.free);
        let permit = if let Ok(permit) = free.try_acquire_owned() {
            permit
        } else {
            if self.full.is_due() {
                let limit = self.most;
                tracing::warn!(limit, "too many connections: the longest idle are closed");
            }
            self.dismiss_one().then_some(())?;
            let free = Arc::clone(&self.free).acquire_owned();
            timeout(LEAVING_TIME, free).await.ok()?.ok()?
        };
        let guest = Arc::new(Guest {
            places: Arc::clone(self),
            moved: AtomicU64::new(self.now()),
            working: AtomicU32::new(0),
            unsent: AtomicUsize::new(0),
            leaving: AtomicBool::new(false),
            leave: Notify::new(),
        });
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.guests().insert(number, Arc::clone(&guest));
        Some(Place { guest, number, _permit: permit })
    }

    /// Waits until no place is taken, and closes whose client takes nothing meanwhile. What is at work is waited for.
    pub(super) async fn clear(&self) {
        // It is never closed, so there is no error.
        let all = self.free.acquire_many(self.most);
        tokio::pin!(all);
        while timeout(LEAVING_TIME, &mut all).await.is_err() {
            let stalled = |own: &&Arc<Guest>| {
                let idle = self.now().saturating_sub(own.moved.load(Ordering::Relaxed));
                own.waits() && idle >= STALLED_MILLISECONDS
            };
            self.guests().values().filter(stalled).for_each(|own| own.dismiss());
        }
    }

    /// Closes the connection that has waited longest for its client. False where none waits.
    pub(super) fn dismiss_one(&self) -> bool {
        let guests = self.guests();
        let waiting = guests.values().filter(|own| own.waits());
        waiting
            .min_by_key(|own| own.moved.load(Ordering::Relaxed))
            .inspect(|own| own.dismiss())
            .is_some()
    }

    /// Closes connections until no more than what is allowed waits for clients to take it.
    fn relieve(&self) {
        let unsent = self.unsent.load(Ordering::Relaxed);
        let Some(mut excess) = unsent.checked_sub(self.most_unsent).filter(|own| *own > 0) else {
            return;
        };
        if self.heavy.is_due() {
            let limit_bytes = self.most_unsent;
            tracing::warn!(
                limit_bytes,
                "clients do not take their answers: the slowest are closed"
            );
        }
        let guests = self.guests();
        let mut waiting = Vec::new();
        for guest in guests.values().filter(|own| own.unsent.load(Ordering::Relaxed) > 0) {
            if guest.leaving.load(Ordering::Relaxed) {
                excess = excess.saturating_sub(guest.unsent.load(Ordering::Relaxed));
            } else if guest.waits() {
                waiting.push((guest.moved.load(Ordering::Relaxed), guest));
            }
        }
        waiting.sort_unstable_by_key(|(moved, _)| *moved);
        for (_, guest) in waiting {
            if excess == 0 {
                return;
            }
            excess = excess.saturating_sub(guest.unsent.load(Ordering::Relaxed));
            guest.dismiss();
        }
    }

    fn guests(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Guest>>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_millis().try_into().unwrap_or(u64::MAX)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.guest.places.guests().remove(&self.number);
    }
}

impl Guest {
    /// The client took something, or the connection begins to wait for it.
    pub(super) fn move_on(&self) {
        self.moved.store(self.places.now(), Ordering::Relaxed);
    }

    /// An answer is being put together for as long as the guard is there.
    pub(super) fn work(self: &Arc<Self>) -> Working {
        self.working.fetch_add(1, Ordering::Relaxed);
        Working(Arc::clone(self))
    }

    /// Ends when the connection is to give way.
    pub(super) async fn dismissed(&self) {
        self.leave.notified().await;
    }

    fn waits(&self) -> bool {
        self.working.load(Ordering::Relaxed) == 0 && !self.leaving.load(Ordering::Relaxed)
    }

    fn dismiss(&self) {
        self.leaving.store(true, Ordering::Relaxed);
        self.leave.notify_one();
    }

    /// The same text, which counts as not taken until it is dropped.
    fn count(self: Arc<Self>, text: Bytes) -> Bytes {
        self.unsent.fetch_add(text.len(), Ordering::Relaxed);
        self.places.unsent.fetch_add(text.len(), Ordering::Relaxed);
        self.places.relieve();
        Bytes::from_owner(Unsent { text, guest: self })
    }
}

/// A request in progress.
pub(super) struct Working(Arc<Guest>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.move_on();
        self.0.working.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The memory of an answer, or of what is left of it.
struct Unsent {
    text: Bytes,
    guest: Arc<Guest>,
}

impl AsRef<[u8]> for Unsent {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        self.guest.unsent.fetch_sub(self.text.len(), Ordering::Relaxed);
        self.guest.places.unsent.fetch_sub(self.text.len(), Ordering::Relaxed);
    }
}

/// Counts an answer as not taken until its connection has sent it. For answers with an end, before their compression.
pub(super) async fn count_unsent(
    guest: Option<Extension<Arc<Guest>>>,
    request: Request,
    next: Next,
) -> Response {
    let answer = next.run(request).await;
    let Some(Extension(guest)) = guest else { return answer };
    let (head, body) = answer.into_parts();
    match to_bytes(body, usize::MAX).await {
        Ok(text) if text.is_empty() => Response::from_parts(head, Body::empty()),
        Ok(text) => Response::from_parts(head, Body::from(guest.count(text))),
        Err(error) => {
            tracing::error!(%error, "an answer could not be put together");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> Bytes {
        vec![0; bytes].into()
    }

    fn is_dismissed(place: &Place) -> bool {
        place.guest.leaving.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn the_connection_that_waits_longest_gives_way_and_none_at_work_does() {
        let places = Arc::new(Places::new(3, Times::default()));
        let mut taken = Vec::new();
        for _ in 0..3 {
            taken.push(places.take().await.unwrap());
        }
        for (place, moved) in taken.iter().zip([3, 1, 2]) {
            place.guest.moved.store(moved, Ordering::Relaxed);
        }
        let working = taken[1].guest.work();
        let (gone, further) = tokio::join!(
            async {
                taken[2].guest.dismissed().await;
                drop(taken.pop());
            },
            places.take()
        );
        let () = gone;
        taken.push(further.unwrap());
        assert!(!is_dismissed(&taken[0]) && !is_dismissed(&taken[1]));
        let all: Vec<_> = [&taken[0], &taken[2]].into_iter().map(|own| own.guest.work()).collect();
        assert!(places.take().await.is_none(), "all are at work");
        drop((working, all));
        taken.clear();
        places.clear().await;
        assert!(places.guests().is_empty());
    }

    #[tokio::test]
    async fn who_takes_no_answers_makes_room_for_those_who_do() {
        let places = Arc::new(Places::bounded(10, Times::default(), 1_000));
        let mut taken = Vec::new();
        for moved in [5, 1, 3] {
            let place = places.take().await.unwrap();
            place.guest.moved.store(moved, Ordering::Relaxed);
            taken.push(place);
        }
        let answers: Vec<Bytes> =
            taken.iter().map(|own| Arc::clone(&own.guest).count(text(300))).collect();
        let whole = places.take().await.unwrap();
        let working = whole.guest.work();
        let first = Arc::clone(&whole.guest).count(text(100));
        assert!(!taken.iter().any(is_dismissed), "at the bound, not beyond it");
        let second = Arc::clone(&whole.guest).count(text(301));
        let left: Vec<bool> = taken.iter().map(is_dismissed).collect();
        assert_eq!(left, [false, true, true], "the two that waited longest");
        assert!(!is_dismissed(&whole));
        let third = Arc::clone(&whole.guest).count(text(100));
        assert!(!is_dismissed(&taken[0]), "what those free who leave already is enough");
        drop((working, answers, first, second, third));
        assert_eq!(places.unsent.load(Ordering::Relaxed), 0);
        assert_eq!(whole.guest.unsent.load(Ordering::Relaxed), 0);
    }
}
