//! sysfs trees as drivers make them, good and bad.

use std::fs;
use std::path::Path;

use super::*;

fn write(root: &Path, below: &str, text: &str) {
    let path = root.join(below);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read_all(set: &mut RdmaSysfs) -> Vec<(String, Reading)> {
    let names = set.names().unwrap();
    let wanted: Vec<u32> = (0..).take(names.len()).collect();
    let mut readings = vec![Reading::Missing(Reason::Panicked); names.len()];
    set.read(&wanted, &mut readings).unwrap();
    names.into_iter().zip(readings).collect()
}

fn port(root: &Path, device: &str) -> RdmaSysfs {
    RdmaSysfs::new(SysfsRoot::new(root), device.to_owned(), Some(1))
}

#[test]
fn c06_lifespan_is_a_setting_and_no_counter() {
    let tree = tempfile::tempdir().unwrap();
    let directory = "class/infiniband/mlx5_0/ports/1/hw_counters";
    write(tree.path(), &format!("{directory}/lifespan"), "10\n");
    write(tree.path(), &format!("{directory}/np_cnp_sent"), "30458349\n");
    write(tree.path(), &format!("{directory}/rx_write_requests"), "48014728\n");
    let mut set = port(tree.path(), "mlx5_0");
    let all = read_all(&mut set);
    assert_eq!(
        all,
        [
            ("rx_write_requests".to_owned(), Reading::Value(48_014_728)),
            ("np_cnp_sent".to_owned(), Reading::Value(30_458_349)),
        ],
        "the file that starts the kernel's cache comes first"
    );
    assert_eq!(set.cache_period(), Some(Duration::from_millis(10)));
}

#[test]
fn c01_c03_c04_a_bad_file_leaves_the_others_alone() {
    let tree = tempfile::tempdir().unwrap();
    let at = "class/infiniband/bnxt_re0/ports/1";
    write(tree.path(), &format!("{at}/counters/port_rcv_data"), "N/A (no PMA)\n");
    fs::create_dir_all(tree.path().join(format!("{at}/counters/port_xmit_data"))).unwrap();
    write(tree.path(), &format!("{at}/hw_counters/rx_bytes"), "7521781137064\n");
    let all = read_all(&mut port(tree.path(), "bnxt_re0"));
    assert_eq!(
        all,
        [
            ("rx_bytes".to_owned(), Reading::Value(7_521_781_137_064)),
            ("counters/port_xmit_data".to_owned(), Reading::Missing(Reason::Io)),
            ("counters/port_rcv_data".to_owned(), Reading::Missing(Reason::NotANumber)),
        ]
    );
}

#[test]
fn c02_a_device_without_a_counters_directory_has_what_it_has() {
    let tree = tempfile::tempdir().unwrap();
    write(tree.path(), "class/infiniband/irdma0/ports/1/hw_counters/cnpSent", "5\n");
    let all = read_all(&mut port(tree.path(), "irdma0"));
    assert_eq!(all, [("cnpSent".to_owned(), Reading::Value(5))]);
}

/// Descriptors of this process that lead below `root`.
fn open_below(root: &Path) -> usize {
    let all = fs::read_dir("/proc/self/fd").unwrap();
    all.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter(|target| target.starts_with(root))
        .count()
}

#[test]
fn c07_only_wanted_files_are_opened_and_each_once() {
    let tree = tempfile::tempdir().unwrap();
    for number in 0..300 {
        let at = format!("class/infiniband/hfi1_0/ports/1/hw_counters/n{number:03}");
        write(tree.path(), &at, &format!("{number}\n"));
    }
    let mut set = port(tree.path(), "hfi1_0");
    assert_eq!(set.names().unwrap().len(), 300);
    assert_eq!(open_below(tree.path()), 0);
    let mut readings = [Reading::Missing(Reason::Panicked); 3];
    for _ in 0..10 {
        set.read(&[7, 8, 299], &mut readings).unwrap();
        assert_eq!(open_below(tree.path()), 3);
    }
    assert_eq!(readings, [7, 8, 299].map(Reading::Value));
}

#[test]
fn c12_a_device_that_vanishes_is_gone_as_a_whole() {
    let tree = tempfile::tempdir().unwrap();
    write(tree.path(), "class/infiniband/mlx5_8/ports/1/hw_counters/np_cnp_sent", "1\n");
    let mut set = port(tree.path(), "mlx5_8");
    set.names().unwrap();
    fs::remove_dir_all(tree.path().join("class/infiniband/mlx5_8")).unwrap();
    let mut readings = [Reading::Value(0)];
    assert!(set.read(&[0], &mut readings).unwrap_err().is_gone());
    assert!(set.names().unwrap_err().is_gone());
}

#[test]
fn c14_a_listed_device_without_files_has_no_names() {
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir_all(tree.path().join("class/infiniband/mlx5_0/ports/1")).unwrap();
    assert_eq!(read_all(&mut port(tree.path(), "mlx5_0")), []);
}

#[test]
fn counters_of_the_device_itself_have_no_port_counters() {
    let tree = tempfile::tempdir().unwrap();
    write(tree.path(), "class/infiniband/mana_0/hw_counters/sent_cnps", "9\n");
    write(tree.path(), "class/infiniband/mana_0/ports/1/counters/port_rcv_data", "9\n");
    let mut set = RdmaSysfs::new(SysfsRoot::new(tree.path()), "mana_0".to_owned(), None);
    assert_eq!(read_all(&mut set), [("sent_cnps".to_owned(), Reading::Value(9))]);
}

#[test]
fn any_content_is_a_number_or_missing() {
    let tree = tempfile::tempdir().unwrap();
    let file = tree.path().join("class/infiniband/x/ports/1/hw_counters/n");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    proptest::proptest!(|(bytes: Vec<u8>)| {
        fs::write(&file, &bytes).unwrap();
        let all = read_all(&mut port(tree.path(), "x"));
        let text = String::from_utf8_lossy(&bytes);
        let trimmed = text.trim_ascii();
        if let Reading::Value(value) = all[0].1 {
            proptest::prop_assert!(trimmed.trim_start_matches('0').is_empty() || trimmed.trim_start_matches('0') == value.to_string());
        }
    });
}
