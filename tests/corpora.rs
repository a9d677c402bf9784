//! Every input in the fuzzers' corpora, through the functions that they fuzz.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests: a panic is a failed test"
)]

#[path = "../fuzz/bodies.rs"]
mod bodies;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// A corpus is a handful of small files, in bytes.
const LARGEST: u64 = 4_096;

type Body = fn(&[u8]);

const BODIES: [(&str, Body); 18] = [
    ("accept_header", bodies::accept_header),
    ("catalogue_file", bodies::catalogue_file),
    ("ethtool_names", bodies::ethtool_names),
    ("ethtool_text", bodies::ethtool_text),
    ("exposition_page", bodies::exposition_page),
    ("http_request", bodies::http_request),
    ("links_file", bodies::links_file),
    ("lldp_frames", bodies::lldp_frames),
    ("lldp_json", bodies::lldp_json),
    ("netlink_dcb", bodies::netlink_dcb),
    ("netlink_generic", bodies::netlink_generic),
    ("netlink_link", bodies::netlink_link),
    ("netlink_messages", bodies::netlink_messages),
    ("netlink_rdma", bodies::netlink_rdma),
    ("recording", bodies::recording),
    ("settings_file", bodies::settings_file),
    ("sysfs_number", bodies::sysfs_number),
    ("web_configuration", bodies::web_configuration),
];

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn each_target_has_a_corpus_and_a_test() {
    let stems = |below: &str| -> BTreeSet<String> {
        let files = files_in(&fuzz().join(below)).into_iter();
        files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let tested = BODIES.map(|(target, _)| target.to_owned());
    assert_eq!(stems("targets"), tested.clone().into());
    assert_eq!(stems("corpus"), tested.into());
}

#[test]
fn every_input_is_survived_whole_and_cut() {
    for (target, body) in BODIES {
        let files = files_in(&fuzz().join("corpus").join(target));
        assert!(files.len() >= 3, "{target}: {files:?}");
        for file in files {
            let bytes = fs::read(&file).unwrap();
            assert!(bytes.len() as u64 <= LARGEST, "{}: {} bytes", file.display(), bytes.len());
            for length in [bytes.len(), bytes.len() / 2, bytes.len().saturating_sub(1)] {
                let survived = catch_unwind(AssertUnwindSafe(|| body(&bytes[..length])));
                assert!(survived.is_ok(), "{}: {length} bytes", file.display());
            }
        }
    }
}
