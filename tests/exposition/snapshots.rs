//! Snapshots made by hand.

use std::sync::Arc;
use std::time::Duration;

use roce_exporter::engine::{CounterFigures, FeedFigures, PauseSummary, SamplingFigures, Snapshot};
use roce_exporter::model::{
    CounterKey, DeviceFacts, Direction, Feed, Freshness, Index, LinkLayer, Monotonic, Plan,
    PlanCounter, Priority, Quantity, RdmaPort, ReadingKind, Reason, SourceKind, Unit, Width,
};

/// A counter and its total.
pub type Counted = (PlanCounter, Option<u64>);

pub const TX: Option<Direction> = Some(Direction::Tx);
pub const RX: Option<Direction> = Some(Direction::Rx);

pub fn priority(number: u8) -> Index {
    Index::Priority(Priority::new(number).unwrap())
}

pub fn counted(
    quantity: Quantity,
    direction: Option<Direction>,
    index: Index,
    total: u64,
) -> Counted {
    let key = CounterKey { quantity, direction, index, detail: None };
    let (kind, unit) = (ReadingKind::Counter, Unit::Count);
    (PlanCounter { key, kind, unit, width: Width::FULL, freshness: Freshness::Live }, Some(total))
}

pub fn in_unit(unit: Unit, (mut counter, total): Counted) -> Counted {
    counter.unit = unit;
    (counter, total)
}

pub fn detailed(detail: &str, (mut counter, total): Counted) -> Counted {
    counter.key.detail = Some(detail.into());
    (counter, total)
}

pub fn unread((counter, _): Counted) -> Counted {
    (counter, None)
}

pub fn figures(feed: Feed, driver: &str, counted: Vec<Counted>) -> FeedFigures {
    let (counters, totals) = counted.into_iter().unzip();
    let plan = Arc::new(Plan { counters, ..Plan::default() });
    let counters = CounterFigures { plan, totals, raw: Vec::new(), resets: 0 };
    FeedFigures {
        feed,
        driver: driver.into(),
        counters,
        pause: PauseSummary::default(),
        sampling: SamplingFigures::new(),
    }
}

pub fn with_raw(mut figures: FeedFigures, raw: &[(&str, Option<u64>)]) -> FeedFigures {
    let mut plan = Plan::clone(&figures.counters.plan);
    plan.raw = (0..).zip(raw).map(|(place, (name, _))| (place, (*name).to_owned())).collect();
    figures.counters.plan = Arc::new(plan);
    figures.counters.raw = raw.iter().map(|(_, value)| *value).collect();
    figures
}

/// A feed that has read 1,000 times, last 5 ms before the snapshot of [`snapshot`].
pub fn sampled(mut figures: FeedFigures) -> FeedFigures {
    let sampling = &mut figures.sampling;
    sampling.last_sample = Some(Monotonic::from_nanos(9_995_000_000));
    sampling.interval = Some(Duration::from_millis(10));
    sampling.samples = 1000;
    for seconds in [0.000_02, 0.000_25, 0.5] {
        sampling.read_seconds.observe(seconds);
    }
    figures
}

pub fn ethtool(device: &str) -> Feed {
    Feed { device: device.into(), rdma_device: None, port: None, source: SourceKind::Ethtool }
}

pub fn rdma(device: &str, rdma_device: &str, port: Option<u32>, source: SourceKind) -> Feed {
    Feed { device: device.into(), rdma_device: Some(rdma_device.into()), port, source }
}

pub fn rdma_port(rdma_device: &str, port: u32) -> RdmaPort {
    RdmaPort {
        rdma_device: rdma_device.into(),
        port,
        link_layer: Some(LinkLayer::Ethernet),
        gid_types: Vec::new(),
        optional_counters: Vec::new(),
    }
}

pub fn device(name: &str, rdma_ports: Vec<RdmaPort>) -> DeviceFacts {
    DeviceFacts {
        device: name.into(),
        incarnation: 2,
        driver: "mlx5_core".to_owned(),
        firmware: "22.31.1014 (MT_0000000359)".to_owned(),
        pci_address: "0000:3b:00.0".to_owned(),
        master: String::new(),
        rdma_ports,
        ..DeviceFacts::default()
    }
}

pub fn snapshot(devices: Vec<DeviceFacts>, feeds: Vec<FeedFigures>) -> Snapshot {
    let checks = Arc::default();
    Snapshot { taken_at: Monotonic::from_nanos(10_000_000_000), devices, feeds, checks }
}

