//! A NIC with names of mlx5 in which every priority pauses and carries data: for what the program costs.
//!
//! It stands in for the kernel below the ethtool source, so that everything above it is the program's own.

use std::sync::Arc;
use std::time::Duration;

use roce_exporter::catalogue::{Catalogue, RawSelection, Table};
use roce_exporter::engine::Circumstances;
use roce_exporter::model::{
    BitsPerSecond, DeviceFacts, Feed, LinkFacts, Monotonic, Plan, Reading, Sample, SourceKind,
};
use roce_exporter::source::{
    CounterSet, Discovery, EthtoolStatistics, FoundFeed, NAME_SLOT, PlanRules, PlannedSource,
    StatisticsCalls,
};
use rustix::io::Errno;

/// What each priority has, per direction, with what each read adds: half of the time is paused.
const OF_PRIORITY: [(&str, u64); 3] =
    [("pause", 40), ("pause_duration", 5_000), ("bytes", 1 << 20)];
/// What else the port has.
const OF_PORT: [&str; 26] = [
    "rx_global_pause",
    "tx_global_pause",
    "rx_global_pause_duration",
    "tx_global_pause_duration",
    "rx_global_pause_transition",
    "tx_pause_storm_warning_events",
    "tx_pause_storm_error_events",
    "rx_pause_ctrl_phy",
    "tx_pause_ctrl_phy",
    "rx_mac_control_phy",
    "tx_mac_control_phy",
    "rx_discards_phy",
    "tx_discards_phy",
    "rx_buffer_passed_thres_phy",
    "rx_out_of_buffer",
    "rx_ecn_mark",
    "rx_vport_rdma_unicast_packets",
    "rx_vport_rdma_unicast_bytes",
    "tx_vport_rdma_unicast_packets",
    "tx_vport_rdma_unicast_bytes",
    "rx_packets_phy",
    "tx_packets_phy",
    "rx_bytes_phy",
    "tx_bytes_phy",
    "link_down_events_phy",
    "outbound_pci_buffer_overflow",
];
/// Further counters of a priority.
const BESIDE: [&str; 4] =
    ["rx_prio{}_pause_transition", "rx_prio{}_packets", "tx_prio{}_packets", "rx_prio{}_discards"];

/// The counters of one NIC, which grow with each read.
pub struct PausedNic {
    names: Vec<String>,
    growth: Vec<u64>,
    reply: Vec<u64>,
}

impl PausedNic {
    /// A NIC with 48 counters: duration, frames and bytes of 8 priorities in 2 directions.
    pub fn of_priorities() -> Self {
        let mut nic = Self { names: Vec::new(), growth: Vec::new(), reply: Vec::new() };
        for priority in 0..8 {
            for (word, growth) in OF_PRIORITY {
                for direction in ["rx", "tx"] {
                    nic.add(format!("{direction}_prio{priority}_{word}"), growth);
                }
            }
        }
        nic
    }

    /// A NIC with about 100 counters among `names` names.
    pub fn full(names: usize) -> Self {
        let mut nic = Self::of_priorities();
        for template in BESIDE {
            for priority in 0..8 {
                nic.add(template.replace("{}", &priority.to_string()), 11);
            }
        }
        for name in OF_PORT {
            // A stall event would be a storm at each read, and a link pause on a PFC port is none.
            let still = name.contains("storm") || name.contains("global") || name.contains("down");
            nic.add(name.to_owned(), if still { 0 } else { 13 });
        }
        for channel in 0..names.saturating_sub(nic.names.len()) {
            nic.add(format!("rx{channel}_packets"), 7);
        }
        nic
    }

    /// This NIC for reads that are this many times as frequent as [`INTERVAL`] says.
    pub fn read_more_often(mut self, times: u64) -> Self {
        self.growth.iter_mut().for_each(|growth| *growth /= times);
        self
    }

    fn add(&mut self, name: String, growth: u64) {
        self.names.push(name);
        self.growth.push(growth);
        self.reply.push(1_000_000);
    }

