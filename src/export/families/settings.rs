//! How ports are set up to be lossless. What cannot be read is absent.

use super::{Family, Label};
use crate::export::family::{Kind, Origin};
use crate::export::gather::Scrape;
use crate::export::series::{LabelValue, Series, Value};
use crate::model::{
    DCBX_WORDS, DeviceFacts, Direction, GidType, LinkFacts, Priority, RdmaPort, Trust,
};

/// DSCPs whose priority is shown where no policy names any: RoCE's usual one and that of CNPs.
const USUAL_DSCPS: [u8; 2] = [26, 48];

const DEVICE_PRIORITY: &[Label] = &[Label::Device, Label::Priority];
const RDMA_PORT: &[Label] = &[Label::Device, Label::RdmaDevice, Label::Port];

#[rustfmt::skip]
pub(super) const ROWS: &[Family] = &[
    Family::new(Kind::Gauge, "roce_port_up", &[Label::Device],
        Origin::Scrape(|family, scrape, series| of_netdevs(family, scrape, series, |facts| {
            facts.link.up.map(|up| Value::Integer(up.into()))
        })),
        "1 = carrier, 0 = none; absent where it cannot be read"),
    Family::new(Kind::Gauge, "roce_port_speed_bytes", &[Label::Device],
        Origin::Scrape(|family, scrape, series| of_netdevs(family, scrape, series, |facts| {
            facts.link.speed.map(|speed| Value::Integer(speed.0 / 8))
        })),
        "Link speed in bytes per second; absent while unknown"),
    Family::new(Kind::Gauge, "roce_pfc_enabled", DEVICE_PRIORITY,
        Origin::Scrape(|family, scrape, series| of_priorities(family, scrape, series, |link, priority| {
            link.lossless.map(|mask| u64::from(mask >> priority.number() & 1))
        })),
        "1 = PFC is on for this priority, in operation; absent where it cannot be read"),
    Family::new(Kind::Gauge, "roce_priority_traffic_class", DEVICE_PRIORITY,
        Origin::Scrape(|family, scrape, series| of_priorities(family, scrape, series, |link, priority| {
            link.traffic_class.and_then(|classes| classes.get(priority.position()).map(|own| (*own).into()))
        })),
        "Traffic class of this priority; absent where it cannot be read"),
    Family::new(Kind::Gauge, "roce_link_pause_enabled", &[Label::Device, Label::Direction],
        Origin::Scrape(link_pause),
        "1 = 802.3x pause is on as configured: tx = this port may send it, rx = it obeys its peer; it stops all priorities"),
    Family::new(Kind::Gauge, "roce_priority_buffer_bytes", &[Label::Device, Label::Priority, Label::Buffer],
        Origin::Scrape(buffers),
        "Size of the receive buffer that this priority's packets wait in, buffer = its number; priorities of one buffer share it, \
         so never add them. Absent where the driver does not say"),
    Family::new(Kind::Gauge, "roce_traffic_class_max_rate_bytes", &[Label::Device, Label::TrafficClass],
        Origin::Scrape(max_rates),
        "Most bytes per second that this traffic class may send; absent where it has no limit or the driver does not say"),
    Family::new(Kind::Info, "roce_dcbx", &[Label::Device, Label::Mode],
        Origin::Scrape(dcbx),
        "Who rules DCBX and by which version, in the words of the kernel's bits, such as host,ieee; none where no bit is set, \
         absent where the driver does not say"),
    Family::new(Kind::Info, "roce_trust", &[Label::Device, Label::Mode],
        Origin::Scrape(trust),
        "What decides a packet's priority: dscp or pcp; absent where the driver does not say"),
    Family::new(Kind::Gauge, "roce_dscp_priority", &[Label::Device, Label::Dscp],
        Origin::Scrape(dscp_priorities),
        "Priority that this DSCP maps to, for the DSCPs of the policy, usually those of RoCE (26) and CNPs (48), or for all \
         (--policy.all-dscps); absent where the map has no entry"),
    Family::new(Kind::Gauge, "roce_ecn_enabled", &[Label::Device, Label::Priority, Label::Role],
        Origin::Scrape(ecn),
        "1 = ECN is on for this priority: np = answers marks with CNPs (on mlx5 any priority turns on the whole port), rp = slows down on CNPs; only where the driver shows it"),
    Family::new(Kind::Gauge, "roce_mtu_bytes", &[Label::Device],
        Origin::Scrape(|family, scrape, series| of_netdevs(family, scrape, series, |facts| {
            facts.settings.mtu_bytes.map(|bytes| Value::Integer(bytes.into()))
        })),
        "MTU of the netdev"),
    Family::new(Kind::Gauge, "roce_rdma_mtu_bytes", RDMA_PORT,
        Origin::Scrape(rdma_mtu),
        "MTU of RDMA that follows from the netdev's: 4096 needs a netdev MTU of 4192 or more"),
    Family::new(Kind::Info, "roce_gid", &[Label::Device, Label::RdmaDevice, Label::Port, Label::Type],
        Origin::Scrape(gids),
        "Kinds of GIDs that the port has: v1 is not routed, v2 is"),
    Family::new(Kind::Gauge, "roce_rdma_optional_counter_enabled",
        &[Label::Device, Label::RdmaDevice, Label::Port, Label::Counter],
        Origin::Scrape(optional_counters),
        "1 = the driver counts this optional RDMA counter, 0 = an operator would have to switch it on (rdma statistic set); \
         counter = its name in the driver. Absent where there are none or the kernel cannot be asked"),
    Family::new(Kind::Gauge, "roce_stall_prevention_seconds", &[Label::Device],
        Origin::Scrape(|family, scrape, series| of_netdevs(family, scrape, series, |facts| {
            facts.settings.stall_prevention.map(|time| Value::Real(time.as_secs_f64()))
        })),
        "Time after which the NIC itself stops a pause without end, 0 = never; absent where the driver has no such limit"),
];

