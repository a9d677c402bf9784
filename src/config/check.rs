//! Takes one setting after another from flag, file or default, and keeps the list of what was wrong.

use std::fs;
use std::path::{Path, PathBuf};

use super::errors::{Place, Problem};
use super::file::{Text, Texts};

/// What a path must lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anything that can be read.
    File,
    /// A directory.
    Directory,
}

/// Checks settings of one load. A setting's name is its flag without dashes; its key in the file is the same
/// with underscores.
#[derive(Debug)]
pub(super) struct Checker<'a> {
    file: Option<&'a Path>,
    problems: Vec<Problem>,
}

impl<'a> Checker<'a> {
    /// A check of flags and of `file`, which has `problems` of its own already.
    pub(super) const fn new(file: Option<&'a Path>, problems: Vec<Problem>) -> Self {
        Self { file, problems }
    }

    /// What was wrong.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Where a setting was written; its flag where it was not.
    pub(super) fn place(
        &self,
        name: &'static str,
        flag: Option<&str>,
        key: Option<&Text>,
    ) -> Place {
        match (flag, key) {
            (None, Some(text)) => self.line(name, text.referenced.line()),
            (Some(_), _) | (None, None) => Place::Flag(name),
        }
    }

    /// Whether nothing was wrong with these settings so far. One that is at fault stands at its default meanwhile,
    /// which says nothing about the others.
    pub(super) fn all_good(&self, names: &[&str]) -> bool {
        !self.problems.iter().any(|problem| match &problem.place {
            Place::Flag(name) => names.contains(name),
            Place::Line { key, .. } => names.contains(&key.replace('_', "-").as_str()),
        })
    }

    /// A value that is good by itself and does not go with another setting.
    pub(super) fn refuse(&mut self, place: Place, value: String, message: String) {
        self.problems.push(Problem { place, value: Some(value), message });
    }

    /// What is wrong inside a file that a setting names.
    pub(super) fn add(&mut self, problems: Vec<Problem>) {
        self.problems.extend(problems);
    }

    /// A setting that may be left out. `parse` answers what is allowed. None also after a fault, which then
    /// fails the whole load.
    pub(super) fn optional<T>(
        &mut self,
        name: &'static str,
        flag: Option<&str>,
        key: Option<&Text>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let place = self.place(name, flag, key);
        let text = flag.or(key.map(|key| key.value.as_str()))?;
        self.judge(place, text, parse)
    }

    /// A key of the file that must be there.
    pub(super) fn required<T>(
        &mut self,
        name: &'static str,
        key: Option<&Text>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        if key.is_none() {
            self.complain(name, "must be given");
        }
        self.optional(name, None, key, parse)
    }

    /// A fault of the file that is no single value's.
    pub(super) fn complain(&mut self, name: &'static str, message: &str) {
        let (place, message) = (self.line(name, 0), message.to_owned());
        self.problems.push(Problem { place, value: None, message });
    }

    /// A setting of several values; flags replace the file's list as a whole.
    pub(super) fn list<T: PartialEq>(
        &mut self,
        name: &'static str,
        flags: &[String],
        key: Option<&Texts>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Vec<T> {
        let written: Vec<(Place, &str)> = if flags.is_empty() {
            let texts = key.map(Texts::with_lines).unwrap_or_default();
            texts.into_iter().map(|(text, line)| (self.line(name, line), text)).collect()
        } else {
            flags.iter().map(|text| (Place::Flag(name), text.as_str())).collect()
        };
        let mut values = Vec::new();
        for (place, text) in written {
            let once = |value| {
                if values.contains(&value) { Err("given twice".to_owned()) } else { Ok(value) }
            };
            values.extend(self.judge(place, text, |text| parse(text).and_then(once)));
        }
        values
    }

    /// A path. A relative one of the file starts at the file's directory, so that it means the same wherever
    /// the program is started.
    pub(super) fn path(
        &mut self,
        name: &'static str,
        flag: Option<&PathBuf>,
        key: Option<&Text>,
        kind: Kind,
    ) -> Option<PathBuf> {
        let (place, path) = match (flag, key) {
            (Some(path), _) => (Place::Flag(name), path.clone()),
            (None, Some(text)) => {
                let directory = self.file.and_then(Path::parent).unwrap_or(Path::new(""));
                (self.line(name, text.referenced.line()), directory.join(&text.value))
            }
            (None, None) => return None,
        };
        match leads_to(&path, kind) {
            Ok(()) => Some(path),
            Err(message) => {
                let value = Some(path.display().to_string());
                self.problems.push(Problem { place, value, message });
                None
            }
        }
    }

    fn judge<T>(
        &mut self,
        place: Place,
        text: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        match parse(text) {
            Ok(value) => Some(value),
            Err(message) => {
                self.problems.push(Problem { place, value: Some(text.to_owned()), message });
                None
            }
        }
    }

    fn line(&self, name: &str, line: u64) -> Place {
        let file = self.file.unwrap_or(Path::new("")).to_owned();
        Place::Line { file, line, key: name.replace('-', "_") }
    }
}

fn leads_to(path: &Path, kind: Kind) -> Result<(), String> {
    let found = fs::metadata(path).map_err(|error| error.to_string())?;
    match kind {
        Kind::Directory if !found.is_dir() => Err("must be a directory".to_owned()),
        Kind::File if found.is_dir() => Err("must be a file, not a directory".to_owned()),
        Kind::Directory | Kind::File => Ok(()),
    }
}
