//! The checks that run inside the test VM, against a kernel module that is a RoCE NIC to everyone who asks.
//!
//! The runner in `host/run.py` boots this as the guest's one program; anywhere else it does nothing, since it takes a
//! machine over. Each check is a function that leaves no NIC behind. The runner asks for one after the other by its name on
//! the console, and each one's result is a line there, with the reason when it failed.

#![allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "tests: the shared modules serve several test crates, and a panic is a failed check"
)]

mod checks;
#[path = "../web/client.rs"]
mod client;
mod exporter;
mod families;
mod freshness;
mod hotplug;
mod modules;
mod names;
mod nic;
mod real_drivers;
mod settings;
mod storms;
#[path = "../exposition/strict_parser.rs"]
mod strict_parser;
mod trouble;

use std::panic::catch_unwind;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// In the order in which they are begun: the first one wants a kernel into which nothing was loaded yet.
const CHECKS: &[(&str, fn())] = &[
    ("modules::rdma_modules_stay_unloaded", modules::rdma_modules_stay_unloaded),
    (
        "families::every_capture_is_exported_as_decoded",
        families::every_capture_is_exported_as_decoded,
    ),
    (
        "families::exported_values_are_those_of_the_tools",
        families::exported_values_are_those_of_the_tools,
    ),
    (
        "families::rdma_counters_of_each_driver_are_exported",
        families::rdma_counters_of_each_driver_are_exported,
    ),
    (
        "families::optional_counters_come_when_switched_on",
        families::optional_counters_come_when_switched_on,
    ),
    ("names::moved_by_the_dcb_tool", names::moved_by_the_dcb_tool),
    ("names::moved_by_the_firmware", names::moved_by_the_firmware),
    ("names::link_pause_adds_and_removes_names", names::link_pause_adds_and_removes_names),
    ("settings::dcb_changes_are_seen_at_once", settings::dcb_changes_are_seen_at_once),
    (
        "settings::buffers_rates_and_dcbx_are_exported",
        settings::buffers_rates_and_dcbx_are_exported,
    ),
    ("settings::link_and_speed_are_followed", settings::link_and_speed_are_followed),
    ("settings::stall_prevention_is_exported", settings::stall_prevention_is_exported),
    (
        "settings::standard_pause_statistics_are_exported",
        settings::standard_pause_statistics_are_exported,
    ),
    (
        "checks::findings_come_and_go_with_dcb_settings",
        checks::findings_come_and_go_with_dcb_settings,
    ),
    (
        "checks::findings_come_and_go_with_settings_of_the_link",
        checks::findings_come_and_go_with_settings_of_the_link,
    ),
    (
        "hotplug::a_nic_is_added_and_removed_while_sampled",
        hotplug::a_nic_is_added_and_removed_while_sampled,
    ),
    ("hotplug::a_driver_is_unbound_and_bound", hotplug::a_driver_is_unbound_and_bound),
    ("hotplug::a_nic_is_renamed_while_sampled", hotplug::a_nic_is_renamed_while_sampled),
    ("hotplug::two_nics_swap_their_names", hotplug::two_nics_swap_their_names),
    ("hotplug::a_nic_moves_to_a_namespace_and_back", hotplug::a_nic_moves_to_a_namespace_and_back),
    (
        "hotplug::nics_of_a_namespace_are_sampled_from_outside",
        hotplug::nics_of_a_namespace_are_sampled_from_outside,
    ),
    ("hotplug::another_namespace_has_its_own_view", hotplug::another_namespace_has_its_own_view),
    (
        "hotplug::a_bond_links_its_nics_to_one_rdma_device",
        hotplug::a_bond_links_its_nics_to_one_rdma_device,
    ),
    (
        "hotplug::a_bond_and_a_vlan_are_told_from_the_ports_below_them",
        hotplug::a_bond_and_a_vlan_are_told_from_the_ports_below_them,
    ),
    ("hotplug::churn_leaves_no_stale_series", hotplug::churn_leaves_no_stale_series),
    ("freshness::netlink_is_fresher_than_sysfs", freshness::netlink_is_fresher_than_sysfs),
    ("freshness::each_sample_asks_the_driver", freshness::each_sample_asks_the_driver),
    ("trouble::a_driver_hangs_inside_rtnl", trouble::a_driver_hangs_inside_rtnl),
    (
        "trouble::a_slow_driver_is_kept_within_the_budget",
        trouble::a_slow_driver_is_kept_within_the_budget,
    ),
    ("trouble::errors_for_a_while", trouble::errors_for_a_while),
    ("trouble::counters_are_reset", trouble::counters_are_reset),
    ("trouble::a_narrow_counter_wraps", trouble::a_narrow_counter_wraps),
    (
        "real_drivers::software_roce_agrees_with_the_rdma_tool",
        real_drivers::software_roce_agrees_with_the_rdma_tool,
    ),
    ("real_drivers::e1000e_agrees_with_ethtool", real_drivers::e1000e_agrees_with_ethtool),
    ("storms::a_burst_is_no_storm", storms::a_burst_is_no_storm),
    ("storms::frames_alone_make_no_storm", storms::frames_alone_make_no_storm),
    ("storms::a_storm_is_timed_on_a_live_driver", storms::a_storm_is_timed_on_a_live_driver),
    (
        "storms::a_storm_is_timed_on_a_driver_with_durations_alone",
        storms::a_storm_is_timed_on_a_driver_with_durations_alone,
    ),
    (
        "storms::a_storm_is_timed_on_a_driver_that_refreshes_each_second",
        storms::a_storm_is_timed_on_a_driver_that_refreshes_each_second,
    ),
    (
        "modules::a_driver_is_loaded_with_its_nics_and_unloaded",
        modules::a_driver_is_loaded_with_its_nics_and_unloaded,
    ),
];

/// What the runner waits for before it asks for a check.
const READY: &str = "ready for a check";

/// How often a check may be tried.
const ATTEMPTS: u32 = 3;

/// What the last panic said.
static REASON: Mutex<String> = Mutex::new(String::new());

fn main() {
    if std::env::var_os("ROCE_TEST_VM").is_none() {
        println!("these checks run inside the test VM: make vm");
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        *REASON.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
    let names: Vec<_> = CHECKS.iter().map(|(name, _)| *name).collect();
    println!("checks: {}", names.join(" "));
    println!("{READY}");
    for line in std::io::stdin().lines() {
        let asked = line.unwrap();
        let Some((name, check)) = CHECKS.iter().find(|(name, _)| *name == asked) else { break };
        let since = Instant::now();
        let outcome = run(*check);
        let took = since.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => println!("check {name}: ok ({took:.1} s)"),
            Err(reason) => println!("check {name}: FAILED ({took:.1} s): {reason}"),
        }
        println!("{READY}");
    }
}

/// Runs a check until it holds, at most `ATTEMPTS` times: nearly all of them hold times to bounds, and the processor
/// is emulated on a machine that has other work. What is wrong in the program is wrong each time.
fn run(check: fn()) -> Result<(), String> {
    for attempt in 1.. {
        if catch_unwind(check).is_ok() {
            break;
        }
        let reason = REASON.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if attempt == ATTEMPTS {
            return Err(reason);
        }
        println!("attempt {attempt} failed: {reason}");
    }
    Ok(())
}
