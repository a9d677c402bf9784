//! What a request of the API asks, read strictly: each error says what is allowed.

use std::time::Duration;

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::Uri;

use super::answer::Refusal;
use crate::engine::history::KEPT;
use crate::model::Priority;

/// The parts of a path, decoded.
pub(super) fn parts<T>(path: Result<Path<T>, PathRejection>) -> Result<T, Refusal> {
    let Path(parts) =
        path.map_err(|_| Refusal::bad_request("the path is not UTF-8 behind its escapes"))?;
    Ok(parts)
}

/// A priority, 0 to 7.
pub(super) fn priority_of(text: &str) -> Result<Priority, Refusal> {
    let number = Some(text).filter(|text| is_plain_number(text)).and_then(|text| text.parse().ok());
    let priority = number.and_then(|number| Priority::new(number).ok());
    priority.ok_or_else(|| Refusal::bad_request("a priority is a number from 0 to 7"))
}

/// The number of a storm.
pub(super) fn number(text: &str) -> Result<u64, Refusal> {
    let number = Some(text).filter(|text| is_plain_number(text)).and_then(|text| text.parse().ok());
    number.ok_or_else(|| Refusal::bad_request("the id of a storm is a number"))
}

/// One way to write each number.
fn is_plain_number(text: &str) -> bool {
    text == "0"
        || (!text.starts_with('0')
            && !text.is_empty()
            && text.bytes().all(|own| own.is_ascii_digit()))
}

/// Refuses any parameter.
pub(super) fn no_parameters(uri: &Uri) -> Result<(), Refusal> {
    match uri.query() {
        None | Some("") => Ok(()),
        Some(_) => Err(Refusal::bad_request("this path takes no parameter")),
    }
}

/// The parameter `seconds`, the only one: how far samples reach back.
pub(super) fn reach_of(uri: &Uri, usual: Duration) -> Result<Duration, Refusal> {
    let Some(query) = uri.query().filter(|query| !query.is_empty()) else { return Ok(usual) };
    let seconds = query.strip_prefix("seconds=").filter(|text| is_plain_number(text));
    let seconds = seconds.and_then(|text| text.parse().ok());
    let reach = seconds.map(Duration::from_secs);
    let reach = reach.filter(|reach| *reach >= Duration::from_secs(1) && *reach <= KEPT);
    reach.ok_or_else(|| {
        let most = KEPT.as_secs();
        Refusal::bad_request(format!(
            "the only parameter is `seconds`, a whole number from 1 to {most}, once"
        ))
    })
}
