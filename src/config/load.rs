//! From raw to checked: a flag wins over the file, the file over the default.
//!
//! Goes through all settings whatever it finds. Refuses to give out a part of them: either all are good, or the
//! list of all faults comes back.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use super::address::{InvalidAddress, ListenAddress};
use super::check::{Checker, Kind};
use super::cli::{
    CheckArguments, Cli, DecodeArguments, DemoArguments, RawCommand, ReplayArguments,
};
use super::errors::{Place, SettingsErrors};
use super::file::{self, Sections};
use super::settings::{
    CheckSettings, Command, DEFAULT_DECODE_TABLE, DEFAULT_DEMO_HOSTS, DEFAULT_DEMO_SEED,
    DEFAULT_INTERVAL, DEFAULT_LOG_FORMAT, DEFAULT_LOG_LEVEL, DEFAULT_MAX_REQUESTS, DEFAULT_PORT,
    DEFAULT_PROCFS, DEFAULT_RAW_MAX, DEFAULT_REPLAY_SPEED, DEFAULT_REPORT_FORMAT,
    DEFAULT_RTNL_BUDGET, DEFAULT_RUN, DEFAULT_SYSFS, DEFAULT_TELEMETRY_PATH, DEMO_HOSTS,
    DecodeInput, DecodeSettings, DecodeTable, DemoSettings, INTERVAL, LinksSettings, LldpSource,
    LogFormat, LogLevel, LogSettings, MAX_REQUESTS, RAW_MAX, REPLAY_SPEED, RTNL_BUDGET,
    RawSettings, ReplaySettings, SamplerSettings, Settings, WebSettings,
};
use super::{duration, links, pair, policy, storm, value};
use crate::engine::checks::Policy;
use crate::model::{DeviceFilter, NamespaceSelection};
use crate::pair::ReportFormat;

impl Settings {
    /// Checks flags and, if one is named, the settings file. Depends on nothing else and binds nothing, so that
    /// a reload calls it again with the same flags.
    ///
    /// # Errors
    /// The list of everything that is wrong.
    pub fn load(cli: &Cli) -> Result<Self, SettingsErrors> {
        let path = cli.config.config_file.as_deref();
        let (file, problems) = path.map(file::read).unwrap_or_default();
        let mut checker = Checker::new(path, problems);
        let mut command = command(&mut checker, cli.command.as_ref());
        let record = record(&mut checker, cli, &command);
        let web = web(&mut checker, cli, &file);
        if let Command::Pair(plan) = &mut command {
            plan.access.path.clone_from(&web.telemetry_path);
        }
        let sysfs = sysfs(&mut checker, cli, &file);
        let procfs = procfs(&mut checker, cli, &file);
        let devices = devices(&mut checker, cli, &file);
        let namespaces = namespaces(&mut checker, cli, &file);
        let sampler = sampler(&mut checker, cli, &file);
        let policy = policy(&mut checker, cli, &file);
        let settings = Self {
            policy: Arc::new(policy),
            command,
            check_only: cli.config.config_check,
            web,
            sysfs,
            procfs,
            devices,
            namespaces,
            sampler,
            storm: storm::settings(&mut checker, &cli.storm, &file.storm, sampler.interval),
            links: links(&mut checker, cli, &file),
            record,
            raw: raw(&mut checker, cli, &file),
            catalogue_file: catalogue_file(&mut checker, cli, &file),
            log: log(&mut checker, cli, &file),
        };
        storm::fits(&mut checker, &settings, &cli.storm, &file.storm);
        SettingsErrors::unless_none(checker.into_problems(), settings)
    }
}

fn command(checker: &mut Checker<'_>, raw: Option<&RawCommand>) -> Command {
    match raw {
        None => Command::Serve,
        Some(RawCommand::Once) => Command::Once,
        Some(RawCommand::Healthcheck) => Command::Healthcheck,
        Some(RawCommand::Check(arguments)) => Command::Check(check(checker, arguments)),
        Some(RawCommand::Demo(arguments)) => Command::Demo(demo(checker, arguments)),
        Some(RawCommand::Replay(arguments)) => Command::Replay(replay(checker, arguments)),
        Some(RawCommand::Pair(arguments)) => {
            Command::Pair(Box::new(pair::plan(checker, arguments)))
        }
        Some(RawCommand::Decode(arguments)) => Command::Decode(decode(checker, arguments)),
    }
}

fn check(checker: &mut Checker<'_>, arguments: &CheckArguments) -> CheckSettings {
    let format = checker.optional("format", arguments.report_format.as_deref(), None, |text| {
        value::one_of(text, ReportFormat::ALL)
    });
    CheckSettings { format: format.unwrap_or(DEFAULT_REPORT_FORMAT) }
}

