//! What the host says of PFC after it told of a change is what is exported.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use roce_exporter::build_info::BuildInfo;
use roce_exporter::catalogue::{Catalogue, RawSelection};
use roce_exporter::engine::StormSettings;
use roce_exporter::export::{Format, encode};
use roce_exporter::model::{DeviceFacts, Feed, LinkFacts, PortSettings};
use roce_exporter::sampler::{Board, Sampler, SamplerOptions};
use roce_exporter::source::netlink::{RequestBody, dcb};
use roce_exporter::source::{
    CounterSet, Discovery, Host, OnChange, SourceError, Watch, monotonic_now,
};

use crate::strict_parser::parse;

/// A host with one port, whose PFC state is read from messages as the kernel sends them.
#[derive(Default)]
struct LosslessHost {
    enabled: AtomicU8,
    watcher: Mutex<Option<OnChange>>,
}

impl LosslessHost {
    fn set(&self, enabled: u8) {
        self.enabled.store(enabled, Ordering::Release);
        let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        watcher.as_ref().unwrap()();
    }
}

impl Host for LosslessHost {
    fn discover(&self) -> Discovery {
        // DCB_ATTR_IFNAME, DCB_ATTR_IEEE with DCB_ATTR_IEEE_PFC: number of classes, mask, and 134 bytes more.
        let pfc = [&[8, self.enabled.load(Ordering::Acquire)][..], &[0; 134]].concat();
        let ieee = RequestBody::default().attribute(2, &pfc);
        let body = RequestBody::with_header(&[0, 21, 0, 0]).text(1, "rail0");
        let (device, dcb) = dcb::parse(body.attribute(13, ieee.bytes()).bytes()).unwrap();
        let lossless = dcb.pfc.map(|pfc| pfc.enabled);
        let link = LinkFacts { lossless, ..LinkFacts::default() };
        let settings = PortSettings { dcb: Some(dcb), ..PortSettings::default() };
        let device = DeviceFacts {
            device: device.into(),
            link,
            settings,
            incarnation: 3,
            ..DeviceFacts::default()
        };
        Discovery { devices: vec![device], feeds: Vec::new() }
    }

    fn open(&self, feed: &Feed) -> Result<Box<dyn CounterSet>, SourceError> {
        Err(SourceError::Nonsense(format!("{feed:?}")))
    }

    fn watch(&self, on_change: OnChange) -> Option<Watch> {
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(on_change);
        Some(Watch::new(Arc::default()))
    }
}

/// The priorities that are exported as lossless.
fn lossless(board: &Board) -> Vec<u8> {
    let mut text = String::new();
    encode(
        &board.snapshot(monotonic_now()),
        &BuildInfo::current(),
        None,
        Format::Text004,
        &mut text,
    )
    .unwrap();
    let samples = parse(&text, Format::Text004).into_iter().flat_map(|family| family.samples);
    let on = samples.filter(|sample| sample.name == "roce_pfc_enabled" && sample.value == "1");
    on.map(|sample| sample.labels["priority"].parse().unwrap()).collect()
}

#[test]
fn c74_a_priority_that_an_agent_switches_off_is_off_in_the_next_scrape() {
    let host = Arc::new(LosslessHost::default());
    host.enabled.store(0b1000, Ordering::Release);
    let options = SamplerOptions {
        interval: Duration::from_millis(10),
        rtnl_budget: 0.1,
        storm: StormSettings::default(),
        raw: RawSelection::default(),
        discovery_period: Duration::from_mins(1),
        recorder: None,
    };
    let board = Arc::new(Board::default());
    let watched: Arc<dyn Host> = Arc::clone(&host) as Arc<dyn Host>;
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let sampler = Sampler::start(watched, catalogue, options, Arc::clone(&board)).unwrap();
    let mut since = Instant::now();
    for (enabled, expected) in [(0b1000, vec![3]), (0, vec![]), (0b1_1000, vec![3, 4])] {
        if enabled != 0b1000 {
            since = Instant::now();
            host.set(enabled);
        }
        while !board.is_ready() || lossless(&board) != expected {
            assert!(since.elapsed() < Duration::from_secs(5), "{enabled:#b}");
            std::thread::sleep(Duration::from_millis(2));
        }
        println!("PFC mask {enabled:#010b} exported after {:?}", since.elapsed());
    }
    sampler.stop();
}
