//! What the API refuses, and that it does so as documented, whatever it is asked.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use roce_exporter::http::ServerState;
use serde_json::Value;

use crate::contract::{Contract, filled};
use crate::exposition::snapshots::hand_made;
use crate::still::still;
use crate::web::client::{get, request};
use crate::web::{Server, state};

fn error(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap();
    value["error"].as_str().unwrap().to_owned()
}

#[test]
fn wrong_questions_are_told_what_is_wrong() {
    let contract = Contract::read();
    let server = Server::start(still());
    let samples = "/api/v1/devices/{device}/priorities/{priority}/samples";
    let of = |device: &str, priority: &str, query: &str| {
        format!("/api/v1/devices/{device}/priorities/{priority}/samples{query}")
    };
    for (template, path, status, part) in [
        ("/api/v1/devices/{device}", "/api/v1/devices/eth7".to_owned(), 404, "no such device"),
        ("/api/v1/devices/{device}", "/api/v1/devices/%FF".to_owned(), 400, "UTF-8"),
        ("/api/v1/devices/{device}", "/api/v1/devices/eth0?x=1".to_owned(), 400, "no parameter"),
        ("/api/v1/devices", "/api/v1/devices?page=2".to_owned(), 400, "no parameter"),
        (samples, of("eth7", "3", ""), 404, "nothing is kept"),
        (samples, of("eth0", "8", ""), 400, "0 to 7"),
        (samples, of("eth0", "-1", ""), 400, "0 to 7"),
        (samples, of("eth0", "03", ""), 400, "0 to 7"),
        (samples, of("eth0", "3", "?seconds=0"), 400, "1 to 180"),
        (samples, of("eth0", "3", "?seconds=181"), 400, "1 to 180"),
        (samples, of("eth0", "3", "?seconds=99999999999999999999"), 400, "1 to 180"),
        (samples, of("eth0", "3", "?seconds=5&seconds=6"), 400, "once"),
        (samples, of("eth0", "3", "?second=5"), 400, "seconds"),
        ("/api/v1/trends", "/api/v1/trends?seconds=1.5".to_owned(), 400, "1 to 180"),
        ("/api/v1/storms/{id}", "/api/v1/storms/99".to_owned(), 404, "no such storm"),
        ("/api/v1/storms/{id}", "/api/v1/storms/first".to_owned(), 400, "number"),
    ] {
        let reply = get(server.address, &path);
        assert_eq!(reply.status, status, "{path}");
        contract.check(template, &reply);
        assert!(error(reply.text()).contains(part), "{path}: {}", reply.text());
    }
    for path in ["/api/v1", "/api/v1/", "/api/v2/devices", "/api/v1/devices/eth0/other"] {
        let reply = get(server.address, path);
        assert_eq!(reply.status, 404, "{path}");
        assert!(error(reply.text()).contains("openapi"), "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let reply = request(server.address, method, "/api/v1/devices", &[]);
        assert_eq!((reply.status, reply.header("allow")), (405, Some("GET,HEAD")), "{method}");
        assert!(error(reply.text()).contains("GET"), "{method}");
    }
    server.stop();
}

/// Any question at all: paths and parameters of the document with anything in their places.
#[test]
fn any_question_has_a_documented_answer() {
    let contract = Contract::read();
    let server = Server::start(still());
    let templates: Vec<String> =
        contract.paths().keys().filter(|path| !path.ends_with("/events")).cloned().collect();
    let part = prop_oneof![
        "[0-9]{1,22}",
        Just("eth0".to_owned()),
        Just("blue%2Feth1".to_owned()),
        "(%[0-9A-F]{2}|[a-z0-9._~!$'()*+,;:@-]){1,12}",
    ];
    let query = prop_oneof![
        Just(String::new()),
        (0_u32..300).prop_map(|seconds| format!("?seconds={seconds}")),
        "[?](seconds)?[=&a-z0-9%+]{0,12}",
    ];
    let question = (0..templates.len(), part.clone(), part, query);
    let mut config = proptest::test_runner::Config::default();
    config.cases = config.cases.min(400);
    config.failure_persistence = None;
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&question, |(place, first, second, query)| {
        let template = &templates[place];
        let path = template.replace("{device}", &first).replace("{id}", &first);
        let path = path.replace("{priority}", &second) + &query;
        let reply = get(server.address, &path);
        prop_assert!(reply.status < 500, "{}: {}", path, reply.status);
        prop_assert!(reply.body.len() < 2_000_000, "{}: {} bytes", path, reply.body.len());
        contract.check(template, &reply);
        Ok(())
    });
    outcome.unwrap();
    server.stop();
}

#[test]
fn a_question_beyond_the_limit_of_scrapes_is_refused_at_once() {
    let (begun, has_begun) = channel();
    let (release, released) = channel::<()>();
    let gate = Mutex::new((begun, released));
    let snapshot = Arc::new(move || {
        let gate = gate.lock().unwrap();
        gate.0.send(()).unwrap();
        gate.1.recv().unwrap();
        hand_made()
    });
    let server = Server::start(ServerState { snapshot, max_requests: 1, ..state() });
    let address = server.address;
    let scrape = std::thread::spawn(move || get(address, "/metrics"));
    has_begun.recv().unwrap();
    let contract = Contract::read();
    for template in ["/api/v1/status", "/api/v1/devices", "/api/v1/storms/{id}"] {
        let reply = get(address, &filled(template));
        assert_eq!(reply.status, 503, "{template}");
        contract.check(template, &reply);
    }
    release.send(()).unwrap();
    assert_eq!(scrape.join().unwrap().status, 200);
    server.stop();
}
