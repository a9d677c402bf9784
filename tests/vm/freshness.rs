//! How fresh RDMA counters are: sysfs keeps them for a while, netlink asks the driver.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use roce_exporter::model::Reading;
use roce_exporter::source::{CounterSet, RdmaNetlink, RdmaSysfs, SysfsRoot};

use crate::exporter::Exporter;
use crate::nic::Nic;

const READS: usize = 300;

/// How many values 300 reads see, one each millisecond.
fn distinct_values(set: &mut dyn CounterSet, counter: &str) -> usize {
    let names = set.names().unwrap();
    let position = names.iter().position(|name| name == counter).unwrap();
    let wanted = [u32::try_from(position).unwrap()];
    let mut seen = BTreeSet::new();
    for _ in 0..READS {
        let mut readings = [Reading::Value(0)];
        set.read(&wanted, &mut readings).unwrap();
        if let Reading::Value(value) = readings[0] {
            seen.insert(value);
        }
        sleep(Duration::from_millis(1));
    }
    seen.len()
}

pub fn netlink_is_fresher_than_sysfs() {
    let nic = Nic::new("rail0", "mlx5_core", "rdma=mlx5_0");
    nic.rdma_counter("np_cnp_sent", 0, 1_000_000_000);
    let sysfs = SysfsRoot::new("/sys");
    let mut netlink = RdmaNetlink::open(&sysfs, "mlx5_0", 1).unwrap();
    let mut files = RdmaSysfs::new(sysfs, "mlx5_0".to_owned(), Some(1));
    let over_netlink = distinct_values(&mut netlink, "np_cnp_sent");
    let by_files = distinct_values(&mut files, "np_cnp_sent");
    println!(
        "{READS} reads, one a millisecond: {over_netlink} values over netlink, {by_files} by sysfs"
    );
    assert_eq!(over_netlink, READS);
    assert!(by_files * 2 < over_netlink, "{by_files}");
}

/// At 1 ms the driver is asked as often as samples are counted: no cache stands between.
pub fn each_sample_asks_the_driver() {
    let nic = Nic::new("rail0", "mlx5_core", "rdma=mlx5_0");
    let exporter = Exporter::start(&["--sampler.interval", "1ms"]);
    let labels = [("device", "rail0"), ("source", "rdma_netlink")];
    let count = || exporter.scrape().expect("roce_sampler_samples_total", &labels);
    // Reads that are under way while the two are asked for lie between a lower and an upper number.
    let reads = || nic.number("rdma_reads") as f64;
    let from = (reads(), count(), reads());
    sleep(Duration::from_secs(1));
    let to = (reads(), count(), reads());
    let samples = to.1 - from.1;
    let (least, most) = (to.0 - from.2, to.2 - from.0);
    println!("{samples} samples, {least} to {most} reads of the driver in a second");
    assert!(samples > 150.0, "{samples}");
    assert!((least - 2.0..=most + 2.0).contains(&samples), "{samples}, not {least} to {most}");
}
