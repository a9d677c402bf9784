//! A host whose ports are set up well, for tests that change one thing.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::engine::{CounterFigures, FeedFigures, PauseSummary, SamplingFigures, Snapshot};
use crate::model::*;

pub(super) const SAMPLING: SamplingWanted =
    SamplingWanted { interval: Duration::from_millis(10), rtnl_budget: 0.1 };
pub(super) const TX: Option<Direction> = Some(Direction::Tx);
pub(super) const RX: Option<Direction> = Some(Direction::Rx);

/// What a case changes.
pub(super) struct Case {
    pub(super) devices: Vec<DeviceFacts>,
    /// Counters of `eth0` by quantity, direction and index.
    pub(super) counters: Vec<(Quantity, Option<Direction>, Index, u64)>,
    pub(super) reached: Option<Duration>,
    pub(super) refresh: Option<Duration>,
    pub(super) samples: u64,
    pub(super) read_seconds: f64,
    pub(super) policy: Policy,
}

pub(super) fn priority(number: u8) -> Index {
    Index::Priority(Priority::ALL[usize::from(number)])
}

pub(super) fn rail(name: &str) -> DeviceFacts {
    let dscp = vec![(26, Priority::ALL[3]), (48, Priority::ALL[6])];
    let ets = Ets {
        traffic_class: [0, 1, 2, 3, 4, 5, 6, 7],
        bandwidth: [0, 0, 0, 100, 0, 0, 0, 0],
        algorithm: [0, 0, 0, 2, 0, 0, 0, 0],
        ..Ets::default()
    };
    let buffers =
        Buffers { buffer: [0, 0, 0, 1, 0, 0, 0, 0], bytes: [1 << 17; 8], total_bytes: 1 << 20 };
    let rdma_port = RdmaPort {
        rdma_device: format!("mlx5_{name}").into(),
        port: 1,
        link_layer: Some(LinkLayer::Ethernet),
        gid_types: vec![GidType::V1, GidType::V2],
        optional_counters: Vec::new(),
    };
    DeviceFacts {
        device: name.into(),
        incarnation: 2,
        driver: "mlx5_core".to_owned(),
        firmware: "28.39.1002".to_owned(),
        pci_address: "0000:3b:00.0".to_owned(),
        rdma_ports: vec![rdma_port],
        link: LinkFacts {
            up: Some(true),
            speed: Some(BitsPerSecond(100_000_000_000)),
            lossless: Some(8),
            traffic_class: Some(ets.traffic_class),
        },
        settings: PortSettings {
            dcb: Some(Dcb {
                pfc: Some(Pfc { capability: 8, enabled: 8, delay: 7, ..Pfc::default() }),
                ets: Some(ets),
                dscp: Some(dscp),
                buffers: Some(buffers),
                dcbx: Some(9),
                ..Dcb::default()
            }),
            trust: Some(Trust::Dscp),
            link_pause: Some(LinkPause { negotiated: false, rx: false, tx: false }),
            stall_prevention: Some(Duration::from_secs(8)),
            statistics_period: None,
            mtu_bytes: Some(9_000),
            standard_pause: None,
        },
        details: details(name),
        ..DeviceFacts::default()
    }
}

fn details(name: &str) -> PortDetails {
    PortDetails {
        ecn: EcnSettings {
            notification_point: Some(255),
            reaction_point: Some(8),
            cnp_dscp: Some(48),
        },
        pcie: PcieLink {
            lanes: Some(16),
            most_lanes: Some(16),
            megatransfers: Some(16_000),
            most_megatransfers: Some(16_000),
        },
        fec: Some("rs".to_owned()),
        uppers: vec![Upper { name: "vlan7".to_owned(), mtu_bytes: 9_000 }],
        rdma_cm: vec![RdmaCm {
            rdma_device: format!("mlx5_{name}"),
            port: 1,
            default_gid: Some(GidType::V2),
            default_tos: Some(106),
        }],
    }
}

