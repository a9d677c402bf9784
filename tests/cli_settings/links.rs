//! Flags and keys of links.

use std::fs;
use std::path::PathBuf;

use roce_exporter::config::LldpSource;

use super::{load, load_with_file};

#[test]
fn each_flag_of_links_is_heard() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("links.yml");
    fs::write(&file, "links: [{ends: [node1/eth0, leaf1/swp1]}]").unwrap();
    let (file, directory) = (file.display().to_string(), directory.path().display().to_string());
    let flags = ["--links.file", &file, "--links.host=node1", "--links.lldp=networkd"];
    let more = ["--links.lldp=lldpd", "--path.run", &directory];
    let links = load(&[&flags[..], &more].concat()).unwrap().links;
    assert_eq!((links.run, links.host.as_deref()), (PathBuf::from(&directory), Some("node1")));
    assert_eq!(links.lldp, [LldpSource::Networkd, LldpSource::Lldpd]);
    assert_eq!(&*links.links.unwrap().of_host("node1").first().unwrap().1.host, "leaf1");
}

#[test]
fn each_key_of_links_is_heard_and_judged() {
    let links = load_with_file("links: {host: node1, lldp: lldpd}", &[]).unwrap().links;
    assert_eq!((links.host.as_deref(), links.lldp), (Some("node1"), vec![LldpSource::Lldpd]));
    let faults = load_with_file("links: {host: a/b, lldp: [cdp], file: no-such.yml}", &[]);
    let faults = faults.unwrap_err().to_string();
    for key in ["links.host", "links.lldp", "links.file"] {
        assert!(faults.contains(key), "{key} is not in {faults}");
    }
}
