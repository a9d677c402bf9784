//! schemathesis: a judge of the document and of the server who knows neither.

use std::path::PathBuf;
use std::process::Command;

use crate::exposition::judges::skip;
use crate::still::still;
use crate::web::Server;

/// Where `tools/setup` puts it.
fn program() -> Option<PathBuf> {
    let cache = match std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()) {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".cache"),
    };
    let found = cache.join("roce_exporter-tests/schemathesis/bin/schemathesis");
    found.exists().then_some(found)
}

/// Asks what the document allows and what it does not, with the same questions each time. An event stream has no end
/// that it would wait for.
#[test]
fn schemathesis_finds_no_fault() {
    let Some(program) = program() else { return skip("schemathesis (make setup)") };
    let server = Server::start(still());
    // It leaves its notes where it runs.
    let directory = tempfile::tempdir().unwrap();
    let ran = Command::new(program)
        .args(["run", "--no-color", "--seed=1", "--generation-deterministic"])
        .args(["--max-examples=20", "--exclude-path=/api/v1/events", "--request-timeout=20"])
        .arg(format!("--url=http://{}", server.address))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/src/http/api/openapi.yaml"))
        .current_dir(directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("Tested: 10"), "{said}");
    server.stop();
}