/// One mlx5 port with RDMA, and one plain netdev that could never be read.
pub fn hand_made() -> Snapshot {
    let pause = Quantity::PfcPauseFrames;
    let netdev = vec![
        counted(pause, TX, priority(3), 17),
        counted(pause, RX, priority(3), 0),
        in_unit(Unit::Microseconds, counted(Quantity::PfcPauseTime, RX, priority(3), 1_234_567)),
        detailed("warning", counted(Quantity::PfcStallEvents, None, Index::None, 2)),
        in_unit(Unit::Bytes, counted(Quantity::Bytes, TX, priority(3), (1 << 60) + 1)),
        detailed("buffer", counted(Quantity::Discards, RX, Index::TrafficClass(3), 5)),
        detailed("no_buffer", counted(Quantity::Discards, RX, Index::None, 6)),
        in_unit(
            Unit::Seconds,
            detailed("read", counted(Quantity::PcieStalledTime, None, Index::None, 90)),
        ),
        in_unit(
            Unit::Percent,
            detailed("read", counted(Quantity::PcieStalledRatio, None, Index::None, 42)),
        ),
        unread(counted(Quantity::LinkPauseFrames, RX, Index::None, 0)),
    ];
    let mut netdev = with_raw(
        sampled(figures(ethtool("eth0"), "mlx5_core", netdev)),
        &[("rx_steer_missed_packets", Some(8)), ("ch0_poll", None)],
    );
    netdev.counters.resets = 1;
    netdev.sampling.missed = 3;
    netdev.sampling.refresh = Some(Duration::from_millis(250));
    netdev.sampling.errors[Reason::Busy.position()] = 4;
    let rdma_counters = vec![
        counted(Quantity::RdmaEcnMarkedPackets, None, Index::None, 100),
        counted(Quantity::RdmaCnpSent, None, Index::None, 99),
        in_unit(Unit::Bytes, counted(Quantity::RdmaBytes, RX, Index::None, 4096)),
        detailed("requester", counted(Quantity::RdmaCqeError, None, Index::None, 1)),
        counted(Quantity::RdmaOutOfBuffer, None, Index::None, 0),
    ];
    let port = rdma("eth0", "mlx5_0", Some(1), SourceKind::RdmaNetlink);
    let mut unreadable = figures(ethtool("eth1"), "", Vec::new());
    unreadable.sampling.stale = true;
    unreadable.sampling.errors[Reason::Denied.position()] = 7;
    let devices = vec![device("eth0", vec![rdma_port("mlx5_0", 1)]), device("eth1", Vec::new())];
    let rdma_feed = sampled(figures(port, "mlx5_ib", rdma_counters));
    snapshot(devices, vec![netdev, rdma_feed, unreadable])
}

/// A host with `count` mlx5 ports as the kernel's driver shows them with PFC on priority 3.
pub fn mlx5_host(count: u8) -> Snapshot {
    let names: Vec<(String, String)> =
        (0..count).map(|number| (format!("eth{number}"), format!("mlx5_{number}"))).collect();
    let devices = names.iter().map(|(netdev, ib)| device(netdev, vec![rdma_port(ib, 1)])).collect();
    let mut feeds = Vec::new();
    for (netdev, ib) in &names {
        feeds.push(sampled(figures(ethtool(netdev), "mlx5_core", mlx5_netdev_counters())));
        let port = rdma(netdev, ib, Some(1), SourceKind::RdmaNetlink);
        feeds.push(sampled(figures(port, "mlx5_ib", mlx5_rdma_counters())));
    }
    snapshot(devices, feeds)
}

fn mlx5_netdev_counters() -> Vec<Counted> {
    let mut all = Vec::new();
    for number in 0..8 {
        for quantity in [Quantity::Bytes, Quantity::Packets] {
            all.extend([TX, RX].map(|way| counted(quantity, way, priority(number), 1)));
        }
        all.push(counted(Quantity::Discards, RX, priority(number), 1));
        let class = Index::TrafficClass(number);
        all.push(detailed("buffer", counted(Quantity::Discards, RX, class, 1)));
        all.push(counted(Quantity::EcnMarkedByDevice, RX, class, 1));
    }
    for quantity in [Quantity::PfcPauseFrames, Quantity::PfcPauseTime] {
        all.extend([TX, RX].map(|way| counted(quantity, way, priority(3), 1)));
    }
    all.push(counted(Quantity::PfcPauseTransitions, RX, priority(3), 1));
    all.extend(
        ["warning", "error"]
            .map(|word| detailed(word, counted(Quantity::PfcStallEvents, None, Index::None, 1))),
    );
    let both_ways = [
        Quantity::MacPauseFrames,
        Quantity::MacControlFrames,
        Quantity::Bytes,
        Quantity::Packets,
        Quantity::VportRdmaBytes,
        Quantity::VportRdmaPackets,
    ];
    for quantity in both_ways {
        all.extend([TX, RX].map(|way| counted(quantity, way, Index::None, 1)));
    }
    for operation in ["read", "write"] {
        for quantity in [Quantity::PcieStalledTime, Quantity::PcieStalledRatio] {
            all.push(detailed(operation, counted(quantity, None, Index::None, 1)));
        }
    }
    for reason in ["port", "no_buffer", "queue", "steering", "oversize"] {
        all.push(detailed(reason, counted(Quantity::Discards, RX, Index::None, 1)));
    }
    let single = [
        Quantity::EcnCeReceived,
        Quantity::BufferThresholdEvents,
        Quantity::PcieBufferOverflow,
        Quantity::LinkDownEvents,
    ];
    all.extend(single.map(|quantity| counted(quantity, None, Index::None, 1)));
    all
}

fn mlx5_rdma_counters() -> Vec<Counted> {
    let is_rdma = |quantity: &&Quantity| quantity.as_str().starts_with("rdma_");
    let both_ways = [Quantity::RdmaBytes, Quantity::RdmaPackets];
    let single = Quantity::ALL
        .iter()
        .filter(is_rdma)
        .filter(|quantity| !both_ways.contains(quantity))
        .take(26);
    let mut all: Vec<Counted> =
        single.map(|quantity| counted(*quantity, None, Index::None, 1)).collect();
    for quantity in both_ways {
        all.extend([TX, RX].map(|way| counted(quantity, way, Index::None, 1)));
    }
    for quantity in [Quantity::RdmaCqeError, Quantity::RdmaCqeFlushError] {
        let sides = ["requester", "responder"];
        all.extend(sides.map(|side| detailed(side, counted(quantity, None, Index::None, 1))));
    }
    all
}
