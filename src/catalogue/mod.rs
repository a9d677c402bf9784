//! Which driver calls which counter what: data, with one matcher.
//!
//! A set of names is resolved once into a [`Plan`]; reads then copy by position and compare no strings.
//! There is no code per driver here: a driver is a block of rows in a table, and an operator can add one
//! with a file of the same form (`docs/catalogue.md`). This room refuses fuzzy matching: a name matches
//! whole or not at all. It reads no file and knows no kernel call; callers bring names and get meanings.

mod check;
pub mod ethtool_text;
mod matcher;
mod rdma_drivers;
mod resolve;
mod row;
mod table;
mod template;

use std::collections::BTreeSet;

pub use resolve::{NameUse, RawSelection};
pub use table::{COLUMNS, CatalogueError, Problem};

use self::matcher::Matcher;
use self::rdma_drivers::RdmaDrivers;
use self::resolve::Resolution;
use self::row::Row;
use crate::model::{Feed, Plan};

const NETDEV: (&str, &str) = ("netdev.csv", include_str!("netdev.csv"));
const RDMA: (&str, &str) = ("rdma.csv", include_str!("rdma.csv"));
const RDMA_DRIVERS: (&str, &str) = ("rdma_drivers.csv", include_str!("rdma_drivers.csv"));

/// A kind of counter set. The same name can mean different things in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Statistics of a netdev (`ethtool -S`).
    Ethtool,
    /// Counters of a port of an RDMA device.
    RdmaPort,
    /// Counters of an RDMA device as a whole.
    RdmaDevice,
}

impl Table {
    /// The table that a feed's names are looked up in.
    #[must_use]
    pub const fn of(feed: &Feed) -> Self {
        match (feed.source.is_rdma(), feed.port) {
            (false, _) => Self::Ethtool,
            (true, Some(_)) => Self::RdmaPort,
            (true, None) => Self::RdmaDevice,
        }
    }
}

/// All rows of all drivers.
#[derive(Clone, Debug)]
pub struct Catalogue {
    rows: Vec<Row>,
    rdma_drivers: RdmaDrivers,
}

impl Catalogue {
    /// The tables that the program ships with.
    ///
    /// # Errors
    /// [`CatalogueError`] if a shipped table is faulty, which a test of this program excludes.
    pub fn embedded() -> Result<Self, CatalogueError> {
        let rdma_drivers = RdmaDrivers::parse(RDMA_DRIVERS.1, RDMA_DRIVERS.0)?;
        let empty = Self { rows: Vec::new(), rdma_drivers };
        empty.with_file(NETDEV.1, NETDEV.0)?.with_file(RDMA.1, RDMA.0)
    }

    /// This catalogue with the rows of one more file. A row replaces the one of the same source, driver
    /// and template; any other row is added. `origin` names the file in errors.
    ///
    /// # Errors
    /// [`CatalogueError`] with every faulty row, and with every pair of rows that claim the same name or
    /// the same counter.
    pub fn with_file(mut self, text: &str, origin: &str) -> Result<Self, CatalogueError> {
        let layer = self.rows.iter().map(|row| row.place.layer).max().map_or(0, |last| last + 1);
        let added = table::parse(text, origin, layer)?;
        self.rows.retain(|row| !added.iter().any(|new| new.replaces(row)));
        self.rows.extend(added);
        check::no_clashes(&self.rows)?;
        Ok(self)
    }

    /// Resolves a set of names, as [`crate::source::CounterSet::names`] gives it, for the sampler.
    #[must_use]
    pub fn plan(&self, table: Table, driver: &str, names: &[String], raw: &RawSelection) -> Plan {
        Resolution::of(&Matcher::new(&self.rows, table, driver), names).plan(names, raw)
    }

    /// Says of each name what becomes of it, in the order of `names`.
    #[must_use]
    pub fn classify(&self, table: Table, driver: &str, names: &[String]) -> Vec<NameUse> {
        Resolution::of(&Matcher::new(&self.rows, table, driver), names).uses()
    }

    /// The driver key of an RDMA device: by its own name for software devices, else by the driver of its
    /// parent on the bus. What no table knows keeps its bus driver's name, or its own without one, so that
    /// an operator's file can have rows for it.
    #[must_use]
    pub fn rdma_table_key(&self, bus_driver: &str, rdma_device: &str) -> String {
        self.rdma_drivers.key(bus_driver, rdma_device)
    }

    /// Whether a table has rows of this driver's own, beside those for every driver.
    #[must_use]
    pub fn knows_driver(&self, table: Table, driver: &str) -> bool {
        let own = |row: &&Row| row.table == table && !row.driver.stem().is_empty();
        self.rows.iter().filter(own).any(|row| row.driver.matches(driver))
    }

    /// The drivers that a table has rows for, as written there: a trailing `*` stands for any ending.
    #[must_use]
    pub fn drivers(&self, table: Table) -> BTreeSet<String> {
        let rows = self.rows.iter().filter(|row| row.table == table);
        rows.map(|row| row.driver.to_string()).collect()
    }
}

/// Whether a name looks as if it had to do with pausing, marking or dropping. For pointing an operator at
/// names that the catalogue lacks; it decides nothing.
#[must_use]
pub fn concerns_flow_control(name: &str) -> bool {
    const WORDS: [&str; 16] = [
        "pause",
        "pfc",
        "cbfc",
        "prio",
        "xon",
        "xoff",
        "flow_control",
        "flowcontrol",
        "ecn",
        "cnp",
        "congest",
        "discard",
        "drop",
        "storm",
        "stall",
        "out_of_buffer",
    ];
    let name = name.to_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}
