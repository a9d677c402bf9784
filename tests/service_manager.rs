//! The built program under a service manager: readiness, reloads, watchdog, sockets that are handed over, signals, and
//! the question whether it answers.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests: a panic is a failed test"
)]

#[path = "web_access/certificates.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with other test crates")]
mod certificates;
#[path = "web/client.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with other test crates")]
mod client;

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use certificates::Certificates;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_roce_exporter");
/// For whatever is waited for; the machine may be slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// A service manager's end of one program. The program is killed at the end.
struct Managed {
    child: Child,
    directory: TempDir,
    notices: UnixDatagram,
}

impl Managed {
    fn start(command: &mut Command) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("notify");
        let notices = UnixDatagram::bind(&socket).unwrap();
        notices.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let log = File::create(directory.path().join("log")).unwrap();
        let child = command
            .env("NOTIFY_SOCKET", &socket)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { child, directory, notices }
    }

    fn demo(flags: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["demo", "--web.listen-address=127.0.0.1:0"]).args(flags);
        Self::start(command.envs(environment.iter().copied()))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The next notice that is none of the watchdog's, unless that is waited for.
    fn told(&self, what: &str) -> String {
        let since = Instant::now();
        let mut buffer = [0; 1024];
        while since.elapsed() < PATIENCE {
            match self.notices.recv(&mut buffer) {
                Ok(length) => {
                    let notice = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default())
                        .into_owned();
                    if notice.contains(what) {
                        return notice;
                    }
                    assert!(notice.contains("WATCHDOG=1"), "{notice} instead of {what}");
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
            }
        }
        panic!("not told: {what}\n{}", self.log());
    }

    fn wait_for_log(&self, part: &str) {
        let since = Instant::now();
        while !self.log().contains(part) {
            assert!(since.elapsed() < PATIENCE, "no {part} in\n{}", self.log());
            sleep(Duration::from_millis(20));
        }
    }

    fn address(&self) -> SocketAddr {
        self.wait_for_log(" address=");
        let log = self.log();
        let (_, rest) = log.split_once(" address=").unwrap();
        rest.split_whitespace().next().unwrap().parse().unwrap()
    }

    fn stop(mut self) {
        self.signal(Signal::TERM);
        assert!(self.child.wait().unwrap().success(), "{}", self.log());
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn healthcheck(flags: &[&str]) -> Output {
    Command::new(PROGRAM).arg("healthcheck").args(flags).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn it_tells_when_it_is_ready_reads_again_and_stops() {
    let managed = Managed::demo(&[], &[]);
    managed.told("READY=1");
    assert_eq!(client::get(managed.address(), "/-/healthy").status, 200, "ready before it serves");
    managed.signal(Signal::HUP);
    let notice = managed.told("RELOADING=1");
    assert!(notice.contains("MONOTONIC_USEC="), "{notice}");
    managed.told("READY=1");
    managed.signal(Signal::TERM);
    managed.told("STOPPING=1");
    managed.stop();
}

#[test]
fn the_watchdog_hears_of_a_program_that_lives_and_not_of_one_that_stands_still() {
    let managed = Managed::demo(&[], &[("WATCHDOG_USEC", "400000")]);
    managed.told("READY=1");
    let since = Instant::now();
    for _ in 0..3 {
        managed.told("WATCHDOG=1");
    }
    assert!(since.elapsed() >= Duration::from_millis(300), "oftener than at half of its time");

    managed.signal(Signal::STOP);
    sleep(Duration::from_millis(500));
    let mut buffer = [0; 1024];
    // What was on its way.
    while managed.notices.recv(&mut buffer).is_ok() {}
    let silent = managed.notices.recv(&mut buffer).unwrap_err();
    assert_eq!(silent.kind(), ErrorKind::WouldBlock);
    managed.signal(Signal::CONT);
    managed.told("WATCHDOG=1");
    managed.stop();
}

#[test]
fn a_socket_that_is_handed_over_is_served() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut shell = Command::new("sh");
    // The first descriptor that a service manager hands over is 3.
    shell
        .args(["-c", "LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" \"$@\" 3<&0 0</dev/null", PROGRAM])
        .args(["demo", "--web.systemd-socket", "--web.listen-address=127.0.0.1:1"])
        .stdin(Stdio::from(OwnedFd::from(listener)));
    let managed = Managed::start(&mut shell);
    managed.told("READY=1");
    assert_eq!(managed.address(), address);
    let metrics = client::get(address, "/metrics");
    assert!(metrics.text().contains("roce_exporter_build_info"), "{}", metrics.text());
    managed.stop();
}

#[test]
fn without_a_socket_handed_over_it_says_so() {
    let output = Command::new(PROGRAM).args(["demo", "--web.systemd-socket"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("no socket was handed over"), "{}", said(&output));

    let mut pipe = Command::new("sh");
    pipe.args(["-c", "LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" \"$@\" 3<&0", PROGRAM])
        .args(["demo", "--web.systemd-socket"])
        .stdin(Stdio::piped());
    let output = pipe.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("socket 1"), "{}", said(&output));
}

#[test]
fn signals_change_what_is_logged() {
    let managed = Managed::demo(&[], &[]);
    managed.told("READY=1");
    managed.signal(Signal::USR1);
    managed.wait_for_log("from=info to=debug");
    managed.signal(Signal::USR2);
    managed.wait_for_log("from=debug to=info");
    managed.signal(Signal::USR2);
    managed.wait_for_log("from=info to=warn");
    assert_eq!(client::get(managed.address(), "/-/healthy").status, 200);
    managed.stop();
}

#[test]
fn the_healthcheck_finds_a_server_that_answers_in_the_clear_and_over_tls() {
    let plain = Managed::demo(&[], &[]);
    let flag = format!("--web.listen-address={}", plain.address());
    let output = healthcheck(&[&flag]);
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), "healthy\n"));
    plain.stop();

    let files = Certificates::new();
    let server = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n";
    let client =
        "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: client-ca.crt\n";
    let user = format!("basic_auth_users:\n  a: {}\n", bcrypt::hash("b", 4).unwrap());
    let older = format!("  max_version: TLS12\n{client}");
    for (more, expected) in [
        ("", "healthy\n"),
        (user.as_str(), "it asks for a user\n"),
        (client, "it asks for a certificate\n"),
        (older.as_str(), "it asks for a certificate\n"),
    ] {
        files.write("web.yml", &format!("{server}{more}"));
        let config = files.path("web.yml");
        let tls = Managed::demo(&["--web.config.file", config.to_str().unwrap()], &[]);
        let flag = format!("--web.listen-address={}", tls.address());
        // How a handshake breaks off differs from time to time.
        for _ in 0..8 {
            let output = healthcheck(&[&flag]);
            assert_eq!(output.status.code(), Some(0), "{}", said(&output));
            assert!(said(&output).ends_with(expected), "{}", said(&output));
        }
        tls.stop();
    }
}

#[test]
fn the_healthcheck_fails_where_nobody_or_another_program_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let flag = format!("--web.listen-address={}", listener.local_addr().unwrap());
    let other = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 1024];
        let _ = stream.read(&mut buffer).unwrap();
        std::io::Write::write_all(
            &mut stream,
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok",
        )
        .unwrap();
    });
    let output = healthcheck(&[&flag]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("as another program would"), "{}", said(&output));
    other.join().unwrap();

    let output = healthcheck(&[&flag]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("refused"), "{}", said(&output));
    let output = healthcheck(&["--web.listen-address=127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(1));
}
