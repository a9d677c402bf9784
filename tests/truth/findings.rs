//! What a run found: the largest error of each claim, and every deviation beyond its tolerance.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Deviations that are told in full; the rest is counted.
const TOLD: usize = 8;

/// What was compared, and how far apart figures and truth were.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// By claim and driver: comparisons made and the largest error.
    errors: BTreeMap<&'static str, BTreeMap<String, (u64, f64)>>,
    deviations: Vec<String>,
    beyond: usize,
}

impl Findings {
    /// Compares: `error` must not be above `tolerance`.
    pub(crate) fn within(
        &mut self,
        claim: &'static str,
        driver: &str,
        error: f64,
        tolerance: f64,
        told: impl FnOnce() -> String,
    ) {
        let drivers = self.errors.entry(claim).or_default();
        if !drivers.contains_key(driver) {
            drivers.insert(driver.to_owned(), (0, 0.0));
        }
        let entry = drivers.get_mut(driver).unwrap();
        entry.0 += 1;
        entry.1 = entry.1.max(error);
        if error.is_nan() || error > tolerance {
            self.deviates(claim, driver, &format!("off by {error:.6}: {}", told()));
        }
    }

    /// Claims something that is or is not so.
    pub(crate) fn holds(
        &mut self,
        claim: &'static str,
        driver: &str,
        so: bool,
        told: impl FnOnce() -> String,
    ) {
        self.within(claim, driver, if so { 0.0 } else { 1.0 }, 0.0, told);
    }

    fn deviates(&mut self, claim: &str, driver: &str, told: &str) {
        if self.deviations.len() < TOLD {
            self.deviations.push(format!("{claim}, {driver}: {told}"));
        } else {
            self.beyond += 1;
        }
    }

    /// How often a claim was put to the test.
    pub(crate) fn count(&self, claim: &str) -> u64 {
        self.errors.get(claim).into_iter().flatten().map(|(_, (count, _))| count).sum()
    }

    /// A table of the largest errors, a line per claim and driver.
    pub(crate) fn table(&self, title: &str) -> String {
        let mut table = String::new();
        for (claim, drivers) in &self.errors {
            for (driver, (count, most)) in drivers {
                writeln!(table, "{title:20} {driver:10} {claim:34} {count:>8} {most:.6}").unwrap();
            }
        }
        table
    }

    /// # Panics
    /// When something deviated.
    pub(crate) fn conclude(&self, title: &str) {
        print!("{}", self.table(title));
        assert!(
            self.deviations.is_empty(),
            "{title}: {} deviations\n{}",
            self.deviations.len() + self.beyond,
            self.deviations.join("\n")
        );
    }
}