fn netdevs<'a>(scrape: &'a Scrape<'_>) -> impl Iterator<Item = &'a DeviceFacts> {
    scrape.snapshot.devices.iter().filter(|facts| !facts.device.is_empty())
}

fn of_netdevs(
    family: &Family,
    scrape: &Scrape<'_>,
    series: &mut Vec<Series>,
    value: impl Fn(&DeviceFacts) -> Option<Value>,
) {
    for facts in netdevs(scrape) {
        let value = value(facts);
        series.extend(value.map(|value| family.series(value, |_| LabelValue::text(&facts.device))));
    }
}

fn of_priorities(
    family: &Family,
    scrape: &Scrape<'_>,
    series: &mut Vec<Series>,
    value: impl Fn(&LinkFacts, Priority) -> Option<u64>,
) {
    for facts in netdevs(scrape) {
        for priority in Priority::ALL {
            let Some(value) = value(&facts.link, priority) else { continue };
            series.push(family.series(Value::Integer(value), |label| match label {
                Label::Priority => LabelValue::Number(priority.number().into()),
                _ => LabelValue::text(&facts.device),
            }));
        }
    }
}

fn link_pause(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for facts in netdevs(scrape) {
        let Some(pause) = facts.settings.link_pause else { continue };
        for (direction, on) in [(Direction::Tx, pause.tx), (Direction::Rx, pause.rx)] {
            series.push(family.series(Value::Integer(on.into()), |label| match label {
                Label::Direction => LabelValue::Fixed(direction.as_str()),
                _ => LabelValue::text(&facts.device),
            }));
        }
    }
}

fn buffers(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for facts in netdevs(scrape) {
        let Some(buffers) = facts.settings.dcb.as_ref().and_then(|dcb| dcb.buffers) else {
            continue;
        };
        for (priority, buffer) in Priority::ALL.into_iter().zip(buffers.buffer) {
            // A number beyond the buffers that there are names none.
            let Some(bytes) = buffers.bytes.get(usize::from(buffer)) else { continue };
            series.push(family.series(Value::Integer((*bytes).into()), |label| match label {
                Label::Priority => LabelValue::Number(priority.number().into()),
                Label::Buffer => LabelValue::Number(buffer.into()),
                _ => LabelValue::text(&facts.device),
            }));
        }
    }
}

