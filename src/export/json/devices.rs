//! Devices and priorities with their current figures.

use serde::Serialize;

use super::{Counters, counters, meaning, text};
use crate::engine::{Basis, FeedFigures, PauseFigures, Snapshot};
use crate::model::{DeviceFacts, Direction, Index, LinkLayer, Monotonic, Priority, RdmaPort};

/// One netdev, or the RDMA ports that have none.
#[derive(Serialize)]
pub(crate) struct Device<'a> {
    pub(crate) device: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    firmware: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pci_address: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    netns: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    master: Option<&'a str>,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    up: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed_bytes_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<Peer<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    basis: Option<&'static str>,
    priorities: Vec<OfPriority>,
    rdma: Vec<Rdma<'a>>,
}

#[derive(Serialize)]
struct Peer<'a> {
    host: &'a str,
    device: &'a str,
    source: &'static str,
}

#[derive(Serialize)]
struct OfPriority {
    priority: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    lossless: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asymmetry_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tx: Option<Side>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rx: Option<Side>,
}

#[derive(Serialize)]
struct Side {
    meaning: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_ratio_upper_bound: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_ratio_peak: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_frame_rate_peak: Option<f64>,
    storm_active: bool,
    storms: u64,
    storm_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_storm_unix_seconds: Option<f64>,
    counters: Counters,
}

#[derive(Default, Serialize)]
struct Rdma<'a> {
    rdma_device: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link_layer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampled_monotonic_seconds: Option<f64>,
    counters: Counters,
}

/// All devices in the order of the inventory.
pub(crate) fn devices(snapshot: &Snapshot) -> Vec<Device<'_>> {
    snapshot.devices.iter().map(|facts| device(facts, snapshot)).collect()
}

fn device<'a>(facts: &'a DeviceFacts, snapshot: &'a Snapshot) -> Device<'a> {
    let own = |feed: &&FeedFigures| feed.feed.device == facts.device;
    let feeds: Vec<&FeedFigures> = snapshot.feeds.iter().filter(own).collect();
    let netdev = feeds.iter().find(|feed| !feed.feed.source.is_rdma()).copied();
    let peer = facts.peer.as_ref();
    Device {
        device: &facts.device,
        driver: text(&facts.driver),
        firmware: text(&facts.firmware),
        pci_address: text(&facts.pci_address),
        netns: text(&facts.netns),
        master: text(&facts.master),
        role: facts.role.as_str(),
        up: facts.link.up,
        speed_bytes_per_second: facts.link.speed.map(|speed| speed.0 / 8),
        peer: peer.map(|own| Peer {
            host: &own.port.host,
            device: &own.port.device,
            source: own.source.as_str(),
        }),
        basis: netdev.and_then(|feed| feed.pause.basis).map(Basis::as_str),
        priorities: netdev.map(|feed| priorities(facts, feed)).unwrap_or_default(),
        rdma: rdma(facts, &feeds),
    }
}

fn priorities(facts: &DeviceFacts, feed: &FeedFigures) -> Vec<OfPriority> {
    let shown = Priority::ALL.into_iter().zip(feed.pause.asymmetry);
    let shown = shown.filter_map(|(priority, asymmetry_ratio)| {
        let side = |direction| {
            let mut tracks = feed.pause.tracks.iter();
            let track = tracks
                .find(|own: &&PauseFigures| own.priority == priority && own.direction == direction);
            track.map(|own| of_side(feed, own))
        };
        let (tx, rx) = (side(Direction::Tx), side(Direction::Rx));
        let lossless = facts.link.lossless.map(|mask| mask >> priority.number() & 1 == 1);
        (tx.is_some() || rx.is_some()).then(|| OfPriority {
            priority: priority.number(),
            lossless,
            asymmetry_ratio,
            tx,
            rx,
        })
    });
    shown.collect()
}

fn of_side(feed: &FeedFigures, own: &PauseFigures) -> Side {
    Side {
        meaning: meaning(own.direction),
        pause_ratio: own.ratio,
        pause_ratio_upper_bound: own.upper_bound,
        pause_ratio_peak: own.ratio_peak,
        pause_frame_rate_peak: own.frame_rate_peak,
        storm_active: own.storm.active,
        storms: own.storm.episodes,
        storm_seconds: own.storm.seconds,
        last_storm_unix_seconds: own.storm.last_start_unix_seconds,
        counters: counters(feed, |key| {
            key.index == Index::Priority(own.priority) && key.direction == Some(own.direction)
        }),
    }
}

/// The RDMA ports of a device. Two sources of one port answer together; of a counter that both have, the first stays.
fn rdma<'a>(facts: &'a DeviceFacts, feeds: &[&'a FeedFigures]) -> Vec<Rdma<'a>> {
    let mut ports: Vec<Rdma<'a>> = facts.rdma_ports.iter().map(known_port).collect();
    for feed in feeds.iter().filter(|feed| feed.feed.source.is_rdma()) {
        let Some(rdma_device) = feed.feed.rdma_device.as_deref() else { continue };
        let port = feed.feed.port;
        let of_port = |own: &&mut Rdma<'_>| own.rdma_device == rdma_device && own.port == port;
        if let Some(own) = ports.iter_mut().find(of_port) {
            fill(own, feed);
        } else {
            let mut own = Rdma { rdma_device, port, ..Rdma::default() };
            fill(&mut own, feed);
            ports.push(own);
        }
    }
    ports
}

fn known_port(own: &RdmaPort) -> Rdma<'_> {
    Rdma {
        rdma_device: &own.rdma_device,
        port: Some(own.port),
        link_layer: own.link_layer.as_ref().map(LinkLayer::as_str),
        ..Rdma::default()
    }
}

fn fill(own: &mut Rdma<'_>, feed: &FeedFigures) {
    for (name, number) in counters(feed, |key| key.direction.is_none() && key.index == Index::None)
    {
        own.counters.entry(name).or_insert(number);
    }
    let sampled = feed.sampling.last_sample;
    let seconds = sampled.map(|at| at.since(Monotonic::ZERO).as_secs_f64());
    // The source with most of the counters comes first; its time is theirs.
    own.sampled_monotonic_seconds = own.sampled_monotonic_seconds.or(seconds);
}
