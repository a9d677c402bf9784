//! What is shown of the truth, and the scenarios in which the reading is in trouble.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use roce_exporter::model::{Monotonic, Priority, Reading, Reason, SourceKind};
use roce_exporter::source::simulated::{Simulation, SimulationError, SimulationOptions};
use roce_exporter::source::{Host, SourceError};
use rustix::io::Errno;

use crate::bench::{
    BNXT, Bench, ICE, MILLISECOND, MLX5, PEER, Reader, SECOND, START, THREE, errno_of, feed_of,
};

#[test]
fn mlx5_shows_the_truth_in_whole_microseconds() {
    let bench = Bench::new("slow-receiver", 5);
    let mut reader = bench.reader(MLX5, SourceKind::Ethtool);
    let mut shown_last = 0;
    for step in 1..=400 {
        bench.set(step * 10 * MILLISECOND + step * 7);
        let shown = reader.read("tx_prio3_pause_duration");
        let truth = bench.truth(MLX5).priority(THREE);
        assert_eq!(shown, truth.tx.paused_ns / 1_000);
        assert_eq!(reader.read("tx_prio3_pause"), truth.tx.xoff_frames + truth.tx.xon_frames);
        assert_eq!(reader.read("rx_prio3_pause_duration"), truth.rx.paused_ns / 1_000);
        assert_eq!(reader.read("rx_prio3_pause_transition"), truth.rx.ends);
        assert_eq!(reader.read("rx_prio3_bytes"), truth.rx_bytes);
        shown_last = shown;
    }
    assert!(shown_last > 100_000, "only {shown_last} µs paused");
}

#[test]
fn ice_counts_a_traffic_class_in_unison() {
    let bench = Bench::new("incast", 9);
    let mut reader = bench.reader(ICE, SourceKind::Ethtool);
    bench.set(6 * SECOND);
    let [two, three, zero] =
        [2, 3, 0].map(|number| reader.read(&format!("rx_priority_{number}_xoff.nic")));
    assert!(three > 100);
    assert_eq!((two, zero), (three, 0));
    let truth = bench.truth(ICE).priority(THREE);
    assert_eq!(three, truth.rx.xoff_frames);
    assert_eq!(reader.read("rx_priority_3_xon.nic"), truth.rx.xon_frames);
    assert!(!reader.names.iter().any(|name| name.contains("duration")));
}

#[test]
fn c20_the_counters_of_both_ends_show_which_loop_is_open() {
    let shown = |scenario: &str| {
        let bench = Bench::new(scenario, 11);
        bench.set(6 * SECOND);
        let held = bench.reader(MLX5, SourceKind::Ethtool).read("rx_prio3_pause_duration");
        let handled = bench.reader(MLX5, SourceKind::RdmaSysfs).read("rp_cnp_handled");
        let mut receiver = bench.reader(PEER, SourceKind::RdmaSysfs);
        let marked = receiver.read("np_ecn_marked_roce_packets");
        (held, [handled, receiver.read("np_cnp_sent"), marked].map(|count| count > 100))
    };
    let (closed, all) = shown("incast");
    assert_eq!(all, [true; 3], "handled, sent, marked");
    for (scenario, expected) in [("ecn-off", [false; 3]), ("cnp-lost", [false, true, true])] {
        let (held, counted) = shown(scenario);
        assert_eq!(counted, expected, "{scenario}: handled, sent, marked");
        assert!(held > 5 * closed, "{scenario}: pause does all the work: {held}, {closed}");
    }
}

#[test]
fn bnxt_is_a_staircase_of_one_second() {
    let bench = Bench::new("straggler", 4);
    let mut reader = bench.reader(BNXT, SourceKind::Ethtool);
    let mut values = Vec::new();
    for step in 30..=79 {
        bench.set(step * 100 * MILLISECOND + MILLISECOND);
        values.push(reader.read("pfc_pri3_tx_duration_us"));
    }
    let distinct: BTreeSet<u64> = values.iter().copied().collect();
    assert_eq!(distinct.len(), 5, "{values:?}");
    for second in values.chunks(10) {
        assert!(second.iter().all(|value| *value == second[0]), "{values:?}");
    }
}

