//! Walks expressions and holds what they name against the table of metrics.
//!
//! Labels are looked for in what an expression selects: a label that none of its metrics has is a mistake, though
//! Prometheus takes it for an empty one. Counters may only be seen through `rate` and `increase`, or looked for with
//! `and` and `unless`, which do not look at values.

use std::collections::{BTreeMap, BTreeSet};

use promql_parser::label::Matchers;
use promql_parser::parser::token::{T_COUNT_VALUES, T_LAND, T_LUNLESS};
use promql_parser::parser::{
    self, AggregateExpr, BinaryExpr, Call, Expr, VectorMatchCardinality, VectorSelector,
};
use roce_exporter::export::{FAMILIES, Kind};

use crate::rules::Rule;

/// Labels that a target may have.
const OF_TARGETS: [&str; 3] = ["job", "instance", "fabric"];
/// What is in the contract and may not be in the table yet, with its labels.
const PROMISED: [(&str, &[&str]); 3] = [
    ("roce_check_status", &["device", "check", "status"]),
    ("roce_config_changes_total", &["device", "setting"]),
    ("roce_link_peer_info", &["device", "peer", "peer_device", "source"]),
];
/// Recorded by the rules that join links, with what its labels are.
const OF_LINKS: (&str, &[&str]) = (
    "roce_link:pfc_frames_lost:ratio_rate5m",
    &["host", "device", "peer", "peer_device", "priority", "direction"],
);

pub type Names = BTreeSet<String>;

struct Metric {
    labels: Names,
    counter: bool,
}

/// Everything that an expression may select.
pub struct Metrics(BTreeMap<String, Metric>);

fn names<'name>(labels: impl IntoIterator<Item = &'name str>) -> Names {
    labels.into_iter().map(str::to_owned).collect()
}

impl Metrics {
    /// The table of metrics, and what these rules record.
    pub fn with_records_of(rules: &[Rule]) -> Self {
        let mut metrics = Self(BTreeMap::new());
        metrics.add("up", names([]), false);
        for (name, labels) in PROMISED {
            metrics.add(name, names(labels.iter().copied()), name.ends_with("_total"));
        }
        metrics.add(OF_LINKS.0, names(OF_LINKS.1.iter().copied()), false);
        for family in &*FAMILIES {
            let labels = family.labels.iter().chain(family.optional_labels);
            let labels = names(labels.map(|label| label.as_str()));
            if family.kind == Kind::Histogram {
                let bound = names(["le"]);
                for (end, more) in [("_bucket", bound), ("_sum", names([])), ("_count", names([]))]
                {
                    metrics.add(&format!("{}{end}", family.name), &labels | &more, true);
                }
            } else {
                metrics.add(&family.full_name(), labels, family.kind == Kind::Counter);
            }
        }
        metrics.add_records(rules);
        metrics
    }

    fn add(&mut self, name: &str, mut labels: Names, counter: bool) {
        labels.extend(names(OF_TARGETS));
        self.0.insert(name.to_owned(), Metric { labels, counter });
    }

    /// A record may be made of others, in whatever order.
    fn add_records(&mut self, rules: &[Rule]) {
        let records: Vec<&Rule> = rules.iter().filter(|rule| rule.record.is_some()).collect();
        for rule in &records {
            let own = rule.labels.keys().cloned().collect();
            let known = self.0.remove(rule.record.as_ref().unwrap());
            let labels: Names = known.map_or_else(Names::new, |metric| metric.labels);
            self.add(rule.record.as_ref().unwrap(), &labels | &own, false);
        }
        loop {
            let mut grown = false;
            for rule in &records {
                let found = self.labels(&parse(&rule.expr).unwrap());
                let labels = &mut self.0.get_mut(rule.record.as_ref().unwrap()).unwrap().labels;
                let before = labels.len();
                labels.extend(found);
                grown |= labels.len() > before;
            }
            if !grown {
                break;
            }
        }
    }

    /// The labels that an expression's metrics have, and those that it makes.
    fn labels(&self, expr: &Expr) -> Names {
        let mut found = Names::new();
        if let Some(selector) = selector(expr) {
            let metric = selector.name.as_ref().and_then(|name| self.0.get(name));
            found.extend(metric.map(|metric| metric.labels.clone()).unwrap_or_default());
        }
        found.extend(made_label(expr));
        for part in parts(expr) {
            found.extend(self.labels(part));
        }
        found
    }

    /// What is wrong with an expression, in words.
    pub fn faults(&self, expression: &str) -> Vec<String> {
        let mut faults = Vec::new();
        match parse(expression) {
            Ok(expr) => self.walk(&expr, Seen::Value, &mut faults),
            Err(error) => faults.push(error),
        }
        faults
    }

