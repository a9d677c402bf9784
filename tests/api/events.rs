//! Server-sent events: their form, their bounds, and their end.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::contract::Contract;
use crate::still::still;
use crate::web::Server;
use crate::web::client::{connect, get, send};

/// Pages that may listen, as documented.
const PLACES: usize = 16;
const PATIENCE: Duration = Duration::from_secs(20);

/// A stream of events whose head was read.
struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(address: SocketAddr) -> Self {
        let mut stream = connect(address);
        send(&mut stream, "GET", "/api/v1/events", &[]);
        let mut own = Self(BufReader::new(stream));
        assert_eq!(own.line(), "HTTP/1.1 200 OK");
        let head: Vec<String> =
            std::iter::from_fn(|| Some(own.line()).filter(|line| !line.is_empty())).collect();
        assert!(head.iter().any(|line| line == "content-type: text/event-stream"), "{head:?}");
        own
    }

    fn line(&mut self) -> String {
        let mut text = String::new();
        self.0.read_line(&mut text).unwrap();
        text.trim_end().to_owned()
    }

    /// The data of the next event.
    fn event(&mut self) -> Value {
        loop {
            let line = self.line();
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }
}

#[test]
fn events_have_the_documented_form_and_come_twice_a_second() {
    let contract = Contract::read();
    let server = Server::start(still());
    let mut stream = Stream::open(server.address);
    let since = Instant::now();
    let schema = json!({"$ref": "#/components/schemas/Figures"});
    let mut whole = 0;
    for place in 0..12 {
        let event = stream.event();
        let faults = contract.faults(&schema, &event);
        assert!(faults.is_empty(), "{faults:#?}");
        let is_whole = event.get("checks").is_some() && event.get("sources").is_some();
        assert!(is_whole || place > 0, "the first event is whole");
        whole += usize::from(is_whole);
    }
    assert!(whole >= 2, "checks and sources come again");
    let took = since.elapsed();
    assert!(took >= Duration::from_secs(4) && took < PATIENCE, "{took:?}");
    server.stop();
}

#[test]
fn listeners_are_bounded_and_a_place_is_free_again_when_one_leaves() {
    let contract = Contract::read();
    let server = Server::start(still());
    let mut streams: Vec<Stream> = (0..PLACES).map(|_| Stream::open(server.address)).collect();
    for stream in &mut streams {
        stream.event();
    }
    let refused = get(server.address, "/api/v1/events");
    assert_eq!(refused.status, 503);
    contract.check("/api/v1/events", &refused);
    assert_eq!(get(server.address, "/metrics").status, 200, "listeners take no scrape's place");
    drop(streams.pop());
    let since = Instant::now();
    loop {
        let mut stream = connect(server.address);
        send(&mut stream, "GET", "/api/v1/events", &[]);
        let mut own = Stream(BufReader::new(stream));
        if own.line() == "HTTP/1.1 200 OK" {
            break;
        }
        assert!(since.elapsed() < PATIENCE, "the place was not given back");
        std::thread::sleep(Duration::from_millis(50));
    }
    server.stop();
}

#[test]
fn a_stop_ends_streams_at_once() {
    let server = Server::start(still());
    let mut streams: Vec<Stream> = (0..4).map(|_| Stream::open(server.address)).collect();
    for stream in &mut streams {
        stream.event();
    }
    let took = server.stop();
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn a_question_beside_the_stream_is_refused() {
    let contract = Contract::read();
    let server = Server::start(still());
    let reply = get(server.address, "/api/v1/events?since=1");
    assert_eq!(reply.status, 400);
    contract.check("/api/v1/events", &reply);
    server.stop();
}
