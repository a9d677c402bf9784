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
    followed: Option<Followed>,
}

/// The files that a configuration came from, and how they looked before it was read, so that no change is missed.
#[derive(Clone)]
struct Followed {
    path: PathBuf,
    named: Vec<PathBuf>,
    seen: Vec<Mark>,
}

impl Door {
    /// Lets everyone in, for ever.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn open() -> Result<Self, AccessError> {
        Ok(Self { access: RwLock::new(Arc::new(Access::open()?)), followed: None })
    }

    /// Lets in whom the file says.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn of_file(path: &Path) -> Result<Self, AccessError> {
        let start = Followed { path: path.to_owned(), named: Vec::new(), seen: Vec::new() };
        let (access, followed) = start.read();
        Ok(Self { access: RwLock::new(Arc::new(access?)), followed: Some(followed) })
    }

    /// How a new connection is encrypted.
    pub(in crate::http) fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.access().tls()
    }

    pub(super) fn access(&self) -> Arc<Access> {
        Arc::clone(&self.access.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the file again whenever it or a file that it names has changed. A bad one changes nothing and is said
    /// once. Never ends by itself; without a file it only waits.
    pub async fn follow(self: Arc<Self>) {
        let Some(mut files) = self.followed.clone() else { return std::future::pending().await };
        let mut ticks = tokio::time::interval(LOOK);
        loop {
            ticks.tick().await;
            let looked = files.clone();
            let looked = tokio::task::spawn_blocking(move || {
                (marks(&looked.path, &looked.named) != looked.seen).then(|| looked.read())
            });
            let Ok(Some((loaded, now))) = looked.await else { continue };
            files = now;
            match loaded {
                Ok(access) => {
                    *self.access.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(access);
                    tracing::info!(file = %files.path.display(), "web configuration read again");
                }
                Err(error) => {
                    tracing::error!(%error, "web configuration refused; the one before stays in force");
                }
            }
        }
    }
}

impl Followed {
    /// Reads the configuration, once more where it names other files than before: how those looked has to be known
    /// from before they were read.
    fn read(&self) -> (Result<Access, AccessError>, Self) {
        let (access, now) = self.read_once();
        if now.named == self.named { (access, now) } else { now.read_once() }
    }

    fn read_once(&self) -> (Result<Access, AccessError>, Self) {
        let seen = marks(&self.path, &self.named);
        let (access, named) = match Access::load_with_files(&self.path) {
            Ok(access) => {
                let named = access.files.clone();
                (Ok(access), named)
            }
            // A file whose form is wrong names none: go on looking at those of the one in force.
            Err((named, error)) if named.is_empty() => (Err(error), self.named.clone()),
            Err((named, error)) => (Err(error), named),
        };
        (access, Self { path: self.path.clone(), named, seen })
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
