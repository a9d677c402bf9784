//! One scrape: the limit, the format, the text.

use std::fmt;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::{ServerState, Shared};
use crate::export::{Format, ProcessFigures, encode};

/// Answers a scrape. Beyond the limit of scrapes at the same time it says 503 at once and queues nothing.
///
/// The text is written on a blocking thread, since it takes milliseconds on a host with many NICs and the
/// health paths must not wait for it. The place under the limit is held for as long as that thread works,
/// even when the client has gone.
pub(super) async fn metrics(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    let Ok(permit) = Arc::clone(&shared.scrapes).try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many scrapes at the same time\n")
            .into_response();
    };
    let format = Format::negotiate(accepted(&headers).as_deref());
    let writing = tokio::task::spawn_blocking(move || {
        let text = write(&shared.state, format);
        drop(permit);
        text
    });
    match writing.await {
        Ok(Ok(text)) => {
            let headers = [(header::CONTENT_TYPE, format.content_type()), (header::VARY, "accept")];
            (headers, text).into_response()
        }
        Ok(Err(error)) => failed(&error),
        Err(error) => failed(&error),
    }
}

fn write(state: &ServerState, format: Format) -> Result<String, fmt::Error> {
    let snapshot = (state.snapshot)();
    let process = state.process_root.as_deref().map(ProcessFigures::read);
    let mut text = String::new();
    encode(&snapshot, &state.build, process.as_ref(), format, &mut text)?;
    Ok(text)
}

/// All Accept headers as one; none if there is none or one is not text.
fn accepted(headers: &HeaderMap) -> Option<String> {
    let values: Result<Vec<&str>, _> =
        headers.get_all(header::ACCEPT).iter().map(axum::http::HeaderValue::to_str).collect();
    values.ok().map(|values| values.join(","))
}

fn failed(error: &dyn fmt::Display) -> Response {
    tracing::error!(%error, "a scrape failed");
    (StatusCode::INTERNAL_SERVER_ERROR, "the metrics could not be written\n").into_response()
}
