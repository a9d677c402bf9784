//! `--web.config.file` with the real program: curl, openssl's certificates by rcgen, promtool and Prometheus.

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

#[path = "web_access/certificates.rs"]
mod certificates;
#[path = "web/client.rs"]
mod client;
#[path = "web_access/crowd.rs"]
mod crowd;
#[path = "web_access/program.rs"]
mod program;
#[path = "web_access/toolkit.rs"]
mod toolkit;

use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use certificates::Certificates;
use program::{Behind, curl, have, prometheus_sees, promtool};

/// The password of the examples' users.
const HASH: &str = "$2y$10$9BsHJW0oIhZToyXJ6CPCOupjcHUXhvJYrWJfBFuI1HHRCF8Tx2iw.";
const TLS: &str = "tls_server_config: {cert_file: server.crt, key_file: server.key}\n";
const MUTUAL: &str = "tls_server_config: {cert_file: server.crt, key_file: server.key, client_ca_file: client-ca.crt, \
    client_auth_type: RequireAndVerifyClientCert";

#[test]
fn both_versions_of_tls_and_of_http() {
    if !have("curl") {
        return;
    }
    let files = Certificates::new();
    let served = Behind::start(&files, TLS);
    for (flags, expected) in [
        (vec!["--tls-max", "1.2"], "200 2"),
        (vec!["--tlsv1.3"], "200 2"),
        (vec!["--http1.1"], "200 1.1"),
    ] {
        assert_eq!(curl(&served, &flags).0, expected, "{flags:?}");
    }
    let (old, _) = curl(&served, &["--tls-max", "1.1"]);
    assert_eq!(old, "000 0", "TLS 1.1 is not spoken");
    drop(served);
    let newest = "tls_server_config: {cert_file: server.crt, key_file: server.key, min_version: TLS13}\n\
        http_server_config: {http2: false, headers: {X-Frame-Options: deny}}\n";
    let served = Behind::start(&files, newest);
    assert_eq!(curl(&served, &["--tls-max", "1.2"]).0, "000 0");
    let (status, text) = curl(&served, &["-i"]);
    assert_eq!(status, "200 1.1");
    assert!(text.to_ascii_lowercase().contains("x-frame-options: deny\r\n"), "{text:.400}");
}

#[test]
fn pem_in_the_file_itself_and_chosen_suites() {
    if !have("curl") {
        return;
    }
    let files = Certificates::new();
    let indented = |name: &str| files.read(name).replace('\n', "\n    ");
    let text = format!(
        "tls_server_config:\n  cert: |\n    {}\n  key: |\n    {}\n  max_version: TLS12\n  cipher_suites: \
        [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TLS_AES_128_GCM_SHA256]\n  curve_preferences: [CurveP256]\n",
        indented("server.crt"),
        indented("server.key")
    );
    let served = Behind::start(&files, &text);
    assert_eq!(curl(&served, &["--ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384"]).0, "200 2");
    assert_eq!(curl(&served, &["--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"]).0, "000 0");
    assert_eq!(curl(&served, &["--curves", "X25519"]).0, "000 0");
}

#[test]
fn client_certificates_in_every_mode() {
    if !have("curl") {
        return;
    }
    let files = Certificates::new();
    let ca = "client_ca_file: client-ca.crt, ";
    // Without a certificate, with one of another authority, with a good one.
    for (mode, authority, expected) in [
        ("NoClientCert", "", ["200", "200", "200"]),
        ("RequestClientCert", "", ["200", "200", "200"]),
        ("RequireAnyClientCert", "", ["000", "200", "200"]),
        ("VerifyClientCertIfGiven", ca, ["200", "000", "200"]),
        ("RequireAndVerifyClientCert", ca, ["000", "000", "200"]),
    ] {
        for version in ["TLS12", "TLS13"] {
            let text = format!(
                "tls_server_config: {{cert_file: server.crt, key_file: server.key, {authority}client_auth_type: \
                {mode}, max_version: {version}, min_version: {version}}}\n"
            );
            let served = Behind::start(&files, &text);
            for (client, expected) in
                [None, Some("stranger"), Some("client")].into_iter().zip(expected)
            {
                let flags = client.map(|name| files.client_flags(name)).unwrap_or_default();
                let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
                let (status, _) = curl(&served, &flags);
                assert_eq!(&status[..3], expected, "{mode} {version} {client:?}");
            }
        }
    }
}

