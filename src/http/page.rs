//! The page at `/`: what goes on, for a person who was just paged.
//!
//! Its HTML, style and script are files of this program, so that its policy can forbid everything from elsewhere
//! and everything inline. The figures come from the API by server-sent events. Refuses to compute: the script draws what
//! the API says, and forms no more than rates of counters.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

use super::{HEALTHY_PATH, READY_PATH, Shared};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page and its parts. A browser asks for them anew each time, so that none outlives a change of version.
pub(super) fn router() -> Router<Arc<Shared>> {
    let compression = CompressionLayer::new().gzip(true).quality(CompressionLevel::Fastest);
    Router::new()
        .route("/", get(page))
        .route("/-/page.css", get(async || part("text/css", include_str!("page/page.css"))))
        .route("/-/page.js", get(async || part("text/javascript", include_str!("page/page.js"))))
        .route(
            "/-/charts.js",
            get(async || part("text/javascript", include_str!("page/charts.js"))),
        )
        .route("/-/icon.svg", get(async || part("image/svg+xml", include_str!("page/icon.svg"))))
        .layer(compression)
}

async fn page(State(shared): State<Arc<Shared>>) -> Response {
    let page = format!(
        include_str!("page/page.html"),
        version = escaped(shared.state.build.version),
        revision = escaped(shared.state.build.revision),
        telemetry_path = escaped(&shared.state.telemetry_path),
        healthy_path = HEALTHY_PATH,
        ready_path = READY_PATH,
    );
    let policy = HeaderValue::from_static(POLICY);
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(page)).into_response()
}

fn part(kind: &'static str, text: &'static str) -> Response {
    let kind = format!("{kind}; charset=utf-8");
    ([(header::CONTENT_TYPE, kind.as_str()), (header::CACHE_CONTROL, "no-cache")], text)
        .into_response()
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
