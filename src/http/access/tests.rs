use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderValue;

use super::{Access, Door, Verdict};

/// What is said of a file of this text.
fn refusal(text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("web.yml");
    fs::write(&path, text).unwrap();
    match Access::load(&path) {
        Ok(_) => panic!("taken: {text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name() {
    for (text, said) in [
        ("tls_server_config: {cert_file: none.crt, key_file: none.key}", "none.crt"),
        ("tls_server_config: {cert: x}", "key_file is missing"),
        ("tls_server_config: {cert: x, cert_file: y, key: z}", "exclude each other"),
        ("tls_server_config: {cert: x, key: y}", "no certificate in PEM form"),
        ("tls_server_config: {client_auth_type: RequireAnyClientCert}", "cert_file is missing"),
        ("tls_server_config: {ciphers: [x]}", ":1: "),
        ("tls: {}", "unknown"),
        ("http_server_config: {headers: {Server: x}}", "headers.Server: cannot be set"),
        ("http_server_config: {headers: {X-Frame-Options: maybe}}", "deny or sameorigin"),
        ("basic_auth_users: {alice: plain}", "\"alice\" is no bcrypt hash"),
        ("rate_limit: {interval: 1s}", "burst"),
        ("basic_auth_users: [", "web.yml:"),
    ] {
        let error = refusal(text);
        assert!(error.contains(said), "{text}: {error}");
    }
}

#[test]
fn an_empty_file_lets_everyone_in() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("web.yml");
    for text in ["", "# nothing\n", "tls_server_config: {}\nhttp_server_config: {http2: false}\n"] {
        fs::write(&path, text).unwrap();
        assert!(Access::load(&path).unwrap().tls().is_none(), "{text:?}");
    }
}

#[tokio::test]
async fn a_change_between_the_first_read_and_the_first_look_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("web.yml");
    fs::write(&path, "# everyone\n").unwrap();
    let door = Arc::new(Door::of_file(&path).unwrap());
    let hash = bcrypt::hash("secret", 4).unwrap();
    fs::write(&path, format!("basic_auth_users: {{alice: '{hash}'}}\n")).unwrap();
    let following = tokio::spawn(Arc::clone(&door).follow());
    let since = Instant::now();
    let nobody: Option<&HeaderValue> = None;
    while door.access().users.judge(nobody).await == Verdict::Welcome {
        assert!(since.elapsed() < Duration::from_secs(30), "the change was missed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    following.abort();
}
