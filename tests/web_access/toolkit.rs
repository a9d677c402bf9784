//! Files of the shapes that the exporter-toolkit documents and tries: taken, or refused with a message that says why.

use roce_exporter::http::access::Access;

use crate::certificates::Certificates;

/// What becomes of a file.
enum Said {
    Taken,
    /// With this in the message.
    Refused(&'static str),
}
use Said::{Refused, Taken};

const PAIR: &str = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n";
const HASH: &str = "$2y$10$9BsHJW0oIhZToyXJ6CPCOupjcHUXhvJYrWJfBFuI1HHRCF8Tx2iw.";

/// Holds what is said of each file against what is expected. `+` at the beginning stands for a server's certificate
/// and key.
fn hold(cases: &[(&str, Said)]) {
    let files = Certificates::new();
    for (text, expected) in cases {
        let text = match text.strip_prefix('+') {
            Some(more) => format!("{PAIR}{more}"),
            None => (*text).to_owned(),
        };
        files.write("web.yml", &text);
        match (Access::load(&files.path("web.yml")), expected) {
            (Ok(_), Taken) => {}
            (Ok(_), Refused(part)) => panic!("taken, not refused for {part}:\n{text}"),
            (Err(error), Taken) => panic!("{error}:\n{text}"),
            (Err(error), Refused(part)) => {
                let error = error.to_string();
                assert!(error.contains(part), "{error}, not {part}:\n{text}");
                assert!(!error.contains(HASH), "a secret is told: {error}");
            }
        }
    }
}

#[test]
fn the_documented_keys_with_every_value_that_can_be_honoured() {
    hold(&[
        ("", Taken),
        ("+", Taken),
        ("+  client_auth_type: NoClientCert\n", Taken),
        ("+  client_auth_type: RequestClientCert\n", Taken),
        ("+  client_auth_type: RequireAnyClientCert\n", Taken),
        (
            "+  client_auth_type: \"RequireAndVerifyClientCert\"\n  client_ca_file: \"client-ca.crt\"\n",
            Taken,
        ),
        ("+  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: client-ca.crt\n", Taken),
        (
            "+  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: client-ca.crt\n  client_allowed_sans:\n  - \
          a.example.org\n  - 2001:db8::1\n  - spiffe://example.org/a\n",
            Taken,
        ),
        ("+  min_version: TLS12\n  max_version: TLS13\n", Taken),
        ("+  min_version: TLS13\n", Taken),
        (
            "+  prefer_server_cipher_suites: false\n  cipher_suites:\n  - TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256\n  - \
          TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384\n  - TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\n  - \
          TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384\n",
            Taken,
        ),
        ("+  curve_preferences: [X25519, CurveP384, CurveP256]\n", Taken),
        (
            "+  cert: \"\"\n  key: ''\n  client_ca: ''\n  client_auth_type: \"\"\n  min_version: ''\n",
            Taken,
        ),
        ("+http_server_config:\n  http2: false\n", Taken),
        // A number that is not written as text is one, too.
        (
            "http_server_config:\n  headers:\n    X-Frame-Options: sameorigin\n    X-Content-Type-Options: nosniff\n    \
          X-XSS-Protection: 1\n    Strict-Transport-Security: max-age=600; includeSubDomains\n    \
          Content-Security-Policy: \"default-src 'self'\"\n",
            Taken,
        ),
        ("http_server_config: {headers: {X-Frame-Options: }}\n", Taken),
        ("basic_auth_users: {}\n", Taken),
        (
            "basic_auth_users:\n  a: $2y$10$9BsHJW0oIhZToyXJ6CPCOupjcHUXhvJYrWJfBFuI1HHRCF8Tx2iw.\n  b: \
          \"$2a$04$9BsHJW0oIhZToyXJ6CPCOupjcHUXhvJYrWJfBFuI1HHRCF8Tx2iw.\"\n",
            Taken,
        ),
        ("rate_limit: {interval: 100ms, burst: 20}\n", Taken),
        ("rate_limit: {interval: 1h30m, burst: 1}\n", Taken),
        ("rate_limit: {interval: 0, burst: 0}\n", Taken),
        ("rate_limit: {interval: 0s}\n", Taken),
    ]);
}

#[test]
fn what_the_toolkit_refuses_is_refused() {
    hold(&[
        ("just a text\n", Refused("web.yml:1")),
        ("tls_server_confg: {}\n", Refused("tls_server_confg")),
        (
            "tls_server_config: {cert_file: '', key_file: server.key}\n",
            Refused("cert_file is missing"),
        ),
        (
            "tls_server_config: {cert_file: server.crt, key_file: ''}\n",
            Refused("key_file is missing"),
        ),
        ("tls_server_config: {cert: '', key_file: server.key}\n", Refused("cert_file is missing")),
        ("tls_server_config: {cert_file: gone.crt, key_file: server.key}\n", Refused("gone.crt")),
        ("tls_server_config: {cert_file: server.crt, key_file: gone.key}\n", Refused("gone.key")),
        (
            "tls_server_config: {cert_file: server.crt, key_file: client.key}\n",
            Refused("cert and key"),
        ),
        ("+  client_ca_file: client-ca.crt\n", Refused("client_auth_type")),
        ("+  client_auth_type: Always\n", Refused("must be NoClientCert")),
        (
            "+  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: gone.crt\n",
            Refused("gone.crt"),
        ),
        (
            "+  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: server.key\n",
            Refused("no certificate"),
        ),
        (
            "+  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: client-ca.crt\n  client_allowed_sans: [a]\n",
            Refused("RequireAndVerifyClientCert"),
        ),
        ("+  cipher_suites: [TLS_OF_MY_OWN]\n", Refused("\"TLS_OF_MY_OWN\" is not supported")),
        ("+  curve_preferences: [CurveOfMyOwn]\n", Refused("\"CurveOfMyOwn\" is not supported")),
        ("+  min_version: TLS111\n", Refused("min_version: must be TLS12 or TLS13")),
        ("+  min_version: TLS13\n  max_version: TLS12\n", Refused("below min_version")),
        (
            "http_server_config: {headers: {X-Content-Type-Options: sniff}}\n",
            Refused("must be nosniff"),
        ),
        (
            "http_server_config: {headers: {X-Frame-Options: always}}\n",
            Refused("deny or sameorigin"),
        ),
        ("http_server_config: {headers: {Cache-Control: no-store}}\n", Refused("cannot be set")),
        ("basic_auth_users: {a: secret}\n", Refused("no bcrypt hash")),
        ("rate_limit: {interval: often, burst: 1}\n", Refused("rate_limit.interval")),
    ]);
}

#[test]
fn what_rustls_lacks_or_we_do_not_honour_is_refused_by_name() {
    hold(&[
        // Taken by the toolkit.
        ("+  min_version: TLS10\n", Refused("versions below TLS 1.2 are not spoken")),
        (
            "+  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA]\n",
            Refused("_CBC_SHA\" is not supported; supported: "),
        ),
        (
            "+  cipher_suites: [TLS_RSA_WITH_AES_256_GCM_SHA384]\n",
            Refused("is not supported; supported: "),
        ),
        ("+  curve_preferences: [CurveP521]\n", Refused("\"CurveP521\" is not supported")),
        (
            "+  client_auth_type: RequireAnyClientCert\n  client_allowed_sans: [a]\n",
            Refused("client_allowed_sans: needs client_auth_type RequireAndVerifyClientCert"),
        ),
        (
            "+  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: client-ca.crt\n  client_allowed_sans: \
          [someone@example.org]\n",
            Refused("e-mail addresses"),
        ),
        ("+  client_auth_type: VerifyClientCertIfGiven\n", Refused("client_ca_file is missing")),
        ("+  cert: |\n    -----BEGIN CERTIFICATE-----\n", Refused("exclude each other")),
        (
            "basic_auth_users:\n  a: $2y$17$9BsHJW0oIhZToyXJ6CPCOupjcHUXhvJYrWJfBFuI1HHRCF8Tx2iw.\n",
            Refused("costs more than 16"),
        ),
        ("rate_limit: {interval: 1s}\n", Refused("burst: must be at least 1")),
        // Proposed for the toolkit, in no release of it that we know of.
        (
            "basic_auth_users: {}\nbasic_auth_excluded_paths: [/-/healthy]\n",
            Refused("basic_auth_excluded_paths"),
        ),
    ]);
}
