//! The settings of `pair`.

use std::fs;
use std::path::{Path, PathBuf};

use super::check::{Checker, Kind};
use super::cli::PairArguments;
use super::errors::Place;
use super::settings::{
    AT_ONCE, DEFAULT_AT_ONCE, DEFAULT_PAIR_FORMAT, DEFAULT_PAIR_SPAN, DEFAULT_PORT, PAIR_SPAN,
};
use super::{duration, links, value};
use crate::pair::{Access, Plan, ReportFormat, Target};

/// The largest file of a password or of certificates.
const MOST_BYTES: u64 = 1 << 20;

/// The checked plan, but for the path of the metrics, which is a setting of all commands.
pub(super) fn plan(checker: &mut Checker<'_>, arguments: &PairArguments) -> Plan {
    let span = checker
        .optional("for", arguments.span.as_deref(), None, |text| duration::parse(text, &PAIR_SPAN));
    let format = checker.optional("format", arguments.report.as_deref(), None, |text| {
        value::one_of(text, ReportFormat::ALL)
    });
    let at_once = checker.optional("at-once", arguments.at_once.as_deref(), None, |text| {
        value::number(text, &AT_ONCE)
    });
    let ignored = checker.list("ignore", &arguments.ignored, None, |text| {
        let known: Vec<&str> = Plan::settings().collect();
        if known.contains(&text) {
            Ok(text.to_owned())
        } else {
            Err(format!("must be one of {}", known.join(", ")))
        }
    });
    let authorities = bytes(checker, "ca-file", arguments.authorities.as_ref());
    let access = Access {
        tls: arguments.tls,
        authorities,
        login: login(checker, arguments),
        port: DEFAULT_PORT,
        path: String::new(),
    };
    Plan {
        links: links_to_check(checker, arguments),
        span: span.unwrap_or(DEFAULT_PAIR_SPAN),
        at_once: at_once.unwrap_or(DEFAULT_AT_ONCE),
        ignored,
        access,
        format: format.unwrap_or(DEFAULT_PAIR_FORMAT),
    }
}

fn links_to_check(checker: &mut Checker<'_>, arguments: &PairArguments) -> Vec<[Target; 2]> {
    let (ends, file) = (arguments.ends.as_slice(), arguments.pairs.as_ref());
    match (ends, file) {
        ([one, other], None) => {
            let mut parse = |text: &str| {
                let parse = |text: &str| text.parse::<Target>().map_err(|error| error.to_string());
                checker.optional("A B", Some(text), None, parse)
            };
            let (one, other) = (parse(one), parse(other));
            one.zip(other).map(|(one, other)| [one, other]).into_iter().collect()
        }
        ([], Some(path)) => {
            let found = checker.path("pairs", Some(path), None, Kind::File);
            found.map(|path| of_file(checker, &path)).unwrap_or_default()
        }
        (ends, _) => {
            let message = "two ends are needed, A/DEVICE B/DEVICE, or --pairs FILE alone";
            checker.refuse(Place::Flag("pairs"), ends.join(" "), message.to_owned());
            Vec::new()
        }
    }
}

fn of_file(checker: &mut Checker<'_>, path: &Path) -> Vec<[Target; 2]> {
    let links = match links::read(path) {
        Ok(links) => links,
        Err(problems) => {
            checker.add(problems);
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for ends in links.pairs() {
        let names = ends.map(|end| format!("{}/{}", end.host, end.device));
        let [one, other] = names.each_ref().map(|name| name.parse::<Target>());
        match (one, other) {
            (Ok(one), Ok(other)) => found.push([one, other]),
            (Err(error), _) | (_, Err(error)) => {
                checker.refuse(Place::Flag("pairs"), names.join(" "), error.to_string());
                break;
            }
        }
    }
    if found.is_empty() {
        let message = "there is no link in it".to_owned();
        checker.refuse(Place::Flag("pairs"), path.display().to_string(), message);
    }
    found
}

fn login(checker: &mut Checker<'_>, arguments: &PairArguments) -> Option<(String, String)> {
    let password = bytes(checker, "password-file", arguments.password_file.as_ref());
    match (&arguments.user, password) {
        (Some(user), Some(password)) if !user.contains(':') => {
            let text = String::from_utf8_lossy(&password);
            Some((user.clone(), text.trim_end_matches(['\r', '\n']).to_owned()))
        }
        (None, None) => None,
        (Some(user), _) if user.contains(':') => {
            checker.refuse(Place::Flag("user"), user.clone(), "must have no colon".to_owned());
            None
        }
        (user, _) => {
            if user.is_none() || arguments.password_file.is_none() {
                let message = "--user and --password-file go together".to_owned();
                checker.refuse(Place::Flag("user"), user.clone().unwrap_or_default(), message);
            }
            None
        }
    }
}

/// The content of a small file.
fn bytes(checker: &mut Checker<'_>, name: &'static str, path: Option<&PathBuf>) -> Option<Vec<u8>> {
    let path = checker.path(name, path, None, Kind::File)?;
    let read =
        fs::metadata(&path)
            .map_err(|error| error.to_string())
            .and_then(|found| {
                if found.len() > MOST_BYTES { Err("is too large".to_owned()) } else { Ok(()) }
            })
            .and_then(|()| fs::read(&path).map_err(|error| error.to_string()));
    match read {
        Ok(bytes) => Some(bytes),
        Err(message) => {
            checker.refuse(Place::Flag(name), path.display().to_string(), message);
            None
        }
    }
}