fn demo(checker: &mut Checker<'_>, arguments: &DemoArguments) -> DemoSettings {
    let seed = checker.optional("seed", arguments.seed.as_deref(), None, |text| {
        value::number(text, &(0..=u64::MAX))
    });
    let hosts = checker.optional("hosts", arguments.hosts.as_deref(), None, |text| {
        value::number(text, &DEMO_HOSTS)
    });
    DemoSettings {
        scenario: arguments.scenario.clone(),
        seed: seed.unwrap_or(DEFAULT_DEMO_SEED),
        hosts: hosts.unwrap_or(DEFAULT_DEMO_HOSTS),
        switch: arguments.switch,
        list: arguments.list,
    }
}

fn replay(checker: &mut Checker<'_>, arguments: &ReplayArguments) -> ReplaySettings {
    let speed = checker.optional("speed", arguments.speed.as_deref(), None, |text| {
        value::real(text, &REPLAY_SPEED)
    });
    ReplaySettings {
        file: arguments.recording.clone(),
        speed: speed.unwrap_or(DEFAULT_REPLAY_SPEED),
    }
}

/// Whether the file may be written is seen when it is made: a reload finds the one that is being written.
fn record(checker: &mut Checker<'_>, cli: &Cli, command: &Command) -> Option<PathBuf> {
    let path = cli.record.record.clone()?;
    if !matches!(command, Command::Serve | Command::Demo(_)) {
        let message = "only what is sampled can be recorded: this host, or `demo`".to_owned();
        checker.refuse(Place::Flag("record"), path.display().to_string(), message);
    }
    Some(path)
}

fn decode(checker: &mut Checker<'_>, arguments: &DecodeArguments) -> DecodeSettings {
    let table = checker.optional("table", arguments.table.as_deref(), None, |text| {
        value::one_of(text, DecodeTable::ALL)
    });
    let file = arguments.input.as_ref().filter(|path| path.as_os_str() != "-");
    DecodeSettings {
        driver: arguments.driver.clone(),
        table: table.unwrap_or(DEFAULT_DECODE_TABLE),
        input: file.map_or(DecodeInput::Stdin, |path| DecodeInput::File(path.clone())),
    }
}

fn web(checker: &mut Checker<'_>, cli: &Cli, file: &Sections) -> WebSettings {
    let (flags, keys) = (&cli.web, &file.web);
    let mut listen = checker.list(
        "web.listen-address",
        &flags.listen_address,
        keys.listen_address.as_ref(),
        |text| text.parse().map_err(|error: InvalidAddress| error.to_string()),
    );
    if listen.is_empty() {
        listen.push(ListenAddress::Any { port: DEFAULT_PORT });
    }
    let systemd_socket = checker.optional(
        "web.systemd-socket",
        flags.systemd_socket.as_deref(),
        keys.systemd_socket.as_ref(),
        value::truth,
    );
    let telemetry_path = checker.optional(
        "web.telemetry-path",
        flags.telemetry_path.as_deref(),
        keys.telemetry_path.as_ref(),
        value::telemetry_path,
    );
    let max_requests = checker.optional(
        "web.max-requests",
        flags.max_requests.as_deref(),
        keys.max_requests.as_ref(),
        |text| value::number(text, &MAX_REQUESTS),
    );
    let disable_exporter_metrics = checker.optional(
        "web.disable-exporter-metrics",
        flags.disable_exporter_metrics.as_deref(),
        keys.disable_exporter_metrics.as_ref(),
        value::truth,
    );
    let named = flags.web_config_file.as_ref();
    let config_file = checker.path("web.config.file", named, None, Kind::File);
    WebSettings {
        listen,
        systemd_socket: systemd_socket.unwrap_or(false),
        config_file,
        telemetry_path: telemetry_path.unwrap_or_else(|| DEFAULT_TELEMETRY_PATH.to_owned()),
        max_requests: NonZeroUsize::new(max_requests.unwrap_or(DEFAULT_MAX_REQUESTS)),
        exporter_metrics: !disable_exporter_metrics.unwrap_or(false),
    }
}

fn sysfs(checker: &mut Checker<'_>, cli: &Cli, file: &Sections) -> PathBuf {
    let (flag, key) = (cli.devices.sysfs.as_ref(), file.path.sysfs.as_ref());
    checker
        .path("path.sysfs", flag, key, Kind::Directory)
        .unwrap_or_else(|| PathBuf::from(DEFAULT_SYSFS))
}

fn procfs(checker: &mut Checker<'_>, cli: &Cli, file: &Sections) -> PathBuf {
    let (flag, key) = (cli.devices.procfs.as_ref(), file.path.procfs.as_ref());
    checker
        .path("path.procfs", flag, key, Kind::Directory)
        .unwrap_or_else(|| PathBuf::from(DEFAULT_PROCFS))
}

