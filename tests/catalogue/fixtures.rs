//! Each directory below `tests/fixtures` with a `driver` file: its names are resolved and its values
//! gathered by the plan, and the outcome is compared with `expected-plan.txt` beside it.
//!
//! `UPDATE_EXPECT=1 cargo test --test catalogue` writes the files anew; read the difference before keeping it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use roce_exporter::catalogue::{Catalogue, RawSelection, Table, ethtool_text};
use roce_exporter::model::{CounterKey, Index, Plan, Unit};

use super::shipped;

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found: Vec<PathBuf> =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.join("driver").is_file());
    found.sort();
    found
}

/// A set of names with its values; none where the fixture's file holds no number.
struct Set {
    title: String,
    table: Table,
    names: Vec<String>,
    values: Vec<Option<u64>>,
}

fn sets(fixture: &Path) -> Vec<Set> {
    if fixture.join("sys").is_dir() {
        return rdma_sets(fixture);
    }
    let text = fs::read_to_string(fixture.join("ethtool-S.txt")).unwrap();
    let parsed = ethtool_text::parse(&text);
    assert_eq!(parsed.unreadable, [], "{}", fixture.display());
    let values = parsed.values.into_iter().map(Some).collect();
    vec![Set { title: "ethtool".into(), table: Table::Ethtool, names: parsed.names, values }]
}

fn children(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn file_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

fn rdma_sets(fixture: &Path) -> Vec<Set> {
    let mut sets = Vec::new();
    for device in children(&fixture.join("sys/class/infiniband")) {
        for port in children(&device.join("ports")) {
            let own = children(&port.join("hw_counters"));
            let common = children(&port.join("counters"));
            let files = own
                .iter()
                .map(|path| (file_name(path).to_owned(), path))
                .chain(common.iter().map(|path| (format!("counters/{}", file_name(path)), path)));
            let (names, values) = files
                .map(|(name, path)| {
                    let text = fs::read_to_string(path).ok();
                    (name, text.and_then(|text| text.trim().parse().ok()))
                })
                .unzip();
            let title = format!("{} port {}", file_name(&device), file_name(&port));
            sets.push(Set { title, table: Table::RdmaPort, names, values });
        }
    }
    sets
}

fn label(key: &CounterKey) -> String {
    let direction = key.direction.map_or("-", |direction| direction.as_str());
    let index = match key.index {
        Index::None => "-".to_owned(),
        Index::Priority(priority) => format!("priority={priority}"),
        Index::TrafficClass(class) => format!("traffic_class={class}"),
        Index::Buffer(buffer) => format!("buffer={buffer}"),
    };
    let detail = key.detail.as_deref().unwrap_or("-");
    format!("{} {direction} {index} {detail}", key.quantity.as_str())
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "count",
        Unit::Bytes => "bytes",
        Unit::Microseconds => "microseconds",
        Unit::Milliseconds => "milliseconds",
        Unit::Seconds => "seconds",
        Unit::Percent => "percent",
    }
}

/// Absent when one of its parts is.
fn value(plan: &Plan, terms: &[(u32, u64)], values: &[Option<u64>]) -> Option<u64> {
    terms.iter().try_fold(0_u64, |sum, (place, factor)| {
        let position = plan.wanted[*place as usize] as usize;
        sum.checked_add(values[position]?.checked_mul(*factor)?)
    })
}

fn outcome(catalogue: &Catalogue, fixture: &Path) -> String {
    let driver = fs::read_to_string(fixture.join("driver")).unwrap();
    let mut text = String::new();
    for set in sets(fixture) {
        let plan = catalogue.plan(set.table, driver.trim(), &set.names, &RawSelection::default());
        writeln!(text, "# {}, {} names", set.title, set.names.len()).unwrap();
        for (counter, terms) in plan.counters.iter().zip(&plan.terms) {
            let value = value(&plan, terms, &set.values)
                .map_or("absent".to_owned(), |value| value.to_string());
            writeln!(text, "{} = {value} {}", label(&counter.key), unit(counter.unit)).unwrap();
        }
    }
    text
}

#[test]
fn every_fixture_resolves_as_expected() {
    let catalogue = shipped();
    let mut wrong = String::new();
    for fixture in fixtures() {
        let got = outcome(&catalogue, &fixture);
        let file = fixture.join("expected-plan.txt");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&file, &got).unwrap();
            continue;
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        if got != expected {
            writeln!(wrong, "{}\nexpected:\n{expected}\ngot:\n{got}", file.display()).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_full_fixture_has_distinct_values_and_no_name_twice() {
    for fixture in fixtures().iter().filter(|fixture| fixture.to_str().unwrap().ends_with("-full"))
    {
        for set in sets(fixture) {
            let (mut names, mut values) = (set.names.clone(), set.values.clone());
            names.sort();
            names.dedup();
            values.sort_unstable();
            values.dedup();
            assert_eq!((names.len(), values.len()), (set.names.len(), set.names.len()));
            assert!(!values.contains(&Some(0)) && !values.contains(&None), "{}", fixture.display());
        }
    }
}

#[test]
fn the_fixtures_cover_the_roce_drivers() {
    let full: Vec<String> = fixtures()
        .iter()
        .filter_map(|fixture| file_name(fixture).strip_suffix("-full").map(str::to_owned))
        .collect();
    for driver in [
        "mlx5_core",
        "mlx4_en",
        "bnxt_en",
        "ice",
        "i40e",
        "ixgbe",
        "cxgb4",
        "qede",
        "hns3",
        "hinic",
        "ionic",
        "mana",
        "nfp",
        "funeth",
        "sfc",
        "be2net",
        "bnx2x",
        "rvu-nicpf",
        "fsl_enetc",
        "mlxsw_spectrum",
    ] {
        assert!(full.iter().any(|name| name == driver), "{driver} has no full fixture");
    }
}
