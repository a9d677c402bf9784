//! Who is at the other end of a link: from the links file, from the simulated fabric, and after a reload.

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
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use std::fs;

use fleet::Fleet;
use strict_parser::value;

#[test]
fn the_simulated_hosts_and_their_switch_know_each_other() {
    let fleet = Fleet::start(3, &["--hosts=2", "--switch", "--scenario=calm"]);
    assert_eq!(
        fleet.peers(0),
        [
            "eth0=switch0/swp1 simulation",
            "eth1=switch0/swp2 simulation",
            "eth2=switch0/swp3 simulation"
        ]
    );
    assert_eq!(fleet.peers(1), ["eth0=switch0/swp4 simulation", "eth1=switch0/swp5 simulation"]);
    let ports = fleet.peers(2);
    assert_eq!(ports.len(), 8, "{ports:?}");
    assert_eq!(ports[0], "swp1=host0/eth0 simulation");
    assert_eq!(ports[4], "swp5=host1/eth1 simulation");
}

#[test]
fn the_links_file_wins_and_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("links.yml");
    let write = |text: &str| fs::write(&file, text).unwrap();
    write("links: [{ends: [host0/eth0, leaf7/Ethernet1/1]}]");
    let name = file.display().to_string();
    let fleet = Fleet::start(1, &["--scenario=calm", "--links.file", &name]);
    let peers = |first: &str| vec![first.to_owned(), "eth1=switch0/swp2 simulation".to_owned()];
    let first_two = |fleet: &Fleet| fleet.peers(0)[..2].to_vec();
    assert_eq!(first_two(&fleet), peers("eth0=leaf7/Ethernet1/1 file"));

    write("links: [{ends: ['host{n}/eth0', 'leaf{n+1}/swp{n}'], with: {n: 0..9}}]");
    fleet.reload();
    fleet.wait_until("new links", |fleet| first_two(fleet) == peers("eth0=leaf1/swp0 file"));

    write("links: [{ends: [host0/eth0]}]");
    fleet.reload();
    fleet.wait_until("refusal", |fleet| fleet.log().contains("reload refused"));
    assert!(fleet.log().contains("must be a list of two"), "{}", fleet.log());
    assert_eq!(first_two(&fleet), peers("eth0=leaf1/swp0 file"), "the running links stay");

    write("");
    fleet.reload();
    fleet.wait_until("no links", |fleet| first_two(fleet) == peers("eth0=switch0/swp1 simulation"));
    assert!(fleet.log().contains("no link of this host"), "{}", fleet.log());
}

#[test]
fn a_bad_links_file_is_refused_at_start_with_all_faults() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("links.yml");
    fs::write(&file, "links:\n- ends: [a/b]\n- ends: [c, d/e]\n").unwrap();
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_roce_exporter"))
        .args(["--config.check", "--links.lldp=cdp", "--links.file"])
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{said}");
    for part in
        ["links.yml:2: links.ends: must be a list of two", "links.yml:3: ", "networkd, lldpd"]
    {
        assert!(said.contains(part), "{part} is not in {said}");
    }
}

#[test]
fn the_switch_counts_what_its_hosts_count_from_the_other_side() {
    let fleet = Fleet::start(2, &["--switch", "--scenario=mtu-mismatch"]);
    let sent = |server: usize, device: &str, direction: &str| {
        let labels = [("device", device), ("priority", "3"), ("direction", direction)];
        let found = value(&fleet.families(server), "roce_pfc_pause_frames_total", &labels);
        found.unwrap().parse::<f64>().unwrap()
    };
    fleet.wait_until("pause", |_| sent(0, "eth0", "tx") > 200.0);
    let (least, there, most) =
        (sent(0, "eth0", "tx"), sent(1, "swp1", "rx"), sent(0, "eth0", "tx"));
    // Either end's figures are of its last sample.
    assert!((least * 0.9..=most * 1.1).contains(&there), "{least} {there} {most}");
    let mtu = |server: usize, device: &str| {
        value(&fleet.families(server), "roce_mtu_bytes", &[("device", device)]).unwrap()
    };
    // The set-up is looked at every few seconds.
    fleet.wait_until("MTU", |_| mtu(0, "eth0") == "1500");
    assert_eq!(mtu(1, "swp1"), "9000");
}
