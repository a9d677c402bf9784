//! What a sample costs beside the least that must be done, by statistics and by RDMA ports.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use roce_exporter::model::{Reading, Reason};
use roce_exporter::source::{CounterSet, EthtoolSocket, RdmaSysfs, Request, SysfsRoot};

use crate::cost::{Bare, Planned, in_turns};
use crate::network_namespace::{add_veth, in_namespace};
use crate::report::{Report, Target};

/// Sample over bare call, from 300 statistics on. With fewer the call itself takes next to nothing.
const MOST: Target = Target::Most(1.15);
/// Queues of a veth device, for 10, 300, 3,000 and 18,000 statistics.
const QUEUES: [u32; 4] = [1, 33, 333, 2_000];
/// As many as mlx5 has.
const RDMA_COUNTERS: usize = 45;

pub fn measure(report: &mut Report) {
    report.section("A sample beside the bare system call");
    in_namespace("bench-read", |_| {
        for (place, queues) in QUEUES.into_iter().enumerate() {
            let device = format!("veth{place}");
            add_veth(&device, queues);
            ethtool(report, &device);
        }
    });
    report.section("RDMA counters from sysfs files, beside bare reads of the same files");
    for ports in [1, 8, 64] {
        rdma(report, ports);
    }
}

fn ethtool(report: &mut Report, device: &str) {
    let socket = EthtoolSocket::open().unwrap();
    let driver = socket.driver_info(device).unwrap().driver;
    let count = socket.statistics_count(device).unwrap();
    let mut bare = Bare { device, socket, count, request: Request::default() };
    let mut planned = Planned::new(device, &driver);
    let wanted = planned.sample.plan.wanted.len();
    let (bare, planned) = in_turns(&mut || bare.read(), &mut || planned.read());
    report.add(format!("{count} statistics, bare ioctl"), bare, "µs");
    report.add(format!("{count} statistics, {wanted} wanted, ours"), planned, "µs");
    let what = format!("{count} statistics, ratio");
    match count {
        0..100 => report.add(what, planned / bare, ""),
        _ => report.hold(what, planned / bare, "", MOST),
    }
}

fn rdma(report: &mut Report, ports: usize) {
    let root = tempfile::tempdir().unwrap();
    let (mut files, mut sets) = (Vec::new(), Vec::new());
    for port in 0..ports {
        let device = format!("mlx5_{port}");
        let directory = root.path().join(format!("class/infiniband/{device}/ports/1/hw_counters"));
        fs::create_dir_all(&directory).unwrap();
        for counter in 0..RDMA_COUNTERS {
            let path = directory.join(format!("rp_cnp_handled_{counter:02}"));
            fs::write(&path, format!("{}\n", 30_458_349 + counter)).unwrap();
            files.push(File::open(path).unwrap());
        }
        let mut set = RdmaSysfs::new(SysfsRoot::new(root.path()), device, Some(1));
        let names = set.names().unwrap().len();
        assert_eq!(names, RDMA_COUNTERS);
        sets.push(set);
    }
    let wanted: Vec<u32> = (0..).take(RDMA_COUNTERS).collect();
    let mut readings = [Reading::Missing(Reason::Invalid); RDMA_COUNTERS];
    let mut text = [0; 64];
    let mut bare = || {
        for file in &files {
            assert!(file.read_at(&mut text, 0).unwrap() > 0);
        }
    };
    let mut ours = || sets.iter_mut().for_each(|set| set.read(&wanted, &mut readings).unwrap());
    let (bare, ours) = in_turns(&mut bare, &mut ours);
    report.add(format!("{ports} ports of {RDMA_COUNTERS} counters, bare reads"), bare, "µs");
    report.add(format!("{ports} ports of {RDMA_COUNTERS} counters, ours"), ours, "µs");
    report.add(format!("{ports} ports, ratio"), ours / bare, "");
}
