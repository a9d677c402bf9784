//! `roce_exporter pair` against simulated hosts and their switch, and against what can go wrong on the way to them.

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

#[path = "web/client.rs"]
mod client;
#[path = "links/fleet.rs"]
mod fleet;
#[path = "pair/servers.rs"]
mod servers;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use fleet::Fleet;
use serde_json::Value;

/// What a run left behind.
struct Ran {
    code: Option<i32>,
    out: String,
    log: String,
}

fn pair(arguments: &[&str]) -> Ran {
    let ran =
        Command::new(env!("CARGO_BIN_EXE_roce_exporter")).arg("pair").args(arguments).output();
    let ran = ran.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: ran.status.code(), out: text(ran.stdout), log: text(ran.stderr) }
}

fn end(address: SocketAddr, device: &str) -> String {
    format!("{address}/{device}")
}

/// The demo's first host and its switch in this scenario, once what it shows goes on.
fn demo(scenario: &str) -> Fleet {
    let fleet = Fleet::start(2, &["--switch", "--scenario", scenario]);
    // Scenarios begin after 2 s; how devices are set up is looked at every 5 s.
    sleep(Duration::from_secs(7));
    fleet
}

/// Measures host 0 `eth0` against its switch port for 4 s.
fn measured(fleet: &Fleet, more: &[&str]) -> Ran {
    let ends = [end(fleet.addresses[0], "eth0"), end(fleet.addresses[1], "swp1")];
    pair(&[&[ends[0].as_str(), &ends[1], "--for=4s"], more].concat())
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out)
        .unwrap_or_else(|error| panic!("{error}: {} {}", ran.out, ran.log))
}

#[test]
fn a_good_link_is_symmetric_and_a_different_mtu_is_told() {
    let fleet = demo("mtu-mismatch");
    let ran = measured(&fleet, &["--ignore=mtu"]);
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.log);
    assert!(ran.out.contains("OK: symmetric"), "{}", ran.out);
    assert!(ran.log.is_empty(), "no progress where there is no terminal: {}", ran.log);
    let ran = measured(&fleet, &["--format=json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    let told = json(&ran);
    assert_eq!(told["outcome"], "warning");
    let link = &told["links"][0];
    assert_eq!(link["verdict"], "symmetric");
    let differ = serde_json::json!([{"setting": "mtu", "part": "", "a": "1500", "b": "9000"}]);
    assert_eq!(link["differences"], differ);
    let flow = &link["priorities"][0]["a_to_b"];
    assert_eq!((&flow["unit"], flow["lost"].as_f64()), (&Value::from("frames"), Some(0.0)));
    assert!(flow["sent"].as_f64().unwrap() > 100.0, "{flow}");
}

#[test]
fn a_one_sided_link_says_which_end_is_deaf() {
    let ran = measured(&demo("one-sided"), &[]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    for part in ["CRITICAL: one-sided: priority 3: ", "/eth0 asks", "/swp1 misses 100 %", "pfc 3"] {
        assert!(ran.out.contains(part), "{part} is not in {}", ran.out);
    }
}

#[test]
fn a_nic_without_pfc_is_the_deaf_end() {
    let fleet = demo("deaf-nic");
    let ends = [end(fleet.addresses[0], "eth1"), end(fleet.addresses[1], "swp2")];
    let ran = pair(&[&ends[0], &ends[1], "--for=4s"]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    for part in ["CRITICAL: one-sided: priority 3: ", "/swp2 asks", "/eth1 misses 100 %", "pfc 3"] {
        assert!(ran.out.contains(part), "{part} is not in {}", ran.out);
    }
}

#[test]
fn ends_with_different_priorities_are_told() {
    let ran = measured(&demo("priority-mismatch"), &["--format=json"]);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    let link = &json(&ran)["links"][0];
    assert_eq!(link["verdict"], "different priorities", "{link}");
    let reason = link["reason"].as_str().unwrap();
    assert!(reason.contains("priority 3, ") && reason.contains("priority 4"), "{reason}");
    let differ: Vec<&Value> =
        link["differences"].as_array().unwrap().iter().map(|own| &own["part"]).collect();
    assert_eq!(differ, ["3", "4"], "{link}");
}

#[test]
fn a_quiet_link_proves_nothing_and_a_wrong_cable_is_told() {
    let fleet = demo("calm");
    let ends = [end(fleet.addresses[0], "eth2"), end(fleet.addresses[1], "swp8")];
    // Even a calm fabric pauses now and then, for less than a millisecond; most seconds are quiet.
    let quiet = |ran: &Ran| ran.out.contains("nothing is proved");
    let mut runs = (0..10).map(|_| pair(&[&ends[0], &ends[1], "--for=1s"]));
    let ran = runs.find(quiet).expect("ten seconds in a row with pause");
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.out.contains("cable peer") && ran.out.contains("switch0/swp3"), "{}", ran.out);
}

#[test]
fn counters_that_cannot_be_compared_are_said_so() {
    // The ionic NIC counts pause frames for the port as a whole and time per priority.
    let fleet = Fleet::start(3, &["--hosts=2", "--switch", "--scenario=slow-receiver"]);
    let ends = [end(fleet.addresses[1], "eth1"), end(fleet.addresses[2], "swp5")];
    let ran = pair(&[&ends[0], &ends[1], "--for=3s", "--format=json"]);
    let link = &json(&ran)["links"][0];
    let flow = &link["priorities"][0]["a_to_b"];
    assert_eq!(flow["unit"], "seconds", "{link}");
}

#[test]
fn many_links_from_a_file_are_checked_some_at_once() {
    let fleet = demo("one-sided");
    let (host, switch) = (fleet.addresses[0], fleet.addresses[1]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("links.yml");
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = format!(
        "links:\n\
         - ends: ['{host}/eth{{n-1}}', '{switch}/swp{{n}}']\n  with: {{n: 1..3}}\n\
         - ends: ['{dead}/eth0', '{switch}/swp4']\n"
    );
    fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    let started = Instant::now();
    let ran = pair(&["--pairs", &file, "--for=2s", "--at-once=2"]);
    let took = started.elapsed();
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(took > Duration::from_secs(4), "two at once: {took:?}");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 6, "{}", ran.out);
    assert!(lines[0].contains("/eth0") && lines[0].contains("CRITICAL"), "{}", ran.out);
    assert!(lines[3].contains("FAILED") && lines[3].contains("cannot be reached"), "{}", ran.out);
    assert!(lines[5].starts_with("4 links: "), "{}", ran.out);
}

#[test]
fn a_host_that_vanishes_midway_is_named_with_the_time() {
    let (stays, mut goes) = (demo("calm"), Fleet::start(1, &["--scenario=calm"]));
    let ends = [end(stays.addresses[0], "eth0"), end(goes.addresses[0], "eth0")];
    let ran = scope(|threads| {
        let running = threads.spawn(|| pair(&[&ends[0], &ends[1], "--for=30s"]));
        sleep(Duration::from_secs(3));
        goes.kill();
        running.join().unwrap()
    });
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.out.contains(&format!("FAILED: {} cannot be reached", ends[1])), "{}", ran.out);
    assert!(ran.out.contains("s after the start"), "{}", ran.out);
}

#[test]
fn what_is_no_exporter_is_told_from_one_that_lacks_the_device() {
    let exporter = Fleet::start(1, &["--scenario=calm"]);
    let good = end(exporter.addresses[0], "eth0");
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, device, message) in [
        (dead, "eth0", "cannot be reached"),
        (
            servers::plain("200 OK", "<html>hello</html>"),
            "eth0",
            "not a page of roce_exporter: line 1",
        ),
        (servers::plain("200 OK", "up 1\n"), "eth0", "it has no roce_exporter_build_info"),
        (servers::plain("200 OK", ""), "eth0", "it has no roce_exporter_build_info"),
        (servers::plain("404 Not Found", ""), "eth0", "404 Not Found: its metrics are elsewhere"),
        (servers::plain("500 Internal Server Error", ""), "eth0", "answers 500"),
        (servers::plain("302 Found", ""), "eth0", "answers 302"),
        (exporter.addresses[0], "eth9", "has no device \"eth9\"; it has eth0, eth1, eth2"),
    ] {
        let ran = pair(&[&good, &end(address, device), "--for=1s"]);
        assert_eq!(ran.code, Some(2), "{}", ran.out);
        let named = format!("FAILED: {address}/{device} ");
        assert!(ran.out.contains(&named) && ran.out.contains(message), "{message}: {}", ran.out);
    }
}

