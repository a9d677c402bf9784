//! Arbitrary sets of names. The tables are read here a second time, by other code, so that a fault of the
//! matcher cannot hide itself.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use roce_exporter::catalogue::{Catalogue, NameUse, RawSelection, Table};
use roce_exporter::model::{Index, Plan};

use super::{shipped, strings};

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(shipped);

/// Every name that a row of the tables gives, by table and driver pattern, with its number's label.
static EXPANSIONS: LazyLock<Vec<Expansion>> = LazyLock::new(|| {
    let netdev = include_str!("../../src/catalogue/netdev.csv");
    let rdma = include_str!("../../src/catalogue/rdma.csv");
    expansions(netdev).chain(expansions(rdma)).collect()
});

struct Expansion {
    source: String,
    driver: String,
    name: String,
    quantity: String,
    index: String,
}

fn expansions(table: &str) -> impl Iterator<Item = Expansion> {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).skip(1);
    lines.map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>()).flat_map(|fields| {
        let (kind, range) = match fields[5].split_once(':') {
            Some((kind, range)) => (kind.to_owned(), range.to_owned()),
            None => (fields[5].clone(), "0-7".to_owned()),
        };
        let (first, last) = range.split_once('-').unwrap();
        let numbers: Vec<u8> = match kind.as_str() {
            "-" => vec![0],
            _ => (first.parse().unwrap()..=last.parse().unwrap()).collect(),
        };
        let mut found = Vec::new();
        for driver in fields[1].split('|') {
            for number in &numbers {
                found.push(Expansion {
                    source: fields[0].clone(),
                    driver: driver.to_owned(),
                    name: fields[2].replace("{n}", &number.to_string()),
                    quantity: fields[3].clone(),
                    index: if kind == "-" { kind.clone() } else { format!("{kind} {number}") },
                });
            }
        }
        found
    })
}

fn reads(source: &str, table: Table) -> bool {
    match table {
        Table::Ethtool => source == "ethtool",
        Table::RdmaPort => matches!(source, "rdma" | "rdma_port"),
        Table::RdmaDevice => matches!(source, "rdma" | "rdma_device"),
    }
}

fn fits(pattern: &str, driver: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(stem) => driver.starts_with(stem),
        None => driver == pattern,
    }
}

fn index_label(index: Index) -> String {
    match index {
        Index::None => "-".to_owned(),
        Index::Priority(priority) => format!("priority {priority}"),
        Index::TrafficClass(class) => format!("tc {class}"),
        Index::Buffer(buffer) => format!("buffer {buffer}"),
    }
}

/// A driver with a set of names: its own, names near them, names of other drivers, and noise.
fn set() -> impl Strategy<Value = (Table, String, Vec<String>)> {
    let drivers: Vec<String> = EXPANSIONS.iter().map(|row| row.driver.replace('*', "2")).collect();
    let driver = prop_oneof![9 => prop::sample::select(drivers), 1 => any::<String>()];
    let table = prop::sample::select(vec![Table::Ethtool, Table::RdmaPort, Table::RdmaDevice]);
    driver.prop_flat_map(move |driver| {
        let names = prop::collection::vec(name(&driver), 0..60);
        (table.clone(), Just(driver), names)
    })
}

fn name(driver: &str) -> impl Strategy<Value = String> + use<> {
    let all = || EXPANSIONS.iter().map(|row| row.name.clone());
    let mut own: Vec<String> = EXPANSIONS
        .iter()
        .filter(|row| fits(&row.driver, driver))
        .map(|row| row.name.clone())
        .collect();
    if own.is_empty() {
        own = all().collect();
    }
    let own = prop::sample::select(own);
    let padded = (own.clone(), "[ :\t]{0,3}").prop_map(|(name, end)| format!("{name}{end}"));
    let cut = (own.clone(), any::<prop::sample::Index>()).prop_map(|(name, end)| {
        let length = end.index(name.len());
        name.chars().take(length).collect()
    });
    let renumbered = (own.clone(), "[0-9]{1,2}")
        .prop_map(|(name, digits)| name.replace(|letter: char| letter.is_ascii_digit(), &digits));
    let foreign = prop::sample::select(all().collect::<Vec<_>>());
    let noise = any::<String>();
    prop_oneof![8 => own, 2 => padded, 2 => cut, 2 => renumbered, 2 => foreign, 2 => noise]
}