impl Case {
    /// Three rails on which nothing is wrong.
    pub(super) fn good() -> Self {
        let mut counters = vec![
            (Quantity::RdmaBytes, TX, Index::None, 4_000_000),
            (Quantity::RdmaSymbolError, None, Index::None, 0),
            (Quantity::LinkPauseFrames, TX, Index::None, 0),
            (Quantity::LinkPauseFrames, RX, Index::None, 0),
            (Quantity::PfcPauseFrames, TX, priority(3), 5),
            (Quantity::PfcPauseFrames, RX, priority(3), 0),
            (Quantity::PfcPauseTime, TX, priority(3), 5),
            (Quantity::Discards, RX, priority(3), 0),
        ];
        for number in 0..8 {
            let moved = if number == 3 { 5_000_000 } else { 0 };
            counters.push((Quantity::Bytes, TX, priority(number), moved));
        }
        Self {
            devices: vec![rail("eth0"), rail("eth1"), rail("eth2")],
            counters,
            reached: Some(Duration::from_millis(11)),
            refresh: None,
            samples: 100,
            read_seconds: 0.000_5,
            policy: Policy::default(),
        }
    }

    pub(super) fn eth0(&mut self) -> &mut DeviceFacts {
        &mut self.devices[0]
    }

    pub(super) fn dcb(&mut self) -> &mut Dcb {
        self.eth0().settings.dcb.as_mut().unwrap()
    }

    pub(super) fn pfc(&mut self, mask: u8) {
        self.eth0().link.lossless = Some(mask);
        self.dcb().pfc.as_mut().unwrap().enabled = mask;
    }

    pub(super) fn count(
        &mut self,
        quantity: Quantity,
        way: Option<Direction>,
        index: Index,
        total: u64,
    ) {
        self.forget(|own| *own == (quantity, way, index));
        self.counters.push((quantity, way, index, total));
    }

    pub(super) fn forget(&mut self, which: impl Fn(&(Quantity, Option<Direction>, Index)) -> bool) {
        self.counters.retain(|(quantity, way, index, _)| !which(&(*quantity, *way, *index)));
    }

    pub(super) fn feeds(&self) -> Vec<FeedFigures> {
        let feed = |source, rdma: bool| {
            let own = self
                .counters
                .iter()
                .filter(|(quantity, ..)| quantity.as_str().starts_with("rdma_") == rdma);
            let plan = own.clone().map(|(quantity, direction, index, _)| PlanCounter {
                key: CounterKey {
                    quantity: *quantity,
                    direction: *direction,
                    index: *index,
                    detail: None,
                },
                kind: ReadingKind::Counter,
                unit: Unit::Count,
                width: Width::FULL,
                freshness: Freshness::Live,
            });
            let plan = Plan { counters: plan.collect(), ..Plan::default() };
            let totals = own.map(|(.., total)| Some(*total)).collect();
            let mut sampling = SamplingFigures::new();
            sampling.interval = self.reached;
            sampling.refresh = self.refresh;
            sampling.samples = self.samples;
            sampling.read_seconds.observe(self.read_seconds);
            FeedFigures {
                feed: Feed {
                    device: "eth0".into(),
                    rdma_device: rdma.then(|| "mlx5_eth0".into()),
                    port: rdma.then_some(1),
                    source,
                },
                driver: "mlx5_core".into(),
                counters: CounterFigures {
                    plan: Arc::new(plan),
                    totals,
                    raw: Vec::new(),
                    resets: 0,
                },
                pause: PauseSummary::default(),
                sampling,
            }
        };
        vec![feed(SourceKind::Ethtool, false), feed(SourceKind::RdmaNetlink, true)]
    }

    pub(super) fn figures(&self) -> CheckFigures {
        let snapshot = Snapshot {
            taken_at: Monotonic::ZERO,
            devices: self.devices.clone(),
            feeds: self.feeds(),
            checks: Arc::default(),
        };
        check_once(&self.policy, SAMPLING, &snapshot)
    }

    pub(super) fn finding(&self, check: Check) -> Option<Finding> {
        let found = self.figures().findings.into_iter();
        found.filter(|own| &*own.device == "eth0").find(|own| own.check == check)
    }
}
