//! From an RDMA device to the driver key of its rows.

use super::table::{CatalogueError, read_records};
use super::template::DriverPattern;

const COLUMNS: [&str; 3] = ["match", "pattern", "table_key"];

#[derive(Clone, Debug)]
struct Rule {
    pattern: DriverPattern,
    key: String,
}

/// Rules by what they look at, in the order of the table.
#[derive(Clone, Debug, Default)]
pub(super) struct RdmaDrivers {
    by_device: Vec<Rule>,
    by_bus_driver: Vec<Rule>,
}

impl RdmaDrivers {
    /// # Errors
    /// Every fault of every row.
    pub(super) fn parse(text: &str, origin: &str) -> Result<Self, CatalogueError> {
        let mut drivers = Self::default();
        read_records(text, origin, COLUMNS, |_, [kind, pattern, key]| {
            let rules = match kind {
                "rdma_device" => &mut drivers.by_device,
                "bus_driver" => &mut drivers.by_bus_driver,
                _ => return Err(vec![format!("`{kind}` is neither rdma_device nor bus_driver")]),
            };
            let pattern = DriverPattern::parse(pattern).map_err(|fault| vec![fault])?;
            rules.push(Rule { pattern, key: key.to_owned() });
            Ok(())
        })?;
        Ok(drivers)
    }

    pub(super) fn key(&self, bus_driver: &str, rdma_device: &str) -> String {
        let find = |rules: &[Rule], name: &str| {
            rules.iter().find(|rule| rule.pattern.matches(name)).map(|rule| rule.key.clone())
        };
        let unknown = if bus_driver.is_empty() { rdma_device } else { bus_driver };
        find(&self.by_device, rdma_device)
            .or_else(|| find(&self.by_bus_driver, bus_driver))
            .unwrap_or_else(|| unknown.to_owned())
    }
}