#[test]
fn i40e_wraps_at_32_bits() {
    let bench = Bench::new("wrap", 4);
    let mut reader = bench.reader((2, 0), SourceKind::Ethtool);
    let mut wrapped = false;
    let mut last = reader.read("port.tx_priority_3_xoff_tx");
    assert!(last >= u64::from(u32::MAX) - 2_000, "{last}");
    for step in 1..=200 {
        bench.set(step * 100 * MILLISECOND);
        let value = reader.read("port.tx_priority_3_xoff_tx");
        assert!(u32::try_from(value).is_ok(), "{value}");
        wrapped |= value < last;
        last = value;
    }
    assert!(wrapped);
    let truth = bench.truth((2, 0)).priority(THREE).tx.xoff_frames;
    assert_eq!(last, (u64::from(u32::MAX) - 2_000 + truth) % (1 << 32));
}

#[test]
fn pfc_moves_without_another_number_of_names() {
    let bench = Bench::new("pfc-moved", 4);
    let host = bench.host(0);
    let epoch = host.names_epoch();
    let mut reader = bench.reader(MLX5, SourceKind::Ethtool);
    let before = epoch.load(Ordering::Acquire);
    let position = reader.position("tx_prio3_pause_duration");
    bench.set(9 * SECOND);
    assert!(reader.read("tx_prio3_pause_duration") > 0);
    assert_eq!(epoch.load(Ordering::Acquire), before);

    bench.set(10 * SECOND + 1);
    let mut reading = [Reading::Missing(Reason::Io)];
    reader.set.read(&[position], &mut reading).unwrap();
    assert!(epoch.load(Ordering::Acquire) > before, "nobody was told");
    let truth = bench.truth(MLX5);
    assert_eq!(reading[0].value().unwrap(), truth.priority(Priority::ALL[4]).tx.paused_ns / 1_000);

    let names = reader.set.names().unwrap();
    assert_eq!(names.len(), reader.names.len());
    assert_eq!(names[usize::try_from(position).unwrap()], "tx_prio4_pause_duration");
}

#[test]
fn link_pause_brings_new_names_and_the_reader_is_told() {
    let bench = Bench::new("link-pause", 4);
    let mut reader = bench.reader(MLX5, SourceKind::Ethtool);
    assert!(reader.read_all().is_ok());
    bench.set(3 * SECOND);
    assert_eq!(reader.read_all(), Err(SourceError::NamesChanged));
    assert_eq!(reader.read_all(), Err(SourceError::NamesChanged));
    reader.names = reader.set.names().unwrap();
    bench.set(4 * SECOND);
    assert!(reader.read("tx_global_pause_duration") > 0);
    let truth = bench.truth(MLX5);
    let frames = truth.link_tx.frames() + truth.priority(THREE).tx.frames();
    assert_eq!(reader.read("tx_pause_ctrl_phy"), frames);
}

#[test]
fn an_unplugged_device_is_gone_and_comes_back_as_another() {
    let bench = Bench::new("unplug", 4);
    let host = bench.host(0);
    let feed = feed_of(&host, "eth0", SourceKind::Ethtool).unwrap();
    let rdma = feed_of(&host, "eth0", SourceKind::RdmaSysfs).unwrap();
    let was = host.discover().devices[0].incarnation;
    let (mut reader, mut rdma_reader) = (Reader::open(&host, &feed), Reader::open(&host, &rdma));
    bench.set(9 * SECOND);
    let old = reader.read("rx_prio3_bytes");
    bench.set(11 * SECOND);
    for gone in [&mut reader, &mut rdma_reader] {
        let error = gone.read_all().unwrap_err();
        assert_eq!(errno_of(&error), Some(Errno::NODEV));
        assert!(error.is_gone());
    }
    assert_eq!(host.discover().devices.len(), 2);
    assert!(host.open(&feed).is_err());

    bench.set(21 * SECOND);
    let device = host.discover().devices.swap_remove(0);
    assert_eq!(&*device.device, "eth0");
    assert_ne!(device.incarnation, was);
    assert!(reader.read_all().is_err(), "the old handle must not reach the new device");
    assert!(rdma_reader.read_all().is_err(), "the old handle must not reach the new device");
    let new = Reader::open(&host, &feed).read("rx_prio3_bytes");
    assert!(new > 0 && new < old, "{new} against {old}");
}

