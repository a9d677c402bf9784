//! The page at `/`: what this is and where the metrics are.
//!
//! Plain HTML with no style, no script and nothing from elsewhere, so that its policy can forbid everything.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};

use super::{HEALTHY_PATH, READY_PATH, Shared};

const POLICY: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) async fn landing(State(shared): State<Arc<Shared>>) -> Response {
    let page = format!(
        include_str!("landing.html"),
        version = escaped(shared.state.build.version),
        revision = escaped(shared.state.build.revision),
        telemetry_path = escaped(&shared.state.telemetry_path),
        healthy_path = HEALTHY_PATH,
        ready_path = READY_PATH,
    );
    ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(page)).into_response()
}

/// Text as it may stand in HTML, in an attribute too.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            plain => html.push(plain),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn html_has_no_way_out() {
        assert_eq!(escaped("/m?a=1&b=<\"'>"), "/m?a=1&amp;b=&lt;&quot;&#39;&gt;");
        assert_eq!(escaped("/metrics"), "/metrics");
    }
}
