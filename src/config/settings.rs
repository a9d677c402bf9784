//! The checked settings, and the one place of all defaults and ranges.
//!
//! Values here have been checked by [`Settings::load`]; whoever takes them need not look again. Refuses to hold
//! text where a type says more.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;

use super::address::ListenAddress;
use super::links::Links;
use crate::engine::StormSettings;
use crate::engine::checks::Policy;
use crate::model::{DeviceFilter, NamespaceSelection};
use crate::pair::{Plan, ReportFormat};

/// The TCP port of the exporter.
pub const DEFAULT_PORT: u16 = 10479;
pub(super) const DEFAULT_TELEMETRY_PATH: &str = "/metrics";
pub(super) const DEFAULT_MAX_REQUESTS: usize = 40;
pub(super) const DEFAULT_SYSFS: &str = "/sys";
pub(super) const DEFAULT_PROCFS: &str = "/proc";
pub(super) const DEFAULT_RUN: &str = "/run";
pub(super) const DEFAULT_INTERVAL: Duration = Duration::from_millis(10);
pub(super) const DEFAULT_RTNL_BUDGET: f64 = 0.1;
pub(super) const DEFAULT_RAW_MAX: usize = 100;
pub(super) const DEFAULT_LOG_LEVEL: LogLevel = LogLevel::Info;
pub(super) const DEFAULT_LOG_FORMAT: LogFormat = LogFormat::Logfmt;
pub(super) const DEFAULT_DEMO_SEED: u64 = 1;
pub(super) const DEFAULT_DEMO_HOSTS: u16 = 1;
pub(super) const DEFAULT_REPLAY_SPEED: f64 = 1.0;
pub(super) const DEFAULT_STORM: StormSettings = StormSettings::DEFAULT;
pub(super) const DEFAULT_REPORT_FORMAT: ReportFormat = ReportFormat::Table;
pub(super) const DEFAULT_DECODE_TABLE: DecodeTable = DecodeTable::Ethtool;

pub(super) const DEFAULT_PAIR_SPAN: Duration = Duration::from_mins(1);
pub(super) const DEFAULT_PAIR_FORMAT: ReportFormat = ReportFormat::Table;
pub(super) const DEFAULT_AT_ONCE: usize = 16;

pub(super) const PAIR_SPAN: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_hours(1);
pub(super) const AT_ONCE: RangeInclusive<usize> = 1..=256;
pub(super) const MAX_REQUESTS: RangeInclusive<usize> = 0..=10_000;
pub(super) const INTERVAL: RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(10);
pub(super) const RTNL_BUDGET: RangeInclusive<f64> = 0.001..=1.0;
pub(super) const RAW_MAX: RangeInclusive<usize> = 1..=1000;
pub(super) const DEMO_HOSTS: RangeInclusive<u16> = 1..=64;
pub(super) const REPLAY_SPEED: RangeInclusive<f64> = 0.1..=1000.0;
pub(super) const SUSPECT_RATIO: RangeInclusive<f64> = 0.5..=1.0;
/// Never 0: no sample is below that, and a storm would have no end.
pub(super) const OVER_RATIO: RangeInclusive<f64> = 0.001..=1.0;
/// For `storm.detection` and `storm.recovery`.
pub(super) const STORM_TIME: RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_mins(1);
pub(super) const LEAST_SAMPLES: RangeInclusive<u32> = 1..=1000;
/// A storm is at least so many intervals long, so that no single read makes one.
pub(super) const LEAST_DETECTION_INTERVALS: u32 = 2;

/// Everything that the program is told, checked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What to do.
    pub command: Command,
    /// Stop after the check of the settings.
    pub check_only: bool,
    /// The HTTP server.
    pub web: WebSettings,
    /// Root of sysfs.
    pub sysfs: PathBuf,
    /// Root of procfs.
    pub procfs: PathBuf,
    /// Which devices are read.
    pub devices: DeviceFilter,
    /// Which further network namespaces are looked at.
    pub namespaces: NamespaceSelection,
    /// When they are read.
    pub sampler: SamplerSettings,
    /// What makes a storm.
    pub storm: StormSettings,
    /// What is known of the other ends of links.
    pub links: LinksSettings,
    /// Where raw readings are recorded; only when this machine or a simulated one is served.
    pub record: Option<PathBuf>,
    /// Which uncatalogued counters are passed on.
    pub raw: RawSettings,
    /// Counter names of further drivers.
    pub catalogue_file: Option<PathBuf>,
    /// What is wanted of the ports.
    pub policy: Arc<Policy>,
    /// The log.
    pub log: LogSettings,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Sample this host's NICs and serve their metrics.
    Serve,
    /// Report how the ports are set up.
    Check(CheckSettings),
    /// Serve simulated NICs.
    Demo(DemoSettings),
    /// Print one exposition of this host.
    Once,
    /// Serve a recording.
    Replay(ReplaySettings),
    /// Compare both ends of links.
    Pair(Box<Plan>),
    /// Explain a captured text of counters.
    Decode(DecodeSettings),
    /// Ask the exporter of this host whether it answers.
    Healthcheck,
}

