//! The program itself: `--record` writes, `replay` serves.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use roce_exporter::record::{Event, Reader, Recording};

use super::nic::{Bench, INTERVAL, mlx5_names, start};

/// A running program and what it said so far.
struct Program {
    child: Child,
    log: Arc<Mutex<String>>,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roce_exporter"));
        command.args(["--web.listen-address=127.0.0.1:0", "--log.level=debug"]).args(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (lines, kept) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&log));
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                kept.lock().unwrap().extend([&line, "\n"]);
            }
        });
        Self { child, log }
    }

    /// Waits until the log holds `text` and returns the log.
    fn wait_for(&self, text: &str) -> String {
        let started = Instant::now();
        loop {
            let log = self.log.lock().unwrap().clone();
            if log.contains(text) {
                return log;
            }
            assert!(started.elapsed() < Duration::from_mins(1), "no {text:?} in {log}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn metrics(&self) -> String {
        let log = self.wait_for("address=");
        let address = log.split("address=").nth(1).unwrap().split_whitespace().next().unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
        answer
    }

    /// Asks the program to stop and returns its exit code.
    fn stop(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Program {
    /// A test that failed leaves nothing behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The value of the one series that begins so.
fn value_of<'a>(metrics: &'a str, series: &str) -> &'a str {
    let mut lines = metrics.lines().filter(|line| line.starts_with(series));
    let line = lines.next().unwrap_or_else(|| panic!("no {series} in {metrics}"));
    assert_eq!(lines.next(), None, "{series} is one series");
    line.rsplit(' ').next().unwrap()
}

/// Records three seconds with a storm in the second one.
fn record_a_storm(path: &Path) {
    let recording = Recording::create(path, start()).unwrap();
    let mut bench = Bench::new("eth0", &recording.recorder(), mlx5_names());
    for step in 0..300 {
        if (100..200).contains(&step) {
            bench.add("rx_prio3_pause", 150);
            bench.add("rx_prio3_pause_duration", 9_990);
        }
        bench.step(INTERVAL, INTERVAL);
    }
    recording.finish();
}

#[test]
fn replay_serves_a_recording_and_its_last_state_after_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("storm.roce");
    record_a_storm(&path);
    let program = Program::start(&["replay", path.to_str().unwrap(), "--speed=20"]);
    let log = program.wait_for("the recording has ended");
    assert!(log.contains("recorded_at=2026-09-21T"), "{log}");
    assert!(log.contains("samples=300"), "{log}");
    let metrics = program.metrics();
    for (series, value) in [
        (r#"roce_pfc_storms_total{device="eth0",priority="3",direction="rx""#, "1"),
        (r#"roce_pfc_storm_active{device="eth0",priority="3",direction="rx""#, "0"),
        (r#"roce_sampler_samples_total{device="eth0",source="ethtool""#, "300"),
        (r#"roce_port_up{device="eth0""#, "1"),
        // Judged by what was recorded of the port.
        (r#"roce_check_status{device="eth0",check="pcie",status="warning"}"#, "1"),
        (r#"roce_check_status{device="eth0",check="ecn_reaction_point",status="ok"}"#, "1"),
        (r#"roce_check_status{device="eth0",check="mtu_stack",status="warning"}"#, "1"),
        (r#"roce_check_status{device="eth0",check="rdma_cm_tos",status="ok"}"#, "1"),
    ] {
        assert_eq!(value_of(&metrics, series), value);
    }
    std::thread::sleep(Duration::from_millis(300));
    let stale = r#"roce_device_stale{device="eth0""#;
    assert_eq!(value_of(&program.metrics(), stale), "1", "it ages");
    assert_eq!(program.stop(), Some(0));
}

#[test]
fn replay_uses_the_settings_of_today() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("storm.roce");
    record_a_storm(&path);
    let path = path.to_str().unwrap();
    let program = Program::start(&["replay", path, "--speed=1000", "--storm.detection=2s"]);
    program.wait_for("the recording has ended");
    let storms = r#"roce_pfc_storms_total{device="eth0",priority="3",direction="rx""#;
    assert_eq!(value_of(&program.metrics(), storms), "0", "a second is no storm of two");
    assert_eq!(program.stop(), Some(0));
}

#[test]
fn replay_plays_a_cut_or_damaged_recording_as_far_as_it_is_good() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("storm.roce");
    record_a_storm(&path);
    let mut bytes = fs::read(&path).unwrap();
    bytes.pop();
    fs::write(&path, &bytes).unwrap();
    let program = Program::start(&["replay", path.to_str().unwrap(), "--speed=1000"]);
    let log = program.wait_for("the recording has ended");
    assert!(log.contains("ends within a record") && log.contains("samples=299"), "{log}");
    assert_eq!(program.stop(), Some(0));

    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(&path, &bytes).unwrap();
    let program = Program::start(&["replay", path.to_str().unwrap(), "--speed=1000"]);
    let log = program.wait_for("the recording has ended");
    assert!(log.contains("level=error") && log.contains("is damaged: the record at byte"), "{log}");
    assert!(program.metrics().contains("roce_pfc_pause_frames_total"));
    assert_eq!(program.stop(), Some(0));
}

#[test]
fn what_is_no_recording_ends_with_code_1_and_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("text");
    fs::write(&path, "no recording").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_roce_exporter"))
        .args(["replay", path.to_str().unwrap()])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("{}: is no recording", path.display())), "{said}");
}

#[test]
fn record_writes_a_new_file_and_refuses_an_existing_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.roce");
    let flag = format!("--record={}", path.display());
    // No device of this machine matches: what is recorded is that there is none.
    let program = Program::start(&[&flag, "--device.include=no-such-device"]);
    program.wait_for("recording");
    std::thread::sleep(Duration::from_millis(300));
    let other = Command::new(env!("CARGO_BIN_EXE_roce_exporter"))
        .args([&flag, "--web.listen-address=127.0.0.1:0"])
        .output()
        .unwrap();
    let said = String::from_utf8(other.stderr).unwrap();
    assert_eq!(other.status.code(), Some(1), "{said}");
    assert!(said.contains("the file exists, and no recording is overwritten"), "{said}");
    assert_eq!(program.stop(), Some(0));
    let events: Vec<Event> = Reader::open(&path).unwrap().map(Result::unwrap).collect();
    assert!(
        matches!(events.as_slice(), [Event::Devices { devices, .. }] if devices.is_empty()),
        "{events:?}"
    );
}

#[test]
fn what_was_recorded_before_a_kill_can_be_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("killed.roce");
    let file = path.to_str().unwrap();
    let mut program = Program::start(&["--record", file, "demo", "--hosts", "1"]);
    program.metrics();
    std::thread::sleep(Duration::from_secs(2));
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    let program = Program::start(&["replay", file, "--speed=1000"]);
    let log = program.wait_for("the recording");
    let log = if log.contains("ended") { log } else { program.wait_for("ended") };
    let metrics = program.metrics();
    let samples = r#"roce_sampler_samples_total{device="eth0",source="ethtool""#;
    let count: f64 = value_of(&metrics, samples).parse().unwrap();
    assert!(count >= 10.0, "{count} samples of some seconds; {log}");
    assert_eq!(program.stop(), Some(0));
}
