//! What the devices are and how they are set up.

use super::{Family, Label};
use crate::export::family::{Kind, Origin};
use crate::export::gather::Scrape;
use crate::export::series::{LabelValue, Series, Value};
use crate::model::{DeviceFacts, LinkFacts, Priority, RdmaPort};

#[rustfmt::skip]
pub(super) const ROWS: &[Family] = &[
    Family::new(Kind::Info, "roce_device",
        &[Label::Device, Label::Driver, Label::Firmware, Label::PciAddress, Label::RdmaDevice, Label::Port, Label::LinkLayer,
          Label::Master],
        Origin::Scrape(device_info),
        "One per netdev and RDMA port: what the device is. Join on device for driver, firmware and bond"),
    Family::new(Kind::Gauge, "roce_port_up", &[Label::Device],
        Origin::Scrape(|family, scrape, series| of_netdevs(family, scrape, series, |link| {
            link.up.map(|up| Value::Integer(up.into()))
        })),
        "1 = carrier, 0 = none; absent where it cannot be read"),
    Family::new(Kind::Gauge, "roce_port_speed_bytes", &[Label::Device],
        Origin::Scrape(|family, scrape, series| of_netdevs(family, scrape, series, |link| {
            link.speed.map(|speed| Value::Integer(speed.0 / 8))
        })),
        "Link speed in bytes per second; absent while unknown"),
    Family::new(Kind::Gauge, "roce_pfc_enabled", &[Label::Device, Label::Priority],
        Origin::Scrape(pfc_enabled),
        "1 = PFC is on for this priority, in operation; absent where it cannot be read"),
    Family::new(Kind::Gauge, "roce_priority_traffic_class", &[Label::Device, Label::Priority],
        Origin::Scrape(traffic_classes),
        "Traffic class of this priority; absent where it cannot be read"),
];

fn of_netdevs(
    family: &Family,
    scrape: &Scrape<'_>,
    series: &mut Vec<Series>,
    value: impl Fn(&LinkFacts) -> Option<Value>,
) {
    for facts in &scrape.snapshot.devices {
        let value = value(&facts.link).filter(|_| !facts.device.is_empty());
        series.extend(value.map(|value| family.series(value, |_| LabelValue::text(&facts.device))));
    }
}

fn pfc_enabled(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    of_priorities(family, scrape, series, |link, priority| {
        link.lossless.map(|mask| u64::from(mask >> priority.number() & 1))
    });
}

fn traffic_classes(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    of_priorities(family, scrape, series, |link, priority| {
        link.traffic_class
            .and_then(|classes| classes.get(priority.position()).map(|own| (*own).into()))
    });
}

fn of_priorities(
    family: &Family,
    scrape: &Scrape<'_>,
    series: &mut Vec<Series>,
    value: impl Fn(&LinkFacts, Priority) -> Option<u64>,
) {
    for facts in &scrape.snapshot.devices {
        for priority in Priority::ALL {
            let Some(value) = value(&facts.link, priority) else { continue };
            series.push(family.series(Value::Integer(value), |label| match label {
                Label::Priority => LabelValue::Number(priority.number().into()),
                _ => LabelValue::text(&facts.device),
            }));
        }
    }
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
        _ => LabelValue::EMPTY,
    })
}
