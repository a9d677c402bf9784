//! The settings file as it was written: YAML, nothing judged but its form.
//!
//! Each value stays text with its line, so that it is checked by the same rules as a flag, and together with
//! all others. A section collects the keys that it does not know instead of stopping at the first.

use std::path::Path;

use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_saphyr::Spanned;

use super::errors::{Place, Problem};
use super::yaml::{Bounds, from_yaml, read_text};

/// A scalar as written, with its line.
pub(super) type Text = Spanned<String>;

/// One scalar or a list of them.
#[derive(Debug)]
pub(super) struct Texts(Spanned<OneOrMany>);

#[derive(Debug)]
enum OneOrMany {
    One(String),
    Many(Vec<Text>),
}

impl Texts {
    /// Whether it is one scalar rather than a list.
    pub(super) const fn is_one(&self) -> bool {
        matches!(self.0.value, OneOrMany::One(_))
    }

    /// The scalars with their lines.
    pub(super) fn with_lines(&self) -> Vec<(&str, u64)> {
        match &self.0.value {
            OneOrMany::One(text) => vec![(text.as_str(), self.0.referenced.line())],
            OneOrMany::Many(texts) => {
                texts.iter().map(|text| (text.value.as_str(), text.referenced.line())).collect()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = OneOrMany;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("text or a list of texts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany::One(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(OneOrMany::Many(texts))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// A mapping whose known keys become fields and whose unknown keys are kept for the list of faults. Derived
/// code would stop at the first unknown key. An empty value counts as absent.
macro_rules! mapping {
    ($(#[doc = $doc:literal])+ $name:ident { $($key:ident: $type:ty,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Default)]
        pub(super) struct $name {
            $(pub(super) $key: $type,)+
            unknown: Vec<Text>,
        }

        impl $name {
            pub(super) fn unknown_below(&self, section: &str) -> Vec<UnknownKey> {
                let unknown = self.unknown.iter().map(|key| UnknownKey {
                    key: format!("{section}{}", key.value),
                    line: key.referenced.line(),
                    known: &[$(stringify!($key),)+],
                });
                unknown.collect()
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Keys;

                impl<'de> Visitor<'de> for Keys {
                    type Value = $name;

                    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        formatter.write_str("a mapping")
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        let mut mapping = $name::default();
                        while let Some(key) = map.next_key::<Text>()? {
                            match key.value.as_str() {
                                $(stringify!($key) => mapping.$key = map.next_value::<Option<_>>()?.unwrap_or_default(),)+
                                _ => {
                                    map.next_value::<IgnoredAny>()?;
                                    mapping.unknown.push(key);
                                }
                            }
                        }
                        Ok(mapping)
                    }
                }

                deserializer.deserialize_map(Keys)
            }
        }
    };
}

pub(super) use mapping;

mapping! {
    /// The whole file: one mapping per section.
    Sections {
        catalogue: Catalogue,
        device: Device,
        links: Links,
        log: Log,
        path: Paths,
        policy: PolicyFile,
        raw: Raw,
        sampler: Sampler,
        storm: Storm,
        web: Web,
    }
}

mapping! {
    /// `web:`
    Web {
        listen_address: Option<Texts>,
        systemd_socket: Option<Text>,
        telemetry_path: Option<Text>,
        max_requests: Option<Text>,
        disable_exporter_metrics: Option<Text>,
    }
}

mapping! {
    /// `path:`
    Paths { sysfs: Option<Text>, procfs: Option<Text>, run: Option<Text>, }
}

mapping! {
    /// `device:`
    Device { include: Option<Text>, exclude: Option<Text>, netns: Option<Texts>, }
}

mapping! {
    /// `sampler:`
    Sampler { interval: Option<Text>, rtnl_budget: Option<Text>, }
}

mapping! {
    /// `storm:`
    Storm {
        suspect_ratio: Option<Text>,
        detection: Option<Text>,
        least_samples: Option<Text>,
        over_ratio: Option<Text>,
        recovery: Option<Text>,
    }
}

mapping! {
    /// `catalogue:`
    Catalogue { file: Option<Text>, }
}

mapping! {
    /// `policy:`
    PolicyFile { file: Option<Text>, all_dscps: Option<Text>, }
}

mapping! {
    /// `raw:`
    Raw { include: Option<Text>, max: Option<Text>, }
}

mapping! {
    /// `links:`
    Links { file: Option<Text>, host: Option<Text>, lldp: Option<Texts>, }
}

mapping! {
    /// `log:`
    Log { level: Option<Text>, format: Option<Text>, }
}

/// A key that its mapping does not know.
pub(super) struct UnknownKey {
    pub(super) key: String,
    pub(super) line: u64,
    pub(super) known: &'static [&'static str],
}

impl Sections {
    /// All unknown keys, by line.
    fn unknown_keys(&self) -> Vec<UnknownKey> {
        let mut found = self.unknown_below("");
        found.extend(self.catalogue.unknown_below("catalogue."));
        found.extend(self.device.unknown_below("device."));
        found.extend(self.links.unknown_below("links."));
        found.extend(self.log.unknown_below("log."));
        found.extend(self.path.unknown_below("path."));
        found.extend(self.policy.unknown_below("policy."));
        found.extend(self.raw.unknown_below("raw."));
        found.extend(self.sampler.unknown_below("sampler."));
        found.extend(self.storm.unknown_below("storm."));
        found.extend(self.web.unknown_below("web."));
        found.sort_by_key(|unknown| unknown.line);
        found
    }
}

/// Reads the file. What could be understood is returned beside the faults of form, so that its values are
/// checked as well.
pub(super) fn read(path: &Path) -> (Sections, Vec<Problem>) {
    read_as(path, Sections::unknown_keys)
}

/// Reads a file of any mapping, whose unknown keys `unknown_keys` lists.
pub(super) fn read_as<T: Default + DeserializeOwned>(
    path: &Path,
    unknown_keys: impl FnOnce(&T) -> Vec<UnknownKey>,
) -> (T, Vec<Problem>) {
    match load::<T>(path, Bounds::SETTINGS) {
        Ok(sections) => {
            let unknown = unknown_keys(&sections).into_iter().map(|key| key.problem(path));
            let problems = unknown.collect();
            (sections, problems)
        }
        Err(problem) => (T::default(), vec![problem]),
    }
}

impl UnknownKey {
    /// The fault in `path`.
    pub(super) fn problem(self, path: &Path) -> Problem {
        let Self { key, line, known } = self;
        fault(path, line, key, format!("unknown key; known here: {}", known.join(", ")))
    }
}

/// A fault of a file of settings.
pub(super) fn fault(path: &Path, line: u64, key: String, message: String) -> Problem {
    Problem { place: Place::Line { file: path.to_owned(), line, key }, value: None, message }
}

/// Reads a YAML file as `T`; an empty one is the default.
///
/// # Errors
/// The one fault of form that ended the reading.
pub(super) fn load<T: DeserializeOwned + Default>(
    path: &Path,
    bounds: Bounds,
) -> Result<T, Problem> {
    let text = read_text(path, bounds)
        .map_err(|error| fault(path, 0, String::new(), error.to_string()))?;
    from_yaml::<Option<T>>(&text, bounds)
        .map(Option::unwrap_or_default)
        .map_err(|error| fault(path, error.line, String::new(), error.message))
}
