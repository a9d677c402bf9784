//! The command line as it was written: flags in the Prometheus exporters' spelling, values as text.
//!
//! Cheap and without side effects: nothing is opened, and values are judged by [`super::Settings`] only, so
//! that all that are wrong are listed together. Flags belong to every command, before or after its name.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};

use super::duration::show;
use super::settings::{
    AT_ONCE, DEFAULT_AT_ONCE, DEFAULT_DECODE_TABLE, DEFAULT_DEMO_HOSTS, DEFAULT_DEMO_SEED,
    DEFAULT_INTERVAL, DEFAULT_LOG_FORMAT, DEFAULT_LOG_LEVEL, DEFAULT_MAX_REQUESTS,
    DEFAULT_PAIR_FORMAT, DEFAULT_PAIR_SPAN, DEFAULT_PORT, DEFAULT_PROCFS, DEFAULT_RAW_MAX,
    DEFAULT_REPLAY_SPEED, DEFAULT_REPORT_FORMAT, DEFAULT_RTNL_BUDGET, DEFAULT_RUN, DEFAULT_STORM,
    DEFAULT_SYSFS, DEFAULT_TELEMETRY_PATH, DEMO_HOSTS, INTERVAL, LEAST_SAMPLES, PAIR_SPAN, RAW_MAX,
    REPLAY_SPEED, STORM_TIME,
};
use crate::build_info::VERSION_TEXT;

/// The command line, raw. Made by [`parse_from`], judged by [`super::Settings::load`].
#[derive(Clone, Debug, Parser)]
#[command(
    name = "roce_exporter",
    // clap prints `{display_name} {version}`; the comma makes it the line that Prometheus' programs print.
    display_name = "roce_exporter,",
    version = VERSION_TEXT,
    about = "Prometheus exporter for lossless Ethernet: PFC pause, ECN and RoCE counters",
    long_about = None,
    disable_version_flag = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// Print version and build, then exit
    #[arg(long, action = ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    pub(super) command: Option<RawCommand>,
    #[command(flatten)]
    pub(super) config: ConfigFlags,
    #[command(flatten)]
    pub(super) web: WebFlags,
    #[command(flatten)]
    pub(super) devices: DeviceFlags,
    #[command(flatten)]
    pub(super) policy: PolicyFlags,
    #[command(flatten)]
    pub(super) counters: CounterFlags,
    #[command(flatten)]
    pub(super) sampler: SamplerFlags,
    #[command(flatten)]
    pub(super) storm: StormFlags,
    #[command(flatten)]
    pub(super) links: LinksFlags,
    #[command(flatten)]
    pub(super) record: RecordFlags,
    #[command(flatten)]
    pub(super) log: LogFlags,
}

/// Reads a command line, the program's name first.
///
/// # Errors
/// An unknown flag or a missing value; also the requests for help and version, which
/// [`clap::Error::exit_code`] tells apart.
pub fn parse_from<I, T>(arguments: I) -> Result<Cli, clap::Error>
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    Cli::try_parse_from(arguments)
}

/// The command line's description, for help texts and what is generated from them.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

#[derive(Clone, Debug, Subcommand)]
pub(super) enum RawCommand {
    /// Check how this host's ports are set up: exit code 0 well, 1 warning, 2 critical
    Check(CheckArguments),
    /// Serve simulated NICs; no hardware needed
    Demo(DemoArguments),
    /// Read every counter once and print the exposition
    Once,
    /// Serve what `--record` wrote, as if it were live
    Replay(ReplayArguments),
    /// Compare what both ends of a link sent and received of pause, over a test load
    Pair(PairArguments),
    /// Print what a captured `ethtool -S` or `rdma statistic` text means
    Decode(DecodeArguments),
    /// Ask the exporter of this host whether it answers: exit code 0 yes, 1 no
    Healthcheck,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Check")]
pub(super) struct CheckArguments {
    /// Only netdevs whose whole name matches, instead of --device.include
    #[arg(long = "device", value_name = "REGEX")]
    pub(super) only_device: Option<String>,
    #[arg(long = "format", value_name = "FORMAT", help = format!(
        "Form of the report: table or json [default: {DEFAULT_REPORT_FORMAT}]"))]
    pub(super) report_format: Option<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Demo")]
