//! An answer of the API: JSON, written off the async threads under the limit of scrapes; or a refusal, as JSON too.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::super::{ServerState, Shared};

const JSON: &str = "application/json";

/// Why there is no other answer.
#[derive(Debug, Serialize)]
pub(super) struct Refusal {
    #[serde(skip)]
    status: StatusCode,
    error: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into() }
    }

    pub(super) fn bad_request(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    pub(super) fn failed(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "an answer of the API failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be written")
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let text = serde_json::to_vec(&self).unwrap_or_default();
        (self.status, [(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, "no-store")], text)
            .into_response()
    }
}

/// A value as the text of an answer.
pub(super) fn text(value: &impl Serialize) -> Result<Vec<u8>, Refusal> {
    serde_json::to_vec(value).map_err(|error| Refusal::failed(&error))
}

/// Answers with what `write` makes of the state.
pub(super) async fn answer(
    shared: &Arc<Shared>,
    write: impl FnOnce(&ServerState) -> Result<Vec<u8>, Refusal> + Send + 'static,
) -> Result<Response, Refusal> {
    let Ok(permit) = Arc::clone(&shared.scrapes).try_acquire_owned() else {
        let error = "too many requests at the same time";
        return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error));
    };
    let shared = Arc::clone(shared);
    let writing = tokio::task::spawn_blocking(move || {
        let text = write(&shared.state);
        drop(permit);
        text
    });
    let text = writing.await.map_err(|error| Refusal::failed(&error))??;
    let headers = [(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, text).into_response())
}
