//! Patterns of regular cabling: `node{n}/eth{rail}` with `n: 1..128`.
//!
//! A variable takes each value of a range or of a list; several variables take all combinations, and both ends of a
//! link use the same combination. Pure text to text: it knows no file and no host.

use std::sync::Arc;

use crate::model::PortName;

/// Longest text of a host or a port, in bytes; a host name has at most 253.
const MOST_BYTES: usize = 253;

/// The values of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// From the first to the second, both included, filled with zeros up to a width.
    Range(u32, u32, usize),
    /// These words.
    List(Vec<String>),
}

impl Values {
    /// `1..32`, `001..128`.
    pub(super) fn parse_range(text: &str) -> Result<Self, String> {
        let wrong = || "must be a range such as 1..32 or 001..128, or a list".to_owned();
        let (from, to) = text.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse::<u32>().ok()).flatten().ok_or_else(wrong)
        };
        let (first, last) = (number(from)?, number(to)?);
        if first > last {
            return Err(format!("{first} comes after {last}"));
        }
        let width = if from.starts_with('0') { from.len() } else { 0 };
        Ok(Self::Range(first, last, width))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Range(first, last, _) => {
                usize::try_from(last - first).map_or(usize::MAX, |steps| steps.saturating_add(1))
            }
            Self::List(words) => words.len(),
        }
    }

    fn get(&self, place: usize, offset: i64) -> Option<String> {
        match self {
            Self::Range(first, _, width) => {
                let number = i64::from(*first).checked_add(i64::try_from(place).ok()?)?;
                let number = u64::try_from(number.checked_add(offset)?).ok()?;
                Some(format!("{number:0width$}"))
            }
            Self::List(words) => words.get(place).cloned(),
        }
    }
}

/// A variable by its name.
pub(super) type Variable = (String, Values);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    /// Place of the variable in its rule, and what is added to its number.
    Variable(usize, i64),
}

/// A name with variables in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Template(Vec<Part>);

impl Template {
    fn parse(text: &str, variables: &[Variable]) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (inside, after) = after.split_once('}').ok_or("`{` without `}`")?;
            parts.push(Part::Text(before.to_owned()));
            parts.push(variable(inside, variables)?);
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        let stray = |part: &Part| matches!(part, Part::Text(text) if text.contains('}'));
        if parts.iter().any(stray) {
            return Err("`}` without `{`".to_owned());
        }
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        Ok(Self(parts))
    }

    fn fill(&self, variables: &[Variable], places: &[usize]) -> Option<String> {
        let mut filled = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Variable(which, offset) => {
                    let (_, values) = variables.get(*which)?;
                    filled.push_str(&values.get(*places.get(*which)?, *offset)?);
                }
            }
        }
        Some(filled)
    }

    fn uses(&self, which: usize) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Variable(used, _) if *used == which))
    }

    /// The least number that an offset makes of a range must not be below 0.
    fn stays_positive(&self, variables: &[Variable]) -> bool {
        self.0.iter().all(|part| match part {
            Part::Variable(which, offset) => variables
                .get(*which)
                .is_some_and(|(_, values)| values.len() == 0 || values.get(0, *offset).is_some()),
            Part::Text(_) => true,
        })
    }
}

/// `n`, `n+8` or `n-1`.
fn variable(inside: &str, variables: &[Variable]) -> Result<Part, String> {
    let sign = inside.find(['+', '-']);
    let (name, offset) = inside.split_at(sign.unwrap_or(inside.len()));
    let offset = match offset {
        "" => 0,
        digits => i64::from(
            digits.parse::<i32>().map_err(|_| format!("`{{{inside}}}`: not a number to add"))?,
        ),
    };
    let place = variables.iter().position(|(known, _)| known == name);
    let place = place.ok_or_else(|| format!("`{{{name}}}` has no values below `with`"))?;
    let is_list = matches!(variables.get(place), Some((_, Values::List(_))));
    if is_list && offset != 0 {
        return Err(format!("`{{{inside}}}`: nothing can be added to a list of words"));
    }
    Ok(Part::Variable(place, offset))
}

/// A port with variables in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    host: Template,
    device: Template,
}

