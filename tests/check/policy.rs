//! The policy file: what it changes, what it refuses, and that its page tells the truth.

use std::fs;
use std::path::Path;

use roce_exporter::config::{Settings, parse_from};
use roce_exporter::engine::checks::{Allowed, DcbxOwner, Expected, Policy, Wanted};
use roce_exporter::model::{Priority, Trust};

use super::program::tree::Tree;
use super::{add_rail, check, finding};

/// Loads a policy; faults come one a line, without the file's directory.
fn load(text: &str) -> Result<Policy, Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("policy.yml");
    fs::write(&file, text).unwrap();
    let flag = format!("--policy.file={}", file.display());
    let loaded = Settings::load(&parse_from(["roce_exporter", flag.as_str()]).unwrap());
    loaded.map(|settings| Policy::clone(&settings.policy)).map_err(|errors| {
        let lines = errors.to_string();
        lines.lines().map(|line| line[line.find("policy.yml").unwrap()..].to_owned()).collect()
    })
}

#[test]
fn an_empty_policy_is_the_usual_set_up() {
    let policy = load("").unwrap();
    assert_eq!(policy.wanted, Wanted::DEFAULT);
    assert_eq!(policy.dscps(), [26, 48]);
}

#[test]
fn a_profile_changes_what_it_names_and_keeps_the_rest() {
    let policy = load(
        "roce_dscp: 24\nmtu_least: 9000\nprofiles:\n\
         - {name: storage, device: 'eth[12]', lossless_priorities: [4, 5], trust: pcp, cnp_dscp: 46}\n\
         - {name: rest, device: '.*', cnp_priority: 7, link_pause: any, ecn: any, dcbx: host,\n   \
         stall_prevention: any, roce_v2: any, cable_metres: 50, mtu_recommended: 9200}\n",
    )
    .unwrap();
    let (storage, name) = policy.of("eth1");
    assert_eq!(name, Some("storage"));
    let expected = Wanted {
        lossless: 0b11_0000,
        trust: Trust::Pcp,
        cnp_dscp: 46,
        roce_dscp: 24,
        mtu_least_bytes: 9_000,
        ..Wanted::DEFAULT
    };
    assert_eq!(*storage, expected);
    let (rest, name) = policy.of("eth10");
    assert_eq!(name, Some("rest"), "patterns match whole names");
    let expected = Wanted {
        roce_dscp: 24,
        mtu_least_bytes: 9_000,
        cnp_priority: Priority::ALL[7],
        link_pause: Allowed::Any,
        ecn: Expected::Any,
        dcbx: DcbxOwner::Host,
        stall_prevention: Expected::Any,
        roce_v2: Expected::Any,
        cable_metres: 50,
        mtu_recommended_bytes: 9_200,
        ..Wanted::DEFAULT
    };
    assert_eq!(*rest, expected);
    assert_eq!(policy.dscps(), [24, 46, 48]);
}

#[test]
fn all_faults_are_listed_at_once() {
    let faults = load(
        "lossless_priorities: [3, 8]\ntrust: vlan\nroce_dscp: 64\ncolour: red\nprofiles:\n\
         - name: a\n  device: '('\n  mtu_least: 10\n- name: b\n",
    )
    .unwrap_err();
    for part in [
        "policy.yml:1: lossless_priorities: \"8\": must be a whole number from 0 to 7",
        "policy.yml:2: trust: \"vlan\": must be one of dscp, pcp",
        "policy.yml:3: roce_dscp: \"64\": must be a whole number from 0 to 63",
        "policy.yml:4: colour: unknown key",
        "policy.yml:7: device: \"(\": must be a regular expression",
        "policy.yml:8: mtu_least: \"10\": must be a whole number from 68 to 65535",
        "policy.yml: device: must be given",
    ] {
        assert!(faults.iter().any(|line| line.starts_with(part)), "{part} is not in {faults:#?}");
    }
    assert_eq!(faults.len(), 7, "{faults:#?}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (text, part) in [
        ("lossless_priorities: [6]", "CNPs would be held"),
        ("cnp_priority: 3", "CNPs would be held"),
        ("mtu_recommended: 1500", "must not be above"),
        ("mtu_least: 9216", "must not be above"),
        ("device: eth0", "belongs to a profile"),
        ("lossless_priorities: []", "at least one"),
        ("profiles:\n- {name: a, device: b, profiles: [{name: c, device: d}]}", "no profiles"),
        ("profiles:\n- {name: a, device: b, profiles: [{ecn: any}]}", "no profiles"),
    ] {
        let faults = load(text).expect_err(text);
        assert!(faults.iter().any(|line| line.contains(part)), "{text}: {faults:?}");
    }
}

#[test]
fn the_command_judges_by_the_policy() {
    let tree = Tree::new();
    add_rail(&tree, 0);
    let file = tree.path().join("policy.yml");
    let flag = format!("--policy={}", file.display());
    let status = |text: &str| {
        fs::write(&file, text).unwrap();
        let ran = check(&tree, &[&flag, "--format=json"]);
        (ran.code, finding(&ran.out, "eth0", "ecn_reaction_point").map(|own| own.0))
    };
    assert_eq!(status(""), (Some(0), Some("ok".to_owned())));
    assert_eq!(status("lossless_priorities: [4]"), (Some(1), Some("warning".to_owned())));
    assert_eq!(status("lossless_priorities: [4]\necn: any"), (Some(0), Some("ok".to_owned())));
    assert_eq!(status("lossless_priorities: [9]"), (Some(2), None));
}

#[test]
fn the_page_shows_the_defaults_and_a_good_example() {
    let paper = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/policy.md");
    let paper = fs::read_to_string(paper).unwrap();
    let example = paper.split_once("```yaml\n").unwrap().1.split_once("```").unwrap().0;
    let policy = load(example).unwrap();
    assert_eq!(policy.wanted, Wanted::DEFAULT, "the top of the example is the defaults");
    assert_eq!(policy.profiles.len(), 2);
    let rows: Vec<(&str, &str)> = paper
        .lines()
        .filter_map(|line| {
            let (key, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
            Some((key, rest.split_once(" | ")?.0.trim_matches('`')))
        })
        .collect();
    for (key, default) in rows.iter().filter(|(key, _)| *key != "profiles") {
        assert!(example.contains(&format!("{key}: {default}\n")), "{key}: {default}");
    }
    assert_eq!(rows.len(), 14);
}
