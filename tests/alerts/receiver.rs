//! A webhook receiver for Alertmanager: keeps what it is told.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use serde_json::Value;

pub type Labels = BTreeMap<String, String>;

/// What became of an alert, and what it said when it fired.
#[derive(Clone)]
pub struct Told {
    /// When it was told of first.
    pub first: Instant,
    pub resolved: bool,
    pub annotations: Labels,
    /// Path that the notification came to: the receiver's name in the example.
    pub path: String,
}

#[derive(Clone, Default)]
struct Inbox(Arc<Mutex<BTreeMap<Labels, Told>>>);

pub struct Receiver {
    pub address: SocketAddr,
    inbox: Inbox,
}

impl Receiver {
    /// Listens until the test's process ends.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Self { address: listener.local_addr().unwrap(), inbox: Inbox::default() };
        let inbox = receiver.inbox.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let inbox = inbox.clone();
                thread::spawn(move || inbox.serve(stream));
            }
        });
        receiver
    }

    /// All alerts so far, by their labels.
    pub fn told(&self) -> BTreeMap<Labels, Told> {
        self.inbox.0.lock().unwrap().clone()
    }
}

impl Inbox {
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some((path, body)) = request(&mut reader) {
            self.keep(&path, &serde_json::from_slice(&body).unwrap());
            let _ = reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    }

    fn keep(&self, path: &str, notification: &Value) {
        let mut inbox = self.0.lock().unwrap();
        for alert in notification["alerts"].as_array().unwrap() {
            let labels = texts(&alert["labels"]);
            let resolved = alert["status"] == "resolved";
            // Alertmanager tells of the end of what it muted while it fired, beside the end of what muted it.
            let before = inbox.get(&labels).map(|told| told.first);
            let first = match before {
                None if resolved => continue,
                before => before.unwrap_or_else(Instant::now),
            };
            let annotations = texts(&alert["annotations"]);
            inbox.insert(labels, Told { first, resolved, annotations, path: path.to_owned() });
        }
    }
}

fn texts(map: &Value) -> Labels {
    let texts = map.as_object().unwrap().iter();
    texts.map(|(name, text)| (name.clone(), text.as_str().unwrap().to_owned())).collect()
}

/// The path and body of the next request, none at the connection's end.
fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut line = String::new();
    let mut next = || {
        line.clear();
        let read = reader.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    };
    let path = next()?.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let header = next()?.to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, body))
}