impl End {
    /// `HOST/PORT`. A port may have slashes of its own, as switches have them.
    pub(super) fn parse(text: &str, variables: &[Variable]) -> Result<Self, String> {
        let (host, device) = text
            .split_once('/')
            .filter(|(host, device)| !host.is_empty() && !device.is_empty())
            .ok_or("must be HOST/PORT, such as node1/eth0")?;
        for name in [host, device] {
            if name.len() > MOST_BYTES || name.contains(char::is_control) || name.trim() != name {
                return Err(format!(
                    "a name must be at most {MOST_BYTES} bytes, without control characters or spaces around it"
                ));
            }
        }
        let parse = |text| Template::parse(text, variables);
        let end = Self { host: parse(host)?, device: parse(device)? };
        if !end.host.stays_positive(variables) || !end.device.stays_positive(variables) {
            return Err("a number would be below 0".to_owned());
        }
        Ok(end)
    }

    pub(super) fn uses(&self, which: usize) -> bool {
        self.host.uses(which) || self.device.uses(which)
    }

    fn fill(&self, variables: &[Variable], places: &[usize]) -> Option<PortName> {
        let fill = |template: &Template| template.fill(variables, places).map(Arc::from);
        Some(PortName { host: fill(&self.host)?, device: fill(&self.device)? })
    }
}

/// An entry of the file: one link, or as many as its variables have combinations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) ends: [End; 2],
    pub(super) variables: Vec<Variable>,
}

impl Rule {
    /// How many links it stands for.
    pub(super) fn len(&self) -> usize {
        self.variables.iter().map(|(_, values)| values.len()).fold(1, usize::saturating_mul)
    }

    /// Its links, the last variable changing first.
    pub(super) fn pairs(&self) -> impl Iterator<Item = [PortName; 2]> + '_ {
        let [one, other] = &self.ends;
        (0..self.len()).filter_map(move |number| {
            let places = self.places(number);
            let fill = |end: &End| end.fill(&self.variables, &places);
            Some([fill(one)?, fill(other)?])
        })
    }

    fn places(&self, number: usize) -> Vec<usize> {
        let mut rest = number;
        let mut places: Vec<usize> = self
            .variables
            .iter()
            .rev()
            .map(|(_, values)| {
                let count = values.len().max(1);
                let place = rest % count;
                rest /= count;
                place
            })
            .collect();
        places.reverse();
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(all: &[(&str, &str)]) -> Vec<Variable> {
        let parse =
            |(name, text): &(&str, &str)| ((*name).to_owned(), Values::parse_range(text).unwrap());
        all.iter().map(parse).collect()
    }

    fn links(one: &str, other: &str, of: &[(&str, &str)]) -> Vec<String> {
        let variables = variables(of);
        let ends = [one, other].map(|text| End::parse(text, &variables).unwrap());
        let rule = Rule { ends, variables };
        let show = |end: &PortName| format!("{}/{}", end.host, end.device);
        rule.pairs().map(|[one, other]| format!("{} {}", show(&one), show(&other))).collect()
    }

    #[test]
    fn both_ends_take_the_same_values() {
        assert_eq!(
            links("node{n}/eth{rail}", "leaf{rail}/swp{n+8}", &[("n", "09..10"), ("rail", "0..1")]),
            [
                "node09/eth0 leaf0/swp17",
                "node09/eth1 leaf1/swp17",
                "node10/eth0 leaf0/swp18",
                "node10/eth1 leaf1/swp18",
            ]
        );
        assert_eq!(links("a/b", "c/Ethernet1/1", &[]), ["a/b c/Ethernet1/1"]);
        assert_eq!(links("a{n-1}/b", "c{n}/d", &[("n", "1..1")]), ["a0/b c1/d"]);
    }

    #[test]
    fn bad_ends_and_ranges_say_why() {
        let known = vec![
            ("n".to_owned(), Values::Range(0, 3, 0)),
            ("w".to_owned(), Values::List(vec!["x".to_owned()])),
        ];
        for (text, reason) in [
            ("", "HOST/PORT"),
            ("a", "HOST/PORT"),
            ("/b", "HOST/PORT"),
            ("a/", "HOST/PORT"),
            ("a{n/b", "without `}`"),
            ("an}/b", "without `{`"),
            ("a{m}/b", "no values"),
            ("a{}/b", "no values"),
            ("a{n+}/b", "not a number"),
            ("a{n-1}/b", "below 0"),
            ("a{w+1}/b", "list of words"),
            ("a\t/b", "control"),
            ("a /b", "spaces"),
        ] {
            let message = End::parse(text, &known).unwrap_err();
            assert!(message.contains(reason), "{text:?}: {message}");
        }
        for text in ["", "1", "1..", "..2", "a..b", "2..1", "-1..2", "1..2..3", "1..99999999999"] {
            assert!(Values::parse_range(text).is_err(), "{text:?}");
        }
    }
}