fn devices(checker: &mut Checker<'_>, cli: &Cli, file: &Sections) -> DeviceFilter {
    let (flags, keys) = (&cli.devices, &file.device);
    let only = match &cli.command {
        Some(RawCommand::Check(arguments)) => arguments.only_device.as_deref(),
        _ => None,
    };
    let include = checker.optional(
        "device.include",
        flags.include.as_deref(),
        keys.include.as_ref(),
        value::pattern,
    );
    DeviceFilter {
        include: checker.optional("device", only, None, value::pattern).or(include),
        exclude: checker.optional(
            "device.exclude",
            flags.exclude.as_deref(),
            keys.exclude.as_ref(),
            value::pattern,
        ),
    }
}

fn namespaces(checker: &mut Checker<'_>, cli: &Cli, file: &Sections) -> NamespaceSelection {
    let (flags, keys) = (&cli.devices.netns, file.device.netns.as_ref());
    let mut named = checker.list("device.netns", flags, keys, value::namespace);
    let all = named.iter().any(|name| name == "all");
    named.retain(|name| name != "all");
    NamespaceSelection { named, all }
}

fn sampler(checker: &mut Checker<'_>, cli: &Cli, file: &Sections) -> SamplerSettings {
    let (flags, keys) = (&cli.sampler, &file.sampler);
    let interval = checker.optional(
        "sampler.interval",
        flags.interval.as_deref(),
        keys.interval.as_ref(),
        |text| duration::parse(text, &INTERVAL),
    );
    let rtnl_budget = checker.optional(
        "sampler.rtnl-budget",
        flags.rtnl_budget.as_deref(),
        keys.rtnl_budget.as_ref(),
        |text| value::share(text, &RTNL_BUDGET),
    );
    SamplerSettings {
        interval: interval.unwrap_or(DEFAULT_INTERVAL),
        rtnl_budget: rtnl_budget.unwrap_or(DEFAULT_RTNL_BUDGET),
    }
}

fn links(checker: &mut Checker<'_>, cli: &Cli, file: &Sections) -> LinksSettings {
    let (flags, keys) = (&cli.links, &file.links);
    let path = checker.path("links.file", flags.file.as_ref(), keys.file.as_ref(), Kind::File);
    let links = path.and_then(|path| match links::read(&path) {
        Ok(links) => Some(Arc::new(links)),
        Err(problems) => {
            checker.add(problems);
            None
        }
    });
    let host =
        checker.optional("links.host", flags.host.as_deref(), keys.host.as_ref(), value::host_name);
    let lldp = checker.list("links.lldp", &flags.lldp, keys.lldp.as_ref(), |text| {
        value::one_of(text, LldpSource::ALL)
    });
    let (flag, key) = (cli.devices.run.as_ref(), file.path.run.as_ref());
    let run = checker.path("path.run", flag, key, Kind::Directory);
    LinksSettings { links, host, lldp, run: run.unwrap_or_else(|| PathBuf::from(DEFAULT_RUN)) }
}

fn raw(checker: &mut Checker<'_>, cli: &Cli, file: &Sections) -> RawSettings {
    let (flags, keys) = (&cli.counters, &file.raw);
    let include = checker.optional(
        "raw.include",
        flags.raw_include.as_deref(),
        keys.include.as_ref(),
        value::pattern,
    );
    let max = checker.optional("raw.max", flags.raw_max.as_deref(), keys.max.as_ref(), |text| {
        value::number(text, &RAW_MAX)
    });
    RawSettings { include, max: max.unwrap_or(DEFAULT_RAW_MAX) }
}

fn catalogue_file(checker: &mut Checker<'_>, cli: &Cli, file: &Sections) -> Option<PathBuf> {
    let (flag, key) = (cli.counters.catalogue.as_ref(), file.catalogue.file.as_ref());
    checker.path("catalogue.file", flag, key, Kind::File)
}

fn policy(checker: &mut Checker<'_>, cli: &Cli, file: &Sections) -> Policy {
    let (flags, keys) = (&cli.policy, &file.policy);
    let all = checker.optional(
        "policy.all-dscps",
        flags.all_dscps.as_deref(),
        keys.all_dscps.as_ref(),
        value::truth,
    );
    let (flag, key) = (flags.policy_file.as_ref(), keys.file.as_ref());
    let loaded = checker.path("policy.file", flag, key, Kind::File).map(|path| {
        let (policy, problems) = policy::load(&path);
        checker.add(problems);
        policy
    });
    Policy { all_dscps: all.unwrap_or(false), ..loaded.unwrap_or_default() }
}

fn log(checker: &mut Checker<'_>, cli: &Cli, file: &Sections) -> LogSettings {
    let (flags, keys) = (&cli.log, &file.log);
    let level =
        checker.optional("log.level", flags.level.as_deref(), keys.level.as_ref(), |text| {
            value::one_of(text, LogLevel::ALL)
        });
    let format =
        checker.optional("log.format", flags.format.as_deref(), keys.format.as_ref(), |text| {
            value::one_of(text, LogFormat::ALL)
        });
    LogSettings {
        level: level.unwrap_or(DEFAULT_LOG_LEVEL),
        format: format.unwrap_or(DEFAULT_LOG_FORMAT),
    }
}
