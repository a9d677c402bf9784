//! Fetches metric pages, over HTTP or HTTPS, with a password if need be.
//!
//! A page is bounded in size and time. Redirects are not followed: the password is for the host that was named.

use std::sync::Arc;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use super::exposition::{Sample, parse};
use super::port::{self, Port};
use super::target::Target;

/// The longest that one page may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest page; 250 devices have some 10 MB.
const MOST_BYTES: u64 = 64 << 20;
/// What every page of this exporter has.
const OWN_METRIC: &str = "roce_exporter_build_info";

/// How to get at the exporters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// HTTPS where the target does not say.
    pub tls: bool,
    /// Certificate authorities to trust instead of the system's, as PEM.
    pub authorities: Option<Vec<u8>>,
    /// User and password.
    pub login: Option<(String, String)>,
    /// Port where the target has none.
    pub port: u16,
    /// Path of the metrics.
    pub path: String,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(super) enum PageError {
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    #[error("answers {0}")]
    Status(String),
    #[error("is not a page of roce_exporter: {0}")]
    Foreign(String),
    #[error("has no device {device:?}; it has {known}")]
    NoDevice { device: String, known: String },
}

/// A client for many pages.
#[derive(Clone, Debug)]
pub(super) struct Client {
    agent: ureq::Agent,
    access: Access,
}

impl Client {
    /// # Errors
    /// When the certificate authorities cannot be read.
    pub(super) fn new(access: &Access) -> anyhow::Result<Self> {
        let authorities = match &access.authorities {
            Some(pem) => certificates(pem)?,
            None => system_certificates(),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&authorities))
            .unversioned_rustls_crypto_provider(provider)
            .build();
        let config = ureq::Agent::config_builder()
            .tls_config(tls)
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            // The environment is not read: no proxy stands between a host and its switch.
            .proxy(None)
            .user_agent(concat!("roce_exporter/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self { agent: config.into(), access: access.clone() })
    }

    /// The device of `target` as it is now.
    pub(super) fn port(&self, target: &Target) -> Result<Port, PageError> {
        let page = self.page(target)?;
        let device = &target.device;
        port::of_page(&page, device).ok_or_else(|| {
            let known = port::devices(&page).join(", ");
            let known = if known.is_empty() { "none".to_owned() } else { known };
            PageError::NoDevice { device: device.clone(), known }
        })
    }

    fn page(&self, target: &Target) -> Result<Vec<Sample>, PageError> {
        let mut request = self
            .agent
            .get(self.url(target))
            .header("Accept", "text/plain;version=0.0.4;charset=utf-8");
        if let Some((user, password)) = &self.access.login {
            request = request.header("Authorization", basic(user, password));
        }
        let unreachable = |error: ureq::Error| PageError::Unreachable(error.to_string());
        let mut answer = request.call().map_err(unreachable)?;
        let status = answer.status();
        if !status.is_success() {
            let hint = match status.as_u16() {
                401 | 403 => ": it wants another user or password (--user, --password-file)",
                404 => ": its metrics are elsewhere (--web.telemetry-path)",
                _ => "",
            };
            return Err(PageError::Status(format!("{status}{hint}")));
        }
        let text = answer.body_mut().with_config().limit(MOST_BYTES).read_to_string();
        let page = parse(&text.map_err(unreachable)?)
            .map_err(|error| PageError::Foreign(error.to_string()))?;
        if page.iter().any(|sample| sample.name == OWN_METRIC) {
            Ok(page)
        } else {
            Err(PageError::Foreign(format!("it has no {OWN_METRIC}")))
        }
    }

    fn url(&self, target: &Target) -> String {
        let scheme = if target.tls.unwrap_or(self.access.tls) { "https" } else { "http" };
        let Access { port, path, .. } = &self.access;
        let port = if target.has_port { String::new() } else { format!(":{port}") };
        format!("{scheme}://{}{port}{path}", target.authority)
    }
}

fn certificates(pem: &[u8]) -> anyhow::Result<Vec<Certificate<'static>>> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) = item? {
            found.push(certificate);
        }
    }
    anyhow::ensure!(!found.is_empty(), "there is no certificate in it");
    Ok(found)
}

/// Those of the system that can be read; with none, no certificate will do.
fn system_certificates() -> Vec<Certificate<'static>> {
    let found = rustls_native_certs::load_native_certs().certs;
    found.iter().map(|own| Certificate::from_der(own.as_ref()).to_owned()).collect()
}

/// RFC 7617.
fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_written_as_the_rfc_has_it() {
        assert_eq!(basic("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }
}
