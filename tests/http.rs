//! The server over real sockets.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests: the shared modules serve several test crates, and a panic is a failed test"
)]

mod exposition;
mod web;

use std::io::{BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use exposition::snapshots::hand_made;
use exposition::strict_parser::parse;
use exposition::{BUILD, judges};
use roce_exporter::export::{Format, encode};
use roce_exporter::http::{ServerState, router};
use web::client::{connect, get, receive, request, send};
use web::{Server, state};

/// What a stop may take as a whole.
const STOP_BOUND: Duration = Duration::from_secs(5);

fn without_process() -> ServerState {
    ServerState { process_root: None, ..state() }
}

fn expected(format: Format) -> String {
    let mut text = String::new();
    encode(&hand_made(), &BUILD, None, format, &mut text).unwrap();
    text
}

#[test]
fn both_formats_by_accept() {
    let server = Server::start(without_process());
    let open = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    let cases = [
        (vec![], Format::Text004),
        (vec![("Accept", "*/*")], Format::Text004),
        (vec![("Accept", open)], Format::OpenMetrics100),
        (
            vec![("Accept", "text/plain;q=0.5"), ("Accept", "application/openmetrics-text")],
            Format::OpenMetrics100,
        ),
        (vec![("Accept", "application/json")], Format::Text004),
        (vec![("Accept", "\u{e9}")], Format::Text004),
    ];
    for (headers, format) in cases {
        let reply = request(server.address, "GET", "/metrics", &headers);
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("content-type"), Some(format.content_type()), "{headers:?}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert!(reply.text() == expected(format), "{headers:?}");
    }
    server.stop();
}

#[test]
fn process_metrics_can_be_switched_off() {
    let server = Server::start(state());
    let reply = get(server.address, "/metrics?name=ignored");
    assert!(reply.text().contains("\nprocess_resident_memory_bytes "));
    parse(reply.text(), Format::Text004);
    server.stop();
    let server = Server::start(without_process());
    assert!(!get(server.address, "/metrics").text().contains("process_"));
    server.stop();
}

#[test]
fn gzip_only_where_accepted() {
    let server = Server::start(without_process());
    let plain = request(server.address, "GET", "/metrics", &[]);
    assert_eq!(plain.header("content-encoding"), None);
    let zipped =
        request(server.address, "GET", "/metrics", &[("Accept-Encoding", "gzip, deflate")]);
    assert_eq!(zipped.header("content-encoding"), Some("gzip"));
    assert_eq!(zipped.header("content-type"), Some(Format::Text004.content_type()));
    assert!(
        zipped.body.len() < plain.body.len() / 3,
        "{} of {}",
        zipped.body.len(),
        plain.body.len()
    );
    let mut text = String::new();
    flate2::read::GzDecoder::new(zipped.body.as_slice()).read_to_string(&mut text).unwrap();
    assert!(text == expected(Format::Text004));
    let refused = request(server.address, "GET", "/metrics", &[("Accept-Encoding", "gzip;q=0")]);
    assert_eq!(refused.header("content-encoding"), None);
    server.stop();
}

#[test]
fn head_has_headers_and_no_body() {
    let server = Server::start(without_process());
    for path in ["/metrics", "/", "/-/healthy", "/-/ready"] {
        let head = request(server.address, "HEAD", path, &[]);
        let get = get(server.address, path);
        assert_eq!(head.status, 200, "{path}");
        assert_eq!(head.body, b"", "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
        assert_eq!(head.header("content-length"), get.header("content-length"), "{path}");
    }
    server.stop();
}

#[test]
fn the_page_links_and_loads_nothing_from_elsewhere() {
    let server = Server::start(ServerState { telemetry_path: "/m&<x>".to_owned(), ..state() });
    let page = get(server.address, "/");
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    for weak in ["unsafe", "*", "http:", "https:", "data:", "blob:"] {
        assert!(!policy.contains(weak), "{policy}");
    }
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    for part in
        ["roce_exporter", "0.1.0", "0123abc", "href=\"/m&amp;&lt;x&gt;\"", "href=\"/-/healthy\""]
    {
        assert!(page.text().contains(part), "{part}");
    }
    let own = ["src=\"/-/", "href=\"/", "href=\"#"];
    for attribute in ["src=\"", "href=\""] {
        for (place, _) in page.text().match_indices(attribute) {
            let rest = &page.text()[place..];
            assert!(own.iter().any(|own| rest.starts_with(own)), "{}", &rest[..40]);
        }
    }
    for part in ["http:", "https:", "<style", "style=", "onclick", "<script>"] {
        assert!(!page.text().contains(part), "{part}");
    }
    let mut bytes = page.body.len();
    let parts = [
        ("/-/page.css", "text/css; charset=utf-8"),
        ("/-/page.js", "text/javascript; charset=utf-8"),
        ("/-/charts.js", "text/javascript; charset=utf-8"),
        ("/-/icon.svg", "image/svg+xml; charset=utf-8"),
    ];
    for (path, kind) in parts {
        let reply = get(server.address, path);
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(kind)), "{path}");
        bytes += reply.body.len();
    }
    assert!(bytes < 150_000, "{bytes} bytes");
    server.stop();
}

