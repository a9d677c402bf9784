//! Every query against the exporter's metric table: names, labels, rates of counters, filters, legends.

use std::collections::{BTreeMap, BTreeSet};

use promql_parser::label::Matchers;
use promql_parser::parser::{self, Expr, LabelModifier, VectorMatchCardinality};
use roce_exporter::export::{FAMILIES, Family, Kind};

use crate::files::{Target, dashboards, interpolated};

/// What a scrape adds.
const SITE: [&str; 3] = ["cluster", "job", "instance"];
/// What Prometheus makes itself: with the labels of any, or those of alerts.
const OF_PROMETHEUS: [(&str, &[&str]); 3] = [
    ("up", &[]),
    ("scrape_duration_seconds", &[]),
    ("ALERTS", &["alertname", "alertstate", "severity", "device"]),
];
/// Recording rules join both ends of a link. Their results have hosts and no instance, so nothing is there to filter by.
pub const OF_LINKS: [&str; 3] = [
    "roce_link:pfc_frames_sent:rate5m",
    "roce_link:pfc_frames_received:rate5m",
    "roce_link:pfc_frames_lost:ratio_rate5m",
];
const LINK_LABELS: [&str; 6] = ["host", "device", "peer", "peer_device", "priority", "direction"];

type Labels = BTreeSet<String>;

struct Known {
    labels: Labels,
    accumulates: bool,
    filtered: bool,
}

fn owned<'a>(labels: impl IntoIterator<Item = &'a &'a str>) -> Labels {
    labels.into_iter().map(|label| (*label).to_owned()).collect()
}

fn with_site(labels: &[&str], accumulates: bool) -> Known {
    Known { labels: owned(labels.iter().chain(&SITE)), accumulates, filtered: true }
}

fn of_family(family: &Family) -> Vec<(String, Known)> {
    let labels = family.labels.iter().chain(family.optional_labels);
    let labels: Vec<_> = labels.map(|label| label.as_str()).collect();
    if family.kind != Kind::Histogram {
        return vec![(family.full_name(), with_site(&labels, family.kind == Kind::Counter))];
    }
    let bounds = [labels.as_slice(), &["le"]].concat();
    vec![
        (format!("{}_bucket", family.name), with_site(&bounds, true)),
        (format!("{}_sum", family.name), with_site(&labels, true)),
        (format!("{}_count", family.name), with_site(&labels, true)),
    ]
}

fn known() -> BTreeMap<String, Known> {
    let mut all: BTreeMap<_, _> = FAMILIES.iter().flat_map(of_family).collect();
    for (name, labels) in OF_PROMETHEUS {
        all.insert(name.to_owned(), with_site(labels, false));
    }
    for name in OF_LINKS {
        all.insert(
            name.to_owned(),
            Known { labels: owned(&LINK_LABELS), accumulates: false, filtered: false },
        );
    }
    all
}

struct Walk<'a> {
    known: &'a BTreeMap<String, Known>,
    /// Whether site labels must be filtered by variables: not so in the queries that fill these variables.
    filtered: bool,
    wrong: Vec<String>,
}

impl Walk<'_> {
    /// Looks at a selector and returns its labels.
    fn selector(&mut self, name: Option<&String>, matchers: &Matchers, under_rate: bool) -> Labels {
        let Some((name, known)) = name.and_then(|name| Some((name, self.known.get(name)?))) else {
            self.wrong.push(format!("nobody has the metric {name:?}"));
            return Labels::new();
        };
        let matchers = &matchers.matchers;
        for matcher in matchers.iter().filter(|matcher| !known.labels.contains(&matcher.name)) {
            self.wrong.push(format!("{name} has no label {}", matcher.name));
        }
        for site in SITE {
            let has = matchers.iter().any(|matcher| matcher.name == site);
            if self.filtered && known.filtered && !has {
                self.wrong.push(format!("{name} is not filtered by {site}"));
            }
        }
        if known.accumulates != under_rate {
            self.wrong.push(format!("{name}: counters need a rate, and nothing else has one"));
        }
        known.labels.clone()
    }

    /// Looks at an expression and returns the labels that its result can have.
    fn labels(&mut self, expression: &Expr) -> Labels {
        match expression {
            Expr::VectorSelector(found) => {
                self.selector(found.name.as_ref(), &found.matchers, false)
            }
            Expr::MatrixSelector(found) => {
                self.selector(found.vs.name.as_ref(), &found.vs.matchers, false)
            }
            Expr::Paren(inner) => self.labels(&inner.expr),
            Expr::Unary(inner) => self.labels(&inner.expr),
            Expr::Subquery(inner) => self.labels(&inner.expr),
            Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::Extension(_) => Labels::new(),
            Expr::Call(call) => {
                let rate = ["rate", "increase", "resets"].contains(&call.func.name);
                let mut labels = Labels::new();
                for argument in &call.args.args {
                    labels.extend(match argument.as_ref() {
                        Expr::MatrixSelector(found) if rate => {
                            self.selector(found.vs.name.as_ref(), &found.vs.matchers, true)
                        }
                        other => self.labels(other),
                    });
                }
                if call.func.name == "histogram_quantile" {
                    assert!(labels.remove("le"), "a quantile needs le");
                }
                labels
            }
            Expr::Aggregate(aggregate) => self.aggregate(aggregate),
            Expr::Binary(binary) => self.binary(binary),
        }
    }

    fn aggregate(&mut self, aggregate: &parser::AggregateExpr) -> Labels {
        let inner = self.labels(&aggregate.expr);
        let operator = aggregate.op.to_string();
        if ["topk", "bottomk"].contains(&operator.as_str()) {
            return inner;
        }
        let mut left = match &aggregate.modifier {
            None => Labels::new(),
            Some(LabelModifier::Include(by)) => {
                for label in by.labels.iter().filter(|label| !inner.contains(*label)) {
                    self.wrong.push(format!("nothing to aggregate by {label} in {aggregate}"));
                }
                by.labels.iter().cloned().collect()
            }
            Some(LabelModifier::Exclude(without)) => {
                inner.into_iter().filter(|label| !without.labels.contains(label)).collect()
            }
        };
        if let (true, Some(Expr::StringLiteral(label))) =
            (operator == "count_values", aggregate.param.as_deref())
        {
            left.insert(label.val.clone());
        }
        left
    }

    fn binary(&mut self, binary: &parser::BinaryExpr) -> Labels {
        let (left, right) = (self.labels(&binary.lhs), self.labels(&binary.rhs));
        let Some(modifier) = &binary.modifier else { return left.union(&right).cloned().collect() };
        if let Some(LabelModifier::Include(on)) = &modifier.matching {
            for label in
                on.labels.iter().filter(|label| !left.contains(*label) || !right.contains(*label))
            {
                self.wrong.push(format!("{label} is not on both sides of {binary}"));
            }
        }
        match &modifier.card {
            VectorMatchCardinality::ManyToOne(extra) => {
                left.into_iter().chain(extra.labels.clone()).collect()
            }
            VectorMatchCardinality::OneToMany(extra) => {
                right.into_iter().chain(extra.labels.clone()).collect()
            }
            VectorMatchCardinality::ManyToMany if binary.op.to_string() == "or" => {
                left.union(&right).cloned().collect()
            }
            _ if left.is_empty() => right,
            _ => left,
        }
    }
}

