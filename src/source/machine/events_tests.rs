//! The watcher on messages made from the uapi layouts, and on a queue that overflowed in the real kernel.

use std::sync::atomic::AtomicU64;

use regex::Regex;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::net::{SendFlags, sendto};

use super::*;
use crate::model::DeviceFacts;
use crate::source::machine::lock;
use crate::source::netlink::{Messages, RequestBody};

/// `IFLA_IFNAME`.
const LINK_NAME: u16 = 3;
/// `DCB_ATTR_IFNAME`, `DCB_ATTR_IEEE`, `DCB_ATTR_IEEE_PFC`.
const DCB_NAME: u16 = 1;
const DCB_IEEE: u16 = 13;
const DCB_PFC: u16 = 2;

/// A watcher of devices named `rail…`, of which the last look found some.
fn watcher(found: &[(u32, &str)]) -> Watcher {
    let devices: Vec<DeviceFacts> = found
        .iter()
        .map(|(index, name)| DeviceFacts {
            device: (*name).into(),
            incarnation: *index,
            ..DeviceFacts::default()
        })
        .collect();
    let epochs = Epochs::default();
    epochs.keep(&devices);
    let include = Some(Regex::new("^(?:rail.*)$").unwrap());
    Watcher {
        sysfs: SysfsRoot::new("/nowhere"),
        filter: DeviceFilter { include, exclude: None },
        epochs: Arc::new(epochs),
        on_change: Box::new(|| {}),
        stop: Arc::default(),
    }
}

fn message(kind: u16, body: &RequestBody) -> Vec<u8> {
    let length = u32::try_from(16 + body.bytes().len()).unwrap();
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend([0; 10]);
    bytes.extend(body.bytes());
    bytes
}

fn of_link(kind: u16, index: u32, name: &str) -> Vec<u8> {
    let header = [&[0; 4][..], &index.to_ne_bytes(), &[0; 8]].concat();
    message(kind, &RequestBody::with_header(&header).text(LINK_NAME, name))
}

fn of_dcb(device: &str, enabled: u8) -> Vec<u8> {
    let pfc = [&[8, enabled][..], &[0; 134]].concat();
    let ieee = RequestBody::default().attribute(DCB_PFC, &pfc);
    // Family, command `DCB_CMD_IEEE_SET`, padding.
    let body = RequestBody::with_header(&[0, 20, 0, 0]).text(DCB_NAME, device);
    message(dcb::CHANGED, &body.attribute(DCB_IEEE, ieee.bytes()))
}

fn concerns(watcher: &Watcher, datagram: &[u8]) -> bool {
    let messages: Vec<Message<'_>> = Messages::new(datagram).collect();
    assert_eq!(messages.len(), 1);
    watcher.of_route(&messages[0])
}

fn epoch_of(watcher: &Watcher, device: &str) -> Arc<AtomicU64> {
    watcher.epochs.of(&device.into())
}

fn value(epoch: &AtomicU64) -> u64 {
    epoch.load(Ordering::Acquire)
}

#[test]
fn c74_a_change_of_pfc_moves_the_names_of_that_device_alone_and_is_looked_at() {
    let watcher = watcher(&[(3, "rail0"), (4, "rail1"), (5, "rail2")]);
    let (changed, other) = (epoch_of(&watcher, "rail0"), epoch_of(&watcher, "rail1"));
    let datagram = of_dcb("rail0", 0b0001_0000);
    let payload = Messages::new(&datagram).next().unwrap().payload;
    let (device, told) = dcb::parse(payload).unwrap();
    assert_eq!((device.as_str(), told.pfc.unwrap().enabled), ("rail0", 0b0001_0000));
    assert!(concerns(&watcher, &datagram));
    assert_eq!((value(&changed), value(&other)), (1, 0));
    assert!(
        concerns(&watcher, &of_dcb("rail2", 0)),
        "found, though none of its counters is sampled"
    );
    assert!(!concerns(&watcher, &of_dcb("other0", 0)));
}

#[test]
fn links_that_nobody_looks_at_cause_no_work() {
    let watcher = watcher(&[(3, "rail0")]);
    let epoch = epoch_of(&watcher, "rail0");
    for kind in [link::NEW, link::GONE] {
        assert!(!concerns(&watcher, &of_link(kind, 9, "other0")));
    }
    assert_eq!(value(&epoch), 0);
    assert!(concerns(&watcher, &of_link(link::NEW, 9, "rail1")), "new, and admitted");
    assert!(concerns(&watcher, &of_link(link::GONE, 3, "rail0")));
    assert_eq!(value(&epoch), 1);
}

