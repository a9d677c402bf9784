//! One connection: its encryption, its protocol, and the limits that keep a slow or greedy client from more than
//! its place.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;

use super::places::Guest;

/// How long a connection waits for its client.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// For the TLS handshake.
    pub handshake: Duration,
    /// For the head of a request, and between two requests of a connection.
    pub head: Duration,
    /// Without a byte of an answer taken.
    pub stalled_write: Duration,
    /// Without a byte read.
    pub stalled_read: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            // Longer than most scrape intervals, so that a Prometheus keeps its connection.
            head: Duration::from_secs(65),
            stalled_write: Duration::from_secs(30),
            stalled_read: Duration::from_secs(70),
        }
    }
}

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
    guest: Arc<Guest>,
    stopped: impl Future<Output = ()>,
) {
    // A scrape is one small request and one answer: waiting to fill packets only delays it. Where it cannot be
    // set the answer is merely later.
    let _ = stream.set_nodelay(true);
    let times = guest.places.times;
    let mut stream = TimeoutStream::new(stream);
    stream.set_read_timeout(Some(times.stalled_read));
    stream.set_write_timeout(Some(times.stalled_write));
    let stream = Noted { stream: Box::pin(stream), guest: Arc::clone(&guest) };
    let Some(config) = tls else {
        return converse(stream, false, router, guest, stopped).await;
    };
    match timeout(times.handshake, TlsAcceptor::from(config).accept(stream)).await {
        Ok(Ok(stream)) => {
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            converse(stream, http2, router, guest, stopped).await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => tracing::debug!(limit = ?times.handshake, "TLS handshake took too long"),
    }
}

async fn converse<S>(
    stream: S,
    http2: bool,
    router: Router,
    guest: Arc<Guest>,
    stopped: impl Future<Output = ()>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(guest.places.times.head)
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
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        let working = guest.work();
        request.extensions_mut().insert(Arc::clone(&guest));
        let answer = router.call(request);
        async move {
            let answer = answer.await;
            drop(working);
            answer
        }
    });
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

/// A stream that notes when its client takes something.
struct Noted {
    stream: Pin<Box<TimeoutStream<TcpStream>>>,
    guest: Arc<Guest>,
}

impl Noted {
    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(written, Poll::Ready(Ok(1..))) {
            self.guest.move_on();
        }
        written
    }
}

impl AsyncRead for Noted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_read(context, buffer)
    }
}

impl AsyncWrite for Noted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream.as_mut().poll_write(context, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream.as_mut().poll_write_vectored(context, bytes);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(context)
    }
}
