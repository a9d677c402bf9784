//! Command line and settings file, in two steps: raw, then checked.
//!
//! [`Cli`] and the file hold text as it was written and judge nothing. [`Settings::load`] turns both into
//! typed values and lists everything that is wrong at once, before anything is bound or read. It depends on
//! flags and files only, so a reload calls it again. This room refuses the process environment, and defaults
//! anywhere but at the top of `settings.rs`.

mod address;
mod check;
mod cli;
mod duration;
mod errors;
mod file;
mod links;
mod load;
mod pair;
mod policy;
mod settings;
mod storm;
mod value;
mod yaml;

pub use crate::pair::ReportFormat;
pub use address::{InvalidAddress, ListenAddress};
pub use cli::{Cli, command, parse_from};
pub use errors::{Place, Problem, SettingsErrors};
pub use links::Links;
pub use settings::{
    CheckSettings, Command, DEFAULT_PORT, DecodeInput, DecodeSettings, DecodeTable, DemoSettings,
    LinksSettings, LldpSource, LogFormat, LogLevel, LogSettings, RawSettings, ReplaySettings,
    SamplerSettings, Settings, WebSettings,
};
pub(crate) use yaml::{Bounds, YamlError, from_yaml, read_text};