#[test]
fn only_named_clients() {
    if !have("curl") {
        return;
    }
    let files = Certificates::new();
    for (names, expected) in [
        ("[other, client.example.org]", "200"),
        ("[192.0.2.7]", "200"),
        ("['spiffe://example.org/prometheus']", "200"),
        ("[other.example.org, 192.0.2.8]", "000"),
    ] {
        let served = Behind::start(&files, &format!("{MUTUAL}, client_allowed_sans: {names}}}\n"));
        let flags = files.client_flags("client");
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        assert_eq!(&curl(&served, &flags).0[..3], expected, "{names}");
    }
}

#[test]
fn users_hold_on_every_path_and_wrong_passwords_cost_little() {
    let files = Certificates::new();
    let served = Behind::start(&files, &format!("basic_auth_users: {{prometheus: '{HASH}'}}\n"));
    let good = [("Authorization", "Basic cHJvbWV0aGV1czp0ZXN0")];
    for path in
        ["/metrics", "/", "/-/healthy", "/-/ready", "/none", "/-/page.js", "/api/v1/devices"]
    {
        let reply = client::get(served.address, path);
        assert_eq!(
            (reply.status, reply.header("www-authenticate")),
            (401, Some("Basic")),
            "{path}"
        );
        let reply = client::request(served.address, "GET", path, &good);
        assert_eq!(reply.status, if path == "/none" { 404 } else { 200 }, "{path}");
    }
    assert_eq!(client::get(served.address, "/api/v1/events").status, 401);
    // What sampling and scrapes cost while `goes_on` says so.
    let share = |goes_on: &dyn Fn(Duration) -> bool| {
        let (since, before) = (Instant::now(), served.cpu_seconds());
        while goes_on(since.elapsed()) {
            assert_eq!(client::request(served.address, "GET", "/metrics", &good).status, 200);
            std::thread::sleep(Duration::from_millis(50));
        }
        (served.cpu_seconds() - before) / since.elapsed().as_secs_f64()
    };
    let without = share(&|elapsed| elapsed < Duration::from_secs(2));
    let (over, said) = (AtomicBool::new(false), AtomicUsize::new(0));
    let with = std::thread::scope(|scope| {
        let _over = Over(&over);
        for _ in 0..8 {
            scope.spawn(|| guess(served.address, &said, &over));
        }
        share(&|elapsed| {
            let answered = said.load(Ordering::Relaxed) > 0;
            assert!(answered || elapsed < Duration::from_mins(1), "no guess was answered");
            !answered || elapsed < Duration::from_secs(4)
        })
    });
    let said = said.into_inner();
    println!(
        "{said} guesses answered, {:.0} % of a core, {:.0} % without",
        with * 100.0,
        without * 100.0
    );
    let cost = with - without;
    assert!(cost < 0.6, "guessing cost {cost} of a core");
}

/// Tries a wrong password again and again; counts how often that was looked at.
fn guess(address: SocketAddr, said: &AtomicUsize, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let mut stream = client::connect(address);
        // "prometheus:wrong"
        let wrong = [("Authorization", "Basic cHJvbWV0aGV1czp3cm9uZw==")];
        client::send(&mut stream, "GET", "/metrics", &wrong);
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut status = [0; 12];
        // Who waits for long on a slow machine comes again.
        if stream.read_exact(&mut status).is_ok() {
            let status = String::from_utf8_lossy(&status[9..]).into_owned();
            assert!(["401", "429"].contains(&status.as_str()), "{status}");
            said.fetch_add(usize::from(status == "401"), Ordering::Relaxed);
        }
    }
}

#[test]
fn a_changed_file_takes_effect_and_a_broken_one_does_not() {
    if !have("curl") {
        return;
    }
    let files = Certificates::new();
    let served = Behind::start(&files, TLS);
    assert_eq!(&curl(&served, &[]).0[..3], "200");
    files.write("web.yml", "tls_server_config: {cert_file: gone.crt, key_file: server.key}\n");
    served.wait_for_log("web configuration refused");
    assert_eq!(&curl(&served, &[]).0[..3], "200");
    files.write("web.yml", "tls_server_config: [\n");
    served.wait_for_log("web.yml:");
    assert_eq!(&curl(&served, &[]).0[..3], "200");
    files.write("web.yml", &format!("{TLS}basic_auth_users: {{prometheus: '{HASH}'}}\n"));
    served.wait_for_log("read again");
    assert_eq!(&curl(&served, &[]).0[..3], "401");
    assert_eq!(&curl(&served, &["-u", "prometheus:test"]).0[..3], "200");
}

