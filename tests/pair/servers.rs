//! Small servers in front of a test: one that speaks TLS and asks for a password, and ones that are no exporter.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::client::get;

/// Answers every connection with what `answer` makes of its request. Lives as long as the test's process.
fn serve(
    wrap: impl Fn(TcpStream) -> Box<dyn Conversation> + Send + 'static,
    answer: impl Fn(&str) -> String + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = wrap(stream.unwrap());
            let mut request = Vec::new();
            let mut part = [0; 1024];
            // A client that does not like the certificate goes away within the handshake.
            while let Ok(length @ 1..) = stream.read(&mut part) {
                request.extend(&part[..length]);
                if request.ends_with(b"\r\n\r\n") {
                    let text = answer(&String::from_utf8_lossy(&request));
                    let _ = stream.write_all(text.as_bytes());
                    let _ = stream.flush();
                    break;
                }
            }
        }
    });
    address
}

trait Conversation: Read + Write {}
impl<T: Read + Write> Conversation for T {}

fn reply(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// An HTTP server that says this.
pub fn plain(status: &'static str, body: &'static str) -> SocketAddr {
    serve(|stream| Box::new(stream), move |_| reply(status, body))
}

/// An HTTPS server that passes on the page of `behind` to those who send this header, with its certificate as PEM.
pub fn tls(behind: SocketAddr, authorization: &'static str) -> (SocketAddr, String) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let wrap = move |stream| -> Box<dyn Conversation> {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        Box::new(StreamOwned::new(connection, stream))
    };
    let address = serve(wrap, move |request| {
        let wanted = format!("authorization: {authorization}\r\n");
        if request.to_ascii_lowercase().contains(&wanted.to_ascii_lowercase()) {
            reply("200 OK", get(behind, "/metrics").text())
        } else {
            reply("401 Unauthorized", "")
        }
    });
    (address, cert.pem())
}
