//! The configuration in force, what it does to a request, and its change while connections live on.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rustls::ServerConfig;

use super::{Access, AccessError, Verdict};

/// How often files are looked at for a change.
const LOOK: Duration = Duration::from_secs(1);

const CHALLENGE: HeaderValue = HeaderValue::from_static("Basic");

/// The access in force. Connections keep what they were accepted with; users, headers and rate hold for the next
/// request of every connection.
pub struct Door {
    access: RwLock<Arc<Access>>,
    path: Option<PathBuf>,
}

impl Door {
    /// Lets everyone in, for ever.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn open() -> Result<Self, AccessError> {
        Ok(Self { access: RwLock::new(Arc::new(Access::open()?)), path: None })
    }

    /// Lets in whom the file says.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn of_file(path: &Path) -> Result<Self, AccessError> {
        let access = Arc::new(Access::load(path)?);
        Ok(Self { access: RwLock::new(access), path: Some(path.to_owned()) })
    }

    /// How a new connection is encrypted.
    pub(in crate::http) fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.access().tls()
    }

    fn access(&self) -> Arc<Access> {
        Arc::clone(&self.access.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the file again whenever it or a file that it names has changed. A bad one changes nothing and is said
    /// once. Never ends by itself; without a file it only waits.
    pub async fn follow(self: Arc<Self>) {
        let Some(path) = self.path.clone() else { return std::future::pending().await };
        let mut files = self.access().files.clone();
        let mut seen = marks(&path, &files);
        let mut ticks = tokio::time::interval(LOOK);
        loop {
            ticks.tick().await;
            let (at, named) = (path.clone(), files.clone());
            let looked = tokio::task::spawn_blocking(move || marks(&at, &named)).await;
            let Ok(now) = looked else { continue };
            if now == seen {
                continue;
            }
            let at = path.clone();
            let Ok(loaded) =
                tokio::task::spawn_blocking(move || Access::load_with_files(&at)).await
            else {
                continue;
            };
            match loaded {
                Ok(access) => {
                    files.clone_from(&access.files);
                    *self.access.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(access);
                    tracing::info!(file = %path.display(), "web configuration read again");
                }
                Err((named, error)) => {
                    // A file whose form is wrong names none: go on looking at those of the one in force.
                    if !named.is_empty() {
                        files = named;
                    }
                    tracing::error!(%error, "web configuration refused; the one before stays in force");
                }
            }
            // Taken again only where other files are named: a change during the load is seen at the next look.
            seen = if files.len() + 1 == now.len() { now } else { marks(&path, &files) };
        }
    }
}

/// What changes when a file does: place, size and both times. None for a file that cannot be seen.
type Mark = Option<(u64, u64, u64, i64, i64, i64, i64)>;

fn marks(path: &Path, files: &[PathBuf]) -> Vec<Mark> {
    let all = std::iter::once(path).chain(files.iter().map(PathBuf::as_path));
    let mark = |path: &Path| {
        let found = fs::metadata(path).ok()?;
        let times = (found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec());
        Some((found.dev(), found.ino(), found.len(), times.0, times.1, times.2, times.3))
    };
    all.map(mark).collect()
}

/// Lets a request through, or answers it: 429 beyond the rate, 401 without a user. Sets the file's headers on
/// every answer.
pub async fn guard(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let access = door.access();
    let mut response = if access.rate.as_ref().is_some_and(|rate| !rate.admits(Instant::now())) {
        (StatusCode::TOO_MANY_REQUESTS, "too many requests\n").into_response()
    } else {
        match access.users.judge(request.headers().get(header::AUTHORIZATION)).await {
            Verdict::Welcome => next.run(request).await,
            Verdict::Refused => {
                let challenge = [(header::WWW_AUTHENTICATE, CHALLENGE)];
                (StatusCode::UNAUTHORIZED, challenge, "unauthorized\n").into_response()
            }
            Verdict::Busy => {
                let text = "too many passwords are being checked\n";
                (StatusCode::TOO_MANY_REQUESTS, text).into_response()
            }
        }
    };
    for (name, value) in &access.headers {
        response.headers_mut().insert(name, value.clone());
    }
    response
}
