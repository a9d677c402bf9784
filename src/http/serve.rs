//! Accepts connections until told to stop, and then ends within a bounded time.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router, middleware};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::access::{Door, guard};
use super::connection::serve_connection;
use super::places::Places;
use super::seldom::Seldom;

/// How long requests in progress may take after the stop. A second short of the five that a stop may take as a
/// whole.
pub const STOP_GRACE: Duration = Duration::from_secs(4);

/// Connections at the same time, where the limit of open files allows as many.
pub const MOST_CONNECTIONS: u32 = 2000;

/// The wait after an accept that failed for want of something, such as file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// The same where a connection gives way.
const ROOM_PAUSE: Duration = Duration::from_millis(20);

/// Tells an answer without end that the server stops.
#[derive(Clone)]
pub(super) struct Stopping(pub(super) watch::Receiver<bool>);

/// Serves `router` on all listeners, to whom `door` lets in, until `stop` is true or its sender is gone.
///
/// On stop no connection is accepted any more, idle ones are closed, and requests in progress have
/// [`STOP_GRACE`] to finish. A client that has sent half a request, or does not read, is closed after a second.
/// Without a listener it returns at once. `places` may be shared with other servers.
///
/// # Errors
/// When a listener's task ends other than by the stop.
pub async fn serve(
    listeners: Vec<TcpListener>,
    router: Router,
    door: Arc<Door>,
    places: Arc<Places>,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let router = router.layer(Extension(Stopping(stop.clone())));
    let router = router.layer(middleware::from_fn_with_state(Arc::clone(&door), guard));
    let mut accepting = JoinSet::new();
    for listener in listeners {
        let acceptor = Acceptor {
            listener,
            router: router.clone(),
            door: Arc::clone(&door),
            places: Arc::clone(&places),
            starved: Seldom::default(),
        };
        accepting.spawn(acceptor.run(stop.clone()));
    }
    while let Some(ended) = accepting.join_next().await {
        ended.map_err(io::Error::other)?;
    }
    tokio::select! {
        () = places.clear() => {}
        () = tokio::time::sleep(STOP_GRACE) => {
            tracing::warn!(grace = ?STOP_GRACE, "stopping with requests in progress");
        }
    }
    Ok(())
}

/// One listener and what its connections get.
struct Acceptor {
    listener: TcpListener,
    router: Router,
    door: Arc<Door>,
    places: Arc<Places>,
    starved: Seldom,
}

impl Acceptor {
    async fn run(self, stop: watch::Receiver<bool>) {
        let stopped = stopped(stop.clone());
        tokio::pin!(stopped);
        loop {
            tokio::select! {
                () = &mut stopped => return,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => self.take(stream, stop.clone()).await,
                    Err(error) if is_of_one_connection(&error) => {}
                    Err(error) => self.recover(&error).await,
                },
            }
        }
    }

    async fn take(&self, stream: TcpStream, stop: watch::Receiver<bool>) {
        let Some(place) = self.places.take().await else {
            tracing::debug!("connection closed: there is no place for it");
            return;
        };
        let (tls, router) = (self.door.tls(), self.router.clone());
        tokio::spawn(async move {
            let guest = Arc::clone(&place.guest);
            tokio::select! {
                () = serve_connection(stream, tls, router, Arc::clone(&guest), stopped(stop)) => {}
                () = guest.dismissed() => tracing::debug!("connection closed: it waited for its client"),
            }
            drop(place);
        });
    }

    /// What is lacking, such as file descriptors, is lacking for all: a connection that only waits gives way.
    async fn recover(&self, error: &io::Error) {
        if self.starved.is_due() {
            tracing::warn!(%error, "cannot accept connections");
        }
        let pause = if self.places.dismiss_one() { ROOM_PAUSE } else { ACCEPT_PAUSE };
        tokio::time::sleep(pause).await;
    }
}

/// Whether the peer went away before it was accepted, which is no fault of the listener.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error means that the sender is gone: nobody could stop the server any more.
    let _ = stop.wait_for(|stop| *stop).await;
}
