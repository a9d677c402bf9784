//! A wall clock for one program alone, which jumps: libfaketime below the program, its offset in a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use crate::network_namespace::skip;

/// Where the clock jumps to, in seconds from the true time.
pub const OFFSETS: [i64; 4] = [0, 3_600, -86_400, 31_536_000];
/// How often it jumps.
const STEP_EVERY: Duration = Duration::from_secs(5);
/// How far a time that was told may be from the true one.
pub const NEAR: i64 = 5;

/// The library; says so where there is none.
pub fn library() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let found = folders
        .map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"))
        .find(|library| library.exists());
    if found.is_none() {
        skip("clock-steps", "needs libfaketime");
    }
    found
}

/// Lets a program have the clock that `file` sets.
pub fn give(command: &mut Command, library: &Path, file: &Path) {
    set(file, 0);
    command
        .env("LD_PRELOAD", library)
        .env("FAKETIME_TIMESTAMP_FILE", file)
        .env("FAKETIME_CACHE_DURATION", "1")
        // The two names that versions of it have.
        .env("DONT_FAKE_MONOTONIC", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
}

/// Steps the clock again and again. `told` is the time by the program, if it says any.
pub fn step_until(until: Instant, file: &Path, told: impl Fn() -> Option<i64>) {
    let (mut steps, mut shown) = (0, 0);
    for offset in OFFSETS.into_iter().cycle().skip(1) {
        if Instant::now() + STEP_EVERY >= until {
            break;
        }
        set(file, offset);
        steps += 1;
        let over = Instant::now() + STEP_EVERY;
        let mut seen = false;
        while Instant::now() < over {
            seen |= told().is_some_and(|told| is_off_by(told, offset));
            sleep(Duration::from_millis(500));
        }
        shown += u32::from(seen);
    }
    println!("{steps} steps of the clock, {shown} of them seen in what the program says");
    assert!(shown > 0, "the clock did not jump");
}

fn set(file: &Path, offset: i64) {
    // Replaced at once, so that no half of it is read.
    let whole = file.with_extension("new");
    fs::write(&whole, format!("{offset:+}\n")).unwrap();
    fs::rename(whole, file).unwrap();
}

fn is_off_by(told: i64, offset: i64) -> bool {
    (told - unix_now() - offset).abs() <= NEAR
}

pub fn unix_now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}