/// `IFLA_LINK`, `IFLA_LINKINFO`, `IFLA_INFO_KIND`.
fn above(kind: &str, lower: u32) -> Vec<u8> {
    let info = RequestBody::default().text(1, kind);
    let header = [&[0; 4][..], &9_u32.to_ne_bytes(), &[0; 8]].concat();
    let body = RequestBody::with_header(&header).text(LINK_NAME, "storage");
    message(link::NEW, &body.number(5, lower).nested(18, &info))
}

#[test]
fn what_lies_above_a_device_is_looked_at_too() {
    let watcher = watcher(&[(3, "rail0")]);
    assert!(concerns(&watcher, &above("vlan", 3)));
    for other in [above("vlan", 4), above("macvlan", 3), above("bond", 0)] {
        assert!(!concerns(&watcher, &other));
    }
    let member = DeviceFacts {
        device: "rail0".into(),
        incarnation: 3,
        master: "bond0".to_owned(),
        ..DeviceFacts::default()
    };
    watcher.epochs.keep(&[member]);
    assert!(concerns(&watcher, &above("bond", 0)));
    assert!(concerns(&watcher, &above("vlan", 4)), "on the bond, as far as is known");
    assert!(!concerns(&watcher, &above("veth", 4)));
}

#[test]
fn a_device_that_is_renamed_out_of_the_filter_moves_what_was_its_name() {
    let watcher = watcher(&[(3, "rail0"), (4, "rail1")]);
    let (old, other) = (epoch_of(&watcher, "rail0"), epoch_of(&watcher, "rail1"));
    assert!(concerns(&watcher, &of_link(link::NEW, 3, "other0")));
    assert_eq!((value(&old), value(&other)), (1, 0));
    assert!(concerns(&watcher, &of_link(link::NEW, 3, "rail1")), "and into another's name");
    assert_eq!((value(&old), value(&other)), (2, 1));
}

#[test]
fn epochs_that_nobody_holds_are_forgotten() {
    let epochs = Epochs::default();
    let held = epochs.of(&"rail0".into());
    for number in 0..1_000 {
        epochs.of(&format!("veth{number}").into());
    }
    epochs.keep(&[]);
    assert_eq!(lock(&epochs.all).len(), 1);
    assert!(epochs.moved("rail0") && !epochs.moved("veth1"));
    assert_eq!(value(&held), 1);
}

#[test]
fn lost_events_mean_that_everything_is_looked_at() {
    let watcher = watcher(&[]);
    let epoch = epoch_of(&watcher, "rail0");
    // The kernel answers each request of an unknown kind with a refusal, until the queue has no more room.
    let mut socket = NetlinkSocket::open(Protocol::Route).unwrap();
    set_socket_recv_buffer_size(socket.as_fd(), 0).unwrap();
    let mut request = message(u16::MAX, &RequestBody::default());
    request[6] = 1;
    let kernel = SocketAddrNetlink::new(0, 0);
    for _ in 0..100 {
        sendto(socket.as_fd(), &request, SendFlags::empty(), &kernel).unwrap();
    }
    assert!(watcher.take(Kind::Route, &mut socket));
    assert_eq!(value(&epoch), 1);
    assert!(!watcher.take(Kind::Route, &mut socket), "what is still queued is of no interest");
    assert_eq!(value(&epoch), 1);
}

#[test]
fn a_uevent_concerns_rdma_by_its_subsystem() {
    let rdma = b"add@/devices/x/infiniband/mlx5_0\0ACTION=add\0SUBSYSTEM=infiniband\0SEQNUM=1\0";
    assert!(is_rdma_uevent(rdma));
    assert!(!is_rdma_uevent(b"add@/x\0ACTION=add\0SUBSYSTEM=net\0"));
    assert!(!is_rdma_uevent(b""));
}

#[test]
fn the_real_kernel_can_be_listened_to() {
    let sockets = listeners(&SysfsRoot::new("/sys")).unwrap();
    assert_eq!(sockets[0].0, Kind::Route);
    assert!(sockets.iter().any(|(kind, _)| *kind == Kind::Ethtool));
}
