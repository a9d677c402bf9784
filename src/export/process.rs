//! What this process costs, under the names that every Prometheus client uses.
//!
//! The figures come from procfs below a root that the caller gives, since a container may see the host's
//! procfs elsewhere. Each figure stands alone: one that cannot be read is absent and the others stay.

use std::path::Path;

use procfs::process::{LimitValue, Process, Stat};
use procfs::{FromReadSI, KernelStats};

/// Figures of this process; none where procfs does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessFigures {
    /// User and system time, in seconds.
    pub cpu_seconds: Option<f64>,
    /// Resident memory.
    pub resident_memory_bytes: Option<u64>,
    /// Virtual memory.
    pub virtual_memory_bytes: Option<u64>,
    /// When the process started, in seconds of Unix time.
    pub start_time_seconds: Option<f64>,
    /// Open file descriptors.
    pub open_fds: Option<u64>,
    /// Soft limit of open file descriptors; none where there is no limit.
    pub max_fds: Option<u64>,
    /// Threads.
    pub threads: Option<u64>,
}

impl ProcessFigures {
    /// Reads the figures of this process below `procfs_root`, normally `/proc`. Reads a few small files and
    /// may block for microseconds.
    #[must_use]
    pub fn read(procfs_root: &Path) -> Self {
        let Ok(process) = Process::new_with_root(procfs_root.join("self")) else {
            return Self::default();
        };
        let stat = process.stat().ok();
        let stat = stat.as_ref();
        Self {
            cpu_seconds: stat.map(|stat| seconds(stat.utime.saturating_add(stat.stime))),
            resident_memory_bytes: stat.map(|stat| stat.rss.saturating_mul(procfs::page_size())),
            virtual_memory_bytes: stat.map(|stat| stat.vsize),
            start_time_seconds: stat.and_then(|stat| start_time(procfs_root, stat)),
            open_fds: process.fd_count().ok().and_then(|count| u64::try_from(count).ok()),
            max_fds: process
                .limits()
                .ok()
                .and_then(|limits| limited(&limits.max_open_files.soft_limit)),
            threads: stat.and_then(|stat| u64::try_from(stat.num_threads).ok()),
        }
    }
}

fn start_time(procfs_root: &Path, stat: &Stat) -> Option<f64> {
    let kernel =
        KernelStats::from_file(procfs_root.join("stat"), procfs::current_system_info()).ok()?;
    let boot = std::time::Duration::from_secs(kernel.btime).as_secs_f64();
    Some(boot + seconds(stat.starttime))
}

#[allow(clippy::cast_precision_loss, reason = "ticks pass 2^53 after a million years")]
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / procfs::ticks_per_second() as f64
}

fn limited(limit: &LimitValue) -> Option<u64> {
    match limit {
        LimitValue::Value(value) => Some(*value),
        LimitValue::Unlimited => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_all_figures() {
        let figures = ProcessFigures::read(Path::new("/proc"));
        assert!(figures.cpu_seconds.is_some_and(|seconds| (0.0..86_400.0).contains(&seconds)));
        assert!(figures.resident_memory_bytes.is_some_and(|bytes| bytes > 100_000));
        assert!(figures.virtual_memory_bytes >= figures.resident_memory_bytes);
        assert!(figures.threads.is_some_and(|threads| threads >= 1));
        assert!(figures.open_fds.is_some_and(|count| count >= 3));
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        let age = now - figures.start_time_seconds.unwrap();
        assert!((-2.0..86_400.0).contains(&age), "started {age} s ago");
    }

    #[test]
    fn a_root_without_procfs_gives_nothing() {
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(ProcessFigures::read(empty.path()), ProcessFigures::default());
        assert_eq!(ProcessFigures::read(Path::new("/nonexistent")), ProcessFigures::default());
    }

    #[test]
    fn one_missing_file_takes_only_its_own_figures() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("4242")).unwrap();
        std::os::unix::fs::symlink("4242", root.path().join("self")).unwrap();
        std::fs::copy("/proc/self/limits", root.path().join("4242/limits")).unwrap();
        let figures = ProcessFigures::read(root.path());
        let real = ProcessFigures::read(Path::new("/proc"));
        assert_eq!(figures, ProcessFigures { max_fds: real.max_fds, ..ProcessFigures::default() });
    }
}
