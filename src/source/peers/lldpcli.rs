//! The neighbours that lldpd has heard, by its program `lldpcli`: the one subprocess there is, and only where the
//! operator asks for it.
//!
//! Bounded in time and output, and killed with its group when it goes beyond. A missing program or daemon is no error.

use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use super::lldp::Announcement;
use crate::model::PortName;

/// The longest that lldpcli may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most that it may print; a neighbour has some 2 kB.
const MOST_BYTES: usize = 1 << 20;

/// Each neighbour with the name of the interface that hears it.
pub(super) fn neighbours() -> Vec<(String, PortName)> {
    let mut command = Command::new("lldpcli");
    command.args(["-f", "json0", "show", "neighbors"]);
    match output(&mut command, PATIENCE, MOST_BYTES) {
        Ok(text) => of_json(&text),
        Err(error) => {
            tracing::debug!(%error, "no neighbours from lldpcli");
            Vec::new()
        }
    }
}

/// A process that does not outlive this value.
struct Bounded(Child);

impl Drop for Bounded {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            // It leads a group of its own, which has what it started as well.
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

/// What a command prints.
///
/// # Errors
/// When it cannot be started, fails, takes longer than `patience`, or prints more than `most` bytes.
fn output(command: &mut Command, patience: Duration, most: usize) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + patience;
    let late = || io::Error::from(io::ErrorKind::TimedOut);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = Bounded(command.spawn()?);
    let Some(mut pipe) = child.0.stdout.take() else { return Err(late()) };
    let (mut text, mut part) = (Vec::new(), [0; 8192]);
    loop {
        let left = deadline.checked_duration_since(Instant::now()).ok_or_else(late)?;
        let left = Timespec::try_from(left).map_err(|_| late())?;
        let ready = poll(&mut [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)], Some(&left));
        match ready {
            Ok(0) => return Err(late()),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        match pipe.read(&mut part)? {
            0 => break,
            length => text.extend(part.get(..length).unwrap_or_default()),
        }
        if text.len() > most {
            return Err(io::Error::other(format!("more than {most} bytes")));
        }
    }
    loop {
        if let Some(status) = child.0.try_wait()? {
            let failed = || io::Error::other(format!("ended with {status}"));
            return if status.success() { Ok(text) } else { Err(failed()) };
        }
        if Instant::now() >= deadline {
            return Err(late());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The neighbours of a document of the format `json0`, in which everything is a list; each with the name of the
/// interface that hears it.
#[must_use]
pub fn of_json(text: &[u8]) -> Vec<(String, PortName)> {
    let document: Value = match serde_json::from_slice(text) {
        Ok(document) => document,
        Err(error) => {
            tracing::debug!(%error, "lldpcli printed no JSON");
            return Vec::new();
        }
    };
    let all = list(&document, "lldp").flat_map(|own| list(own, "interface"));
    // The daemon can hear Cisco's and others' protocols too, which would give each neighbour twice.
    let heard = all.filter(|own| own.get("via").and_then(Value::as_str) == Some("LLDP"));
    heard.filter_map(neighbour).collect()
}

fn neighbour(interface: &Value) -> Option<(String, PortName)> {
    let name = interface.get("name")?.as_str()?.to_owned();
    let chassis = list(interface, "chassis").next()?;
    let port = list(interface, "port").next()?;
    let text = |own: &Value, key: &str, part: &str| {
        let first = list(own, key).next().and_then(|first| first.get(part));
        first.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let announcement = Announcement {
        system_name: text(chassis, "name", "value"),
        chassis_id: text(chassis, "id", "value"),
        port_id: text(port, "id", "value"),
        port_id_is_mac: text(port, "id", "type") == "mac",
        port_description: text(port, "descr", "value"),
        leaving: false,
    };
    Some((name, announcement.port()?))
}

fn list<'value>(
    own: &'value Value,
    key: &str,
) -> impl Iterator<Item = &'value Value> + use<'value> {
    own.get(key).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, patience: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        output(&mut command, Duration::from_millis(patience), most)
    }

    #[test]
    fn a_command_is_bounded_in_time_and_output() {
        assert_eq!(shell("echo a; echo b >&2", 5_000, 10).unwrap(), b"a\n");
        assert!(shell("exit 3", 5_000, 10).unwrap_err().to_string().contains('3'));
        assert!(shell("yes", 5_000, 100_000).unwrap_err().to_string().contains("100000"));
        assert!(output(&mut Command::new("/no/such"), PATIENCE, 1).is_err());
        for script in ["sleep 60", "exec >&-; sleep 60", "sleep 60 & wait"] {
            let started = Instant::now();
            let error = shell(script, 200, 10).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{script}");
            assert!(started.elapsed() < Duration::from_secs(5), "{script}");
        }
    }

    #[test]
    fn documents_without_neighbours_or_sense_have_none() {
        for text in ["", "{}", "[]", "null", r#"{"lldp":[{}]}"#, r#"{"lldp":{"interface":3}}"#] {
            assert_eq!(of_json(text.as_bytes()), [], "{text}");
        }
    }

    #[test]
    fn a_neighbour_by_another_protocol_is_left_out() {
        let of = |via: &str| {
            format!(
                r#"{{"lldp":[{{"interface":[{{"name":"eth0","via":"{via}","chassis":[{{"id":[{{"type":"mac","value":"02:00"}}],
                "name":[{{"value":"leaf1"}}]}}],"port":[{{"id":[{{"type":"ifname","value":"swp1"}}],
                "descr":[{{"value":"words"}}]}}]}}]}}]}}"#
            )
        };
        let port = PortName { host: "leaf1".into(), device: "swp1".into() };
        assert_eq!(of_json(of("LLDP").as_bytes()), [("eth0".to_owned(), port)]);
        assert_eq!(of_json(of("CDPv2").as_bytes()), []);
    }
}
