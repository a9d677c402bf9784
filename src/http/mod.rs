//! Serves the metrics, the API, the status page and the health paths.
//!
//! A request is answered from memory: it asks for a snapshot, never for a NIC, so a device that hangs cannot
//! hold a scrape. This room knows no metric. It refuses to check the operator's settings (the telemetry path
//! comes checked). Who may talk to it, and over what, is one room of its own, [`access`].

pub mod access;
mod api;
mod connection;
mod metrics;
mod page;
mod probe;
mod serve;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::get;
use tokio::sync::Semaphore;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

pub use access::Door;
pub use probe::answers;
pub use serve::{MOST_CONNECTIONS, STOP_GRACE, serve};

use crate::engine::Snapshot;
use crate::engine::history::Past;
use crate::export::BuildInfo;

/// Answers 200 as long as the program serves at all.
pub const HEALTHY_PATH: &str = "/-/healthy";

/// What [`HEALTHY_PATH`] answers.
pub const HEALTHY_TEXT: &str = "healthy\n";

/// Answers 200 after the first sample of every feed, 503 before.
pub const READY_PATH: &str = "/-/ready";

/// Scrapes answered at the same time, unless set otherwise.
pub const DEFAULT_MAX_REQUESTS: usize = 40;

/// What the server shows and how.
#[derive(Clone)]
pub struct ServerState {
    /// Puts a snapshot together; called once per scrape, off the async threads.
    pub snapshot: Arc<dyn Fn() -> Snapshot + Send + Sync>,
    /// Whether every feed has its first sample; must not block.
    pub ready: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Who keeps the past, for the API and the page; asked off the async threads.
    pub past: Arc<dyn Past>,
    /// Shown on the page and in the metrics.
    pub build: BuildInfo,
    /// Path of the metrics: begins with `/`, and is not below `/-/` or `/api/`.
    pub telemetry_path: String,
    /// Root of procfs for the `process_*` metrics; none switches them off.
    pub process_root: Option<PathBuf>,
    /// Scrapes at the same time beyond which the answer is 503; 0 for no limit.
    pub max_requests: usize,
}

/// [`ServerState`] with what must be one for all connections.
struct Shared {
    state: ServerState,
    scrapes: Arc<Semaphore>,
    events: api::Events,
}

/// All paths of the server.
///
/// The page gives way to metrics at `/`. A telemetry path that breaks the rule of
/// [`ServerState::telemetry_path`] makes the router panic, at start and not on a request.
pub fn router(state: ServerState) -> Router {
    let permits = match state.max_requests {
        0 => Semaphore::MAX_PERMITS,
        limit => limit.min(Semaphore::MAX_PERMITS),
    };
    let telemetry_path = literal(&state.telemetry_path);
    let compression = CompressionLayer::new().gzip(true).quality(CompressionLevel::Fastest);
    let mut router = Router::new()
        .without_v07_checks()
        .route(HEALTHY_PATH, get(async || HEALTHY_TEXT))
        .route(READY_PATH, get(ready))
        .route(&telemetry_path, get(metrics::metrics).layer(compression));
    if telemetry_path != "/" {
        router = router.merge(page::router());
    }
    let scrapes = Arc::new(Semaphore::new(permits));
    router
        .merge(api::router())
        .fallback(async || (StatusCode::NOT_FOUND, "not found\n"))
        .layer(map_response(forbid_sniffing))
        .with_state(Arc::new(Shared { state, scrapes, events: api::Events::new() }))
}

/// A path in which the router sees no pattern.
fn literal(path: &str) -> String {
    path.replace('{', "{{").replace('}', "}}")
}

async fn ready(State(shared): State<Arc<Shared>>) -> (StatusCode, &'static str) {
    if (shared.state.ready)() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready: some device has not been sampled yet\n")
    }
}

async fn forbid_sniffing(mut response: Response) -> Response {
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}