/// The simulated fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoSettings {
    /// Name of the scenario; none for the simulation's own choice.
    pub scenario: Option<String>,
    /// The same seed gives the same run.
    pub seed: u64,
    /// How many hosts are simulated.
    pub hosts: u16,
    /// Whether the switch is served as well.
    pub switch: bool,
    /// List the scenarios instead.
    pub list: bool,
}

/// How the set-up of the ports is reported. `--device` stands in the device filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckSettings {
    /// Its form.
    pub format: ReportFormat,
}

/// A recording and how to serve it.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplaySettings {
    /// The recording.
    pub file: PathBuf,
    /// Recorded seconds per second.
    pub speed: f64,
}

/// A text of counters and how to read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeSettings {
    /// The catalogue's driver key.
    pub driver: String,
    /// Which names the text has.
    pub table: DecodeTable,
    /// Where the text comes from.
    pub input: DecodeInput,
}

/// Where a text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeInput {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

/// The HTTP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSettings {
    /// Where it listens; at least one address, none twice.
    pub listen: Vec<ListenAddress>,
    /// Listen on the sockets that the service manager hands over, and on none of `listen`.
    pub systemd_socket: bool,
    /// The web configuration file, whose content is checked by who serves.
    pub config_file: Option<PathBuf>,
    /// Path of the metrics. Starts with `/`, never `/` alone and never below `/-/`, and holds only letters that
    /// mean nothing to a router.
    pub telemetry_path: String,
    /// How many scrapes are answered at the same time; none for no limit.
    pub max_requests: Option<NonZeroUsize>,
    /// Whether `process_*` metrics are served.
    pub exporter_metrics: bool,
}

/// When devices are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerSettings {
    /// Wanted time between two reads of a device.
    pub interval: Duration,
    /// Share of wall time, above 0 and at most 1, that all reads together may hold the rtnl lock.
    pub rtnl_budget: f64,
}

/// Which uncatalogued counters are passed on.
#[derive(Clone, Debug)]
pub struct RawSettings {
    /// Matches whole names; none passes on nothing.
    pub include: Option<Regex>,
    /// Most counters per device.
    pub max: usize,
}

/// Where the knowledge of peers comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinksSettings {
    /// The links file.
    pub links: Option<Arc<Links>>,
    /// This host's name in it; none for the kernel's host name.
    pub host: Option<String>,
    /// The LLDP agents that are asked; none unless the operator says so.
    pub lldp: Vec<LldpSource>,
    /// Root of the host's `/run`.
    pub run: PathBuf,
}

/// The log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// Least severe level that is written.
    pub level: LogLevel,
    /// Form of a line.
    pub format: LogFormat,
}

macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $each:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[doc = $each])+ $variant,)+ }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(match self { $(Self::$variant => $word,)+ })
            }
        }
    };
}

words! {
    /// Severity of a line of the log.
    LogLevel {
        /// What a developer wants to know.
        Debug = "debug",
        /// What an operator wants to know.
        Info = "info",
        /// What an operator should look at.
        Warn = "warn",
        /// What does not work.
        Error = "error",
    }
}

words! {
    /// An LLDP agent whose neighbours are read.
    LldpSource {
        /// The files of systemd-networkd.
        Networkd = "networkd",
        /// The program `lldpcli` of lldpd.
        Lldpd = "lldpd",
    }
}

words! {
    /// Form of the log.
    LogFormat {
        /// `key=value` pairs.
        Logfmt = "logfmt",
        /// One JSON object a line.
        Json = "json",
    }
}

words! {
    /// Which kind of names a captured text has.
    DecodeTable {
        /// Names of `ethtool -S`.
        Ethtool = "ethtool",
        /// Names of RDMA counters.
        Rdma = "rdma",
    }
}
