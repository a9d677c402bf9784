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