    /// This NIC as the program sees one.
    pub fn counter_set(self) -> Box<dyn CounterSet> {
        Box::new(EthtoolStatistics::new(self, "eth0".to_owned()))
    }

    /// This NIC with its plan.
    pub fn planned(self, catalogue: &Arc<Catalogue>) -> PlannedSource {
        let rules = PlanRules {
            catalogue: Arc::clone(catalogue),
            table: Table::Ethtool,
            driver: "mlx5_core".to_owned(),
            raw: RawSelection::default(),
        };
        PlannedSource::new(self.counter_set(), rules, Arc::default())
    }

    /// The first sample of this NIC, and by how much each of its readings grows from sample to sample.
    pub fn first_sample(self, catalogue: &Arc<Catalogue>) -> (Sample, Vec<u64>) {
        let mut source = self.planned(catalogue);
        let mut first = Sample::empty(Arc::new(Plan::default()));
        let mut second = first.clone();
        let now = || Monotonic::ZERO.plus(Duration::from_secs(100));
        source.read(&now, &mut first).unwrap();
        source.read(&now, &mut second).unwrap();
        let values = |sample: &Sample| -> Vec<u64> {
            sample.readings.iter().map(|reading| reading.value().unwrap()).collect()
        };
        let grown =
            values(&second).into_iter().zip(values(&first)).map(|(later, first)| later - first);
        (first, grown.collect())
    }
}

impl StatisticsCalls for PausedNic {
    fn count(&self, _device: &str) -> Result<u32, Errno> {
        Ok(u32::try_from(self.names.len()).unwrap())
    }

    fn names(&self, _device: &str, _count: u32) -> Result<Vec<[u8; NAME_SLOT]>, Errno> {
        let slot = |name: &String| {
            let mut slot = [0; NAME_SLOT];
            slot.iter_mut().zip(name.bytes()).for_each(|(slot, byte)| *slot = byte);
            slot
        };
        Ok(self.names.iter().map(slot).collect())
    }

    fn values(&mut self, _device: &str, count: u32) -> Result<(u32, &[u64]), Errno> {
        let own = u32::try_from(self.names.len()).unwrap();
        if count != own {
            return Ok((0, &[]));
        }
        for (value, growth) in self.reply.iter_mut().zip(&self.growth) {
            *value += growth;
        }
        Ok((own, &self.reply))
    }
}

/// Moves a sample on by 10 ms and by what the NIC counts in that time.
pub fn advance(sample: &mut Sample, growth: &[u64]) {
    sample.taken_at = sample.taken_at.plus(INTERVAL);
    for (reading, growth) in sample.readings.iter_mut().zip(growth) {
        if let Reading::Value(value) = reading {
            *value += growth;
        }
    }
}

/// The time between two reads.
pub const INTERVAL: Duration = Duration::from_millis(10);

/// A 400G link on which each priority is lossless.
pub fn circumstances() -> Circumstances {
    let link = LinkFacts {
        up: Some(true),
        speed: Some(BitsPerSecond(400_000_000_000)),
        lossless: Some(u8::MAX),
        traffic_class: None,
    };
    Circumstances { link, interval: INTERVAL, unix_seconds: 1_700_000_000.0 }
}

/// What is known of the netdev with this number.
pub fn facts(number: usize) -> DeviceFacts {
    DeviceFacts {
        device: feed(number).device,
        incarnation: 1,
        driver: "mlx5_core".to_owned(),
        firmware: "28.43.1000".to_owned(),
        pci_address: format!("0000:{number:02x}:00.0"),
        link: circumstances().link,
        ..DeviceFacts::default()
    }
}

/// What a host of so many of them finds.
pub fn discovery(nics: usize) -> Discovery {
    let found =
        |number| FoundFeed { feed: feed(number), incarnation: 1, driver: "mlx5_core".to_owned() };
    Discovery { devices: (0..nics).map(facts).collect(), feeds: (0..nics).map(found).collect() }
}

/// The ethtool source of the netdev with this number.
pub fn feed(number: usize) -> Feed {
    let device = format!("eth{number}").into();
    Feed { device, rdma_device: None, port: None, source: SourceKind::Ethtool }
}
