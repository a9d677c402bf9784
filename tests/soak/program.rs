//! What a running process takes of the machine.

use std::fs;
use std::time::Instant;

/// Memory, descriptors and threads of a process at a time.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub at: Instant,
    /// Memory of its own, without what is mapped from files, in KiB.
    pub memory: u64,
    pub descriptors: u64,
    pub threads: u64,
    /// Processor time since its start, in seconds.
    pub processor: f64,
}

impl Taken {
    pub fn by(process: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
        Self {
            at: Instant::now(),
            memory: line("RssAnon:"),
            descriptors: fs::read_dir(format!("/proc/{process}/fd")).unwrap().count() as u64,
            threads: line("Threads:"),
            processor: ticks / procfs::ticks_per_second() as f64,
        }
    }
}
