//! Accepts connections until told to stop, and then ends within a bounded time.

use std::future::IntoFuture;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long requests in progress may take after the stop. A second short of the five that a stop may take as a
/// whole.
pub const STOP_GRACE: Duration = Duration::from_secs(4);

/// Serves `router` on all listeners until `stop` is true or its sender is gone.
///
/// On stop no connection is accepted any more, idle ones are closed, and requests in progress have
/// [`STOP_GRACE`] to finish. A client that has sent half a request, or does not read, holds nothing up for
/// longer; its connection ends with the runtime. Without a listener it returns at once.
///
/// # Errors
/// When a listener's task ends other than by the stop.
pub async fn serve(
    listeners: Vec<TcpListener>,
    router: Router,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut servers = JoinSet::new();
    for listener in listeners {
        // A scrape is one small request and one answer: waiting to fill packets only delays it. Where it
        // cannot be set the answer is merely later.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let server = axum::serve(listener, router.clone());
        servers.spawn(server.with_graceful_shutdown(stopped(stop.clone())).into_future());
    }
    let all_ended = async {
        while let Some(ended) = servers.join_next().await {
            ended.map_err(io::Error::other)??;
        }
        Ok(())
    };
    let grace_is_over = async {
        stopped(stop).await;
        tokio::time::sleep(STOP_GRACE).await;
    };
    tokio::select! {
        result = all_ended => result,
        () = grace_is_over => {
            tracing::warn!(grace = ?STOP_GRACE, "stopping with requests in progress");
            Ok(())
        }
    }
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error means that the sender is gone: nobody could stop the server any more.
    let _ = stop.wait_for(|stop| *stop).await;
}
