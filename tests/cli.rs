//! The built program at its edges: exit codes, what goes to which stream, and outputs that nobody reads to the end.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests: the shared modules serve several test crates, and a panic is a failed test"
)]

mod program;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::process::{Command, Stdio};

use program::tree::Tree;
use program::{decode, once, run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_roce_exporter");

#[test]
fn bad_settings_end_with_code_2_and_are_all_listed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("roce.yml");
    fs::write(&file, "sampler:\n  interval: 1h\nno_such_section: 1\n").unwrap();
    let file = format!("--config.file={}", file.display());
    let flags =
        [file.as_str(), "--web.listen-address=nonsense", "--device.include=(", "--log.level=loud"];
    for command in [&["once"][..], &["--config.check"], &["decode", "--driver=ice"], &[]] {
        let ran = run(&[command, &flags].concat(), "rx_bytes: 1\n");
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{command:?}");
        let faults =
            ["roce.yml:2", "roce.yml:3", "--web.listen-address", "--device.include", "--log.level"];
        for fault in faults {
            assert_eq!(
                ran.log.lines().filter(|line| line.contains(fault)).count(),
                1,
                "{fault}: {}",
                ran.log
            );
        }
        assert_eq!(ran.log.lines().count(), faults.len(), "{}", ran.log);
    }
}

#[test]
fn an_unknown_flag_or_command_ends_with_code_2() {
    for arguments in [&["--no.such.flag"][..], &["no_such_command"], &["decode"], &["once", "more"]]
    {
        let ran = run(arguments, "");
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(ran.log.contains("--help"), "{}", ran.log);
    }
}

#[test]
fn a_faulty_catalogue_file_ends_with_code_2_and_its_lines() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.csv");
    fs::write(&file, "nonsense\n").unwrap();
    let ran = run(&["--config.check", "--catalogue.file", file.to_str().unwrap()], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.log.contains("mine.csv"), "{}", ran.log);
}

#[test]
fn good_settings_are_said_to_be_good_and_nothing_is_read() {
    for command in [&[][..], &["once"], &["decode", "--driver=ice"]] {
        let ran = run(&[command, &["--config.check"]].concat(), "");
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "settings are good\n"), "{command:?}");
        assert_eq!(ran.log, "");
    }
}

#[test]
fn version_has_the_shape_of_prometheus_programs() {
    let ran = run(&["--version"], "");
    assert_eq!((ran.code, ran.log.as_str()), (Some(0), ""));
    let shape = format!(
        r"\Aroce_exporter, version {} \(branch: \S+, revision: (unknown|[0-9a-f]{{40}})\)\n  rustc: +\d+\.\d+\.\d+\n  platform: +\S+\n\z",
        regex::escape(env!("CARGO_PKG_VERSION"))
    );
    assert!(regex::Regex::new(&shape).unwrap().is_match(&ran.out), "{}", ran.out);
}

#[test]
fn help_ends_with_code_0_and_names_every_command() {
    for flag in ["--help", "-h"] {
        let ran = run(&[flag], "");
        assert_eq!((ran.code, ran.log.as_str()), (Some(0), ""));
        for command in ["demo", "once", "decode"] {
            assert!(ran.out.contains(&format!("\n  {command} ")), "{}", ran.out);
        }
    }
}

#[test]
fn demo_lists_every_scenario_and_refuses_an_unknown_one() {
    let ran = run(&["demo", "--list"], "");
    assert_eq!((ran.code, ran.log.as_str()), (Some(0), ""));
    let listed: Vec<&str> = ran.out.lines().filter_map(|line| line.split(' ').next()).collect();
    let expected = [
        "calm",
        "incast",
        "slow-receiver",
        "nic-storm",
        "victim",
        "deadlock",
        "ecn-off",
        "cnp-lost",
        "wrong-priority",
        "one-sided",
        "deaf-nic",
        "priority-mismatch",
        "mtu-mismatch",
        "link-pause",
        "lossless-drops",
        "straggler",
        "chatter",
        "reset",
        "wrap",
        "unplug",
        "rename",
        "slow-read",
        "stale",
        "pfc-moved",
    ];
    assert_eq!(listed, expected);
    let ran = run(&["demo", "--scenario", "no-such"], "");
    assert_ne!(ran.code, Some(0));
    assert!(ran.log.contains("no-such"), "{}", ran.log);
}

#[test]
fn once_over_an_empty_sysfs_shows_the_exporter_alone() {
    let tree = Tree::new();
    let ran = once(tree.path(), &[]);
    let families = ran.families();
    let names: Vec<&str> = families.iter().map(|family| family.name.as_str()).collect();
    assert_eq!(names, ["roce_exporter_build_info", "roce_exporter_skipped_series"]);
    assert_eq!(ran.log, "");
}

