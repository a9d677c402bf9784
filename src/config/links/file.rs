//! The links file as it was written, and its check.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_saphyr::Spanned;

use super::pattern::{End, Rule, Values, Variable};
use super::{Links, MOST_LINKS};
use crate::config::Bounds;
use crate::config::errors::Problem;
use crate::config::file::{Text, Texts, UnknownKey, fault, load, mapping};
use crate::model::PortName;

/// Enough for tens of thousands of links written one by one.
const BOUNDS: Bounds = Bounds { bytes: 16 << 20, nodes: 500_000 };

/// Faults of one kind that are listed; a wrong pattern can make thousands.
const MOST_REPEATS: usize = 10;

mapping! {
    /// The whole file.
    File { links: Vec<Spanned<Entry>>, }
}

mapping! {
    /// One link or a pattern of links.
    Entry { ends: Option<Spanned<Vec<Text>>>, with: Pairs, }
}

/// The pairs of a mapping, in their order.
#[derive(Debug, Default)]
pub(super) struct Pairs(Vec<(Text, Texts)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;

        impl<'de> Visitor<'de> for All {
            type Value = Pairs;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a mapping of variables to ranges or lists")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(All)
    }
}

/// Reads and checks a links file.
///
/// # Errors
/// Everything that is wrong with it; where the form is broken, that alone.
pub(in crate::config) fn read(path: &Path) -> Result<Links, Vec<Problem>> {
    let file: File = load(path, BOUNDS).map_err(|problem| vec![problem])?;
    let mut problems: Vec<Problem> =
        file.unknown_below("").into_iter().map(|key| key.problem(path)).collect();
    let mut rules = Vec::new();
    for entry in &file.links {
        let unknown = entry.value.unknown_below("links.");
        problems.extend(unknown.into_iter().map(|key| key.problem(path)));
        let line = entry.referenced.line();
        match rule(&entry.value, line) {
            Ok(rule) => rules.push((line, rule)),
            Err(faults) => problems.extend(
                faults
                    .into_iter()
                    .map(|(line, key, message)| fault(path, line, format!("links.{key}"), message)),
            ),
        }
    }
    let total = rules.iter().map(|(_, rule)| rule.len()).fold(0, usize::saturating_add);
    if total > MOST_LINKS {
        let message = format!("stands for {total} links; at most {MOST_LINKS} are allowed");
        problems.push(fault(path, 0, "links".to_owned(), message));
    } else {
        problems.extend(double_ends(path, &rules));
    }
    if problems.is_empty() {
        Ok(Links { rules: rules.into_iter().map(|(_, rule)| rule).collect() })
    } else {
        Err(problems)
    }
}

/// A line, a key and what is wrong there.
type Fault = (u64, &'static str, String);

fn rule(entry: &Entry, line: u64) -> Result<Rule, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut variables: Vec<Variable> = Vec::new();
    for (name, texts) in &entry.with.0 {
        match variable(name, texts) {
            Ok(_) if variables.iter().any(|(known, _)| *known == name.value) => {
                faults.push((name.referenced.line(), "with", "given twice".to_owned()));
            }
            Ok(variable) => variables.push(variable),
            Err((line, message)) => faults.push((line, "with", message)),
        }
    }
    let good_variables = faults.is_empty();
    let ends = entry.ends.as_ref().map(|ends| ends.value.as_slice()).unwrap_or_default();
    let [one, other] = ends else {
        let line = entry.ends.as_ref().map_or(line, |ends| ends.referenced.line());
        faults.push((line, "ends", "must be a list of two: [HOST/PORT, HOST/PORT]".to_owned()));
        return Err(faults);
    };
    let mut parsed = Vec::new();
    // A variable that is wrong would be missed by each end as well.
    for end in [one, other].into_iter().filter(|_| good_variables) {
        match End::parse(&end.value, &variables) {
            Ok(end) => parsed.push(end),
            Err(message) => {
                let message = format!("{:?}: {message}", end.value);
                faults.push((end.referenced.line(), "ends", message));
            }
        }
    }
    match <[End; 2]>::try_from(parsed) {
        Ok(ends) => {
            let unused = |which: &usize| !ends.iter().any(|end| end.uses(*which));
            if let Some((name, _)) =
                (0..variables.len()).find(unused).and_then(|which| variables.get(which))
            {
                faults.push((line, "with", format!("`{name}` is used by neither end")));
            }
            if faults.is_empty() { Ok(Rule { ends, variables }) } else { Err(faults) }
        }
        Err(_) => Err(faults),
    }
}

