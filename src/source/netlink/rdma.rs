//! RDMA netlink (`include/uapi/rdma/rdma_netlink.h`, client NLDEV): devices, ports, and the statistics of a port.
//!
//! `STAT_GET` asks the driver at each call: no cache of 10 ms, no file per counter, no rtnl, no privilege. The
//! reply is one message, so a driver with more than about 75 counters answers `EMSGSIZE`.

use rustix::io::Errno;

use super::attribute::{Attribute, Attributes, RequestBody};
use super::socket::{Dumped, NetlinkError, NetlinkSocket, Protocol};
use crate::model::OptionalCounter;
use crate::source::SysfsRoot;

const CLIENT_NLDEV: u16 = 5 << 10;
const GET: u16 = CLIENT_NLDEV + 1;
const PORT_GET: u16 = CLIENT_NLDEV + 5;
const SYS_GET: u16 = CLIENT_NLDEV + 6;
const STAT_GET: u16 = CLIENT_NLDEV + 17;
const STAT_GET_STATUS: u16 = CLIENT_NLDEV + 24;

const DEV_INDEX: u16 = 1;
const DEV_NAME: u16 = 2;
const PORT_INDEX: u16 = 3;
const FW_VERSION: u16 = 5;
const PORT_STATE: u16 = 12;
const NETDEV_INDEX: u16 = 50;
const NETDEV_NAME: u16 = 51;
const SYS_NETNS_MODE: u16 = 66;
const DEV_PROTOCOL: u16 = 67;
const STAT_MODE: u16 = 74;
const STAT_RES: u16 = 75;
const HWCOUNTERS: u16 = 80;
const HWCOUNTER_ENTRY: u16 = 81;
const HWCOUNTER_NAME: u16 = 82;
const HWCOUNTER_VALUE: u16 = 83;
const HWCOUNTER_DYNAMIC: u16 = 95;
/// `RDMA_NLDEV_ATTR_RES_QP`, as the resource whose counters are asked for.
const RES_QP: u32 = 19;
/// `RDMA_COUNTER_MODE_NONE`.
const MODE_NONE: u32 = 0;
/// `IB_PORT_ACTIVE`.
const STATE_ACTIVE: u8 = 4;

/// An RDMA device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RdmaDevice {
    /// The kernel's number for it; never used again while the machine runs.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// How many ports it has.
    pub ports: u32,
    /// Firmware version; empty where the driver gives none.
    pub firmware: String,
    /// `roce`, `ib`, `iw`, or empty.
    pub protocol: String,
}

/// A port of an RDMA device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RdmaPortState {
    /// Its number, from 1.
    pub port: u32,
    /// Whether it is active.
    pub active: Option<bool>,
    /// The netdev's index, if that netdev is in this network namespace.
    pub netdev_index: Option<u32>,
    /// The netdev's name.
    pub netdev: Option<String>,
}

/// A socket to the RDMA subsystem.
#[derive(Debug)]
pub struct RdmaSocket {
    socket: NetlinkSocket,
}

impl RdmaSocket {
    /// Opens a socket, unless there is no RDMA here: to open one would load a kernel module.
    ///
    /// # Errors
    /// `EPROTONOSUPPORT` without RDMA; else the kernel's errno.
    pub fn open(sysfs: &SysfsRoot) -> Result<Self, Errno> {
        if !sysfs.exists("class/infiniband") {
            return Err(Errno::PROTONOSUPPORT);
        }
        Ok(Self { socket: NetlinkSocket::open(Protocol::Rdma)? })
    }