#[test]
fn metrics_may_live_anywhere() {
    let server = Server::start(ServerState { telemetry_path: "/".to_owned(), ..without_process() });
    assert!(
        get(server.address, "/").text() == expected(Format::Text004),
        "no landing page in its way"
    );
    assert_eq!(get(server.address, "/metrics").status, 404);
    server.stop();
    for path in ["/a/b/c", "/{any}", "/:colon/*star", "/trailing/"] {
        let server = Server::start(ServerState { telemetry_path: path.to_owned(), ..state() });
        assert!(get(server.address, path).text().contains("roce_exporter_build_info"), "{path}");
        assert_eq!(get(server.address, "/other").status, 404, "{path} is no pattern");
        server.stop();
    }
}

#[test]
fn other_paths_and_methods_are_refused() {
    let server = Server::start(state());
    for path in ["/metric", "/metrics/", "/-/", "/favicon.ico", "/../etc/passwd", "//"] {
        let reply = get(server.address, path);
        assert_eq!(reply.status, 404, "{path}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    }
    for path in ["/metrics", "/", "/-/healthy", "/-/ready", "/-/page.js", "/api/v1/devices"] {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "BREW"] {
            let reply = request(server.address, method, path, &[]);
            assert_eq!(reply.status, 405, "{method} {path}");
            assert_eq!(reply.header("allow"), Some("GET,HEAD"), "{method} {path}");
        }
    }
    server.stop();
}

#[test]
fn ready_follows_the_first_samples() {
    let sampled = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&sampled);
    let ready = Arc::new(move || seen.load(Ordering::SeqCst));
    let server = Server::start(ServerState { ready, ..state() });
    let before = get(server.address, "/-/ready");
    assert_eq!(before.status, 503);
    assert!(before.text().starts_with("not ready"), "{}", before.text());
    assert_eq!(get(server.address, "/-/healthy").status, 200);
    sampled.store(true, Ordering::SeqCst);
    let after = get(server.address, "/-/ready");
    assert_eq!((after.status, after.text()), (200, "ready\n"));
    server.stop();
}

/// A state whose snapshots wait: each one says that it has begun and goes on when told to.
fn held_up(max_requests: usize) -> (ServerState, Receiver<()>, Sender<()>) {
    let (begun, has_begun) = channel();
    let (release, released) = channel();
    let gate = Mutex::new((begun, released));
    let snapshot = Arc::new(move || {
        let gate = gate.lock().unwrap();
        gate.0.send(()).unwrap();
        gate.1.recv().unwrap();
        hand_made()
    });
    (ServerState { snapshot, max_requests, ..state() }, has_begun, release)
}

#[test]
fn scrapes_beyond_the_limit_are_refused_at_once() {
    let (state, has_begun, release) = held_up(1);
    let server = Server::start(state);
    let address = server.address;
    let first = std::thread::spawn(move || get(address, "/metrics"));
    has_begun.recv().unwrap();
    let second = get(address, "/metrics");
    assert_eq!(second.status, 503);
    assert!(second.text().contains("too many"), "{}", second.text());
    assert_eq!(get(address, "/-/healthy").status, 200, "the limit is on scrapes only");
    release.send(()).unwrap();
    assert_eq!(first.join().unwrap().status, 200);
    release.send(()).unwrap();
    assert_eq!(get(address, "/metrics").status, 200, "the place is free again");
    server.stop();
}

