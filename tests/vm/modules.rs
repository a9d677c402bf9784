//! Kernel modules: loading them where a check wants them, and that the program itself loads none.

use std::fs;

use crate::exporter::Exporter;
use crate::nic::run;

/// Loads a module with those that it needs; nothing where it is there already.
pub fn load(module: &str) {
    let order = fs::read_to_string(format!("/modules/{module}.order")).unwrap();
    for one in order.split(' ').filter(|one| !is_loaded(one)) {
        run("insmod", &format!("/modules/{one}.ko"));
    }
}

fn is_loaded(module: &str) -> bool {
    let loaded = fs::read_to_string("/proc/modules").unwrap();
    loaded.lines().any(|line| line.split(' ').next() == Some(module))
}

/// Opening an RDMA netlink socket makes the kernel load `ib_core`; a host without RDMA must stay as it is.
pub fn rdma_modules_stay_unloaded() {
    assert!(!is_loaded("ib_core"), "something loaded it before");
    let exporter = Exporter::start(&[]);
    let scrape = exporter.scrape();
    assert!(scrape.value("roce_exporter_build_info", &[]).is_some());
    assert!(!is_loaded("ib_core"), "the program loaded ib_core:\n{}", exporter.log());
}

/// A whole host: eight NICs that are there from the module's beginning, and a driver that is unloaded while all are
/// sampled.
pub fn a_driver_is_loaded_with_its_nics_and_unloaded() {
    if is_loaded("fabric_nic") {
        run("rmmod", "fabric_nic");
    }
    load("ib_core");
    run("insmod", "/modules/fabric_nic.ko nics=8 driver=mlx5_core");
    for number in 0..8 {
        run("ip", &format!("link set rail{number} up"));
    }
    let exporter = Exporter::start(&[]);
    let scrape = exporter.scrape_until("sample of each", |scrape| {
        (0..8).all(|number| {
            let (device, rdma) = (format!("rail{number}"), format!("mlx5_{number}"));
            let info = [("device", device.as_str()), ("rdma_device", rdma.as_str())];
            let stale = |source| {
                scrape
                    .value("roce_device_stale", &[("device", device.as_str()), ("source", source)])
            };
            scrape.value("roce_device_info", &info) == Some(1.0)
                && stale("ethtool") == Some(0.0)
                && stale("rdma_netlink") == Some(0.0)
        })
    });
    println!("{} series of a host with 8 NICs", scrape.samples.len());
    // docs/metrics.md says about 2,600 for such a host.
    assert!((2_400..2_800).contains(&scrape.samples.len()), "{}", scrape.samples.len());
    run("rmmod", "fabric_nic");
    exporter.scrape_until("end of all", |scrape| {
        (0..8).all(|number| {
            !scrape.knows(&format!("rail{number}")) && !scrape.knows(&format!("mlx5_{number}"))
        })
    });
}
