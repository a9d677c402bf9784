//! YAML from files that people write. What a hostile one may cost is bounded: its size, its nodes, its depth, and
//! what aliases may multiply.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_saphyr::{MessageFormatter, Options, UserMessageFormatter};

/// What a file may cost to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Size of the file, in bytes.
    pub(crate) bytes: u64,
    /// YAML nodes, of which each value is one.
    pub(crate) nodes: usize,
}

impl Bounds {
    /// Far above any real settings file and far below what hurts.
    pub(crate) const SETTINGS: Self = Self { bytes: 1 << 20, nodes: 10_000 };
}

/// The text of a file of settings.
///
/// # Errors
/// Those of the system; also for a text that is too large or no UTF-8.
pub(crate) fn read_text(path: &Path, bounds: Bounds) -> io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(bounds.bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bounds.bytes {
        return Err(io::Error::other(format!("larger than {} bytes", bounds.bytes)));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("not valid UTF-8"))
}

/// What is wrong with the form of a YAML text, without a piece of it.
#[derive(Debug)]
pub(crate) struct YamlError {
    /// From 1; 0 where the fault has no line.
    pub(crate) line: u64,
    /// What is wrong.
    pub(crate) message: String,
}

/// Reads a text of YAML.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn from_yaml<T: DeserializeOwned>(text: &str, bounds: Bounds) -> Result<T, YamlError> {
    serde_saphyr::from_str_with_options(text, options(bounds.nodes)).map_err(|error| YamlError {
        line: error.location().map_or(0, |location| location.line()),
        message: UserMessageFormatter.format_message(error.without_snippet()).into_owned(),
    })
}

/// Merge keys and tags have no use here.
fn options(most_nodes: usize) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: most_nodes.saturating_mul(3),
            max_nodes: most_nodes,
            max_depth: 16,
            max_aliases: 100,
            max_anchors: 100,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 10_000,
            max_replay_stack_depth: 4,
        },
        merge_keys: serde_saphyr::options::MergeKeyPolicy::Error,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}