#[test]
fn a_client_that_leaves_keeps_its_place_until_its_scrape_is_done() {
    let (state, has_begun, release) = held_up(1);
    let server = Server::start(state);
    let mut leaving = connect(server.address);
    send(&mut leaving, "GET", "/metrics", &[]);
    has_begun.recv().unwrap();
    drop(leaving);
    // Time for the server to see it.
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(get(server.address, "/metrics").status, 503);
    release.send(()).unwrap();
    server.stop();
}

#[test]
fn no_limit_when_it_is_zero() {
    let server = Server::start(ServerState { max_requests: 0, ..state() });
    assert_eq!(get(server.address, "/metrics").status, 200);
    server.stop();
}

#[test]
fn a_panic_in_a_scrape_is_an_error_of_that_scrape_only() {
    let healthy = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&healthy);
    let snapshot = Arc::new(move || {
        assert!(seen.load(Ordering::SeqCst), "a fault made by the test");
        hand_made()
    });
    let server = Server::start(ServerState { snapshot, max_requests: 1, ..state() });
    assert_eq!(get(server.address, "/metrics").status, 500);
    healthy.store(true, Ordering::SeqCst);
    assert_eq!(get(server.address, "/metrics").status, 200, "its place is free again");
    server.stop();
}

#[test]
fn stops_with_idle_connections() {
    let server = Server::start(state());
    let mut used = connect(server.address);
    send(&mut used, "GET", "/-/healthy", &[]);
    let mut reader = BufReader::new(used);
    assert_eq!(receive(&mut reader, "GET").status, 200);
    let _unused = connect(server.address);
    let took = server.stop();
    assert!(took < STOP_BOUND, "{took:?}");
    let mut rest = Vec::new();
    assert_eq!(reader.read_to_end(&mut rest).unwrap(), 0, "the server closed the connection");
}

#[test]
fn stops_with_a_half_sent_request() {
    let server = Server::start(state());
    let mut half = connect(server.address);
    half.write_all(b"GET /metrics HTTP/1.1\r\nHost: loc").unwrap();
    // Another request, so that the half one has surely been read.
    assert_eq!(get(server.address, "/-/healthy").status, 200);
    let took = server.stop();
    assert!(took < STOP_BOUND, "{took:?}");
}

#[test]
fn a_scrape_in_progress_is_finished_before_the_stop() {
    let (state, has_begun, release) = held_up(1);
    let server = Server::start(state);
    let address = server.address;
    let scrape = std::thread::spawn(move || get(address, "/metrics"));
    has_begun.recv().unwrap();
    let stopping = std::thread::spawn(move || server.stop());
    std::thread::sleep(Duration::from_millis(200));
    assert!(!stopping.is_finished());
    release.send(()).unwrap();
    assert_eq!(scrape.join().unwrap().status, 200);
    assert!(stopping.join().unwrap() < STOP_BOUND);
}

#[test]
fn stops_when_nobody_could_stop_it_any_more() {
    let server = Server::start(state());
    assert_eq!(get(server.address, "/-/healthy").status, 200);
    assert!(server.abandon() < STOP_BOUND);
}

#[test]
fn several_listeners_and_ipv6() {
    let Ok(six) = TcpListener::bind("[::1]:0") else {
        return judges::skip("IPv6 on the loopback interface");
    };
    let four = TcpListener::bind("127.0.0.1:0").unwrap();
    let addresses = [six.local_addr().unwrap(), four.local_addr().unwrap()];
    let server = Server::start_on(vec![six, four], state());
    for address in addresses {
        assert_eq!(get(address, "/metrics").status, 200, "{address}");
    }
    assert!(server.stop() < STOP_BOUND);
    for address in addresses {
        assert!(std::net::TcpStream::connect(address).is_err(), "{address} is still open");
    }
}

#[test]
fn every_path_that_begins_with_a_slash_makes_a_router() {
    for path in ["/", "/}", "/{", "/{{x}", "/é", "/a b", "/*", "/{*rest}", "/%zz"] {
        drop(router(ServerState { telemetry_path: path.to_owned(), ..state() }));
    }
}