pub(super) struct DemoArguments {
    /// What the simulated fabric goes through; `--list` names the scenarios
    #[arg(long, value_name = "NAME")]
    pub(super) scenario: Option<String>,
    #[arg(long, value_name = "N", help = format!("The same seed gives the same run [default: {DEFAULT_DEMO_SEED}]"))]
    pub(super) seed: Option<String>,
    #[arg(long, value_name = "N", help = format!(
        "Simulated hosts, {} to {} [default: {DEFAULT_DEMO_HOSTS}]", DEMO_HOSTS.start(), DEMO_HOSTS.end()))]
    pub(super) hosts: Option<String>,
    /// Also serve the switch, on the port after the last host
    #[arg(long)]
    pub(super) switch: bool,
    /// List the scenarios, then exit
    #[arg(long)]
    pub(super) list: bool,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Replay")]
pub(super) struct ReplayArguments {
    #[arg(long, value_name = "X", help = format!(
        "Recorded seconds per second, {} to {} [default: {DEFAULT_REPLAY_SPEED}]",
        REPLAY_SPEED.start(), REPLAY_SPEED.end()))]
    pub(super) speed: Option<String>,
    /// The recording
    #[arg(value_name = "FILE")]
    pub(super) recording: PathBuf,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Pair")]
pub(super) struct PairArguments {
    #[arg(long = "for", value_name = "DURATION", help = format!(
        "How long to measure, {} to {} [default: {}]",
        show(*PAIR_SPAN.start()), show(*PAIR_SPAN.end()), show(DEFAULT_PAIR_SPAN)))]
    pub(super) span: Option<String>,
    /// Check all links of this links file instead
    #[arg(long = "pairs", value_name = "FILE")]
    pub(super) pairs: Option<PathBuf>,
    #[arg(long = "at-once", value_name = "N", help = format!(
        "Links measured at the same time, {} to {} [default: {DEFAULT_AT_ONCE}]", AT_ONCE.start(), AT_ONCE.end()))]
    pub(super) at_once: Option<String>,
    /// A setting that may differ, such as mtu; may be repeated
    #[arg(long = "ignore", value_name = "SETTING")]
    pub(super) ignored: Vec<String>,
    #[arg(long = "format", value_name = "FORMAT", help = format!(
        "table or json [default: {DEFAULT_PAIR_FORMAT}]"))]
    pub(super) report: Option<String>,
    /// Use HTTPS where an end does not say http:// or https://
    #[arg(long = "tls")]
    pub(super) tls: bool,
    /// Trust these certificate authorities (PEM) instead of the system's
    #[arg(long = "ca-file", value_name = "FILE")]
    pub(super) authorities: Option<PathBuf>,
    /// User for basic auth
    #[arg(long = "user", value_name = "NAME")]
    pub(super) user: Option<String>,
    /// File with the password for basic auth
    #[arg(long = "password-file", value_name = "FILE")]
    pub(super) password_file: Option<PathBuf>,
    /// Both ends: `HOST[:PORT]/DEVICE`, with http:// or https:// before it if need be
    #[arg(value_name = "END")]
    pub(super) ends: Vec<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Decode")]
