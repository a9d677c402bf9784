//! Replies built from the layouts of the uapi header, and any bytes.

use super::*;

fn entry(name: &str, value: u64) -> RequestBody {
    RequestBody::default()
        .text(HWCOUNTER_NAME, name)
        .attribute(HWCOUNTER_VALUE, &value.to_ne_bytes())
}

fn reply(entries: &[RequestBody]) -> Vec<u8> {
    let counters =
        entries.iter().fold(RequestBody::default(), |body, own| body.nested(HWCOUNTER_ENTRY, own));
    let body = RequestBody::default()
        .number(DEV_INDEX, 0)
        .text(DEV_NAME, "mlx5_0")
        .number(PORT_INDEX, 1)
        .nested(HWCOUNTERS, &counters);
    body.bytes().to_vec()
}

fn read(payload: &[u8]) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    parse_statistics(payload, &mut |name, value| all.push((name.to_owned(), value)));
    all
}

#[test]
fn c16_every_counter_of_a_reply_is_read_whatever_its_name() {
    let payload = reply(&[entry("np_cnp_sent", 30_458_349), entry("a name with blanks", u64::MAX)]);
    assert_eq!(
        read(&payload),
        [("np_cnp_sent".to_owned(), 30_458_349), ("a name with blanks".to_owned(), u64::MAX)]
    );
}

#[test]
fn a_counter_without_a_name_or_value_is_passed_over() {
    let nameless = RequestBody::default().attribute(HWCOUNTER_VALUE, &7_u64.to_ne_bytes());
    let valueless = RequestBody::default().text(HWCOUNTER_NAME, "x");
    let payload = reply(&[nameless, entry("y", 1), valueless]);
    assert_eq!(read(&payload), [("y".to_owned(), 1)]);
    assert_eq!(read(&[]), []);
}

#[test]
fn a_reply_that_was_cut_gives_what_is_whole() {
    let payload = reply(&[entry("a", 1), entry("b", 2)]);
    for length in 0..payload.len() {
        let all = read(&payload[..length]);
        assert!(all.is_empty(), "a nest that does not fit is not entered: {length} {all:?}");
    }
}

#[test]
fn devices_and_ports() {
    let body = RequestBody::default()
        .number(DEV_INDEX, 3)
        .text(DEV_NAME, "mlx5_0")
        .number(PORT_INDEX, 2)
        .text(FW_VERSION, "28.43.1000")
        .text(DEV_PROTOCOL, "roce");
    let expected = RdmaDevice {
        index: 3,
        name: "mlx5_0".to_owned(),
        ports: 2,
        firmware: "28.43.1000".to_owned(),
        protocol: "roce".to_owned(),
    };
    assert_eq!(parse_device(body.bytes()), Some(expected));
    assert_eq!(parse_device(&[]), None);
    let body = RequestBody::default()
        .number(PORT_INDEX, 1)
        .attribute(PORT_STATE, &[4])
        .number(NETDEV_INDEX, 12)
        .text(NETDEV_NAME, "rail0");
    let expected = RdmaPortState {
        port: 1,
        active: Some(true),
        netdev_index: Some(12),
        netdev: Some("rail0".to_owned()),
    };
    assert_eq!(parse_port(body.bytes()), Some(expected));
}

#[test]
fn c15_a_netdev_in_another_namespace_is_not_invented() {
    let body = RequestBody::default().number(PORT_INDEX, 1).attribute(PORT_STATE, &[1]);
    let port = parse_port(body.bytes()).unwrap();
    assert_eq!((port.netdev_index, port.netdev, port.active), (None, None, Some(false)));
}

#[test]
fn optional_counters_say_whether_they_are_on() {
    let optional = |name: &str, on: u8| {
        RequestBody::default().text(HWCOUNTER_NAME, name).attribute(HWCOUNTER_DYNAMIC, &[on])
    };
    let fixed = RequestBody::default().text(HWCOUNTER_NAME, "out_of_sequence");
    let payload = reply(&[fixed, optional("cc_rx_cnp_pkts", 1), optional("cc_tx_cnp_pkts", 0)]);
    let named = |name: &str, enabled| OptionalCounter { name: name.to_owned(), enabled };
    assert_eq!(
        parse_optional_counters(&payload),
        [named("cc_rx_cnp_pkts", true), named("cc_tx_cnp_pkts", false)]
    );
}

#[test]
fn without_rdma_no_socket_is_opened() {
    let empty = tempfile::tempdir().unwrap();
    let refused = RdmaSocket::open(&SysfsRoot::new(empty.path())).map(|_| ());
    assert_eq!(refused, Err(Errno::PROTONOSUPPORT));
}

#[test]
fn any_bytes_are_survived() {
    proptest::proptest!(|(bytes: Vec<u8>)| {
        let _ = (parse_device(&bytes), parse_port(&bytes), parse_optional_counters(&bytes), read(&bytes));
        let nested = RequestBody::default().attribute(HWCOUNTERS, &bytes);
        let _ = (read(nested.bytes()), parse_optional_counters(nested.bytes()));
    });
}