#[test]
fn a_connection_outlives_a_change_of_the_file() {
    let files = Certificates::new();
    let served = Behind::start(&files, "");
    let mut stream = client::connect(served.address);
    client::send(&mut stream, "GET", "/-/healthy", &[]);
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    assert_eq!(client::receive(&mut reader, "GET").status, 200);
    files.write("web.yml", &format!("basic_auth_users: {{prometheus: '{HASH}'}}\n"));
    served.wait_for_log("read again");
    client::send(&mut stream, "GET", "/-/healthy", &[]);
    assert_eq!(
        client::receive(&mut reader, "GET").status,
        401,
        "the same connection, the new users"
    );
}

/// Ends a load when it goes.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn certificates_change_under_load_without_a_failed_request() {
    if !have("curl") {
        return;
    }
    let files = Certificates::new();
    let served = Behind::start(&files, TLS);
    let before = files.read("server.crt");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Also where a check fails, or the load would never end.
        let _over = Over(&over);
        let load = scope.spawn(|| {
            let mut answered = 0;
            while !over.load(Ordering::Relaxed) {
                // Both certificates are of one authority.
                assert_eq!(&curl(&served, &[]).0[..3], "200");
                answered += 1;
            }
            answered
        });
        for _ in 0..3 {
            files.renew_server();
            served.wait_for_log("read again");
        }
        over.store(true, Ordering::Relaxed);
        println!("{} requests during 3 changes", load.join().unwrap());
    });
    assert_ne!(before, files.read("server.crt"));
    assert_eq!(&curl(&served, &[]).0[..3], "200");
}

#[test]
fn beyond_the_rate_is_429() {
    let files = Certificates::new();
    let served = Behind::start(&files, "rate_limit: {interval: 1h, burst: 3}\n");
    let statuses: Vec<u16> =
        (0..5).map(|_| client::get(served.address, "/-/healthy").status).collect();
    // The program's start was seen in its log, so that nothing has been asked before.
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
}

#[test]
fn many_idle_half_open_and_hostile_clients_leave_scrapes_alone() {
    let files = Certificates::new();
    let served = Behind::start(&files, "");
    let mut kept = Vec::new();
    for number in 0..500 {
        let mut stream = client::connect(served.address);
        if number % 2 == 0 {
            stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ").unwrap();
        }
        kept.push(stream);
    }
    let status = |bytes: &[u8]| {
        let mut stream = client::connect(served.address);
        // The server may answer and close before it has read all.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.take(64).read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).get(9..12).unwrap_or("").to_owned()
    };
    let long = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(100_000));
    assert_eq!(status(long.as_bytes()), "431");
    let many = format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "X: y\r\n".repeat(200));
    assert_eq!(status(many.as_bytes()), "431");
    for malformed in [
        "\0\0\0\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nA B: c\r\n\r\n",
    ] {
        assert_eq!(status(malformed.as_bytes()), "400", "{malformed:?}");
    }
    let since = Instant::now();
    for _ in 0..10 {
        assert_eq!(client::get(served.address, "/metrics").status, 200);
    }
    println!("10 scrapes beside {} connections: {:?}", kept.len(), since.elapsed());
    assert!(served.stop() < Duration::from_secs(5));
}

#[test]
fn promtool_and_we_take_the_examples() {
    let files = Certificates::new();
    for example in fs::read_dir("examples/web-config").unwrap() {
        let example = example.unwrap();
        let name = example.file_name().into_string().unwrap();
        files.write(&name, &fs::read_to_string(example.path()).unwrap());
        roce_exporter::http::access::Access::load(&files.path(&name)).map(drop).unwrap();
        // Debian's promtool is older than allowed names and rates.
        if name != "named-clients.yml" {
            promtool(&files.path(&name));
        }
    }
}

#[test]
fn prometheus_scrapes_with_all_of_it() {
    let files = Certificates::new();
    let served =
        Behind::start(&files, &format!("{MUTUAL}}}\nbasic_auth_users: {{prometheus: '{HASH}'}}\n"));
    prometheus_sees(&served, &files);
}