pub(super) struct DecodeArguments {
    /// Driver whose names the text has, such as `mlx5_core`
    #[arg(long, value_name = "DRIVER")]
    pub(super) driver: String,
    #[arg(long, value_name = "TABLE", help = format!("Table to look names up in: ethtool or rdma [default: {DEFAULT_DECODE_TABLE}]"))]
    pub(super) table: Option<String>,
    /// The text; standard input when absent or `-`
    #[arg(value_name = "FILE")]
    pub(super) input: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Configuration")]
pub(super) struct ConfigFlags {
    /// YAML file with settings; a flag wins over the file
    #[arg(long = "config.file", value_name = "FILE", global = true)]
    pub(super) config_file: Option<PathBuf>,
    /// Check the settings, then exit: 0 when they are good, 2 when not
    #[arg(long = "config.check", global = true)]
    pub(super) config_check: bool,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Web")]
pub(super) struct WebFlags {
    #[arg(long = "web.listen-address", value_name = "ADDRESS", global = true, help = format!(
        "Where to listen: :PORT, HOST:PORT or [IPv6]:PORT; may be repeated [default: :{DEFAULT_PORT}]"))]
    pub(super) listen_address: Vec<String>,
    /// Listen on the sockets that systemd hands over, instead of --web.listen-address
    #[arg(
        long = "web.systemd-socket",
        value_name = "BOOL",
        global = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub(super) systemd_socket: Option<String>,
    /// File with TLS, users, headers and rate limit, in the form of Prometheus' exporters
    #[arg(long = "web.config.file", value_name = "FILE", global = true)]
    pub(super) web_config_file: Option<PathBuf>,
    #[arg(long = "web.telemetry-path", value_name = "PATH", global = true, help = format!(
        "Path of the metrics [default: {DEFAULT_TELEMETRY_PATH}]"))]
    pub(super) telemetry_path: Option<String>,
    #[arg(long = "web.max-requests", value_name = "N", global = true, help = format!(
        "Scrapes answered at the same time; 0 sets no limit [default: {DEFAULT_MAX_REQUESTS}]"))]
    pub(super) max_requests: Option<String>,
    /// Leave out metrics of this process (process_*)
    #[arg(
        long = "web.disable-exporter-metrics",
        value_name = "BOOL",
        global = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub(super) disable_exporter_metrics: Option<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Devices")]
pub(super) struct DeviceFlags {
    /// Only devices whose whole name matches
    #[arg(long = "device.include", value_name = "REGEX", global = true)]
    pub(super) include: Option<String>,
    /// Not the devices whose whole name matches; applied after the include
    #[arg(long = "device.exclude", value_name = "REGEX", global = true)]
    pub(super) exclude: Option<String>,
    /// Also NICs of another network namespace: name, file or all; may be repeated; needs a capability
    #[arg(long = "device.netns", alias = "netns", value_name = "NETNS", global = true)]
    pub(super) netns: Vec<String>,
    #[arg(long = "path.sysfs", value_name = "DIR", global = true, help = format!(
        "Where sysfs is mounted [default: {DEFAULT_SYSFS}]"))]
    pub(super) sysfs: Option<PathBuf>,
    #[arg(long = "path.procfs", value_name = "DIR", global = true, help = format!(
        "Where procfs is mounted [default: {DEFAULT_PROCFS}]"))]
    pub(super) procfs: Option<PathBuf>,
    #[arg(long = "path.run", value_name = "DIR", global = true, help = format!(
        "Where the host's /run is, for --links.lldp=networkd [default: {DEFAULT_RUN}]"))]
    pub(super) run: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Policy")]
pub(super) struct PolicyFlags {
    /// YAML file with what is wanted of lossless ports; without one the usual set-up of RoCE
    #[arg(long = "policy.file", alias = "policy", value_name = "FILE", global = true)]
    pub(super) policy_file: Option<PathBuf>,
    /// Show the priority of all 64 DSCPs, not only of those that the policy names
    #[arg(
        long = "policy.all-dscps",
        value_name = "BOOL",
        global = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub(super) all_dscps: Option<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Counters")]
pub(super) struct CounterFlags {
    /// File with counter names of further drivers
    #[arg(long = "catalogue.file", value_name = "FILE", global = true)]
    pub(super) catalogue: Option<PathBuf>,
    /// Pass on uncatalogued counters whose whole name matches
    #[arg(long = "raw.include", value_name = "REGEX", global = true)]
    pub(super) raw_include: Option<String>,
    #[arg(long = "raw.max", value_name = "N", global = true, help = format!(
        "Most counters that --raw.include may pass on per device, {} to {} [default: {DEFAULT_RAW_MAX}]",
        RAW_MAX.start(), RAW_MAX.end()))]
    pub(super) raw_max: Option<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Sampling")]
