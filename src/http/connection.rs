//! One connection: its encryption, its protocol, and the limits that keep a slow or greedy client from more than
//! its place.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;

/// For the TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// For the head of a request, and between two requests of a connection. Longer than most scrape intervals, so that
/// a Prometheus keeps its connection.
const HEAD_TIME: Duration = Duration::from_secs(65);
/// Without a byte of an answer taken.
const STALLED_WRITE: Duration = Duration::from_secs(30);
/// Without a byte read.
const STALLED_READ: Duration = Duration::from_secs(70);
/// Bytes of a request's head, over HTTP/1 and HTTP/2.
const HEAD_BYTES: u16 = 32 * 1024;
const MOST_HEADERS: usize = 64;
const HTTP2_STREAMS: u32 = 16;
const HTTP2_PING: Duration = Duration::from_secs(30);
const HTTP2_PONG: Duration = Duration::from_secs(10);

/// Serves a connection until it ends, which it does after the request in progress once `stopped`. Nothing that a client does is an error of the server.
pub(super) async fn serve_connection(
    stream: TcpStream,
    tls: Option<Arc<ServerConfig>>,
    router: Router,
    stopped: impl Future<Output = ()>,
) {
    // A scrape is one small request and one answer: waiting to fill packets only delays it. Where it cannot be
    // set the answer is merely later.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_read_timeout(Some(STALLED_READ));
    stream.set_write_timeout(Some(STALLED_WRITE));
    let stream = Box::pin(stream);
    let Some(config) = tls else {
        return converse(stream, false, router, stopped).await;
    };
    match timeout(HANDSHAKE_TIME, TlsAcceptor::from(config).accept(stream)).await {
        Ok(Ok(stream)) => {
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            converse(stream, http2, router, stopped).await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => tracing::debug!(limit = ?HANDSHAKE_TIME, "TLS handshake took too long"),
    }
}

async fn converse<S>(stream: S, http2: bool, router: Router, stopped: impl Future<Output = ()>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_headers(MOST_HEADERS)
        .max_buf_size(usize::from(HEAD_BYTES));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(HTTP2_STREAMS)
        .max_header_list_size(u32::from(HEAD_BYTES))
        .keep_alive_interval(HTTP2_PING)
        .keep_alive_timeout(HTTP2_PONG);
    let builder = if http2 { builder.http2_only() } else { builder.http1_only() };
    let service = TowerToHyperService::new(router);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection, stopped);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = &mut stopped => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = &*error, "connection ended early");
    }
}
