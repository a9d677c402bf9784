//! How many files the process may have open, and how many of them connections may take.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::http::MOST_CONNECTIONS;

/// Raises the limit of open files as far as any process may, and tells how many connections fit: the other half is
/// for counters, listeners and files.
pub(super) fn connections() -> u32 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = u64::from(MOST_CONNECTIONS) * 2;
    let reachable = maximum.unwrap_or(u64::MAX).min(wanted);
    let mut limit = current.unwrap_or(u64::MAX);
    if limit < reachable {
        let raised = Rlimit { current: Some(reachable), maximum };
        match setrlimit(Resource::Nofile, raised) {
            Ok(()) => limit = reachable,
            Err(error) => tracing::debug!(%error, "the limit of open files stays"),
        }
    }
    let most = share(limit);
    if most < MOST_CONNECTIONS {
        tracing::info!(
            connections = most,
            open_files = limit,
            "fewer connections than usual, by the limit of open files"
        );
    }
    most
}

fn share(open_files: u64) -> u32 {
    u32::try_from(open_files / 2).unwrap_or(u32::MAX).clamp(1, MOST_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::{MOST_CONNECTIONS, share};

    #[test]
    fn half_of_the_files_and_never_more_than_the_server_takes() {
        let shares = [0, 64, 256, 4_000, u64::MAX].map(share);
        assert_eq!(shares, [1, 32, 128, MOST_CONNECTIONS, MOST_CONNECTIONS]);
    }
}