fn walked(query: &str, filtered: bool) -> (Labels, Vec<String>) {
    let known = known();
    let query = interpolated(query, "1h", "1m");
    let parsed = parser::parse(&query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let mut walk = Walk { known: &known, filtered, wrong: Vec::new() };
    let labels = walk.labels(&parsed);
    (labels, walk.wrong)
}

/// Names between double braces.
fn named(legend: &str) -> impl Iterator<Item = &str> {
    legend.split("{{").skip(1).map(|rest| rest.split("}}").next().unwrap())
}

fn legend_is_wrong(target: &Target<'_>, labels: &Labels) -> Vec<String> {
    let legend = target.json["legendFormat"].as_str().unwrap_or_default();
    let lost = named(legend).filter(|name| !labels.contains(*name));
    let mut wrong: Vec<_> =
        lost.map(|name| format!("the legend names {name}, which is lost")).collect();
    if target.panel["type"] == "timeseries" {
        if legend.is_empty() {
            wrong.push("no legend".to_owned());
        }
        let told: BTreeSet<_> = named(legend).collect();
        for label in ["device", "priority"].into_iter().filter(|label| labels.contains(*label)) {
            if !told.contains(label) {
                wrong.push(format!("the legend does not name {label}"));
            }
        }
    }
    wrong
}

#[test]
fn every_query_of_a_panel_asks_for_what_the_exporter_has() {
    let mut wrong = Vec::new();
    for dashboard in dashboards() {
        for target in dashboard.targets() {
            let (labels, mut found) = walked(target.expression(), true);
            found.extend(legend_is_wrong(&target, &labels));
            wrong.extend(
                found
                    .into_iter()
                    .map(|what| format!("{}: {}: {what}", dashboard.name, target.place())),
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_annotation_asks_for_what_the_exporter_has() {
    for dashboard in dashboards() {
        for annotation in dashboard.annotations() {
            let (labels, wrong) = walked(annotation["expr"].as_str().unwrap(), true);
            assert!(wrong.is_empty(), "{}: {wrong:?}", dashboard.name);
            for key in ["titleFormat", "textFormat"] {
                let lost: Vec<_> = named(annotation[key].as_str().unwrap_or_default())
                    .filter(|name| !labels.contains(*name))
                    .collect();
                assert!(lost.is_empty(), "{}: {key} names {lost:?}", dashboard.name);
            }
        }
    }
}

/// The selector and the label of `label_values(selector, label)`.
pub fn label_values(query: &str) -> (&str, &str) {
    let inner = query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')'));
    inner.and_then(|inner| inner.rsplit_once(", ")).unwrap_or_else(|| panic!("{query}"))
}

#[test]
fn every_variable_is_filled_from_a_label_that_exists() {
    for dashboard in dashboards() {
        for variable in dashboard.variables().iter().skip(1) {
            let query = variable["query"]["query"].as_str().unwrap();
            let (selector, label) = label_values(query);
            let (labels, wrong) = walked(selector, false);
            assert!(wrong.is_empty(), "{}: {query}: {wrong:?}", dashboard.name);
            assert!(labels.contains(label), "{}: {query}", dashboard.name);
        }
    }
}

#[test]
fn the_walk_finds_what_is_wrong() {
    let wrong = |query: &str| walked(query, true).1;
    let all = r#"cluster="a",job="b",instance="c""#;
    assert!(wrong(&format!("roce_port_up{{{all}}}")).is_empty());
    for query in [
        format!("roce_port_down{{{all}}}"),
        format!("roce_port_up{{{all},priority=\"3\"}}"),
        format!("rate(roce_port_up{{{all}}}[1m])"),
        format!("roce_pfc_storms_total{{{all}}}"),
        format!("max_over_time(roce_pfc_storms_total{{{all}}}[1m])"),
        format!("sum by (priority) (roce_port_up{{{all}}})"),
        format!("roce_port_up{{{all}}} and on (priority) roce_pfc_enabled{{{all}}}"),
        "roce_port_up{cluster=\"a\",job=\"b\"}".to_owned(),
    ] {
        assert!(!wrong(&query).is_empty(), "{query}");
    }
}