    /// All RDMA devices that this network namespace may see.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn devices(&mut self) -> Result<Vec<RdmaDevice>, NetlinkError> {
        let mut devices = Vec::new();
        self.socket.dump(GET, &[], &mut |part| match part {
            Dumped::Begin => devices.clear(),
            Dumped::Object(payload) => devices.extend(parse_device(payload)),
        })?;
        Ok(devices)
    }

    /// The ports of a device.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn ports(&mut self, device_index: u32) -> Result<Vec<RdmaPortState>, NetlinkError> {
        let mut ports = Vec::new();
        let body = RequestBody::default().number(DEV_INDEX, device_index);
        self.socket.dump(PORT_GET, body.bytes(), &mut |part| match part {
            Dumped::Begin => ports.clear(),
            Dumped::Object(payload) => ports.extend(parse_port(payload)),
        })?;
        Ok(ports)
    }

    /// Whether RDMA devices are seen from all network namespaces (`shared`) or only from their own.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn is_shared(&mut self) -> Result<Option<bool>, NetlinkError> {
        self.socket.ask(SYS_GET, &[], |payload| {
            let mode = Attributes::new(payload).get(SYS_NETNS_MODE)?.as_u8()?;
            Some(mode == 1)
        })
    }

    /// Reads the statistics of a port, and hands each counter's name and value to `each`, in the driver's order.
    ///
    /// # Errors
    /// The kernel's refusal: `EMSGSIZE` where the counters do not fit, `EOPNOTSUPP` or `EINVAL` where the driver
    /// or the kernel has none.
    pub fn statistics(
        &mut self,
        request: &RequestBody,
        each: &mut dyn FnMut(&str, u64),
    ) -> Result<(), NetlinkError> {
        self.socket.ask(STAT_GET, request.bytes(), |payload| parse_statistics(payload, each))
    }

    /// Counters that the driver can switch on and off, with their state.
    ///
    /// # Errors
    /// The kernel's refusal; kernels before 5.16 do not know the question.
    pub fn optional_counters(
        &mut self,
        request: &RequestBody,
    ) -> Result<Vec<OptionalCounter>, NetlinkError> {
        self.socket.ask(STAT_GET_STATUS, request.bytes(), parse_optional_counters)
    }

    /// Whether counters are bound to queue pairs, which makes each read of the port's statistics ask the device
    /// once per counter and bound counter.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn counts_per_queue_pair(
        &mut self,
        device_index: u32,
        port: u32,
    ) -> Result<bool, NetlinkError> {
        let body = statistics_request(device_index, port).number(STAT_RES, RES_QP);
        self.socket.ask(STAT_GET, body.bytes(), |payload| {
            let mode = Attributes::new(payload).get(STAT_MODE).and_then(|own| own.as_u32());
            mode.is_some_and(|mode| mode != MODE_NONE)
        })
    }
}

/// The question for a port's statistics.
#[must_use]
pub fn statistics_request(device_index: u32, port: u32) -> RequestBody {
    RequestBody::default().number(DEV_INDEX, device_index).number(PORT_INDEX, port)
}

/// An RDMA device, of a dump; none where the bytes hold none.
#[must_use]
pub fn parse_device(payload: &[u8]) -> Option<RdmaDevice> {
    let mut device = RdmaDevice::default();
    for attribute in Attributes::new(payload) {
        match attribute.kind {
            DEV_INDEX => device.index = attribute.as_u32()?,
            DEV_NAME => device.name = text(attribute),
            PORT_INDEX => device.ports = attribute.as_u32()?,
            FW_VERSION => device.firmware = text(attribute),
            DEV_PROTOCOL => device.protocol = text(attribute),
            _ => {}
        }
    }
    (!device.name.is_empty()).then_some(device)
}

/// A port, of a dump; none where the bytes hold none.
#[must_use]
pub fn parse_port(payload: &[u8]) -> Option<RdmaPortState> {
    let mut port = RdmaPortState::default();
    for attribute in Attributes::new(payload) {
        match attribute.kind {
            PORT_INDEX => port.port = attribute.as_u32()?,
            PORT_STATE => port.active = attribute.as_u8().map(|state| state == STATE_ACTIVE),
            NETDEV_INDEX => port.netdev_index = attribute.as_u32(),
            NETDEV_NAME => port.netdev = attribute.as_text().map(str::to_owned),
            _ => {}
        }
    }
    (port.port > 0).then_some(port)
}

/// Hands each counter's name and value of a reply to `each`, in the driver's order. A counter without a name or a
/// value is passed over.
pub fn parse_statistics(payload: &[u8], each: &mut dyn FnMut(&str, u64)) {
    let Some(counters) = Attributes::new(payload).get(HWCOUNTERS) else { return };
    for entry in counters.nested().filter(|own| own.kind == HWCOUNTER_ENTRY) {
        let (mut name, mut value) = (None, None);
        for attribute in entry.nested() {
            match attribute.kind {
                HWCOUNTER_NAME => name = attribute.as_text(),
                HWCOUNTER_VALUE => value = attribute.as_u64(),
                _ => {}
            }
        }
        if let (Some(name), Some(value)) = (name, value) {
            each(name, value);
        }
    }
}

/// The counters of a reply that can be switched on and off.
#[must_use]
pub fn parse_optional_counters(payload: &[u8]) -> Vec<OptionalCounter> {
    let counters = Attributes::new(payload).get(HWCOUNTERS);
    let entries = counters.iter().flat_map(Attribute::nested);
    let optional = entries.filter(|own| own.kind == HWCOUNTER_ENTRY).filter_map(|entry| {
        let enabled = entry.nested().get(HWCOUNTER_DYNAMIC)?.as_u8()? != 0;
        let name = entry.nested().get(HWCOUNTER_NAME)?.as_text()?.to_owned();
        Some(OptionalCounter { name, enabled })
    });
    optional.collect()
}

fn text(attribute: Attribute<'_>) -> String {
    attribute.as_text().unwrap_or_default().to_owned()
}

#[cfg(test)]
#[path = "rdma_tests.rs"]
mod tests;
