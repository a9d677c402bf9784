//! Finds rows that contradict each other, before any of them is used.

use std::collections::{BTreeMap, BTreeSet};

use super::matcher::{Hit, Matcher};
use super::row::{Combine, Counter, Row};
use super::table::{CatalogueError, Problem};

/// Checks that no driver has a name twice, nor a counter twice unless its rows say how they combine. A row
/// for a precise driver and one for a wildcard do not clash: the precise one wins.
///
/// Two patterns can match a common driver only if one's stem begins with the other's, and then the longer
/// stem is such a driver. So it is enough to look at every stem as if it were a driver.
///
/// # Errors
/// A problem for each pair of rows, at the later of them.
pub(super) fn no_clashes(rows: &[Row]) -> Result<(), CatalogueError> {
    let drivers: BTreeSet<_> = rows.iter().map(|row| (row.table, row.driver.stem())).collect();
    let mut clashes = Clashes::default();
    for (table, driver) in drivers {
        let matcher = Matcher::new(rows, table, driver);
        for (name, [one, other]) in matcher.ambiguous() {
            clashes.add(one, other, &format!("both claim the name `{name}`"));
        }
        let mut counters: BTreeMap<_, Vec<(Hit<'_>, &Counter)>> = BTreeMap::new();
        for hit in matcher.hits() {
            if let Some(counter) = &hit.row.counter {
                let claim = (counter.key(hit.index), hit.rank.precision());
                counters.entry(claim).or_default().push((hit, counter));
            }
        }
        for mut claims in counters.into_values() {
            claims.sort_by_key(|(hit, _)| hit.rank);
            clashes.add_counter(&claims);
        }
    }
    clashes.into_result()
}

/// Problems by the places of the two rows, so that each pair is told once.
#[derive(Default)]
struct Clashes(BTreeMap<[(u32, u64); 2], Problem>);

impl Clashes {
    fn add_counter(&mut self, claims: &[(Hit<'_>, &Counter)]) {
        let of = |combine| claims.iter().filter(move |(_, counter)| counter.combine == combine);
        let mut alone = of(Combine::Alone);
        if let Some((first, counter)) = alone.next() {
            let reason = format!(
                "both give {} with the same labels; say in combine how, or make one of them known",
                counter.quantity.as_str()
            );
            for (other, _) in alone.chain(of(Combine::Sum)) {
                self.add(first.row, other.row, &reason);
            }
        }
        let mut sum = of(Combine::Sum);
        if let Some((first, counter)) = sum.next() {
            for (other, _) in sum.filter(|(_, other)| !counter.adds_up_with(other)) {
                let reason = "cannot be added: unit, width and freshness_ms must be the same";
                self.add(first.row, other.row, reason);
            }
        }
    }

    fn add(&mut self, one: &Row, other: &Row, reason: &str) {
        let place = |row: &Row| (row.place.layer, row.place.line);
        let (earlier, later) = if place(one) <= place(other) { (one, other) } else { (other, one) };
        let reason = format!(
            "`{}` of {} and `{}` of {} ({}:{}) {reason}",
            later.template,
            later.driver,
            earlier.template,
            earlier.driver,
            earlier.place.origin,
            earlier.place.line,
        );
        let origin = later.place.origin.to_string();
        let problem = Problem { origin, line: later.place.line, reason };
        self.0.entry([place(later), place(earlier)]).or_insert(problem);
    }

    fn into_result(self) -> Result<(), CatalogueError> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(CatalogueError { problems: self.0.into_values().collect() })
    }
}