#[test]
fn decode_of_no_counters_ends_with_code_1_and_says_why() {
    for text in [
        &b""[..],
        b"\n\n",
        b"ethtool: bad command line argument(s)\n",
        b"\xff\xfe\x00",
        b"no stats available\n",
    ] {
        let ran = decode("mlx5_core", text);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{text:?}");
        assert_eq!(ran.log, "roce_exporter: no line of the form `name: value` in the text\n");
    }
    let ran = run(&["decode", "--driver=ice", "/no/such/file"], "");
    assert_eq!(ran.code, Some(1));
    assert!(ran.log.starts_with("roce_exporter: /no/such/file: No such file"), "{}", ran.log);
}

#[test]
fn decode_reads_standard_input_a_dash_and_a_file_alike() {
    let text = "NIC statistics:\n     rx_prio3_pause: 7\n";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("capture.txt");
    fs::write(&file, text).unwrap();
    let of_file = run(&["decode", "--driver=mlx5_core", file.to_str().unwrap()], "");
    let labels = [("device", "decoded"), ("priority", "3"), ("direction", "rx")];
    assert_eq!(of_file.value("roce_pfc_pause_frames_total", &labels).as_deref(), Some("7"));
    assert_eq!(decode("mlx5_core", text).out, of_file.out);
    assert_eq!(run(&["decode", "--driver=mlx5_core", "-"], text).out, of_file.out);
}

#[test]
fn decode_reads_the_text_of_rdma_counters() {
    let arguments = ["decode", "--table=rdma", "--driver=mlx5_ib"];
    let ran = run(&arguments, "np_cnp_sent: 30458349\nrp_cnp_ignored: 0\n");
    assert_eq!(ran.value("roce_cnp_sent_total", &[]).as_deref(), Some("30458349"));
    assert_eq!(ran.value("roce_cnp_ignored_total", &[]).as_deref(), Some("0"));
}

#[test]
fn decode_says_what_it_left_out_and_why() {
    let text = "rx_prio3_pause: 1\nrx0_ecn_mark: 2\nrx_new_pause_thing: 3\nrx_bytes: 4\nrx_prio3_pause : 5\nx: 99999999999999999999\n";
    let expected = [
        "# not exported: rx0_ecn_mark: 2 (per ring, in rx_ecn_mark already)",
        "# not catalogued, looks related: rx_new_pause_thing: 3",
        "# not exported: rx_prio3_pause: 5 (a better source is there)",
        "# line 6 is no counter: x: 99999999999999999999",
    ];
    assert_eq!(decode("mlx5_core", text).remarks(), expected);
    let first = |driver| decode(driver, text).remarks()[0].to_owned();
    assert_eq!(first("mlx9"), "# driver \"mlx9\" is not in the catalogue by this name");
    assert_ne!(
        first("mlxsw_spectrum4"),
        "# driver \"mlxsw_spectrum4\" is not in the catalogue by this name"
    );
}

/// Runs the program with one of its streams closed at the far end.
fn with_closed(arguments: &[&str], stdout: bool) -> Option<i32> {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(PROGRAM);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if stdout {
        command.stdout(writer);
    } else {
        command.stderr(writer);
    }
    command.status().unwrap().code()
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let tree = Tree::new();
    let sysfs = format!("--path.sysfs={}", tree.path().display());
    let capture =
        format!("{}/tests/fixtures/mlx5_core-full/ethtool-S.txt", env!("CARGO_MANIFEST_DIR"));
    let runs = [
        &["once", &sysfs][..],
        &["decode", "--driver=mlx5_core", &capture],
        &["--config.check"],
        &["--version"],
        &["--help"],
    ];
    for arguments in runs {
        assert_eq!(with_closed(arguments, true), Some(0), "{arguments:?}");
    }
    for (arguments, code) in
        [(&["--raw.max=x"][..], 2), (&["decode", "--driver=x"], 1), (&["--nonsense"], 2)]
    {
        assert_eq!(with_closed(arguments, false), Some(code), "{arguments:?}");
    }
}

#[test]
fn a_reader_may_stop_after_the_first_line() {
    let capture =
        format!("{}/tests/fixtures/mlx5_core-full/ethtool-S.txt", env!("CARGO_MANIFEST_DIR"));
    let mut child = Command::new(PROGRAM)
        .args(["decode", "--driver=mlx5_core", &capture])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("# HELP roce_pfc_pause_frames_total "), "{line}");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
