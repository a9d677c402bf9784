//! Old names and new ones: each new one is a metric, and is what the catalogue makes of the driver's name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::Regex;
use roce_exporter::export::{FAMILIES, Family};

use super::{program, quoted, read_paper, table};

/// The name that node_exporter's ethtool collector makes of a driver's.
fn by_node_exporter(name: &str) -> String {
    let name = Regex::new("_*[^0-9A-Za-z_]+_*").unwrap().replace_all(name, "_").to_lowercase();
    let name =
        Regex::new("(^|_)rx(_|$)").unwrap().replace_all(&name, "${1}received${2}").into_owned();
    let name = Regex::new("(^|_)tx(_|$)").unwrap().replace_all(&name, "${1}transmitted${2}");
    format!("node_ethtool_{}", name.trim_start_matches('_'))
}

/// What `decode` makes of names, each with a value of its own that no unit's factor turns into another's.
fn decoded(driver: &str, counters: &str, names: &[&str]) -> Vec<String> {
    let value = |place: usize| 10_007 + place;
    let lines = names.iter().enumerate().map(|(place, name)| format!("{name}: {}\n", value(place)));
    let arguments = ["decode", "--driver", driver, "--table", counters];
    let ran = program::run(&arguments, lines.collect::<String>());
    let series: Vec<&str> = ran.out.lines().filter(|line| !line.starts_with('#')).collect();
    let of = |place: usize| {
        let number = f64::from(u32::try_from(value(place)).unwrap());
        // As it is, from microseconds, from percent.
        let is_it = |line: &&&str| {
            let shown: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
            [1.0, 1e6, 1e2].iter().any(|unit| (shown - number / unit).abs() < number / unit * 1e-9)
        };
        let found: Vec<_> = series.iter().filter(is_it).collect();
        assert_eq!(found.len(), 1, "{driver} {}: {}{}", names[place], ran.out, ran.log);
        (*found[0]).to_owned()
    };
    (0..names.len()).map(of).collect()
}

fn assert_leads_to(
    driver: &str,
    counters: &str,
    rows: &[Vec<String>],
    old: impl Fn(&str) -> String,
) {
    let names: Vec<&str> = rows.iter().map(|row| quoted(&row[0])).collect();
    for (row, series) in rows.iter().zip(decoded(driver, counters, &names)) {
        let (name, new) = (quoted(&row[0]), quoted(&row[2]));
        assert_eq!(quoted(&row[1]), old(name));
        let (metric, labels) = new.split_once('{').unwrap_or((new, ""));
        assert!(series.starts_with(&format!("{metric}{{")), "{name} becomes {series}, not {new}");
        for label in labels.trim_end_matches('}').split(',') {
            assert!(series.contains(label), "{name} becomes {series}, not {new}");
        }
    }
}

#[test]
fn drivers_names_lead_to_the_metrics_that_the_tables_name() {
    let paper = read_paper("docs/coming-from.md");
    let rows = table(&paper, "decode mlx5_core ethtool");
    assert_leads_to("mlx5_core", "ethtool", &rows, by_node_exporter);
    let rows = table(&paper, "decode mlx5_ib rdma");
    assert_leads_to("mlx5_ib", "rdma", &rows, |name| format!("rdma_{name}_total"));
    let rows = table(&paper, "decode ionic_rdma rdma");
    let capitals = |name: &str| {
        let words: Vec<&str> = name.splitn(3, '_').collect();
        format!("{}_{}_{}", words[1], words[0], words[2]).to_uppercase()
    };
    assert_leads_to("ionic_rdma", "rdma", &rows, capitals);
}

#[test]
fn port_counters_are_those_of_the_catalogue() {
    let catalogue = read_paper("src/catalogue/rdma.csv");
    for row in table(&read_paper("docs/coming-from.md"), "port counters") {
        let (name, new) = (quoted(&row[0]), quoted(&row[2]));
        let (metric, labels) = new.split_once('{').unwrap_or((new, ""));
        let quantity = metric.strip_prefix("roce_").unwrap().strip_suffix("_total").unwrap();
        let direction = ["rx", "tx"].into_iter().find(|way| labels.contains(way)).unwrap_or("-");
        let wanted = format!("rdma_port,*,counters/{name},{quantity},{direction},");
        assert!(catalogue.contains(&wanted), "the catalogue has no {wanted}");
    }
}

fn papers_below(directory: &Path, found: &mut Vec<String>) {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in fs::read_dir(top.join(directory)).unwrap() {
        let path = entry.unwrap().path();
        let below = path.strip_prefix(top).unwrap();
        if path.is_dir() {
            papers_below(below, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(below.to_str().unwrap().to_owned());
        }
    }
}

/// Every page that an operator reads.
pub(super) fn papers() -> Vec<String> {
    let mut found: Vec<String> =
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(str::to_owned).into();
    for directory in ["docs", "alerts", "dashboards"] {
        papers_below(Path::new(directory), &mut found);
    }
    assert!(found.len() > 20, "{found:?}");
    found
}

/// Words of that form that are no metric here: keys of a policy, a check, what the links page lets a switch's be called.
const NO_METRICS: [&str; 5] =
    ["roce_exporter", "roce_dscp", "roce_v2", "roce_version", "roce_switch_pfc_frames_total"];

#[test]
fn no_page_names_a_metric_that_does_not_exist() {
    let known: BTreeSet<String> = FAMILIES.iter().map(Family::full_name).collect();
    let drivers = ["netdev.csv", "rdma.csv"]
        .map(|file| read_paper(&format!("src/catalogue/{file}")))
        .concat();
    let word = Regex::new(r"(?:^|[^a-z0-9_/:.-])(roce_[a-z0-9_]+)").unwrap();
    for page in papers() {
        let text = read_paper(&page);
        let words = word.captures_iter(&text).map(|found| found.get(1).unwrap());
        // `roce_pfc_…` stands for several; `roce_link:…` is a rule's, which other tests know.
        let is_whole = |found: &regex::Match<'_>| {
            !found.as_str().ends_with('_') && !text[found.end()..].starts_with(':')
        };
        for found in words.filter(is_whole) {
            let name = found.as_str();
            let ends = ["_bucket", "_sum", "_count", "_total", "_info"];
            let without = ends.iter().filter_map(|end| name.strip_suffix(end));
            let is_metric = known.contains(name)
                || without.into_iter().any(|own| known.contains(own))
                || ends.iter().any(|end| known.contains(&format!("{name}{end}")));
            let is_known = is_metric || drivers.contains(name) || NO_METRICS.contains(&name);
            assert!(is_known, "{page} names {name}");
        }
    }
}
