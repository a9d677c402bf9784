//! What is wrong with the settings: each fault with its place, its value and what is allowed.

use std::fmt::{self, Write};
use std::path::PathBuf;

/// Where a setting was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the command line; the flag's name without its dashes.
    Flag(&'static str),
    /// In the settings file.
    Line {
        /// The file as it was named.
        file: PathBuf,
        /// From 1; 0 where the fault has no line.
        line: u64,
        /// The key with its section, such as `sampler.interval`; empty where the fault is not one key's.
        key: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(formatter, "--{name}"),
            Self::Line { file, line, key } => {
                write!(formatter, "{}", file.display())?;
                if *line > 0 {
                    write!(formatter, ":{line}")?;
                }
                if key.is_empty() { Ok(()) } else { write!(formatter, ": {key}") }
            }
        }
    }
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it is.
    pub place: Place,
    /// The value as written, where one value is at fault.
    pub value: Option<String>,
    /// What is allowed, or what is wrong.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = OneLine(formatter);
        write!(line, "{}: ", self.place)?;
        if let Some(value) = &self.value {
            write!(line, "{value:?}: ")?;
        }
        line.write_str(&self.message)
    }
}

/// Escapes control characters: keys, file names and parsers' messages hold what a file says, which must not
/// forge a line of its own nor steer a terminal.
struct OneLine<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            if letter.is_control() {
                write!(self.0, "{}", letter.escape_default())?;
            } else {
                self.0.write_char(letter)?;
            }
        }
        Ok(())
    }
}

/// Everything that is wrong with the settings; at least one fault. Printed one fault a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsErrors(Vec<Problem>);

impl SettingsErrors {
    /// The program's exit code for bad settings, the same as for a bad command line.
    pub const EXIT_CODE: u8 = 2;

    /// `good`, unless there are problems.
    ///
    /// # Errors
    /// The problems, if any.
    pub(super) fn unless_none<T>(problems: Vec<Problem>, good: T) -> Result<T, Self> {
        if problems.is_empty() { Ok(good) } else { Err(Self(problems)) }
    }

    /// The faults: those of the file's form first, then one by one in the order of the settings.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for SettingsErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.0.iter().enumerate() {
            if position > 0 {
                formatter.write_str("\n")?;
            }
            write!(formatter, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingsErrors {}
