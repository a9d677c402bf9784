//! What this program was built from, as `build.rs` found it.
//!
//! For `--version`, the log's first line and `roce_exporter_build_info`. It holds no build date, so that the
//! same sources give the same program.

/// The build's facts. A fact that was not known at build time is `unknown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuildInfo {
    /// The package's version.
    pub version: &'static str,
    /// The git revision in full.
    pub revision: &'static str,
    /// The git branch; `HEAD` when none was checked out.
    pub branch: &'static str,
    /// The compiler's version.
    pub rustc: &'static str,
    /// The target triple.
    pub target: &'static str,
}

impl BuildInfo {
    /// The facts of this program.
    #[must_use]
    pub const fn current() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            revision: env!("ROCE_EXPORTER_BUILD_REVISION"),
            branch: env!("ROCE_EXPORTER_BUILD_BRANCH"),
            rustc: env!("ROCE_EXPORTER_BUILD_RUSTC"),
            target: env!("ROCE_EXPORTER_BUILD_TARGET"),
        }
    }
}

/// What follows the program's name in `--version`, in the shape that Prometheus' own programs print.
pub const VERSION_TEXT: &str = concat!(
    "version ",
    env!("CARGO_PKG_VERSION"),
    " (branch: ",
    env!("ROCE_EXPORTER_BUILD_BRANCH"),
    ", revision: ",
    env!("ROCE_EXPORTER_BUILD_REVISION"),
    ")\n  rustc:            ",
    env!("ROCE_EXPORTER_BUILD_RUSTC"),
    "\n  platform:         ",
    env!("ROCE_EXPORTER_BUILD_TARGET"),
);

#[cfg(test)]
mod tests {
    use super::{BuildInfo, VERSION_TEXT};

    #[test]
    fn every_fact_is_one_word_and_appears_in_the_version_text() {
        let BuildInfo { version, revision, branch, rustc, target } = BuildInfo::current();
        for fact in [version, revision, branch, rustc, target] {
            assert!(!fact.is_empty() && !fact.contains(char::is_whitespace), "{fact:?}");
            assert!(VERSION_TEXT.contains(fact), "{fact:?} is not in {VERSION_TEXT:?}");
        }
        assert!(rustc.starts_with(|digit: char| digit.is_ascii_digit()), "{rustc:?}");
    }
}