pub(super) struct SamplerFlags {
    #[arg(long = "sampler.interval", value_name = "DURATION", global = true, help = format!(
        "Time between two reads of a NIC, {} to {} [default: {}]",
        show(*INTERVAL.start()), show(*INTERVAL.end()), show(DEFAULT_INTERVAL)))]
    pub(super) interval: Option<String>,
    #[arg(long = "sampler.rtnl-budget", value_name = "SHARE", global = true, help = format!(
        "Share of time that reads may hold the kernel's rtnl lock: 0.1 or 10% [default: {DEFAULT_RTNL_BUDGET}]"))]
    pub(super) rtnl_budget: Option<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Storms")]
pub(super) struct StormFlags {
    #[arg(long = "storm.suspect-ratio", value_name = "SHARE", global = true, help = format!(
        "A sample paused for at least this share of its time is suspect [default: {}]",
        DEFAULT_STORM.suspect_ratio))]
    pub(super) suspect_ratio: Option<String>,
    #[arg(long = "storm.detection", value_name = "DURATION", global = true, help = format!(
        "Suspect time without a break that makes a storm, {} to {} [default: {}]",
        show(*STORM_TIME.start()), show(*STORM_TIME.end()), show(DEFAULT_STORM.detection)))]
    pub(super) detection: Option<String>,
    #[arg(long = "storm.least-samples", value_name = "N", global = true, help = format!(
        "Suspect samples that a storm needs at least, {} to {} [default: {}]",
        LEAST_SAMPLES.start(), LEAST_SAMPLES.end(), DEFAULT_STORM.least_samples))]
    pub(super) least_samples: Option<String>,
    #[arg(long = "storm.over-ratio", value_name = "SHARE", global = true, help = format!(
        "A sample paused for less than this share of its time is quiet [default: {}]",
        DEFAULT_STORM.over_ratio))]
    pub(super) over_ratio: Option<String>,
    #[arg(long = "storm.recovery", value_name = "DURATION", global = true, help = format!(
        "Quiet time that ends a storm, {} to {} [default: {}]",
        show(*STORM_TIME.start()), show(*STORM_TIME.end()), show(DEFAULT_STORM.recovery)))]
    pub(super) recovery: Option<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Links")]
pub(super) struct LinksFlags {
    /// YAML file that says which ports are connected
    #[arg(long = "links.file", value_name = "FILE", global = true)]
    pub(super) file: Option<PathBuf>,
    /// This host's name in the links file [default: the kernel's host name]
    #[arg(long = "links.host", value_name = "NAME", global = true)]
    pub(super) host: Option<String>,
    /// Also learn peers from LLDP: networkd (its files) or lldpd (runs lldpcli); may be repeated
    #[arg(long = "links.lldp", value_name = "SOURCE", global = true)]
    pub(super) lldp: Vec<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Recording")]
pub(super) struct RecordFlags {
    /// Write the raw readings to this new file, for `replay`
    #[arg(long = "record", value_name = "FILE", global = true)]
    pub(super) record: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Log")]
pub(super) struct LogFlags {
    #[arg(long = "log.level", value_name = "LEVEL", global = true, help = format!(
        "debug, info, warn or error [default: {DEFAULT_LOG_LEVEL}]"))]
    pub(super) level: Option<String>,
    #[arg(long = "log.format", value_name = "FORMAT", global = true, help = format!(
        "logfmt or json, on standard error [default: {DEFAULT_LOG_FORMAT}]"))]
    pub(super) format: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn no_command_shadows_a_flag_of_all_commands() {
        let top = command();
        for command in top.get_subcommands() {
            for argument in command.get_arguments() {
                let shadowed = top.get_arguments().any(|flag| flag.get_id() == argument.get_id());
                assert!(
                    !shadowed,
                    "{} of {} takes the value of the flag",
                    argument.get_id(),
                    command.get_name()
                );
            }
        }
        command().debug_assert();
    }
}
