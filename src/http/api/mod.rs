//! The API below `/api/v1/`: the figures as JSON, for scripts and for the page.
//!
//! `openapi.yaml` is its contract, and is served beside it. An answer takes one of the places that scrapes have;
//! without a free one it is 503 at once. Refuses a request that it does not know whole: a misspelt parameter is an
//! error, not a default.

mod answer;
mod events;
mod question;

pub(super) use events::Events;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use serde::Serialize;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

use self::answer::{Refusal, answer, text};
use self::question::{no_parameters, parts, priority_of, reach_of};
use super::{ServerState, Shared};
use crate::engine::history::KEPT;
use crate::export::json;

/// The contract.
const OPENAPI: &str = include_str!("openapi.yaml");

/// What samples reach back to where nobody says how far.
const USUAL_REACH: Duration = Duration::from_secs(10);

/// All paths of the API.
pub(super) fn router() -> Router<Arc<Shared>> {
    let compression = CompressionLayer::new().gzip(true).quality(CompressionLevel::Fastest);
    let answers = Router::new()
        .route("/api/v1/status", get(status))
        .route("/api/v1/devices", get(devices))
        .route("/api/v1/devices/{device}", get(device))
        .route("/api/v1/devices/{device}/priorities/{priority}/samples", get(samples))
        .route("/api/v1/trends", get(trends))
        .route("/api/v1/storms", get(storms))
        .route("/api/v1/storms/{id}", get(storm))
        .route("/api/v1/checks", get(checks))
        .route("/api/v1/sources", get(sources))
        .route("/api/v1/openapi.yaml", get(openapi))
        .layer(compression);
    // Events are not compressed: they would wait in the compressor.
    answers
        .route("/api/v1/events", get(events::events))
        .method_not_allowed_fallback(async || {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered")
        })
        .route("/api/{*rest}", any(unknown))
}

async fn unknown() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "no such path; /api/v1/openapi.yaml has them all")
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/yaml")], OPENAPI).into_response()
}

#[derive(Serialize)]
struct Status {
    version: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    revision: &'static str,
    ready: bool,
    devices: usize,
    storms_active: usize,
    checks: &'static str,
}

fn status_of(state: &ServerState) -> Status {
    let (snapshot, storms) = ((state.snapshot)(), state.past.storms());
    Status {
        version: state.build.version,
        revision: state.build.revision,
        ready: (state.ready)(),
        devices: snapshot.devices.len(),
        storms_active: storms.iter().filter(|(_, own)| own.active).count(),
        checks: snapshot.checks.worst().as_str(),
    }
}

async fn status(State(shared): State<Arc<Shared>>, uri: Uri) -> Result<Response, Refusal> {
    no_parameters(&uri)?;
    answer(&shared, |state| text(&status_of(state))).await
}

async fn devices(State(shared): State<Arc<Shared>>, uri: Uri) -> Result<Response, Refusal> {
    no_parameters(&uri)?;
    answer(&shared, |state| list("devices", &json::devices(&(state.snapshot)()))).await
}

async fn device(
    State(shared): State<Arc<Shared>>,
    path: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Response, Refusal> {
    let name = parts(path)?;
    no_parameters(&uri)?;
    answer(&shared, move |state| {
        let snapshot = (state.snapshot)();
        let devices = json::devices(&snapshot);
        let own = devices.iter().find(|own| own.device == name);
        text(own.ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "no such device"))?)
    })
    .await
}

async fn samples(
    State(shared): State<Arc<Shared>>,
    path: Result<Path<(String, String)>, PathRejection>,
    uri: Uri,
) -> Result<Response, Refusal> {
    let (device, priority) = parts(path)?;
    let priority = priority_of(&priority)?;
    let reach = reach_of(&uri, USUAL_REACH)?;
    answer(&shared, move |state| {
        let past = state.past.samples(&device, priority, reach).ok_or_else(|| {
            Refusal::new(
                StatusCode::NOT_FOUND,
                "nothing is kept of it: no such device, or a priority that is not lossless and has not paused",
            )
        })?;
        text(&json::samples(&device, priority.number(), &past))
    })
    .await
}

async fn trends(State(shared): State<Arc<Shared>>, uri: Uri) -> Result<Response, Refusal> {
    let reach = reach_of(&uri, KEPT)?;
    answer(&shared, move |state| list("trends", &trends_of(state, reach))).await
}

/// The trends of all priorities that are shown.
fn trends_of(state: &ServerState, reach: Duration) -> Vec<json::Trend> {
    let mut all = Vec::new();
    for feed in (state.snapshot)().feeds {
        let mut last = None;
        for track in feed.pause.tracks {
            if last.replace(track.priority) == Some(track.priority) {
                continue;
            }
            let past = state.past.samples(&feed.feed.device, track.priority, reach);
            let number = track.priority.number();
            all.extend(past.map(|own| json::trend(&feed.feed.device, number, &own)));
        }
    }
    all
}

async fn storms(State(shared): State<Arc<Shared>>, uri: Uri) -> Result<Response, Refusal> {
    no_parameters(&uri)?;
    answer(&shared, |state| list("storms", &json::storms(&state.past.storms()))).await
}

async fn storm(
    State(shared): State<Arc<Shared>>,
    path: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Response, Refusal> {
    let id = question::number(&parts(path)?)?;
    no_parameters(&uri)?;
    answer(&shared, move |state| {
        let all = state.past.storms();
        let (device, own) = all
            .iter()
            .find(|(_, own)| own.id == id)
            .ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "no such storm is kept"))?;
        text(&json::storm(device, own))
    })
    .await
}

async fn checks(State(shared): State<Arc<Shared>>, uri: Uri) -> Result<Response, Refusal> {
    no_parameters(&uri)?;
    answer(&shared, |state| text(&json::findings(&(state.snapshot)()))).await
}

async fn sources(State(shared): State<Arc<Shared>>, uri: Uri) -> Result<Response, Refusal> {
    no_parameters(&uri)?;
    answer(&shared, |state| list("sources", &json::sources(&(state.snapshot)()))).await
}

/// A list under its name, so that other keys may join it.
fn list<T: Serialize>(name: &'static str, items: &[T]) -> Result<Vec<u8>, Refusal> {
    text(&BTreeMap::from([(name, items)]))
}
