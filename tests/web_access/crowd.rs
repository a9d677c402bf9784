//! More clients than places, than open files, than a server likes: the real program goes on sampling and answering.

use std::io::{BufReader, ErrorKind, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::certificates::Certificates;
use crate::client::{connect, get, receive, send};
use crate::program::Behind;
use crate::{Over, TLS};

const HALF: &[u8] = b"GET /metrics HTTP/1.1\r\nX: ";

/// Samples of all devices so far, by a scrape of its own connection.
fn samples(served: &Behind) -> f64 {
    let reply = get(served.address, "/metrics");
    assert_eq!(reply.status, 200);
    let all = reply.text().lines().filter(|line| line.starts_with("roce_sampler_samples_total{"));
    all.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

/// Scrapes and samples go on beside what the clients of `disturb` do; says what share of a core that took.
fn goes_on(served: &Behind, mut disturb: impl FnMut()) -> f64 {
    let (since, cpu, before) = (Instant::now(), served.cpu_seconds(), samples(served));
    for _ in 0..20 {
        disturb();
        assert!(samples(served) >= before);
        sleep(Duration::from_millis(50));
    }
    assert!(samples(served) > before + 20.0, "sampling stands still");
    (served.cpu_seconds() - cpu) / since.elapsed().as_secs_f64()
}

fn said(served: &Behind, part: &str) -> usize {
    served.log_text().matches(part).count()
}

#[test]
fn slow_heads_take_every_place_and_scrapes_go_on() {
    let files = Certificates::new();
    // 128 places.
    let served = Behind::limited(&files, "", 256);
    let slow = || {
        let mut stream = connect(served.address);
        stream.write_all(HALF).unwrap();
        stream.set_nonblocking(true).unwrap();
        stream
    };
    let mut all: Vec<TcpStream> = (0..300).map(|_| slow()).collect();
    let mut again = 0;
    let share = goes_on(&served, || {
        for stream in &mut all {
            let closed = stream.write(b"x").is_err_and(|own| own.kind() != ErrorKind::WouldBlock);
            // Let go: it comes again, a few at a time.
            if closed && again < 200 {
                again += 1;
                *stream = slow();
            }
        }
    });
    println!(
        "{:.0} % of a core beside {} slow clients, {again} came again",
        share * 100.0,
        all.len()
    );
    assert!(served.open_files() < 200, "{}", served.open_files());
    assert_eq!(said(&served, "too many connections"), 1, "once a minute at most");
    assert!(served.stop() < Duration::from_secs(5));
}

#[test]
fn without_descriptors_it_makes_room_and_says_so_once() {
    let files = Certificates::new();
    let served = Behind::start(&files, "");
    samples(&served);
    served.limit_open_files(served.open_files() + 8);
    let idle: Vec<TcpStream> = (0..40).map(|_| connect(served.address)).collect();
    served.wait_for_log("cannot accept connections");
    let share = goes_on(&served, || ());
    println!("{:.0} % of a core without descriptors", share * 100.0);
    assert_eq!(said(&served, "cannot accept connections"), 1, "{}", served.log_text());
    drop(idle);
    assert!(served.stop() < Duration::from_secs(5));
}

#[test]
fn a_thousand_idle_connections_cost_a_descriptor_each() {
    let files = Certificates::new();
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = current.unwrap_or(u64::MAX).max(maximum.unwrap_or(4_096).min(4_096));
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).unwrap();
    let many = usize::try_from(wanted.saturating_sub(500).min(1_000)).unwrap();
    let served = Behind::start(&files, "");
    samples(&served);
    let (files_before, memory_before) = (served.open_files(), served.resident_bytes());
    let idle: Vec<TcpStream> = (0..many).map(|_| connect(served.address)).collect();
    let share = goes_on(&served, || ());
    let (files_with, memory_with) = (served.open_files(), served.resident_bytes());
    println!(
        "{many} idle connections: {} descriptors, {} kB, {:.0} % of a core",
        files_with - files_before,
        memory_with.saturating_sub(memory_before) / 1_000,
        share * 100.0
    );
    // The scrapes before may still have had theirs.
    let own = files_with.abs_diff(files_before);
    assert!(own.abs_diff(many) < 20, "{files_with} after {files_before}");
    assert!(memory_with < memory_before + 64_000_000, "{memory_with}");
    drop(idle);
    let since = Instant::now();
    while served.open_files() > files_before + 4 {
        assert!(since.elapsed() < Duration::from_secs(30), "{} are left", served.open_files());
        sleep(Duration::from_millis(50));
    }
    assert!(served.stop() < Duration::from_secs(5));
}

#[test]
fn it_stops_in_time_under_load() {
    let files = Certificates::new();
    let served = Behind::start(&files, "");
    let mut open = Vec::new();
    for number in 0..120 {
        let mut stream = connect(served.address);
        match number {
            // Pages that listen and do not read, scrapers that take no answer, slow heads.
            0..16 => send(&mut stream, "GET", "/api/v1/events", &[]),
            16..60 => {
                let request = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(300);
                stream.write_all(request.as_bytes()).unwrap();
            }
            _ => stream.write_all(HALF).unwrap(),
        }
        open.push(stream);
    }
    let over = Arc::new(AtomicBool::new(false));
    let address = served.address;
    let scrapers = (0..4).map(|_| {
        let over = Arc::clone(&over);
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                // Refused or cut off once it stops.
                let Ok(mut stream) = TcpStream::connect(address) else { return };
                let _ = stream
                    .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            }
        })
    });
    let scrapers: Vec<_> = scrapers.collect();
    sleep(Duration::from_secs(1));
    let took = served.stop();
    over.store(true, Ordering::Relaxed);
    for scraper in scrapers {
        scraper.join().unwrap();
    }
    println!("stopped in {took:?}");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn no_connection_is_dropped_when_certificates_change() {
    let files = Certificates::new();
    let served = Behind::start(&files, TLS);
    let authority = CertificateDer::from_pem_slice(files.read("ca.crt").as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    let open = || {
        let name = "localhost".try_into().unwrap();
        let connection = ClientConnection::new(Arc::clone(&config), name).unwrap();
        let mut kept = BufReader::new(StreamOwned::new(connection, connect(served.address)));
        ask(&mut kept);
        kept
    };
    let certificate = |kept: &Kept| kept.get_ref().conn.peer_certificates().unwrap()[0].to_vec();
    let mut kept: Vec<Kept> = (0..3).map(|_| open()).collect();
    let before = certificate(&kept[0]);
    let over = AtomicBool::new(false);
    scope(|scope| {
        let _over = Over(&over);
        for own in &mut kept {
            let over = &over;
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    ask(own);
                }
            });
        }
        for _ in 0..2 {
            files.renew_server();
            served.wait_for_log("read again");
        }
    });
    kept.iter_mut().for_each(ask);
    assert_eq!(certificate(&kept[0]), before);
    assert_ne!(certificate(&open()), before, "a new connection gets the new one");
}

type Kept = BufReader<StreamOwned<ClientConnection, TcpStream>>;

/// One more scrape over a connection that stays.
fn ask(kept: &mut Kept) {
    send(kept.get_mut(), "GET", "/metrics", &[]);
    assert_eq!(receive(kept, "GET").status, 200);
}