    fn walk(&self, expr: &Expr, seen: Seen, faults: &mut Vec<String>) {
        if let Some(selector) = selector(expr) {
            self.look_at(selector, seen, faults);
        }
        let known = self.labels(expr);
        for label in grouping(expr) {
            if !known.contains(&label) {
                faults.push(format!("nothing here has the label {label:?}: {expr}"));
            }
        }
        match expr {
            Expr::Call(Call { func, args }) => {
                let seen = match func.name {
                    "rate" | "increase" | "resets" => Seen::Growth,
                    _ => Seen::Value,
                };
                for argument in &args.args {
                    self.walk(argument, seen, faults);
                }
            }
            Expr::Binary(BinaryExpr { op, lhs, rhs, .. }) => {
                let seen = if op.is_set_operator() { seen } else { Seen::Value };
                let only_looked_for = matches!(op.id(), T_LAND | T_LUNLESS);
                self.walk(lhs, seen, faults);
                self.walk(rhs, if only_looked_for { Seen::Presence } else { seen }, faults);
            }
            Expr::Paren(inner) => self.walk(&inner.expr, seen, faults),
            _ => {
                for part in parts(expr) {
                    self.walk(part, Seen::Value, faults);
                }
            }
        }
    }

    fn look_at(&self, selector: &VectorSelector, seen: Seen, faults: &mut Vec<String>) {
        let Some(name) = &selector.name else {
            faults.push(format!("no name: {selector}"));
            return;
        };
        let Some(metric) = self.0.get(name) else {
            faults.push(format!("no such metric: {name}"));
            return;
        };
        if metric.counter && seen == Seen::Value {
            faults.push(format!("a counter outside rate and increase: {name}"));
        }
        let Matchers { matchers, or_matchers } = &selector.matchers;
        for matcher in matchers.iter().chain(or_matchers.iter().flatten()) {
            if !metric.labels.contains(&matcher.name) {
                faults.push(format!("{name} has no label {:?}", matcher.name));
            }
        }
    }
}

/// What an expression takes from its parts.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Value,
    Growth,
    Presence,
}

fn parse(expression: &str) -> Result<Expr, String> {
    parser::parse(expression).map_err(|error| format!("{error}: {expression}"))
}

fn selector(expr: &Expr) -> Option<&VectorSelector> {
    match expr {
        Expr::VectorSelector(selector) => Some(selector),
        Expr::MatrixSelector(matrix) => Some(&matrix.vs),
        _ => None,
    }
}

fn parts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Aggregate(AggregateExpr { expr, param, .. }) => {
            std::iter::once(&**expr).chain(param.as_deref()).collect()
        }
        Expr::Unary(unary) => vec![&unary.expr],
        Expr::Binary(binary) => vec![&binary.lhs, &binary.rhs],
        Expr::Paren(paren) => vec![&paren.expr],
        Expr::Subquery(subquery) => vec![&subquery.expr],
        Expr::Call(call) => call.args.args.iter().map(|argument| &**argument).collect(),
        _ => Vec::new(),
    }
}

/// The label that `label_replace` or `count_values` makes.
fn made_label(expr: &Expr) -> Option<String> {
    let made = match expr {
        Expr::Call(call) if call.func.name == "label_replace" => call.args.args.get(1).cloned(),
        Expr::Aggregate(aggregate) if aggregate.op.id() == T_COUNT_VALUES => {
            aggregate.param.clone()
        }
        _ => None,
    };
    match made.as_deref() {
        Some(Expr::StringLiteral(label)) => Some(label.val.clone()),
        _ => None,
    }
}

/// The labels in `by`, `without`, `on`, `ignoring`, `group_left` and `group_right`.
fn grouping(expr: &Expr) -> Vec<String> {
    match expr {
        Expr::Aggregate(aggregate) => {
            let modifier = aggregate.modifier.iter();
            modifier.flat_map(|modifier| modifier.labels().labels.clone()).collect()
        }
        Expr::Binary(BinaryExpr { modifier: Some(modifier), .. }) => {
            let matching = modifier.matching.iter();
            let matching = matching.flat_map(|matching| matching.labels().labels.clone());
            let carried = match &modifier.card {
                VectorMatchCardinality::ManyToOne(labels)
                | VectorMatchCardinality::OneToMany(labels) => labels.labels.clone(),
                _ => Vec::new(),
            };
            matching.chain(carried).collect()
        }
        _ => Vec::new(),
    }
}
