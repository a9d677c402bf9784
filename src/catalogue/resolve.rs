//! A set of names → what each means, and the plan that the sampler reads by.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use regex::Regex;

use super::matcher::{Hit, Matcher, Rank};
use super::row::{Combine, Counter};
use super::template::trim_name;
use crate::model::{CounterKey, Plan, PlanCounter, ReadingKind, Unit};

/// Which names the operator wants as they are, beside the counters of the catalogue.
#[derive(Clone, Debug, Default)]
pub struct RawSelection {
    /// Names that match are wanted; without it none.
    pub pattern: Option<Regex>,
    /// How many at most of one set, so that a driver with 18,000 names cannot flood the export.
    pub cap: usize,
}

/// What becomes of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameUse {
    /// It is this counter, or a part of it.
    Exported(CounterKey),
    /// It is known and left out on purpose; why.
    Known(Arc<str>),
    /// It is a counter that another name of the set gives better, or it came before.
    Shadowed,
    /// The catalogue has no row for it.
    Unknown,
}

#[derive(Clone, Copy)]
enum Found<'a> {
    Row(Hit<'a>),
    Repeated,
    Nothing,
}

/// A name that can serve a counter.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    position: u32,
    counter: &'a Counter,
    rank: Rank,
}

/// A set of names, looked up.
pub(super) struct Resolution<'a> {
    found: Vec<Found<'a>>,
    /// By counter the names whose values make it, at least one.
    counters: BTreeMap<CounterKey, Vec<Candidate<'a>>>,
}

impl<'a> Resolution<'a> {
    /// Of a name that comes twice the first place counts: a driver's table can be faulty, and what stands
    /// at the second place is anyone's guess.
    pub(super) fn of(matcher: &Matcher<'a>, names: &[String]) -> Self {
        let mut seen = HashSet::new();
        let mut found = Vec::with_capacity(names.len());
        let mut candidates: BTreeMap<CounterKey, Vec<Candidate<'a>>> = BTreeMap::new();
        for (position, name) in (0_u32..).zip(names) {
            let Some(hit) = matcher.find(name) else {
                found.push(Found::Nothing);
                continue;
            };
            if !seen.insert(trim_name(name)) {
                found.push(Found::Repeated);
                continue;
            }
            found.push(Found::Row(hit));
            if let Some(counter) = &hit.row.counter {
                let candidate = Candidate { position, counter, rank: hit.rank };
                candidates.entry(counter.key(hit.index)).or_default().push(candidate);
            }
        }
        let counters = candidates.into_iter().map(|(key, all)| (key, chosen(all))).collect();
        Self { found, counters }
    }

    pub(super) fn uses(&self) -> Vec<NameUse> {
        let exported = self.exported();
        let name_use = |(position, found): (u32, &Found<'a>)| match found {
            Found::Nothing => NameUse::Unknown,
            Found::Repeated => NameUse::Shadowed,
            Found::Row(hit) => match &hit.row.counter {
                None => NameUse::Known(hit.row.note.clone()),
                Some(counter) if exported.contains(&position) => {
                    NameUse::Exported(counter.key(hit.index))
                }
                Some(_) => NameUse::Shadowed,
            },
        };
        (0_u32..).zip(&self.found).map(name_use).collect()
    }

    pub(super) fn plan(&self, names: &[String], selection: &RawSelection) -> Plan {
        let mut wanted = self.exported();
        let raw = select_raw(names, &wanted, selection);
        wanted.extend(raw.iter().map(|(position, _)| position));
        let wanted: Vec<u32> = wanted.into_iter().collect();
        let place = |position: u32| {
            wanted.binary_search(&position).ok().and_then(|place| u32::try_from(place).ok())
        };
        let mut plan = Plan::default();
        for (key, candidates) in &self.counters {
            let Some(first) = candidates.first() else { continue };
            plan.counters.push(plan_counter(key.clone(), first.counter));
            let terms = candidates.iter().filter_map(|candidate| {
                let place = place(candidate.position)?;
                Some((place, candidate.counter.factor))
            });
            plan.terms.push(terms.collect());
        }
        plan.raw =
            raw.into_iter().filter_map(|(position, name)| Some((place(position)?, name))).collect();
        plan.wanted = wanted;
        plan
    }

    /// Positions of the names that serve a counter.
    fn exported(&self) -> BTreeSet<u32> {
        self.counters.values().flatten().map(|candidate| candidate.position).collect()
    }
}

/// The names that make a counter, of all that could. Those of the most precise driver pattern decide: one
/// that stands alone, or those that add up. Without either the best fallback serves.
fn chosen(mut all: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
    all.sort_by_key(|candidate| Reverse(candidate.rank));
    let of = |combine| all.iter().copied().filter(move |found| found.counter.combine == combine);
    let precise = |candidate: &Candidate<'_>| Some(candidate.rank.precision());
    let alone = of(Combine::Alone).next();
    let sum_precision = of(Combine::Sum).next().as_ref().and_then(precise);
    match alone {
        Some(alone) if precise(&alone) >= sum_precision => vec![alone],
        _ if sum_precision.is_some() => {
            of(Combine::Sum).filter(|candidate| precise(candidate) == sum_precision).collect()
        }
        _ => of(Combine::Fallback).take(1).collect(),
    }
}

fn plan_counter(key: CounterKey, counter: &Counter) -> PlanCounter {
    let kind = match counter.unit {
        Unit::Percent => ReadingKind::Gauge,
        _ => ReadingKind::Counter,
    };
    PlanCounter {
        key,
        kind,
        unit: counter.unit,
        width: counter.width,
        freshness: counter.freshness,
    }
}

/// Names outside the counters that the operator asked for. Two names that look the same once printable
/// would be one series, so the first stands for both, also where it is a counter.
fn select_raw(
    names: &[String],
    exported: &BTreeSet<u32>,
    selection: &RawSelection,
) -> Vec<(u32, String)> {
    let Some(pattern) = &selection.pattern else { return Vec::new() };
    let mut seen = HashSet::new();
    (0_u32..)
        .zip(names)
        .map(|(position, name)| (position, printable(trim_name(name))))
        .filter(|(_, name)| !name.is_empty() && pattern.is_match(name) && seen.insert(name.clone()))
        .filter(|(position, _)| !exported.contains(position))
        .take(selection.cap)
        .collect()
}

/// A driver's name as a label value: what does not print becomes U+FFFD.
fn printable(name: &str) -> String {
    let prints = |letter: char| match letter {
        ' '..='~' => true,
        _ => letter.escape_debug().count() == 1,
    };
    name.chars()
        .map(|letter| if prints(letter) { letter } else { char::REPLACEMENT_CHARACTER })
        .collect()
}
