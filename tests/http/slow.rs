//! Clients that say nothing, half of something, or take no answer: each is let go in its time, here a short one.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use roce_exporter::http::{Door, Places, Times};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};

use crate::certificates::Certificates;
use crate::web::client::{connect, get, send};
use crate::web::{Server, state};

const SHORT: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(30);
/// Pages that may listen for events.
const LISTENERS: usize = 16;

fn short() -> Times {
    Times { handshake: SHORT, head: SHORT, stalled_write: SHORT, stalled_read: 2 * SHORT }
}

fn server(door: Door) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // Its connections have this too: what nobody reads soon fills it.
    set_socket_send_buffer_size(&listener, 4096).unwrap();
    Server::start_with(Arc::new(door), vec![listener], state(), Places::new(100, short()))
}

/// A client with room for little.
fn narrow(address: SocketAddr) -> TcpStream {
    let stream = connect(address);
    set_socket_recv_buffer_size(&stream, 2048).unwrap();
    stream
}

/// Waits until the server has closed a connection of which nothing is read.
fn wait_for_close(stream: &mut TcpStream, what: &str) {
    let since = Instant::now();
    stream.set_nonblocking(true).unwrap();
    loop {
        match stream.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") {
            Err(error) if error.kind() != ErrorKind::WouldBlock => return,
            _ => assert!(since.elapsed() < PATIENCE, "{what} is still there"),
        }
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn silence_and_half_a_request_end_in_time() {
    let server = server(Door::open().unwrap());
    let since = Instant::now();
    let silent = connect(server.address);
    let mut half = connect(server.address);
    half.write_all(b"GET /metrics HTTP/1.1\r\nHost: lo").unwrap();
    let mut used = connect(server.address);
    send(&mut used, "GET", "/-/healthy", &[]);
    for (what, mut stream) in [("silent", silent), ("half", half), ("used", used)] {
        let mut rest = Vec::new();
        // A reset is an end as well.
        let _ = stream.read_to_end(&mut rest);
        let took = since.elapsed();
        assert!(took >= SHORT / 2 && took < PATIENCE, "{what}: {took:?}");
        assert_eq!(rest.starts_with(b"HTTP/1.1 200"), what == "used", "{what}");
    }
    assert_eq!(get(server.address, "/metrics").status, 200);
    server.stop();
}

#[test]
fn half_a_handshake_ends_in_time() {
    let files = Certificates::new();
    let tls = "tls_server_config: {cert_file: server.crt, key_file: server.key}\n";
    files.write("web.yml", tls);
    let server = server(Door::of_file(&files.path("web.yml")).unwrap());
    let since = Instant::now();
    let mut half = connect(server.address);
    // The head of a record whose rest does not come.
    half.write_all(&[22, 3, 1, 2, 0, 1]).unwrap();
    let _ = half.read_to_end(&mut Vec::new());
    let took = since.elapsed();
    assert!(took >= SHORT / 2 && took < PATIENCE, "{took:?}");
    server.stop();
}

#[test]
fn who_takes_no_answer_is_let_go() {
    let server = server(Door::open().unwrap());
    let mut stalled = narrow(server.address);
    let many = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1_000);
    stalled.write_all(many.as_bytes()).unwrap();
    assert_eq!(get(server.address, "/metrics").status, 200, "beside it");
    wait_for_close(&mut stalled, "the stalled client");
    server.stop();
}

#[test]
fn a_page_that_does_not_read_its_events_loses_its_place() {
    let server = server(Door::open().unwrap());
    let stalled: Vec<TcpStream> = (0..LISTENERS)
        .map(|_| {
            let mut stream = narrow(server.address);
            send(&mut stream, "GET", "/api/v1/events", &[]);
            stream
        })
        .collect();
    let listens = || {
        let mut stream = connect(server.address);
        send(&mut stream, "GET", "/api/v1/events", &[]);
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        status.ends_with(b"200")
    };
    let since = Instant::now();
    while !listens() {
        assert!(since.elapsed() < PATIENCE, "no place was given back");
        sleep(Duration::from_millis(100));
    }
    assert_eq!(get(server.address, "/metrics").status, 200);
    drop(stalled);
    server.stop();
}