fn max_rates(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for facts in netdevs(scrape) {
        let Some(rates) = facts.settings.dcb.as_ref().and_then(|dcb| dcb.max_rate) else {
            continue;
        };
        for (class, bits) in (0_u32..).zip(rates).filter(|(_, bits)| *bits > 0) {
            series.push(family.series(Value::Integer(bits / 8), |label| match label {
                Label::TrafficClass => LabelValue::Number(class),
                _ => LabelValue::text(&facts.device),
            }));
        }
    }
}

fn dcbx(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for facts in netdevs(scrape) {
        let Some(mode) = facts.settings.dcb.as_ref().and_then(|dcb| dcb.dcbx) else { continue };
        let set = DCBX_WORDS.into_iter().filter(|(bit, _)| mode & bit != 0);
        let words: Vec<&str> = set.map(|(_, word)| word).collect();
        let words = if words.is_empty() { "none".to_owned() } else { words.join(",") };
        series.push(family.series(Value::Fact, |label| match label {
            Label::Mode => LabelValue::copied(&words),
            _ => LabelValue::text(&facts.device),
        }));
    }
}

fn trust(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for facts in netdevs(scrape) {
        let Some(trust) = facts.settings.trust else { continue };
        let mode = match trust {
            Trust::Dscp => "dscp",
            Trust::Pcp => "pcp",
        };
        series.push(family.series(Value::Fact, |label| match label {
            Label::Mode => LabelValue::Fixed(mode),
            _ => LabelValue::text(&facts.device),
        }));
    }
}

fn dscp_priorities(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    let named = &scrape.snapshot.checks.dscps;
    let wanted = if named.is_empty() { &USUAL_DSCPS[..] } else { named };
    for facts in netdevs(scrape) {
        let map = facts.settings.dcb.as_ref().and_then(|dcb| dcb.dscp.as_ref());
        let shown = map.into_iter().flatten().filter(|(dscp, _)| wanted.contains(dscp));
        series.extend(shown.map(|(dscp, priority)| {
            let value = Value::Integer(priority.number().into());
            family.series(value, |label| match label {
                Label::Dscp => LabelValue::Number((*dscp).into()),
                _ => LabelValue::text(&facts.device),
            })
        }));
    }
}

fn ecn(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for facts in netdevs(scrape) {
        let ecn = facts.details.ecn;
        for (role, mask) in [("np", ecn.notification_point), ("rp", ecn.reaction_point)] {
            let Some(mask) = mask else { continue };
            series.extend(Priority::ALL.into_iter().map(|priority| {
                let value = Value::Integer(u64::from(mask >> priority.number() & 1));
                family.series(value, |label| match label {
                    Label::Priority => LabelValue::Number(priority.number().into()),
                    Label::Role => LabelValue::Fixed(role),
                    _ => LabelValue::text(&facts.device),
                })
            }));
        }
    }
}

fn rdma_mtu(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for facts in netdevs(scrape) {
        let Some(bytes) = facts.rdma_mtu_bytes() else { continue };
        let ports = facts.rdma_ports.iter();
        series.extend(ports.map(|port| {
            family.series(Value::Integer(bytes.into()), |label| port_label(label, facts, port))
        }));
    }
}

fn gids(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for facts in &scrape.snapshot.devices {
        for port in &facts.rdma_ports {
            series.extend(port.gid_types.iter().map(|kind| {
                let word = match kind {
                    GidType::V1 => "v1",
                    GidType::V2 => "v2",
                };
                family.series(Value::Fact, |label| match label {
                    Label::Type => LabelValue::Fixed(word),
                    label => port_label(label, facts, port),
                })
            }));
        }
    }
}

fn optional_counters(family: &Family, scrape: &Scrape<'_>, series: &mut Vec<Series>) {
    for facts in &scrape.snapshot.devices {
        for port in &facts.rdma_ports {
            series.extend(port.optional_counters.iter().map(|counter| {
                let value = Value::Integer(counter.enabled.into());
                family.series(value, |label| match label {
                    Label::Counter => LabelValue::copied(&counter.name),
                    label => port_label(label, facts, port),
                })
            }));
        }
    }
}

fn port_label(label: Label, facts: &DeviceFacts, port: &RdmaPort) -> LabelValue {
    match label {
        Label::RdmaDevice => LabelValue::text(&port.rdma_device),
        Label::Port => LabelValue::Number(port.port),
        _ => LabelValue::text(&facts.device),
    }
}
