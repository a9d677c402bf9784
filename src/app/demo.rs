//! `roce_exporter demo`: simulated NICs instead of this machine's, through the very same rooms.

use std::fmt::Write as _;
use std::sync::Arc;

use super::peers::with_peers;
use super::serve::{MakeHost, Running, serve};
use crate::catalogue::Catalogue;
use crate::config::{Cli, DemoSettings, Settings};
use crate::source::simulated::{Scenario, SimulatedSwitch, Simulation, SimulationOptions};
use crate::source::{Host, monotonic_now};

/// Serves simulated hosts, each further one a port higher, and the switch after them if it is wanted.
///
/// # Errors
/// For an unknown scenario, and as serving this machine.
pub(super) fn demo(
    demo: &DemoSettings,
    cli: &Cli,
    settings: &Settings,
    catalogue: &Arc<Catalogue>,
    running: Running,
) -> anyhow::Result<()> {
    let options = SimulationOptions {
        scenario: demo.scenario.as_deref(),
        seed: demo.seed,
        hosts: usize::from(demo.hosts),
    };
    let simulation = Simulation::new(options, Arc::new(monotonic_now))?;
    let named = |name: String, host: Arc<dyn Host>| -> MakeHost {
        Box::new(move |settings, _| with_peers(Arc::clone(&host), settings, &name))
    };
    let hosts = simulation.hosts().into_iter();
    let mut hosts: Vec<MakeHost> = hosts.map(|host| named(host.name(), Arc::new(host))).collect();
    if demo.switch {
        let switch = simulation.switch();
        hosts.push(named(SimulatedSwitch::name().to_owned(), Arc::new(switch)));
    }
    serve(hosts, cli, settings, catalogue, running)
}

/// Lists the scenarios.
///
/// # Errors
/// When standard output cannot be written to.
pub(super) fn list() -> anyhow::Result<()> {
    let all = Scenario::all();
    let widest = all.iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for scenario in all {
        writeln!(text, "{:widest$}  {}", scenario.name, scenario.summary)?;
    }
    super::once::print(&text)
}
