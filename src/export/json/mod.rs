//! The figures as JSON, for the API and the page.
//!
//! The same snapshot as the exposition, by device instead of by family. Counters go by their metric's name and are in
//! its unit. What is absent has no key; no value is ever null. `http`'s `openapi.yaml` says what each key means, and a test
//! holds the answers against it.

#![allow(clippy::struct_field_names, reason = "keys of the documented form")]

mod devices;
mod findings;
mod samples;
mod sources;
mod storms;

pub(crate) use devices::{Device, devices};
pub(crate) use findings::{Findings, findings};
pub(crate) use samples::{Trend, samples, trend};
pub(crate) use sources::{Source, sources};
pub(crate) use storms::{Storm, storm, storms};

use std::collections::BTreeMap;

use serde::Serialize;

use super::families::FAMILIES;
use super::gather::place_of;
use crate::engine::{Basis, FeedFigures};
use crate::model::{CounterKey, Direction, Unit};

/// Counters by the name of their metric, in its unit.
type Counters = BTreeMap<String, Number>;

/// Counts stay integers, since a real loses their low bits above 2^53.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
pub(super) enum Number {
    Integer(u64),
    Real(f64),
}

/// The counters of a feed that have a value and no further distinction, of the keys that `wanted` lets pass.
fn counters(feed: &FeedFigures, wanted: impl Fn(&CounterKey) -> bool) -> Counters {
    let all = feed.counters.plan.counters.iter().zip(&feed.counters.totals);
    let named = all.filter_map(|(counter, total)| {
        let plain = counter.key.detail.as_deref().is_none_or(str::is_empty);
        let total = (*total).filter(|_| plain && wanted(&counter.key))?;
        let family = FAMILIES.get(place_of(&counter.key)?)?;
        let number = match counter.unit {
            Unit::Count | Unit::Bytes | Unit::Seconds => Number::Integer(total),
            unit => Number::Real(unit.to_base(total)),
        };
        Some((family.full_name(), number))
    });
    named.collect()
}

/// Who is congested, in words.
const fn meaning(direction: Direction) -> &'static str {
    match direction {
        Direction::Tx => "this port holds its peer",
        Direction::Rx => "the peer holds this port",
    }
}

/// A text that is there.
fn text(own: &str) -> Option<&str> {
    Some(own).filter(|own| !own.is_empty())
}

/// A share under the key of what it is made of.
#[derive(Clone, Copy, Default, Serialize)]
struct Share {
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_ratio: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pause_ratio_upper_bound: Option<f32>,
}

impl Share {
    fn new(share: Option<f32>, basis: Option<Basis>) -> Self {
        match basis {
            Some(Basis::Duration) => Self { pause_ratio: share, ..Self::default() },
            Some(Basis::Frames) => Self { pause_ratio_upper_bound: share, ..Self::default() },
            None => Self::default(),
        }
    }
}

/// Seconds to the microsecond, which is as exact as times are kept.
fn to_micros(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}
