//! NICs made by the module, as a test drives them, and the first look at one.

use std::collections::BTreeMap;
use std::fs;

use crate::exporter::Exporter;
use crate::modules;

const CONTROL: &str = "/sys/kernel/debug/fabric_nic/control";
const STATE: &str = "/sys/kernel/debug/fabric_nic/state";

/// Gives the module a command.
pub fn control(command: &str) {
    fs::write(CONTROL, command).unwrap_or_else(|error| panic!("{command}: {error}"));
}

/// What the module knows to be true: its lines of a NIC, each as words `key=value`.
pub fn truth(nic: &str) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(STATE).unwrap();
    let own = text.lines().filter_map(|line| line.strip_prefix(nic)?.strip_prefix(' '));
    let words = |line: &str| {
        let pairs = line.split(' ').filter_map(|word| word.split_once('='));
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    own.map(words).collect()
}

/// A NIC that goes when this is dropped.
pub struct Nic {
    pub name: &'static str,
}

impl Nic {
    /// Makes a NIC whose netdev has its name, and brings it up. `facts` are further words of the module's `add`.
    pub fn new(name: &'static str, driver: &str, facts: &str) -> Self {
        modules::load("fabric_nic");
        control(format!("add nic={name} netdev={name} driver={driver} {facts}").trim_end());
        let nic = Self { name };
        run("ip", &format!("link set {name} up"));
        nic
    }

    pub fn set(&self, words: &str) {
        control(&format!("set {} {words}", self.name));
    }

    pub fn counter(&self, name: &str, value: u64, per_second: u64) {
        control(&format!("counter {} {value} {per_second} {name}", self.name));
    }

    pub fn rdma_counter(&self, name: &str, value: u64, per_second: u64) {
        control(&format!("rdma_counter {} {value} {per_second} {name}", self.name));
    }

    /// A number that the module keeps of this NIC.
    pub fn number(&self, key: &str) -> u64 {
        truth(self.name)[0][key].parse().unwrap()
    }
}

impl Drop for Nic {
    fn drop(&mut self) {
        // A check may have removed it itself.
        let _ = fs::write(CONTROL, format!("remove {}", self.name));
    }
}

/// Runs a program and gives what it printed.
pub fn run(program: &str, arguments: &str) -> String {
    let output = std::process::Command::new(program).args(arguments.split_whitespace()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

pub fn a_nic_appears_with_its_families() {
    let nic = Nic::new("rail0", "mlx5_core", "rdma=mlx5_0 pfc=0x08");
    nic.counter("rx_prio3_pause", 4711, 0);
    nic.rdma_counter("np_cnp_sent", 815, 0);
    let exporter = Exporter::start(&[]);
    let scrape = exporter.scrape();
    let frames = [("device", "rail0"), ("priority", "3"), ("direction", "rx")];
    assert_eq!(scrape.expect("roce_pfc_pause_frames_total", &frames), 4711.0);
    let rdma = [("device", "rail0"), ("rdma_device", "mlx5_0"), ("port", "1")];
    assert_eq!(scrape.expect("roce_cnp_sent_total", &rdma), 815.0);
}