#[test]
fn tls_and_a_password_are_spoken_and_their_lack_is_told() {
    let fleet = demo("mtu-mismatch");
    // RFC 7617's own example.
    let authorization = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
    let (address, certificate) = servers::tls(fleet.addresses[0], authorization);
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("ca.pem"), certificate).unwrap();
    fs::write(path("password"), "open sesame\n").unwrap();
    fs::write(path("wrong"), "open barley\n").unwrap();
    let ends = [format!("https://{address}/eth0"), end(fleet.addresses[1], "swp1")];
    let run = |more: &[&str]| pair(&[&[ends[0].as_str(), &ends[1], "--for=2s"], more].concat());
    let (authorities, password) = (path("ca.pem"), path("password"));
    let login = ["--user=Aladdin", "--password-file", &password];

    let ran = run(&[&login[..], &["--ca-file", &authorities, "--ignore=mtu"]].concat());
    assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.log);

    let ran = run(&login);
    assert_eq!(ran.code, Some(2), "{}", ran.out);
    assert!(ran.out.to_lowercase().contains("certificate"), "{}", ran.out);

    let wrong = path("wrong");
    let login = ["--user=Aladdin", "--password-file", &wrong, "--ca-file", &authorities];
    for more in [&login[..], &["--ca-file", &authorities]] {
        let ran = run(more);
        assert_eq!(ran.code, Some(2), "{}", ran.out);
        assert!(ran.out.contains("401") && ran.out.contains("--password-file"), "{}", ran.out);
        assert!(!ran.out.contains("barley") && !ran.log.contains("barley"));
    }
}

#[test]
fn a_bad_command_line_lists_all_that_is_wrong() {
    let ran = pair(&["a", "b/c", "--for=1ms", "--format=xml", "--at-once=0", "--ignore=colour"]);
    assert_eq!(ran.code, Some(2));
    for part in ["HOST[:PORT]/DEVICE", "--for", "--format", "--at-once", "--ignore"] {
        assert!(ran.log.contains(part), "{part} is not in {}", ran.log);
    }
    for arguments in [&[][..], &["a/b"], &["a/b", "c/d", "e/f"], &["a/b", "c/d", "--user=x"]] {
        let ran = pair(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(!ran.log.is_empty(), "{arguments:?}");
    }
}
