//! Who may talk to the server and how: TLS, users, headers and rate, by the exporter-toolkit's web configuration
//! file.
//!
//! [`Access`] is one checked file; [`Door`] holds the one in force, and takes a new one when a file changes.
//! Refuses fields that it cannot honour: a server that looks safer than it is helps nobody.

mod client_certificate;
mod door;
mod file;
mod rate;
mod tls;
mod users;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue};
use rustls::ServerConfig;

use file::{HttpSection, WebConfigFile};
use rate::RateLimit;
use users::{Users, Verdict};

pub use door::{Door, guard};

use crate::config::{Bounds, read_text};

/// Headers that the file may set, with the values that each may have; none for any.
const HEADERS: [(&str, &[&str]); 5] = [
    ("content-security-policy", &[]),
    ("strict-transport-security", &[]),
    ("x-content-type-options", &["nosniff"]),
    ("x-frame-options", &["deny", "sameorigin"]),
    ("x-xss-protection", &[]),
];

/// A checked web configuration.
pub struct Access {
    tls: Option<Arc<ServerConfig>>,
    users: Users,
    headers: Vec<(HeaderName, HeaderValue)>,
    rate: Option<RateLimit>,
    files: Vec<PathBuf>,
}

/// Why a web configuration cannot be used. Its text holds no secret.
#[derive(Debug, PartialEq, Eq)]
pub struct AccessError {
    file: PathBuf,
    line: u64,
    message: String,
}

impl fmt::Display for AccessError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.file.display())?;
        if self.line > 0 {
            write!(formatter, ":{}", self.line)?;
        }
        write!(formatter, ": {}", self.message)
    }
}

impl std::error::Error for AccessError {}

impl Access {
    /// Everyone may, in the clear.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn open() -> Result<Self, AccessError> {
        Self::check(&WebConfigFile::default(), Path::new("")).map_err(|(_, message)| AccessError {
            file: PathBuf::new(),
            line: 0,
            message,
        })
    }

    /// Reads and checks a file and the certificates that it names. Relative names are below the file's directory.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn load(path: &Path) -> Result<Self, AccessError> {
        Self::load_with_files(path).map_err(|(_, error)| error)
    }

    /// As [`Access::load`]; an error comes with the files that were named, so that their change can be waited for.
    fn load_with_files(path: &Path) -> Result<Self, (Vec<PathBuf>, AccessError)> {
        let fault = |line, message| AccessError { file: path.to_owned(), line, message };
        let text = read_text(path, Bounds::SETTINGS);
        let text = text.map_err(|error| (Vec::new(), fault(0, error.to_string())))?;
        let file = file::parse(&text);
        let file = file.map_err(|error| (Vec::new(), fault(error.line, error.message)))?;
        let directory = path.parent().unwrap_or(Path::new(""));
        Self::check(&file, directory).map_err(|(files, message)| (files, fault(0, message)))
    }

    fn check(file: &WebConfigFile, directory: &Path) -> Result<Self, (Vec<PathBuf>, String)> {
        let section = file.tls_server_config.as_ref();
        let files = section.map(|section| tls::files(section, directory)).unwrap_or_default();
        let made = || {
            let http2 = file.http_server_config.as_ref().and_then(|http| http.http2);
            let http2 = http2.unwrap_or(true);
            let tls = section.map(|section| tls::server_config(section, directory, http2));
            Ok(Self {
                tls: tls.transpose()?.flatten(),
                users: Users::new(file.basic_auth_users.clone().unwrap_or_default())?,
                headers: file
                    .http_server_config
                    .as_ref()
                    .map(headers)
                    .transpose()?
                    .unwrap_or_default(),
                rate: file.rate_limit.as_ref().map(RateLimit::new).transpose()?.flatten(),
                files: files.clone(),
            })
        };
        made().map_err(|message: String| (files.clone(), message))
    }

    /// How connections are encrypted; none for in the clear.
    pub(super) fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.tls.clone()
    }
}

fn headers(section: &HttpSection) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let empty = BTreeMap::new();
    let mut set = Vec::new();
    for (name, value) in section.headers.as_ref().unwrap_or(&empty) {
        let key = format!("http_server_config.headers.{name}");
        let lower = name.to_ascii_lowercase();
        let Some((known, allowed)) = HEADERS.iter().find(|(known, _)| *known == lower) else {
            let known: Vec<_> = HEADERS.iter().map(|(known, _)| *known).collect();
            return Err(format!("{key}: cannot be set; can be: {}", known.join(", ")));
        };
        let Some(value) = value.as_ref().filter(|value| !value.is_empty()) else { continue };
        if !allowed.is_empty() && !allowed.iter().any(|one| value.eq_ignore_ascii_case(one)) {
            return Err(format!("{key}: must be {}", allowed.join(" or ")));
        }
        let value = value.parse().map_err(|_| format!("{key}: not a header's value"))?;
        set.push((HeaderName::from_static(known), value));
    }
    Ok(set)
}

#[cfg(test)]
mod tests;
