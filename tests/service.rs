//! The built program under a service manager: readiness, watchdog, sockets that are handed over, signals; and its health
//! check.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests: the shared modules serve several test crates, and a panic is a failed test"
)]

#[path = "web_access/certificates.rs"]
mod certificates;
#[path = "web/client.rs"]
mod client;
#[path = "web_access/program.rs"]
mod program;

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use certificates::Certificates;
use program::{Behind, EXPORTER, have, wait_for};
use rustix::process::Signal;

/// `test`, of the user `prometheus`.
const HASH: &str = "$2y$10$9BsHJW0oIhZToyXJ6CPCOupjcHUXhvJYrWJfBFuI1HHRCF8Tx2iw.";
const LOOPBACK: &str = "--web.listen-address=127.0.0.1:0";

/// A socket of a service manager, and what it heard.
struct Manager(UnixDatagram);

impl Manager {
    fn at(path: &std::path::Path) -> Self {
        let socket = UnixDatagram::bind(path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self(socket)
    }

    fn hear(&self) -> String {
        let mut bytes = [0; 512];
        let length = self.0.recv(&mut bytes).expect("the program says nothing");
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    /// The next that is not a sign of life, and how many of those came before.
    fn hear_news(&self) -> (String, usize) {
        let mut signs = 0;
        loop {
            match self.hear() {
                text if text == "WATCHDOG=1\n" => signs += 1,
                text => return (text, signs),
            }
        }
    }
}

#[test]
fn the_service_manager_hears_of_readiness_life_reload_and_stop() {
    let files = Certificates::new();
    let manager = Manager::at(&files.path("notify"));
    let mut command = Command::new(EXPORTER);
    command.env("NOTIFY_SOCKET", files.path("notify")).env("WATCHDOG_USEC", "400000");
    let served = Behind::start_by(&files, "", command, &[LOOPBACK]);
    assert_eq!(manager.hear_news(), ("READY=1\n".to_owned(), 0), "nothing before it is ready");
    assert_eq!(client::get(served.address, "/-/healthy").status, 200);
    let since = Instant::now();
    for _ in 0..6 {
        assert_eq!(manager.hear(), "WATCHDOG=1\n");
    }
    // The first two may have waited in the socket; the others are 200 ms apart.
    assert!(since.elapsed() > Duration::from_millis(600), "{:?}", since.elapsed());
    served.signal(Signal::HUP);
    let (reloading, _) = manager.hear_news();
    let stamp = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
    assert!(stamp.trim_end().parse::<u64>().unwrap() > 0);
    assert_eq!(manager.hear_news().0, "READY=1\n");
    assert_eq!(manager.hear(), "WATCHDOG=1\n", "it lives after the reload too");
    served.stop();
    assert_eq!(manager.hear_news().0, "STOPPING=1\n");
}

#[test]
fn the_watchdog_of_another_process_is_none_of_ours_and_a_lost_manager_does_not_matter() {
    let files = Certificates::new();
    let manager = Manager::at(&files.path("notify"));
    let mut command = Command::new(EXPORTER);
    command.env("NOTIFY_SOCKET", files.path("notify"));
    command.env("WATCHDOG_USEC", "100000").env("WATCHDOG_PID", "1");
    let served = Behind::start_by(&files, "", command, &[LOOPBACK]);
    assert_eq!(manager.hear(), "READY=1\n");
    std::thread::sleep(Duration::from_millis(500));
    served.stop();
    assert_eq!(manager.hear(), "STOPPING=1\n", "and no sign of life before it");
    let mut command = Command::new(EXPORTER);
    command.env("NOTIFY_SOCKET", files.path("nobody")).env("WATCHDOG_USEC", "100000");
    let served = Behind::start_by(&files, "", command, &[LOOPBACK]);
    assert_eq!(client::get(served.address, "/-/healthy").status, 200);
    served.stop();
}

#[test]
fn the_watchdog_hears_of_a_server_behind_tls_and_its_rate_is_not_used_up() {
    let files = Certificates::new();
    let manager = Manager::at(&files.path("notify"));
    let mut command = Command::new(EXPORTER);
    command.env("NOTIFY_SOCKET", files.path("notify")).env("WATCHDOG_USEC", "100000");
    let text = format!(
        "{}rate_limit: {{interval: 1h, burst: 2}}\n",
        tls("RequireAndVerifyClientCert", "TLS13")
    );
    let served = Behind::start_by(&files, &text, command, &[LOOPBACK]);
    assert_eq!(manager.hear(), "READY=1\n");
    for _ in 0..10 {
        assert_eq!(manager.hear(), "WATCHDOG=1\n");
    }
    if have("curl") {
        let flags = files.client_flags("client");
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        assert_eq!(&program::curl(&served, &flags).0[..3], "200");
    }
    served.stop();
}

fn tls(clients: &str, version: &str) -> String {
    let authority = if clients.contains("Verify") { "client_ca_file: client-ca.crt, " } else { "" };
    format!(
        "tls_server_config: {{cert_file: server.crt, key_file: server.key, {authority}client_auth_type: {clients}, \
        min_version: {version}, max_version: {version}}}\n"
    )
}

/// A shell that makes its standard input and output the descriptors 3 and 4, as systemd hands sockets over, and becomes the
/// program.
fn with_sockets(sockets: [OwnedFd; 2], pid: &str) -> Command {
    let script = format!(
        "exec 3<&0 4>&1 </dev/null >/dev/null; export LISTEN_PID={pid} LISTEN_FDS=2; exec \"$@\""
    );
    let mut command = Command::new("sh");
    let [first, second] = sockets;
    command.args(["-c", &script, "sh", EXPORTER]).stdin(first).stdout(second);
    command
}

#[test]
fn sockets_that_are_handed_over_are_listened_on_and_no_others() {
    let files = Certificates::new();
    let sockets =
        [TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap()];
    let addresses: Vec<SocketAddr> = sockets.iter().map(|own| own.local_addr().unwrap()).collect();
    // A client comes before the program does.
    let early = std::thread::spawn({
        let address = addresses[0];
        move || client::get(address, "/-/healthy").status
    });
    let command = with_sockets(sockets.map(OwnedFd::from), "$$");
    let served = Behind::start_by(&files, "", command, &["--web.systemd-socket"]);
    assert_eq!(early.join().unwrap(), 200);
    for address in &addresses {
        assert_eq!(client::get(*address, "/metrics").status, 200);
        assert!(served.log().contains(&format!("address={address}")), "{}", served.log());
    }
    assert_eq!(served.log().matches("listening").count(), 2, "{}", served.log());
    served.stop();
}

#[test]
fn what_cannot_be_listened_on_is_refused() {
    let run = |command: &mut Command| -> String {
        let output = command.args(["demo", "--web.systemd-socket"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(run(&mut Command::new(EXPORTER)).contains("no socket was handed over"));
    let listener = || OwnedFd::from(TcpListener::bind("127.0.0.1:0").unwrap());
    let told = run(&mut with_sockets([listener(), listener()], "1"));
    assert!(told.contains("no socket was handed over"), "meant for another process: {told}");
    let datagrams = OwnedFd::from(std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    let told = run(&mut with_sockets([listener(), datagrams], "$$"));
    assert!(told.contains("socket 2"), "{told}");
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let connection = TcpStream::connect(target.local_addr().unwrap()).unwrap();
    let told = run(&mut with_sockets([connection.into(), listener()], "$$"));
    assert!(told.contains("socket 1") && told.contains("Accept="), "{told}");
}

#[test]
fn systemd_s_own_tool_starts_it_with_a_socket() {
    if !have("systemd-socket-activate") {
        return;
    }
    let files = Certificates::new();
    // The tool does not tell which port it got, so it gets one that was free a moment ago.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = Command::new("systemd-socket-activate");
    command.arg(format!("--listen={address}")).arg(EXPORTER);
    // It starts the program when someone comes.
    let asked = std::thread::spawn(move || {
        wait_for("listening tool", || TcpStream::connect(address).ok());
        client::get(address, "/metrics").status
    });
    let served = Behind::start_by(&files, "", command, &["--web.systemd-socket"]);
    assert_eq!(served.address, address);
    assert_eq!(asked.join().unwrap(), 200);
    served.stop();
}

#[test]
fn signals_change_what_the_log_says_and_drop_nothing() {
    let files = Certificates::new();
    let served = Behind::start(&files, "");
    let mut stream = client::connect(served.address);
    let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
    let mut ask = || {
        client::send(&mut stream, "GET", "/-/healthy", &[]);
        client::receive(&mut reader, "GET").status
    };
    assert_eq!(ask(), 200);
    served.signal(Signal::USR1);
    served.wait_for_log("from=info to=debug");
    // A client that speaks nonsense is of interest to a developer alone.
    connect_and_say(served.address, "nonsense\r\n\r\n");
    served.wait_for_log("connection ended early");
    for step in ["from=debug to=info", "from=info to=warn", "from=warn to=error"] {
        served.signal(Signal::USR2);
        served.wait_for_log(step);
    }
    assert_eq!(ask(), 200, "the same connection");
    served.signal(Signal::HUP);
    served.wait_for_log("settings read again");
    assert_eq!(ask(), 200);
    served.stop();
}

fn connect_and_say(address: SocketAddr, text: &str) {
    let mut stream = client::connect(address);
    stream.write_all(text.as_bytes()).unwrap();
    let _ = std::io::Read::read_to_end(&mut stream, &mut Vec::new());
}

fn healthcheck(address: SocketAddr) -> Output {
    let mut command = Command::new(EXPORTER);
    command.arg("healthcheck").arg(format!("--web.listen-address={address}"));
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_health_check_finds_every_set_up_healthy() {
    let files = Certificates::new();
    let users = format!("basic_auth_users: {{prometheus: '{HASH}'}}\n");
    for (text, expected) in [
        (String::new(), "healthy"),
        (users.clone(), "healthy; it asks for a user"),
        ("rate_limit: {interval: 1h, burst: 1}\n".to_owned(), "healthy"),
        (tls("NoClientCert", "TLS12"), "healthy"),
        (tls("NoClientCert", "TLS13") + &users, "healthy; it asks for a user"),
        (tls("RequireAnyClientCert", "TLS12"), "healthy; it asks for a certificate"),
        (tls("RequireAndVerifyClientCert", "TLS13"), "healthy; it asks for a certificate"),
    ] {
        let served = Behind::start(&files, &text);
        let output = healthcheck(served.address);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            format!("{expected}\n"),
            "{text}: {told}"
        );
        assert_eq!(output.status.code(), Some(0), "{text}");
        if text.contains("burst: 1") {
            let output = healthcheck(served.address);
            assert_eq!(output.stdout, b"healthy; its rate limit is reached\n");
        }
        served.stop();
    }
}

#[test]
fn the_health_check_fails_without_an_exporter_that_answers() {
    let failed = |address, expected: &str| {
        let since = Instant::now();
        let output = healthcheck(address);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{told}");
        assert!(told.contains(expected), "{told}");
        assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // The kernel takes the connection; nobody answers.
    failed(address, "timeout");
    drop(listener);
    failed(address, "refused");
    for answer in ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "SSH-2.0-x\r\n"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    if let Ok((mut stream, _)) = listener.accept() {
                        let _ = stream.write_all(answer.as_bytes());
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            failed(address, &address.to_string());
            over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}