fn selection() -> impl Strategy<Value = RawSelection> {
    let pattern = prop::sample::select(vec![None, Some(""), Some("pause|drop")]);
    (pattern, 0_usize..40).prop_map(|(pattern, cap)| RawSelection {
        pattern: pattern.map(|pattern| regex::Regex::new(pattern).unwrap()),
        cap,
    })
}

fn check_form(plan: &Plan, names: &[String], cap: usize) {
    assert!(plan.wanted.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", plan.wanted);
    assert!(plan.wanted.iter().all(|position| (*position as usize) < names.len()));
    assert!(plan.counters.windows(2).all(|pair| pair[0].key < pair[1].key));
    assert_eq!(plan.terms.len(), plan.counters.len());
    assert!(plan.terms.iter().all(|terms| !terms.is_empty()));
    assert!(plan.raw.len() <= cap);
    let places = plan.terms.iter().flatten().map(|(place, _)| *place);
    let used: HashSet<u32> = places.chain(plan.raw.iter().map(|(place, _)| *place)).collect();
    assert_eq!(used.len(), plan.wanted.len(), "nothing is read for nothing");
    assert!(used.iter().all(|place| (*place as usize) < plan.wanted.len()));
    let raw: HashSet<&String> = plan.raw.iter().map(|(_, name)| name).collect();
    assert_eq!(raw.len(), plan.raw.len());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        rng_seed: RngSeed::Fixed(8021),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_plan_refers_only_to_names_that_a_row_spells_out(
        (table, driver, names) in set(),
        selection in selection(),
    ) {
        let plan = CATALOGUE.plan(table, &driver, &names, &selection);
        check_form(&plan, &names, selection.cap);
        for (counter, terms) in plan.counters.iter().zip(&plan.terms) {
            for (place, _) in terms {
                let name = &names[plan.wanted[*place as usize] as usize];
                let trimmed = name.trim().trim_end_matches(':').trim();
                let spelled = EXPANSIONS.iter().any(|row| {
                    row.name == trimmed
                        && row.quantity == counter.key.quantity.as_str()
                        && row.index == index_label(counter.key.index)
                        && reads(&row.source, table)
                        && fits(&row.driver, &driver)
                });
                prop_assert!(spelled, "{driver} {name:?} became {:?}", counter.key);
            }
        }
    }

    #[test]
    fn plan_and_classification_agree(
        (table, driver, names) in set(),
    ) {
        let plan = CATALOGUE.plan(table, &driver, &names, &RawSelection::default());
        let uses = CATALOGUE.classify(table, &driver, &names);
        prop_assert_eq!(uses.len(), names.len());
        for (position, name_use) in uses.iter().enumerate() {
            let read = plan.wanted.contains(&u32::try_from(position).unwrap());
            prop_assert_eq!(matches!(name_use, NameUse::Exported(_)), read);
        }
    }
}

#[test]
fn every_row_of_the_tables_is_reached_by_its_name() {
    let mut unreached = Vec::new();
    let mut catalogued: HashMap<&str, usize> = HashMap::new();
    for row in EXPANSIONS.iter() {
        let driver = row.driver.replace('*', "x");
        let name = row.name.replace("{*}", "A");
        let tables = [Table::Ethtool, Table::RdmaPort, Table::RdmaDevice];
        for table in tables.into_iter().filter(|table| reads(&row.source, *table)) {
            let found = CATALOGUE.classify(table, &driver, &strings(&[&name])).remove(0);
            let reached = match &found {
                NameUse::Known(note) => row.quantity == "known" && !note.is_empty(),
                NameUse::Exported(key) => {
                    row.quantity == key.quantity.as_str() && row.index == index_label(key.index)
                }
                NameUse::Shadowed | NameUse::Unknown => false,
            };
            if reached {
                *catalogued.entry(&row.source).or_default() += 1;
            } else {
                unreached.push(format!("{} {driver} {name}: {found:?}", row.source));
            }
        }
    }
    assert!(unreached.is_empty(), "{}", unreached.join("\n"));
    assert!(catalogued["ethtool"] > 1000 && catalogued["rdma_port"] > 300, "{catalogued:?}");
}
