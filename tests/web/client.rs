//! HTTP/1.1 by hand: what goes over the wire is what the test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

pub fn get(address: SocketAddr, path: &str) -> Reply {
    request(address, "GET", path, &[])
}

/// One request on a connection of its own.
pub fn request(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut stream = connect(address);
    let mut all = vec![("Connection", "close")];
    all.extend(headers);
    send(&mut stream, method, path, &all);
    receive(&mut BufReader::new(stream), method)
}

pub fn send(stream: &mut impl Write, method: &str, path: &str, headers: &[(&str, &str)]) {
    let headers: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", headers.concat());
    stream.write_all(text.as_bytes()).unwrap();
}

pub fn receive(reader: &mut impl BufRead, method: &str) -> Reply {
    let status_line = line(reader);
    let status =
        status_line.split(' ').nth(1).unwrap_or_else(|| panic!("no status: {status_line:?}"));
    let mut reply =
        Reply { status: status.parse().unwrap(), headers: Vec::new(), body: Vec::new() };
    loop {
        let header = line(reader);
        let Some((name, value)) = header.split_once(": ") else { break };
        reply.headers.push((name.to_owned(), value.to_owned()));
    }
    if method == "HEAD" {
        reader.read_to_end(&mut reply.body).unwrap();
    } else if reply.header("transfer-encoding") == Some("chunked") {
        reply.body = chunks(reader);
    } else {
        let length: usize = reply.header("content-length").unwrap().parse().unwrap();
        reply.body = vec![0; length];
        reader.read_exact(&mut reply.body).unwrap();
    }
    reply
}

fn line(reader: &mut impl BufRead) -> String {
    let mut text = String::new();
    reader.read_line(&mut text).unwrap();
    text.trim_end().to_owned()
}

fn chunks(reader: &mut impl BufRead) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let length = u64::from_str_radix(&line(reader), 16).unwrap();
        reader.take(length).read_to_end(&mut body).unwrap();
        assert_eq!(line(reader), "");
        if length == 0 {
            return body;
        }
    }
}
