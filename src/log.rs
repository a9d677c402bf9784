//! The log: one line per event on standard error, as logfmt or JSON.
//!
//! The level holds for this program's own events; libraries may add warnings and errors. The environment is
//! not read. Never log per sample: a log line costs more than a read.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, Registry, reload};

use crate::config::{LogFormat, LogLevel, LogSettings};

/// Changes the level of the running log.
#[derive(Clone, Debug)]
pub struct LevelHandle {
    filter: reload::Handle<Targets, Registry>,
    level: Arc<Mutex<LogLevel>>,
}

impl LevelHandle {
    fn new(filter: reload::Handle<Targets, Registry>, level: LogLevel) -> Self {
        Self { filter, level: Arc::new(Mutex::new(level)) }
    }

    /// Sets the level for all events from now on.
    ///
    /// # Errors
    /// When the log is gone, as at the end of the program.
    pub fn set(&self, level: LogLevel) -> Result<(), reload::Error> {
        let mut own = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        self.filter.reload(targets(level))?;
        *own = level;
        Ok(())
    }

    /// Has the log say one level more, or less, and says so. At the last level nothing changes.
    pub fn step(&self, more: bool) {
        let own = *self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let place = LogLevel::ALL.iter().position(|level| *level == own).unwrap_or_default();
        // From debug, which says most, to error.
        let place = if more { place.checked_sub(1) } else { place.checked_add(1) };
        let Some(level) = place.and_then(|place| LogLevel::ALL.get(place)).copied() else { return };
        // Where it is heard at one of the two levels at least.
        let tell = || tracing::warn!(from = %own, to = %level, "log level changed by a signal");
        if !more {
            tell();
        }
        match self.set(level) {
            Ok(()) if more => tell(),
            Ok(()) => {}
            Err(error) => tracing::warn!(%error, "the log level stays"),
        }
    }
}

/// Starts the log of this process.
///
/// # Errors
/// When the process has a log already.
pub fn init(settings: LogSettings) -> Result<LevelHandle, TryInitError> {
    let (filter, handle) = reload::Layer::new(targets(settings.level));
    let lines = lines(settings.format, io::stderr);
    Registry::default().with(filter).with(lines).try_init()?;
    Ok(LevelHandle::new(handle, settings.level))
}

fn targets(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
    };
    let libraries = level.min(LevelFilter::WARN);
    Targets::new().with_default(libraries).with_target(env!("CARGO_CRATE_NAME"), level)
}

fn lines<S, W>(format: LogFormat, writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    // A line that cannot be written is lost. To report that on the same broken standard error would panic.
    match format {
        LogFormat::Logfmt => {
            tracing_logfmt::builder().layer().with_writer(writer).log_internal_errors(false).boxed()
        }
        LogFormat::Json => tracing_subscriber::fmt::layer()
            .json()
            .flatten_event(true)
            .with_writer(writer)
            .log_internal_errors(false)
            .boxed(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::{Registry, reload};

    use super::{LevelHandle, lines, targets};
    use crate::config::{LogFormat, LogLevel};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Written {
        fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
        }
    }

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Runs `events` under a log of this form and level.
    fn log(format: LogFormat, level: LogLevel, events: impl FnOnce(&LevelHandle, &Written)) {
        let written = Written::default();
        let writer = written.clone();
        let (filter, handle) = reload::Layer::new(targets(level));
        let subscriber =
            Registry::default().with(filter).with(lines(format, move || writer.clone()));
        tracing::subscriber::with_default(subscriber, || {
            events(&LevelHandle::new(handle, level), &written);
        });
    }

    #[test]
    fn logfmt_lines_carry_level_message_and_fields() {
        log(LogFormat::Logfmt, LogLevel::Info, |_, written| {
            tracing::info!(device = "eth 0", count = 3, "names\nchanged");
            let line = written.take();
            for part in
                ["level=info", r#"message="names\nchanged""#, r#"device="eth 0""#, "count=3", "ts="]
            {
                assert!(line.contains(part), "{part} is not in {line}");
            }
            assert_eq!(line.lines().count(), 1, "{line}");
        });
    }

    #[test]
    fn json_lines_are_objects() {
        log(LogFormat::Json, LogLevel::Info, |_, written| {
            tracing::warn!(device = "eth\"0", "lost");
            let line = written.take();
            assert!(line.starts_with('{') && line.ends_with("}\n"), "{line}");
            for part in [
                r#""level":"WARN""#,
                r#""message":"lost""#,
                r#""device":"eth\"0""#,
                r#""timestamp":""#,
            ] {
                assert!(line.contains(part), "{part} is not in {line}");
            }
        });
    }

    #[test]
    fn each_level_holds_back_what_is_less_severe_and_can_be_changed() {
        let say_all = || {
            tracing::error!("e");
            tracing::warn!("w");
            tracing::info!("i");
            tracing::debug!("d");
            tracing::trace!("t");
        };
        log(LogFormat::Logfmt, LogLevel::Debug, |handle, written| {
            for (level, expected) in [
                (LogLevel::Debug, 4),
                (LogLevel::Info, 3),
                (LogLevel::Warn, 2),
                (LogLevel::Error, 1),
            ] {
                handle.set(level).unwrap();
                say_all();
                assert_eq!(written.take().lines().count(), expected, "{level}");
            }
        });
    }

    #[test]
    fn each_step_is_told_and_the_last_levels_stay() {
        log(LogFormat::Logfmt, LogLevel::Info, |handle, written| {
            for (more, expected) in [
                (true, "from=info to=debug"),
                (true, ""),
                (false, "from=debug to=info"),
                (false, "from=info to=warn"),
                (false, "from=warn to=error"),
                (false, ""),
                (true, "from=error to=warn"),
            ] {
                handle.step(more);
                let line = written.take();
                assert!(line.contains(expected), "{line}");
                assert_eq!(line.lines().count(), usize::from(!expected.is_empty()), "{line}");
            }
            tracing::info!("i");
            assert_eq!(written.take(), "");
        });
    }

    #[test]
    fn libraries_are_heard_from_warnings_up() {
        log(LogFormat::Logfmt, LogLevel::Debug, |_, written| {
            tracing::info!(target: "hyper::proto", "connection");
            assert_eq!(written.take(), "");
            tracing::warn!(target: "hyper::proto", "broken");
            assert!(written.take().contains("broken"));
        });
    }
}
