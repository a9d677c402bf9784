//! `openapi.yaml`: that it is an `OpenAPI` 3.1 document of this server, and that every answer keeps it.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::still::still;
use crate::web::client::{Reply, get};
use crate::web::{Server, state};

pub struct Contract(pub Value);

impl Contract {
    pub fn read() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/api/openapi.yaml");
        Self(serde_saphyr::from_str(&fs::read_to_string(file).unwrap()).unwrap())
    }

    pub fn paths(&self) -> &Map<String, Value> {
        self.0["paths"].as_object().unwrap()
    }

    /// What is wrong with a value by a schema of the document.
    pub fn faults(&self, schema: &Value, value: &Value) -> Vec<String> {
        let mut whole = schema.clone();
        whole["components"] = self.0["components"].clone();
        whole["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        let validator = jsonschema::validator_for(&whole).unwrap();
        let say =
            |error: jsonschema::ValidationError<'_>| format!("{}: {error}", error.instance_path());
        validator.iter_errors(value).map(say).collect()
    }

    /// Holds an answer to a GET of `template` against the document: its status, its type and its form.
    pub fn check(&self, template: &str, reply: &Reply) {
        let status = reply.status.to_string();
        let responses = &self.paths()[template]["get"]["responses"];
        let response = &responses[&status];
        assert!(response.is_object(), "{template} has no {status}: {}", reply.text());
        let response = match response["$ref"].as_str() {
            Some(name) => self.0.pointer(name.trim_start_matches('#')).unwrap(),
            None => response,
        };
        let (kind, content) = response["content"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(reply.header("content-type"), Some(kind.as_str()), "{template}");
        if kind == "application/json" {
            let value: Value = serde_json::from_slice(&reply.body).unwrap();
            let faults = self.faults(&content["schema"], &value);
            assert!(faults.is_empty(), "{template} {status}: {faults:#?}");
            assert!(!has_null(&value), "{template}: absent is a key that is not there");
        }
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(all) => all.iter().any(has_null),
        Value::Object(all) => all.values().any(has_null),
        _ => false,
    }
}

/// A path with good values in its places.
pub fn filled(template: &str) -> String {
    template.replace("{device}", "blue%2Feth1").replace("{priority}", "3").replace("{id}", "1")
}

fn check_all(contract: &Contract, address: SocketAddr, statuses: &[u16]) {
    for template in contract.paths().keys().filter(|path| !path.ends_with("/events")) {
        let reply = get(address, &filled(template));
        assert!(statuses.contains(&reply.status), "{template}: {}", reply.status);
        contract.check(template, &reply);
    }
}

#[test]
fn every_answer_has_the_documented_form() {
    let contract = Contract::read();
    let server = Server::start(still());
    check_all(&contract, server.address, &[200]);
    server.stop();
    // Counters of every kind, without pause; things that are not there.
    let server = Server::start(state());
    check_all(&contract, server.address, &[200, 404]);
    server.stop();
}

#[test]
fn the_document_lists_the_server_s_paths_and_no_others() {
    let contract = Contract::read();
    let source = include_str!("../../src/http/api/mod.rs");
    let routes = source.split(".route(\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let served: BTreeSet<&str> = routes.filter(|path| !path.contains("{*")).collect();
    let documented: BTreeSet<&str> = contract.paths().keys().map(String::as_str).collect();
    assert_eq!(documented, served);
    for (path, item) in contract.paths() {
        let get = &item["get"];
        let template = path.matches('{').count();
        let parameters = get["parameters"].as_array().map_or(&[][..], Vec::as_slice);
        let resolved = parameters.iter().map(|own| match own["$ref"].as_str() {
            Some(name) => contract.0.pointer(name.trim_start_matches('#')).unwrap(),
            None => own,
        });
        let in_path = resolved.filter(|own| own["in"] == "path").count();
        assert_eq!(in_path, template, "{path}");
        assert!(get["operationId"].is_string() && get["summary"].is_string(), "{path}");
    }
}

#[test]
fn the_document_is_served_as_it_is() {
    let server = Server::start(state());
    let reply = get(server.address, "/api/v1/openapi.yaml");
    assert_eq!(reply.text(), include_str!("../../src/http/api/openapi.yaml"));
    server.stop();
    let contract = Contract::read();
    assert_eq!(contract.0["openapi"], "3.1.0");
}

#[test]
fn every_schema_is_one_and_is_used() {
    let contract = Contract::read();
    let text = contract.0.to_string();
    for (name, schema) in contract.0["components"]["schemas"].as_object().unwrap() {
        let uses = text.matches(&format!("\"#/components/schemas/{name}\"")).count();
        // The data of an event is no answer of its own.
        assert!(uses > 0 || name == "Figures", "{name} is used nowhere");
        contract.faults(schema, &json!({}));
    }
}

#[test]
fn the_check_of_answers_can_fail() {
    let contract = Contract::read();
    let schema = json!({"$ref": "#/components/schemas/Status"});
    let good =
        json!({"version": "1", "ready": true, "devices": 0, "storms_active": 0, "checks": "ok"});
    assert!(contract.faults(&schema, &good).is_empty());
    for (key, value) in [("ready", json!(null)), ("devices", json!(-1)), ("other", json!(1))] {
        let mut bad = good.clone();
        bad[key] = value;
        assert_eq!(contract.faults(&schema, &bad).len(), 1, "{key}");
    }
}
