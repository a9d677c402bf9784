//! NICs in other network namespaces, with the one feature that needs a capability.

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
#[path = "kernel/exporter.rs"]
mod exporter;
mod network_namespace;
#[path = "exposition/strict_parser.rs"]
mod strict_parser;

use exporter::{Exporter, copy_of_the_program, readable_by_all};
use network_namespace::{add_veth, attempt, in_namespace, ip};

/// A second namespace, removed when dropped.
struct Container(String);

impl Container {
    fn new(tag: &str) -> Self {
        let name = format!("roce-{}-{tag}-container", std::process::id());
        ip(&format!("netns add {name}"));
        Self(name)
    }

    /// Gives a device of the outer namespace to this one, up.
    fn give(&self, device: &str) {
        ip(&format!("link set {device} netns {}", self.0));
        ip(&format!("-n {} link set {device} up", self.0));
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // A test that removed it has nothing left to remove.
        let _ = attempt("ip", &format!("netns del {}", self.0));
    }
}

#[test]
fn a_nic_in_a_container_is_sampled_under_its_namespace_and_let_go_with_it() {
    in_namespace("netns", |namespace| {
        let container = Container::new("netns");
        add_veth("veth0", 1);
        add_veth("veth5", 1);
        container.give("veth5");
        let exporter = Exporter::start(namespace, &["--netns", &container.0]);
        let inside = format!("{}/veth5", container.0);
        exporter.wait_for("both are sampled", || {
            let devices = exporter.scrape().devices_with_statistics();
            devices.contains(&inside) && devices.contains(&"veth0".to_owned())
        });
        let scrape = exporter.scrape();
        assert!(!scrape.knows("veth5"), "its bare name is not this namespace's");
        assert_eq!(scrape.value("roce_port_up", &inside), Some(1.0));
        ip(&format!("netns del {}", container.0));
        exporter.wait_for("the namespace is let go", || !exporter.scrape().knows(&inside));
        // Its veth went with it, which takes its peer too: a namespace that something keeps alive would keep it.
        exporter
            .wait_for("the namespace has ended", || attempt("ip", "link show veth5-peer").is_err());
        assert!(exporter.scrape().knows("veth0") && exporter.is_healthy());
    });
}

#[test]
fn namespaces_are_found_by_their_processes_and_names() {
    in_namespace("allns", |namespace| {
        let container = Container::new("allns");
        add_veth("veth6", 1);
        container.give("veth6");
        let exporter = Exporter::start(namespace, &["--netns", "all"]);
        let inside = format!("{}/veth6", container.0);
        exporter.wait_for("it is found", || exporter.scrape().knows(&inside));
    });
}

#[test]
fn without_the_capability_the_rest_goes_on_and_the_log_says_what_is_missing() {
    in_namespace("nocap", |namespace| {
        let container = Container::new("nocap");
        add_veth("veth0", 1);
        let directory = tempfile::tempdir().unwrap();
        readable_by_all(directory.path());
        let program = copy_of_the_program(directory.path());
        let nobody = ["setpriv", "--reuid=65534", "--clear-groups", "--bounding-set=-all"];
        let exporter = Exporter::start_as(namespace, &nobody, &program, &["--netns", &container.0]);
        exporter.wait_for("its own NIC is sampled", || exporter.scrape().knows("veth0"));
        exporter.wait_for("the log says why", || exporter.log().contains("CAP_SYS_ADMIN"));
        assert!(exporter.is_healthy());
    });
}