fn variable(name: &Text, texts: &Texts) -> Result<Variable, (u64, String)> {
    let line = name.referenced.line();
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.value.is_empty() || !name.value.bytes().all(letters) {
        return Err((line, format!("{:?}: a name has letters, digits and `_`", name.value)));
    }
    let values = match texts.with_lines().as_slice() {
        [(text, line)] if texts.is_one() => {
            Values::parse_range(text).map_err(|message| (*line, format!("{text:?}: {message}")))?
        }
        words => {
            let mut list: Vec<String> = Vec::new();
            for (word, line) in words {
                if word.is_empty() || list.iter().any(|known| known == word) {
                    return Err((*line, format!("{word:?}: empty, or given twice")));
                }
                list.push((*word).to_owned());
            }
            if list.is_empty() {
                return Err((line, "an empty list".to_owned()));
            }
            Values::List(list)
        }
    };
    Ok((name.value.clone(), values))
}

/// Ports that are at the end of two links, or at both ends of one.
fn double_ends(path: &Path, rules: &[(u64, Rule)]) -> Vec<Problem> {
    let mut first_seen: HashMap<PortName, u64> = HashMap::new();
    let mut problems = Vec::new();
    for (line, rule) in rules {
        for end in rule.pairs().flatten() {
            let name = format!("{}/{}", end.host, end.device);
            if let Some(before) = first_seen.insert(end, *line)
                && problems.len() < MOST_REPEATS
            {
                let message = format!("{name} has a link already, from line {before}");
                problems.push(fault(path, *line, "links".to_owned(), message));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Links, Vec<String>> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("links.yml");
        std::fs::write(&path, text).unwrap();
        read(&path).map_err(|problems| {
            let text = |problem: &Problem| {
                let text = problem.to_string();
                text.replace(&format!("{}", path.display()), "links.yml")
            };
            problems.iter().map(text).collect()
        })
    }

    #[test]
    fn single_links_and_patterns_give_each_host_its_own() {
        let links = read_text(
            "links:\n\
             - ends: [node1/storage0, leaf9/Ethernet1/1]\n\
             - ends: ['node{n}/eth{r}', 'leaf{r}/swp{n}']\n  with: {n: 1..2, r: [0, 1]}\n",
        )
        .unwrap();
        assert_eq!(links.pairs().count(), 5);
        let of = |host: &str| -> Vec<String> {
            let own = links.of_host(host).into_iter();
            own.map(|(device, peer)| format!("{device}:{}/{}", peer.host, peer.device)).collect()
        };
        let node1 = ["storage0:leaf9/Ethernet1/1", "eth0:leaf0/swp1", "eth1:leaf1/swp1"];
        assert_eq!(of("node1"), node1);
        assert_eq!(of("node1.example.com"), node1);
        assert_eq!(of("leaf1"), ["swp1:node1/eth1", "swp2:node2/eth1"]);
        assert_eq!(of("node3"), [""; 0]);
    }

    #[test]
    fn an_empty_file_has_no_links() {
        for text in ["", "links:\n", "links: []\n"] {
            assert_eq!(read_text(text), Ok(Links::default()), "{text:?}");
        }
    }

    #[test]
    fn all_faults_are_listed_with_their_lines() {
        let faults = read_text(
            "link: 1\n\
             links:\n\
             - ends: [a/b]\n\
             - ends: [a, 'b{m}/c']\n\
             - ends: ['a{n}/b', 'c{n}/d']\n  with: {n: 2..1, x: []}\n\
             - end: [a/b, c/d]\n\
             - ends: ['a/b', 'c/d']\n  with: {n: 1..2}\n\
             - ends: ['a/x', 'c/x']\n\
             - ends: ['c/x', 'd/x']\n\
             - ends: ['e/x', 'e/x']\n",
        )
        .unwrap_err();
        let expected = [
            "links.yml:1: link: unknown key; known here: links",
            "links.yml:3: links.ends: must be a list of two: [HOST/PORT, HOST/PORT]",
            "links.yml:4: links.ends: \"a\": must be HOST/PORT, such as node1/eth0",
            "links.yml:4: links.ends: \"b{m}/c\": `{m}` has no values below `with`",
            "links.yml:6: links.with: \"2..1\": 2 comes after 1",
            "links.yml:6: links.with: an empty list",
            "links.yml:7: links.end: unknown key; known here: ends, with",
            "links.yml:7: links.ends: must be a list of two: [HOST/PORT, HOST/PORT]",
            "links.yml:8: links.with: `n` is used by neither end",
            "links.yml:11: links: c/x has a link already, from line 10",
            "links.yml:12: links: e/x has a link already, from line 12",
        ];
        assert_eq!(faults, expected);
    }

    #[test]
    fn a_pattern_for_ever_is_refused_before_it_is_filled() {
        let text = "links:\n- ends: ['a{n}/b', 'c{n}/d']\n  with: {n: 0..4294967295}\n";
        let faults = read_text(text).unwrap_err();
        assert_eq!(
            faults,
            ["links.yml: links: stands for 4294967296 links; at most 500000 are allowed"]
        );
    }
}