#[test]
fn a_renamed_device_keeps_its_incarnation() {
    let bench = Bench::new("rename", 4);
    let host = bench.host(0);
    let was = host.discover().devices[0].incarnation;
    let mut reader = bench.reader(MLX5, SourceKind::Ethtool);
    let mut rdma_reader = bench.reader(MLX5, SourceKind::RdmaSysfs);
    bench.set(11 * SECOND);
    let error = reader.read_all().unwrap_err();
    assert_eq!(errno_of(&error), Some(Errno::NODEV));
    assert!(rdma_reader.read_all().is_ok());
    let found = host.discover();
    let renamed = found.devices.iter().find(|device| &*device.device == "storage0").unwrap();
    assert_eq!(renamed.incarnation, was);
    assert!(feed_of(&host, "eth0", SourceKind::Ethtool).is_none());
    let feed = feed_of(&host, "storage0", SourceKind::Ethtool).unwrap();
    assert!(Reader::open(&host, &feed).read("rx_prio3_bytes") > 0);
}

#[test]
fn a_slow_read_waits_and_shows_the_end_of_the_wait() {
    let bench = Bench::new("slow-read", 4);
    let mut reader = bench.reader(MLX5, SourceKind::Ethtool);
    bench.set(4 * SECOND);
    reader.read("rx_prio3_bytes");
    assert!(bench.slept.lock().unwrap().is_empty());
    bench.set(6 * SECOND);
    let shown = reader.read("rx_prio3_bytes");
    assert_eq!(*bench.slept.lock().unwrap(), [Duration::from_millis(20)]);
    assert_eq!(bench.clock.load(Ordering::Relaxed), START + 6 * SECOND + 20 * MILLISECOND);
    assert_eq!(shown, bench.truth(MLX5).priority(THREE).rx_bytes);
    let fabric = bench.simulation.fabric();
    assert_eq!(fabric.lock().unwrap().now().as_nanos(), START + 6 * SECOND + 20 * MILLISECOND);
}

#[test]
fn stale_counters_stand_still_then_fail_then_catch_up() {
    let bench = Bench::new("stale", 4);
    let mut readers =
        [bench.reader(MLX5, SourceKind::Ethtool), bench.reader(MLX5, SourceKind::RdmaSysfs)];
    for reader in &mut readers {
        bench.set(0);
        let _ = reader.read_all();
    }
    bench.set(6 * SECOND);
    let frozen = readers.each_mut().map(|reader| reader.read_all().unwrap());
    bench.set(14 * SECOND);
    assert_eq!(readers.each_mut().map(|reader| reader.read_all().unwrap()), frozen);
    bench.set(16 * SECOND);
    for reader in &mut readers {
        assert_eq!(errno_of(&reader.read_all().unwrap_err()), Some(Errno::IO));
    }
    bench.set(26 * SECOND);
    let shown = readers[0].read("rx_prio3_bytes");
    assert_eq!(shown, bench.truth(MLX5).priority(THREE).rx_bytes);
    assert_ne!(readers[1].read_all().unwrap(), frozen[1]);
}

#[test]
fn a_reset_starts_all_counters_of_one_nic_again() {
    let bench = Bench::new("reset", 4);
    bench.advance(15 * SECOND);
    let at_reset = bench.truth(MLX5).priority(THREE).rx_bytes;
    let mut reader = bench.reader(MLX5, SourceKind::Ethtool);
    let mut other = bench.reader(PEER, SourceKind::Ethtool);
    bench.set(16 * SECOND);
    let shown = reader.read("rx_prio3_bytes");
    assert_eq!(shown, bench.truth(MLX5).priority(THREE).rx_bytes - at_reset);
    assert!(shown > 0);
    assert_eq!(other.read("rx_prio3_bytes"), bench.truth(PEER).priority(THREE).rx_bytes);
}

