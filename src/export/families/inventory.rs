//! What the devices are and how they are set up.

use super::{Family, Label};
use crate::export::family::{Kind, Origin};
use crate::export::gather::Scrape;
use crate::export::series::{LabelValue, Series, Value};
use crate::model::{DeviceFacts, RdmaPort};

#[rustfmt::skip]
pub(super) const ROWS: &[Family] = &[
    Family::new(Kind::Info, "roce_device",
        &[Label::Device, Label::Driver, Label::Firmware, Label::PciAddress, Label::RdmaDevice, Label::Port, Label::LinkLayer,
          Label::Master, Label::Netns],
        Origin::Scrape(device_info),
        "One per netdev and RDMA port: what the device is. Join on device for driver, firmware and bond"),
    Family::new(Kind::Info, "roce_device_role", &[Label::Device, Label::Role, Label::PhysicalPort],
        Origin::Scrape(device_role),
        "What a netdev is to the wire: physical, virtual_function, representor, bond or virtual. Functions with the same \
         physical_port share its counters: never add them"),
    Family::new(Kind::Info, "roce_link_peer", &[Label::Device, Label::Peer, Label::PeerDevice, Label::Source],
        Origin::Scrape(link_peer),
        "The other end of the link: peer = host or switch, peer_device = its port; source = file, lldpd, networkd or \
         simulation. Absent where nobody says"),
];

fn link_peer(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for facts in scrape.snapshot.devices.iter().filter(|facts| !facts.device.is_empty()) {
        let Some(peer) = &facts.peer else { continue };
        series.push(family.series(Value::Fact, |label| match label {
            Label::Peer => LabelValue::text(&peer.port.host),
            Label::PeerDevice => LabelValue::text(&peer.port.device),
            Label::Source => LabelValue::Fixed(peer.source.as_str()),
            _ => LabelValue::text(&facts.device),
        }));
    }
}

fn device_role(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    let netdevs = scrape.snapshot.devices.iter().filter(|facts| !facts.device.is_empty());
    series.extend(netdevs.map(|facts| {
        family.series(Value::Fact, |label| match label {
            Label::Role => LabelValue::Fixed(facts.role.as_str()),
            Label::PhysicalPort => LabelValue::copied(&facts.physical_port),
            _ => LabelValue::text(&facts.device),
        })
    }));
}

fn device_info(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for facts in &scrape.snapshot.devices {
        if facts.rdma_ports.is_empty() {
            series.push(device_series(family, facts, None));
        }
        series.extend(facts.rdma_ports.iter().map(|port| device_series(family, facts, Some(port))));
    }
}

fn device_series(family: &Family, facts: &DeviceFacts, rdma: Option<&RdmaPort>) -> Series {
    family.series(Value::Fact, |label| match label {
        Label::Device => LabelValue::text(&facts.device),
        Label::Driver => LabelValue::copied(&facts.driver),
        Label::Firmware => LabelValue::copied(&facts.firmware),
        Label::PciAddress => LabelValue::copied(&facts.pci_address),
        Label::RdmaDevice => LabelValue::optional(rdma.map(|port| &port.rdma_device)),
        Label::Port => rdma.map_or(LabelValue::EMPTY, |port| LabelValue::Number(port.port)),
        Label::LinkLayer => rdma
            .and_then(|port| port.link_layer.as_ref())
            .map_or(LabelValue::EMPTY, |layer| LabelValue::copied(layer.as_str())),
        Label::Master => LabelValue::copied(&facts.master),
        Label::Netns => LabelValue::copied(&facts.netns),
        _ => LabelValue::EMPTY,
    })
}
