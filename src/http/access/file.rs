//! The web configuration file as it was written: the exporter-toolkit's form, nothing judged but that.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::config::{Bounds, YamlError, from_yaml};

/// The whole file. A key that it does not have is refused, as by the exporter-toolkit.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WebConfigFile {
    pub(super) tls_server_config: Option<TlsSection>,
    pub(super) http_server_config: Option<HttpSection>,
    pub(super) basic_auth_users: Option<BTreeMap<String, String>>,
    pub(super) rate_limit: Option<RateSection>,
}

/// `tls_server_config`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TlsSection {
    pub(super) cert: Option<String>,
    pub(super) cert_file: Option<String>,
    pub(super) key: Option<String>,
    pub(super) key_file: Option<String>,
    pub(super) client_auth_type: Option<String>,
    pub(super) client_ca: Option<String>,
    pub(super) client_ca_file: Option<String>,
    pub(super) client_allowed_sans: Option<Vec<String>>,
    pub(super) min_version: Option<String>,
    pub(super) max_version: Option<String>,
    pub(super) cipher_suites: Option<Vec<String>>,
    pub(super) prefer_server_cipher_suites: Option<bool>,
    pub(super) curve_preferences: Option<Vec<String>>,
}

/// `http_server_config`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct HttpSection {
    pub(super) http2: Option<bool>,
    pub(super) headers: Option<BTreeMap<String, Option<String>>>,
}

/// `rate_limit`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RateSection {
    pub(super) interval: Option<String>,
    pub(super) burst: Option<u32>,
}

/// Reads the file's text; an empty one asks for nothing.
///
/// # Errors
/// What is wrong with its form, with the line where there is one. Never quotes the text, which holds secrets.
pub(super) fn parse(text: &str) -> Result<WebConfigFile, YamlError> {
    Ok(from_yaml::<Option<WebConfigFile>>(text, Bounds::SETTINGS)?.unwrap_or_default())
}