#[test]
fn rdma_counters_speak_each_driver_s_names() {
    let bench = Bench::new("incast", 4);
    bench.set(5 * SECOND);
    let mut mlx5 = bench.reader(PEER, SourceKind::RdmaSysfs);
    let (marked, sent) = (mlx5.read("np_ecn_marked_roce_packets"), mlx5.read("np_cnp_sent"));
    let truth = bench.truth(PEER).rdma;
    assert_eq!((marked, sent), (truth.ecn_marked, truth.cnp_sent));
    assert!(sent > 0);
    let senders = [(MLX5, "rp_cnp_handled"), (BNXT, "rx_cnp_pkts"), (ICE, "cnpHandled")];
    for (nic, name) in senders.into_iter().chain([((1, 1), "rx_rdma_cnp_pkts")]) {
        let shown = bench.reader(nic, SourceKind::RdmaSysfs).read(name);
        assert_eq!(shown, bench.truth(nic).rdma.cnp_handled, "{name}");
    }
    assert!(bench.reader(BNXT, SourceKind::RdmaSysfs).read("rx_roce_only_bytes") > 0);
    assert!(bench.reader(ICE, SourceKind::RdmaSysfs).read("ip4InOctets") > 0);
}

#[test]
fn rdma_counters_are_cached_for_10_ms() {
    let bench = Bench::new("calm", 4);
    let mut reader = bench.reader(MLX5, SourceKind::RdmaSysfs);
    let mut at = |nanos| {
        bench.set(nanos);
        reader.read_all().unwrap()
    };
    let first = at(SECOND);
    assert_eq!(at(SECOND + 9 * MILLISECOND), first);
    assert_ne!(at(SECOND + 10 * MILLISECOND), first);
}

#[test]
fn hosts_have_their_devices_and_share_the_fabric() {
    let bench = Bench::new("calm", 4);
    let drivers = |index: usize| -> Vec<String> {
        let devices = bench.host(index).discover().devices;
        devices.into_iter().map(|device| device.driver).collect()
    };
    assert_eq!(drivers(0), ["mlx5_core", "bnxt_en", "ice"]);
    assert_eq!(drivers(1), ["mlx5_core", "ionic"]);
    assert_eq!(drivers(2), ["i40e", "mlx5_core"]);

    let found = bench.host(0).discover();
    let feeds: Vec<&str> = found.feeds.iter().map(|feed| feed.driver.as_str()).collect();
    assert_eq!(feeds, ["mlx5_core", "mlx5_ib", "bnxt_en", "bnxt_re", "ice", "irdma"]);
    let ports: Vec<&str> =
        found.devices.iter().map(|device| &*device.rdma_ports[0].rdma_device).collect();
    assert_eq!(ports, ["mlx5_0", "bnxt_re0", "irdma0"]);
    assert!(feed_of(&bench.host(2), "eth0", SourceKind::RdmaSysfs).is_none());

    bench.set(3 * SECOND);
    bench.host(3).discover();
    assert!(bench.truth(MLX5).priority(THREE).tx_bytes > 0);
}

#[test]
fn options_out_of_range_are_refused() {
    let make = |scenario, hosts| {
        let options = SimulationOptions { scenario, seed: 0, hosts };
        Simulation::new(options, Arc::new(|| Monotonic::ZERO)).map(|made| made.hosts().len())
    };
    assert_eq!(make(Some("no-such"), 1), Err(SimulationError::UnknownScenario("no-such".into())));
    assert_eq!(make(None, 0), Err(SimulationError::HostCount(0)));
    assert_eq!(make(None, 65), Err(SimulationError::HostCount(65)));
    assert_eq!(make(None, 6), Ok(6));
}

#[test]
fn a_position_beyond_the_names_is_missing_and_leaves_the_others_alone() {
    let bench = Bench::new("calm", 4);
    let mut reader = bench.reader(MLX5, SourceKind::Ethtool);
    bench.set(SECOND);
    let mut readings = [Reading::Missing(Reason::Io); 2];
    let wanted = [reader.position("rx_prio3_bytes"), 1_000_000];
    reader.set.read(&wanted, &mut readings).unwrap();
    assert!(readings[0].value().unwrap() > 0);
    assert_eq!(readings[1], Reading::Missing(Reason::Invalid));
}

#[test]
fn a_panic_elsewhere_does_not_stop_the_readers() {
    let bench = Bench::new("calm", 4);
    let mut reader = bench.reader(MLX5, SourceKind::Ethtool);
    let fabric = bench.simulation.fabric();
    let panicked = std::thread::spawn(move || {
        let _held = fabric.lock().unwrap();
        panic!("poisons the lock");
    });
    assert!(panicked.join().is_err());
    bench.set(SECOND);
    assert!(reader.read("rx_prio3_bytes") > 0);
    assert_eq!(bench.host(0).discover().devices.len(), 3);
}
