//! Wires the rooms together, one module per command.
//!
//! Settings are checked before anything is bound or read. Exit codes: 0 done, 1 failed while running, 2 bad
//! settings; `check` also says by them what it found. Refuses to judge, encode or read by itself.

mod check;
mod decode;
mod demo;
mod healthcheck;
mod listen;
mod once;
mod pair;
mod peers;
pub mod replay;
mod serve;
mod service_manager;
mod signals;

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;

use serve::{MakeHost, Running};

use crate::catalogue::{Catalogue, RawSelection};
use crate::config::{Cli, Command, Settings, SettingsErrors, parse_from};
use crate::engine::checks::SamplingWanted;
use crate::http::Door;
use crate::http::access::AccessError;
use crate::log;
use crate::sampler::SamplerOptions;
use crate::source::{Host, MachineHost, NamespacesHost, SysfsRoot};

/// How often the machine is looked at again.
const DISCOVERY_PERIOD: std::time::Duration = std::time::Duration::from_secs(5);

/// Runs the program with these arguments, the first being its name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody is left to tell when standard output is closed.
            let _ = error.print();
            return u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
        }
    };
    let settings = match Settings::load(&cli) {
        Ok(settings) => settings,
        Err(errors) => {
            complain(&errors);
            return ExitCode::from(SettingsErrors::EXIT_CODE);
        }
    };
    // Before what it does not need: the files of the one that serves may be readable by that one only.
    if settings.command == Command::Healthcheck && !settings.check_only {
        return ended(healthcheck::healthcheck(&settings).map(|()| ExitCode::SUCCESS));
    }
    let catalogue = match load_catalogue(&settings) {
        Ok(catalogue) => Arc::new(catalogue),
        Err(error) => {
            complain(&format_args!("{error:#}"));
            return ExitCode::from(SettingsErrors::EXIT_CODE);
        }
    };
    let door = match open_door(&settings) {
        Ok(door) => Arc::new(door),
        Err(error) => {
            complain(&error);
            return ExitCode::from(SettingsErrors::EXIT_CODE);
        }
    };
    let outcome = if settings.check_only {
        once::print("settings are good\n").map(|()| ExitCode::SUCCESS)
    } else {
        execute(&cli, &settings, &catalogue, &door)
    };
    ended(outcome)
}

/// The exit code of what was done; an error is said.
fn ended(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        complain(&format_args!("roce_exporter: {error:#}"));
        ExitCode::FAILURE
    })
}

/// Says on standard error why the program ends. `eprintln!` would panic where nobody reads that.
fn complain(message: &dyn Display) {
    let _ = writeln!(io::stderr(), "{message}");
}

fn execute(
    cli: &Cli,
    settings: &Settings,
    catalogue: &Arc<Catalogue>,
    door: &Arc<Door>,
) -> anyhow::Result<ExitCode> {
    if let Command::Check(report) = &settings.command {
        log::init(settings.log)?;
        return check::check(*report, settings, catalogue);
    }
    if let Command::Pair(plan) = &settings.command {
        return pair::pair(plan);
    }
    execute_without_verdict(cli, settings, catalogue, door).map(|()| ExitCode::SUCCESS)
}

/// Commands that have done their work or failed.
fn execute_without_verdict(
    cli: &Cli,
    settings: &Settings,
    catalogue: &Arc<Catalogue>,
    door: &Arc<Door>,
) -> anyhow::Result<()> {
    match &settings.command {
        Command::Check(_) | Command::Pair(_) | Command::Healthcheck => Ok(()),
        Command::Decode(decode) => decode::decode(decode, catalogue),
        Command::Demo(demo) if demo.list => demo::list(),
        Command::Once => {
            log::init(settings.log)?;
            once::once(settings, catalogue)
        }
        Command::Demo(demo) => demo::demo(demo, cli, settings, catalogue, running(settings, door)?),
        Command::Replay(replay) => {
            replay::replay(replay, settings, catalogue, running(settings, door)?)
        }
        Command::Serve => {
            let host: MakeHost = Box::new(machine);
            serve::serve(vec![host], cli, settings, catalogue, running(settings, door)?)
        }
    }
}

/// What a command that serves begins with.
fn running(settings: &Settings, door: &Arc<Door>) -> anyhow::Result<Running> {
    let sockets = settings.web.systemd_socket.then(listen::handed_over).transpose()?;
    Ok(Running { level: log::init(settings.log)?, door: Arc::clone(door), sockets })
}

/// Who may talk to the server, by the web configuration file, if there is one.
fn open_door(settings: &Settings) -> Result<Door, AccessError> {
    settings.web.config_file.as_deref().map_or_else(Door::open, Door::of_file)
}

/// The catalogue with the operator's file, if there is one.
fn load_catalogue(settings: &Settings) -> anyhow::Result<Catalogue> {
    let catalogue = Catalogue::embedded().context("the program's own catalogue")?;
    let Some(path) = &settings.catalogue_file else { return Ok(catalogue) };
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    Ok(catalogue.with_file(&text, &path.display().to_string())?)
}

/// This machine, with its other network namespaces where the operator asked for them.
fn machine(settings: &Settings, catalogue: &Arc<Catalogue>) -> Arc<dyn Host> {
    let catalogue = Arc::clone(catalogue);
    let key = move |bus: &str, rdma: &str| catalogue.rdma_table_key(bus, rdma);
    let filter = settings.devices.clone();
    let own = MachineHost::new(SysfsRoot::new(&settings.sysfs), filter.clone(), Box::new(key));
    let host: Arc<dyn Host> = if settings.namespaces.is_empty() {
        Arc::new(own)
    } else {
        let (namespaces, procfs) = (settings.namespaces.clone(), settings.procfs.clone());
        Arc::new(NamespacesHost::new(own, namespaces, filter, procfs))
    };
    peers::with_peers(host, settings, &peers::own_name(settings))
}

/// What checks of the sampling compare with.
fn sampling_wanted(settings: &Settings) -> SamplingWanted {
    SamplingWanted {
        interval: settings.sampler.interval,
        rtnl_budget: settings.sampler.rtnl_budget,
    }
}

fn raw_selection(settings: &Settings) -> RawSelection {
    RawSelection { pattern: settings.raw.include.clone(), cap: settings.raw.max }
}

fn sampler_options(settings: &Settings) -> SamplerOptions {
    SamplerOptions {
        interval: settings.sampler.interval,
        rtnl_budget: settings.sampler.rtnl_budget,
        storm: settings.storm,
        raw: raw_selection(settings),
        discovery_period: DISCOVERY_PERIOD,
        recorder: None,
    }
}
