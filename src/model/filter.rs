//! Which devices are looked at, by name.

use regex::Regex;

/// Which devices are looked at at all.
#[derive(Clone, Debug, Default)]
pub struct DeviceFilter {
    /// Only these; also netdevs without a device behind them.
    pub include: Option<Regex>,
    /// Never these.
    pub exclude: Option<Regex>,
}

impl DeviceFilter {
    /// Whether a device of this name is looked at. `physical`: it has a device behind it.
    #[must_use]
    pub fn admits(&self, name: &str, physical: bool) -> bool {
        let wanted = self.include.as_ref().map_or(physical, |include| include.is_match(name));
        wanted && !self.exclude.as_ref().is_some_and(|exclude| exclude.is_match(name))
    }
}

/// Which further namespaces are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceSelection {
    /// Names below `/run/netns`, or paths of namespace files.
    pub named: Vec<String>,
    /// All that have a name or a process.
    pub all: bool,
}

impl NamespaceSelection {
    /// Whether only this program's own namespace is looked at.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.named.is_empty() && !self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_pattern_only_devices_with_something_behind_them_count() {
        let filter = DeviceFilter::default();
        assert!(filter.admits("eth0", true));
        assert!(!filter.admits("veth0", false));
        let filter = DeviceFilter {
            include: Some(Regex::new("^(?:veth.*)$").unwrap()),
            exclude: Some(Regex::new("^(?:veth9)$").unwrap()),
        };
        assert!(filter.admits("veth0", false));
        assert!(!filter.admits("veth9", false));
        assert!(!filter.admits("eth0", true));
    }
}
