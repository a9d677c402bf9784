//! The neighbours that systemd-networkd has heard: a file per interface, named by its index, with frames as they came.
//!
//! Each frame comes after its length, 64 bits, little end first (`src/network/networkd-lldp-rx.c`). A missing directory is
//! no error: networkd writes none unless a `.network` file says `LLDP=`.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use super::lldp::Announcement;
use crate::model::PortName;

/// No interface has more neighbours than that in frames of 1500 bytes.
const MOST_BYTES: u64 = 1 << 20;
/// Directory below `/run`.
const DIRECTORY: &str = "systemd/netif/lldp";

/// Each neighbour with the index of the interface that hears it.
pub(super) fn neighbours(run: &Path) -> Vec<(u32, PortName)> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(run.join(DIRECTORY)) else { return found };
    for entry in entries.flatten() {
        let index = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(index) = index else { continue };
        let mut bytes = Vec::new();
        let read =
            File::open(entry.path()).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
        if let Err(error) = read {
            tracing::debug!(file = %entry.path().display(), %error, "LLDP neighbours unread");
            continue;
        }
        found.extend(of_file(&bytes).into_iter().map(|port| (index, port)));
    }
    found
}

/// The ports at the other end that a file of systemd-networkd names; frames that are no LLDP name none.
#[must_use]
pub fn of_file(bytes: &[u8]) -> Vec<PortName> {
    let frames = frames(bytes).into_iter();
    frames.filter_map(|frame| Announcement::of_frame(frame)?.port()).collect()
}

/// The frames of a file, up to the first that is cut short: the file is written anew while it is read.
fn frames(bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut rest = bytes;
    while let Some((length, after)) = rest.split_first_chunk::<8>() {
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let Some((frame, after)) = after.split_at_checked(length) else { break };
        found.push(frame);
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::lldp::tests::frame;
    use super::*;

    #[test]
    fn each_file_gives_the_neighbours_of_its_interface() {
        let run = tempfile::tempdir().unwrap();
        assert_eq!(neighbours(run.path()), [], "no networkd is no error");
        let directory = run.path().join(DIRECTORY);
        fs::create_dir_all(&directory).unwrap();
        let one = |port: &[u8]| {
            let parts = frame(&[(1, b"\x07c"), (2, port), (3, &[0, 9]), (5, b"leaf1"), (0, &[])]);
            let length = u64::try_from(parts.len()).unwrap();
            [length.to_le_bytes().as_slice(), &parts].concat()
        };
        let cut = [one(b"\x05swp1"), vec![200, 0, 0, 0, 0, 0, 0, 0, 1]].concat();
        fs::write(directory.join("3"), cut).unwrap();
        fs::write(directory.join("4"), [one(b"\x05swp2"), one(b"\x05swp3")].concat()).unwrap();
        fs::write(directory.join("lost+found"), "").unwrap();
        let mut found: Vec<String> = neighbours(run.path())
            .into_iter()
            .map(|(index, port)| format!("{index} {}/{}", port.host, port.device))
            .collect();
        found.sort();
        assert_eq!(found, ["3 leaf1/swp1", "4 leaf1/swp2", "4 leaf1/swp3"]);
    }
}
