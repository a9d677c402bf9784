//! How the set-ups of both ends differ. What one page does not tell is not compared. Pure.

use std::collections::BTreeSet;

use super::port::{Port, setting_names};

/// A setting that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// `pfc`, `trust`, `dscp`, `mtu`, `link-pause`, `ecn`, `speed` or `cable`.
    pub(super) setting: &'static str,
    /// Which part of it, such as a priority; empty for the whole.
    pub(super) part: String,
    /// At the first and at the second end.
    pub(super) values: [String; 2],
}

/// All differences but those of the settings in `ignored`.
pub(super) fn differences(
    ports: &[Port; 2],
    devices: [&str; 2],
    ignored: &[String],
) -> Vec<Difference> {
    let mut found = Vec::new();
    let [one, other] = ports;
    for setting in setting_names() {
        let (Some(here), Some(there)) = (one.settings.get(setting), other.settings.get(setting))
        else {
            continue;
        };
        let keys: BTreeSet<&String> = here.keys().chain(there.keys()).collect();
        for part in keys {
            // A map's entry that one end lacks is a difference; so is a priority, if only one end tells of it.
            let value = |side: Option<&String>| side.map_or("none", String::as_str).to_owned();
            let values = [value(here.get(part)), value(there.get(part))];
            let [mine, theirs] = &values;
            if mine != theirs {
                found.push(Difference { setting, part: part.clone(), values });
            }
        }
    }
    found.extend(link_pause_beside_pfc(ports));
    found.extend(cabling(ports, devices));
    found.retain(|own| !ignored.iter().any(|setting| setting == own.setting));
    found
}

/// 802.3x pause that is on at both ends alike is no difference, and a fault all the same where PFC is on.
fn link_pause_beside_pfc(ports: &[Port; 2]) -> Option<Difference> {
    let is_on = |port: &Port| {
        port.settings.get("link-pause").is_some_and(|ways| ways.values().any(|on| on == "1"))
    };
    let has_pfc = |port: &Port| port.pfc.iter().flatten().any(|on| *on);
    let both = ports.iter().all(|port| is_on(port) && has_pfc(port));
    both.then(|| Difference {
        setting: "link-pause",
        part: "beside PFC".to_owned(),
        values: ["1".to_owned(), "1".to_owned()],
    })
}

/// An end that knows of another cable.
fn cabling(ports: &[Port; 2], devices: [&str; 2]) -> Vec<Difference> {
    let [one, other] = ports;
    let [here, there] = devices;
    let told = [(one, there), (other, here)];
    let named = |(port, _): &(&Port, &str)| {
        port.peer.as_ref().map_or(String::new(), |(host, device)| format!("{host}/{device}"))
    };
    let wrong = |(port, expected): &(&Port, &str)| {
        port.peer.as_ref().is_some_and(|(_, device)| device != expected)
    };
    if told.iter().any(wrong) {
        let values = told.each_ref().map(named);
        vec![Difference { setting: "cable", part: "peer".to_owned(), values }]
    } else {
        Vec::new()
    }
}

/// What may be ignored.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    setting_names().chain(["cable"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(settings: &[(&'static str, &str, &str)]) -> Port {
        let mut port = Port::default();
        for (setting, part, value) in settings {
            let entry = port.settings.entry(setting).or_default();
            entry.insert((*part).to_owned(), (*value).to_owned());
        }
        port
    }

    fn text(ports: &[Port; 2], ignored: &[&str]) -> Vec<String> {
        let ignored: Vec<String> = ignored.iter().map(|word| (*word).to_owned()).collect();
        let found = differences(ports, ["eth0", "swp1"], &ignored);
        let show =
            |own: Difference| format!("{} {} {}", own.setting, own.part, own.values.join("|"));
        found.into_iter().map(show).collect()
    }

    #[test]
    fn settings_that_both_ends_tell_are_compared() {
        let one = port(&[
            ("mtu", "", "9000"),
            ("pfc", "3", "1"),
            ("dscp", "26", "3"),
            ("trust", "", "dscp"),
        ]);
        let other = port(&[
            ("mtu", "", "1500"),
            ("pfc", "3", "1"),
            ("dscp", "26", "4"),
            ("dscp", "48", "6"),
        ]);
        let ports = [one, other];
        assert_eq!(text(&ports, &[]), ["dscp 26 3|4", "dscp 48 none|6", "mtu  9000|1500"]);
        assert_eq!(text(&ports, &["mtu", "dscp"]), [""; 0]);
    }

    #[test]
    fn a_cable_that_leads_elsewhere_is_told() {
        let mut ports = [port(&[]), port(&[])];
        ports[0].peer = Some(("leaf1".to_owned(), "swp1".to_owned()));
        assert_eq!(text(&ports, &[]), [""; 0]);
        ports[1].peer = Some(("node9".to_owned(), "eth7".to_owned()));
        assert_eq!(text(&ports, &[]), ["cable peer leaf1/swp1|node9/eth7"]);
    }

    #[test]
    fn link_pause_beside_pfc_is_a_fault_at_both_ends() {
        let mut one = port(&[("link-pause", "tx", "1"), ("link-pause", "rx", "1")]);
        one.pfc[3] = Some(true);
        let ports = [one.clone(), one];
        assert_eq!(text(&ports, &[]), ["link-pause beside PFC 1|1"]);
    }
}
