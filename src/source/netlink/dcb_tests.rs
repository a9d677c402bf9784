//! DCB replies built byte by byte from the uapi layouts, and any bytes.

use rustix::io::Errno;

use super::*;
use crate::source::netlink::Protocol;

fn priority(number: u8) -> Priority {
    Priority::new(number).unwrap()
}

fn reply(device: &str, ieee: &RequestBody) -> Vec<u8> {
    // The kernel sends the nest without the flag for nesting.
    let body = RequestBody::with_header(&[0, COMMAND_IEEE_GET, 0, 0])
        .text(IFNAME, device)
        .attribute(IEEE, ieee.bytes())
        .attribute(DCBX, &[0b1001]);
    body.bytes().to_vec()
}

#[test]
fn requests_are_sent_and_indications_received_each_at_its_offset() {
    let mut bytes = vec![8, 0b1000, 0, 0];
    bytes.extend(7_u16.to_ne_bytes());
    bytes.extend([0, 0]);
    for number in 0..16_u64 {
        bytes.extend((100 + number).to_ne_bytes());
    }
    assert_eq!(bytes.len(), 136);
    let (device, dcb) =
        parse(&reply("rail0", &RequestBody::default().attribute(IEEE_PFC, &bytes))).unwrap();
    let pfc = dcb.pfc.unwrap();
    assert_eq!(device, "rail0");
    assert_eq!((pfc.capability, pfc.enabled, pfc.delay), (8, 0b1000, 7));
    assert_eq!((pfc.requests[3], pfc.indications[3]), (103, 111));
    assert_eq!(dcb.dcbx, Some(0b1001));
    assert_eq!(dcb.ets, None);
}

#[test]
fn traffic_classes_bandwidth_and_buffers() {
    let mut ets = vec![1, 8, 0];
    ets.extend([10, 90, 0, 0, 0, 0, 0, 0]);
    ets.extend([0; 8]);
    ets.extend([2, 2, 0, 0, 0, 0, 0, 0]);
    ets.extend([0, 0, 0, 1, 0, 0, 0, 0]);
    ets.extend([0; 24]);
    assert_eq!(ets.len(), 59);
    let mut buffer = vec![0, 0, 0, 1, 0, 0, 0, 0];
    for size in [1_000_u32, 2_000, 0, 0, 0, 0, 0, 0, 3_000] {
        buffer.extend(size.to_ne_bytes());
    }
    assert_eq!(buffer.len(), 44);
    let mut rates = 25_000_000_u64.to_ne_bytes().to_vec();
    rates.extend([0; 56]);
    let body = RequestBody::default()
        .attribute(IEEE_ETS, &ets)
        .attribute(DCB_BUFFER, &buffer)
        .attribute(IEEE_MAXRATE, &rates);
    let (_, dcb) = parse(&reply("rail0", &body)).unwrap();
    let ets = dcb.ets.unwrap();
    assert!(ets.willing);
    assert_eq!((ets.traffic_class[3], ets.bandwidth[1], ets.algorithm[0]), (1, 90, 2));
    let buffers = dcb.buffers.unwrap();
    assert_eq!((buffers.buffer[3], buffers.bytes[1], buffers.total_bytes), (1, 2_000, 3_000));
    assert_eq!(dcb.max_rate.unwrap()[0], 25_000_000_000);
}

#[test]
fn the_dscp_map_holds_dscp_entries_alone_and_the_highest_priority_of_each() {
    let entry = |selector: u8, priority: u8, protocol: u16| {
        [&[selector, priority][..], &protocol.to_ne_bytes()].concat()
    };
    let table = RequestBody::default()
        .attribute(1, &entry(SELECTOR_DSCP, 3, 26))
        .attribute(1, &entry(SELECTOR_DSCP, 5, 26))
        .attribute(1, &entry(1, 3, 0x8915))
        .attribute(1, &entry(SELECTOR_DSCP, 6, 48))
        .attribute(1, &entry(SELECTOR_DSCP, 9, 10))
        .attribute(1, &entry(SELECTOR_DSCP, 1, 64))
        .attribute(1, &[SELECTOR_DSCP, 1]);
    let trust = RequestBody::default().attribute(1, &[SELECTOR_DSCP]).attribute(1, &[SELECTOR_PCP]);
    let body = RequestBody::default()
        .attribute(IEEE_APP_TABLE, table.bytes())
        .attribute(APP_TRUST_TABLE, trust.bytes());
    let (_, dcb) = parse(&reply("rail0", &body)).unwrap();
    assert_eq!(dcb.dscp, Some(vec![(26, priority(5)), (48, priority(6))]));
    assert_eq!(dcb.trust, Some(Trust::Dscp));
}

#[test]
fn structures_that_are_too_short_are_absent() {
    let body = RequestBody::default()
        .attribute(IEEE_PFC, &[8, 1])
        .attribute(IEEE_ETS, &[0; 34])
        .attribute(DCB_BUFFER, &[0; 43])
        .attribute(IEEE_MAXRATE, &[0; 63]);
    let (_, dcb) = parse(&reply("rail0", &body)).unwrap();
    assert_eq!(dcb, Dcb { dcbx: Some(0b1001), ..Dcb::default() });
}

#[test]
fn any_bytes_are_survived() {
    proptest::proptest!(|(bytes: Vec<u8>)| {
        let _ = parse(&bytes);
        let body = RequestBody::default()
            .attribute(IEEE_PFC, &bytes)
            .attribute(IEEE_APP_TABLE, &bytes)
            .attribute(IEEE_ETS, &bytes);
        let _ = parse(&reply("rail0", &body));
    });
}

#[test]
fn a_real_kernel_says_what_it_lacks_and_what_is_not_there() {
    let mut socket = NetlinkSocket::open(Protocol::Route).unwrap();
    assert_eq!(dcb(&mut socket, "lo"), Ok(None), "the loopback has no DCB");
    let error = dcb(&mut socket, "no-such-netdev").unwrap_err();
    assert_eq!(error.errno(), Errno::NODEV);
    let nameless = RequestBody::with_header(&[0, COMMAND_IEEE_GET, 0, 0]);
    let error = socket.ask(MESSAGE, nameless.bytes(), |_| ()).unwrap_err();
    assert_eq!(error.errno(), Errno::INVAL);
}
