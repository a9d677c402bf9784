//! Text of a table → checked rows.
//!
//! The shipped tables and an operator's file have one form; `docs/catalogue.md` explains the columns.
//! Every fault of every row is listed at once, with file and line, and one fault refuses the file: a
//! catalogue that is read in part would leave counters out in silence.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::Table;
use super::row::{Combine, Counter, NumberRange, Place, Row, Split};
use super::template::{DriverPattern, Template};
use crate::model::{Direction, Freshness, Quantity, Unit, Width};

/// The columns of a table, in their order.
pub const COLUMNS: [&str; 13] = [
    "source",
    "driver",
    "template",
    "quantity",
    "direction",
    "index",
    "unit",
    "width",
    "freshness_ms",
    "detail",
    "combine",
    "factor",
    "note",
];

/// One fault of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub origin: String,
    /// The line in it, from 1.
    pub line: u64,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.origin, self.line, self.reason)
    }
}

/// All faults of a catalogue, in the order of the lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct CatalogueError {
    /// At least one.
    pub problems: Vec<Problem>,
}

/// Reads the records of a table whose first record is `columns`, and gives each to `read` with its line.
pub(super) fn read_records<const N: usize>(
    text: &str,
    origin: &str,
    columns: [&str; N],
    mut read: impl FnMut(u64, [&str; N]) -> Result<(), Vec<String>>,
) -> Result<(), CatalogueError> {
    let mut problems = Vec::new();
    let mut problem =
        |line, reason| problems.push(Problem { origin: origin.to_owned(), line, reason });
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    let mut header_seen = false;
    loop {
        let line = line_of_next_record(text, reader.position());
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                problem(line, error.to_string());
                continue;
            }
        }
        let fields: Result<[&str; N], _> = record.iter().collect::<Vec<_>>().try_into();
        if !header_seen {
            header_seen = true;
            if fields != Ok(columns) {
                problem(line, format!("the first line must be `{}`", columns.join(",")));
                break;
            }
            continue;
        }
        let outcome = match fields {
            Ok(fields) => read(line, fields),
            Err(found) => Err(vec![format!("{} columns instead of {N}", found.len())]),
        };
        outcome.err().into_iter().flatten().for_each(|reason| problem(line, reason));
    }
    if problems.is_empty() { Ok(()) } else { Err(CatalogueError { problems }) }
}

/// The reader's position is behind the last record; comments and empty lines come before the next one.
fn line_of_next_record(text: &str, position: &csv::Position) -> u64 {
    let start = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let rest = text.get(start..).unwrap_or_default();
    let skipped = rest.lines().take_while(|line| line.is_empty() || line.starts_with('#')).count();
    position.line() + u64::try_from(skipped).unwrap_or(u64::MAX)
}

/// Rows of a table's text, as many per line as it names drivers and counter sets.
///
/// # Errors
/// Every fault of every row.
pub(super) fn parse(text: &str, origin: &str, layer: u32) -> Result<Vec<Row>, CatalogueError> {
    let origin_name: Arc<str> = origin.into();
    let mut rows: Vec<Row> = Vec::new();
    read_records(text, origin, COLUMNS, |line, fields| {
        let place = Place { origin: origin_name.clone(), line, layer };
        let new = rows_of(fields, &place)?;
        let twice = rows.iter().find(|row| new.iter().any(|new| new.replaces(row)));
        let twice = twice.map(|row| {
            format!("`{}` of {} is in line {} already", row.template, row.driver, row.place.line)
        });
        rows.extend(new);
        twice.map_or(Ok(()), |reason| Err(vec![reason]))
    })?;
    Ok(rows)
}

/// Collects faults, so that one row can have several.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn keep<T>(&mut self, result: Result<T, String>) -> Option<T> {
        result.map_err(|fault| self.0.push(fault)).ok()
    }

    fn require(&mut self, holds: bool, fault: impl FnOnce() -> String) {
        if !holds {
            self.0.push(fault());
        }
    }
}

fn rows_of(fields: [&str; COLUMNS.len()], place: &Place) -> Result<Vec<Row>, Vec<String>> {
    let [source, driver, template, quantity, direction, index, rest @ ..] = fields;
    let [.., note] = rest;
    let mut faults = Faults::default();
    let tables = faults.keep(tables(source));
    let drivers: Result<Vec<_>, _> = driver.split('|').map(DriverPattern::parse).collect();
    let drivers = faults.keep(drivers);
    let template = faults.keep(Template::parse(template));
    let split = faults.keep(split(index));
    if let (Some(template), Some(split)) = (&template, split) {
        faults.require(template.has_number() == (split != Split::None), || {
            "a template has {n} exactly if it has an index".into()
        });
    }
    let counter = if quantity == "known" {
        check_known(direction, rest, &mut faults);
        None
    } else {
        let wildcard = template.as_ref().is_some_and(Template::has_wildcard);
        faults.require(!wildcard, || "{*} is for known names only: it would mix counters".into());
        counter(quantity, direction, split, rest, &mut faults)
    };
    let (Some(tables), Some(drivers), Some(template), Some(split), true) =
        (tables, drivers, template, split, faults.0.is_empty())
    else {
        return Err(faults.0);
    };
    let row = |table: &Table, driver: &DriverPattern| Row {
        table: *table,
        driver: driver.clone(),
        template: template.clone(),
        split,
        counter: counter.clone(),
        note: note.into(),
        place: place.clone(),
    };
    Ok(drivers
        .iter()
        .flat_map(|driver| tables.iter().map(move |table| row(table, driver)))
        .collect())
}

/// A known row has its reason and nothing else, so that a slip in the quantity's column shows.
fn check_known(direction: &str, rest: [&str; 7], faults: &mut Faults) {
    let [others @ .., note] = rest;
    let empty = others.iter().chain([&direction]).all(|field| matches!(*field, "" | "-"));
    faults.require(empty, || "a known row has no direction, unit, width or other figure".into());
    faults.require(!note.is_empty(), || "a known row says in its note why it is left out".into());
}

fn counter(
    quantity: &str,
    direction_word: &str,
    split: Option<Split>,
    rest: [&str; 7],
    faults: &mut Faults,
) -> Option<Counter> {
    let [unit_word, width_word, freshness_word, detail_word, combine_word, factor_word, _] = rest;
    let quantity = faults.keep(
        Quantity::from_word(quantity).ok_or_else(|| format!("no quantity is called `{quantity}`")),
    );
    let direction = faults.keep(direction(direction_word));
    let unit = faults.keep(unit(unit_word));
    let width = faults.keep(width(width_word));
    let freshness = faults.keep(freshness(freshness_word));
    let detail = faults.keep(detail(detail_word));
    let combine = faults.keep(combine(combine_word));
    let factor = faults.keep(factor(factor_word));
    let counter = Counter {
        quantity: quantity?,
        direction: direction?,
        detail: detail?,
        unit: unit?,
        width: width?,
        freshness: freshness?,
        combine: combine?,
        factor: factor?,
    };
    check_sense(&counter, split, faults);
    Some(counter)
}

/// What each column allows but not all of them together.
fn check_sense(counter: &Counter, split: Option<Split>, faults: &mut Faults) {
    let word = counter.quantity.as_str();
    faults.require(units(counter.quantity).contains(&counter.unit), || {
        format!("the unit does not fit {word}")
    });
    faults.require(!has_direction(counter.quantity) || counter.direction.is_some(), || {
        format!("{word} needs a direction: tx is sent by this port")
    });
    let per_class = matches!(
        counter.quantity,
        Quantity::PfcPauseFrames
            | Quantity::PfcResumeFrames
            | Quantity::PfcPauseTime
            | Quantity::PfcPauseTransitions
    );
    faults.require(!per_class || split != Some(Split::None), || {
        format!("{word} needs an index; pfc_frames is the total over the classes")
    });
    faults.require(counter.factor == 1 || counter.width == Width::FULL, || {
        "a factor needs a width of 64: a wrap of the value times the factor has no width in bits".into()
    });
}

fn units(quantity: Quantity) -> &'static [Unit] {
    match quantity {
        Quantity::PfcPauseTime | Quantity::LinkPauseTime | Quantity::PcieStalledTime => {
            &[Unit::Microseconds, Unit::Milliseconds, Unit::Seconds]
        }
        Quantity::PcieStalledRatio => &[Unit::Percent],
        Quantity::Bytes
        | Quantity::VportRdmaBytes
        | Quantity::RdmaBytes
        | Quantity::RdmaRetransmitBytes => &[Unit::Bytes],
        _ => &[Unit::Count],
    }
}

/// Whether a value without a direction would say nothing.
fn has_direction(quantity: Quantity) -> bool {
    matches!(
        quantity,
        Quantity::PfcPauseFrames
            | Quantity::PfcResumeFrames
            | Quantity::PfcPauseTime
            | Quantity::PfcPauseTransitions
            | Quantity::PfcFrames
            | Quantity::LinkPauseFrames
            | Quantity::LinkResumeFrames
            | Quantity::LinkPauseTime
            | Quantity::LinkPauseTransitions
            | Quantity::MacPauseFrames
            | Quantity::MacControlFrames
            | Quantity::Bytes
            | Quantity::Packets
            | Quantity::VportRdmaBytes
            | Quantity::VportRdmaPackets
            | Quantity::RdmaBytes
            | Quantity::RdmaPackets
    )
}

fn tables(word: &str) -> Result<&'static [Table], String> {
    match word {
        "ethtool" => Ok(&[Table::Ethtool]),
        "rdma" => Ok(&[Table::RdmaPort, Table::RdmaDevice]),
        "rdma_port" => Ok(&[Table::RdmaPort]),
        "rdma_device" => Ok(&[Table::RdmaDevice]),
        _ => Err(format!("source `{word}` is none of ethtool, rdma, rdma_port, rdma_device")),
    }
}

fn direction(word: &str) -> Result<Option<Direction>, String> {
    match word {
        "tx" => Ok(Some(Direction::Tx)),
        "rx" => Ok(Some(Direction::Rx)),
        "-" => Ok(None),
        _ => Err(format!("direction `{word}` is none of tx, rx, -")),
    }
}

const LAST_PRIORITY: u8 = 7;

fn split(word: &str) -> Result<Split, String> {
    let whole = NumberRange { first: 0, last: LAST_PRIORITY };
    match word.split_once(':') {
        None if word == "-" => Ok(Split::None),
        None if word == "priority" => Ok(Split::Priority(whole)),
        Some(("priority", range)) => match number_range(range)? {
            range if range.last <= whole.last => Ok(Split::Priority(range)),
            _ => Err(format!("index `{word}` goes beyond priority {LAST_PRIORITY}")),
        },
        Some(("tc", range)) => Ok(Split::TrafficClass(number_range(range)?)),
        Some(("buffer", range)) => Ok(Split::Buffer(number_range(range)?)),
        _ => {
            Err(format!("index `{word}` is none of -, priority, priority:1-7, tc:0-7, buffer:0-3"))
        }
    }
}

fn number_range(text: &str) -> Result<NumberRange, String> {
    let numbers = text.split_once('-').and_then(|(first, last)| {
        Some(NumberRange { first: first.parse().ok()?, last: last.parse().ok()? })
    });
    numbers
        .filter(|range| range.first <= range.last)
        .ok_or_else(|| format!("`{text}` is no range of numbers such as 0-7, up to 255"))
}

fn unit(word: &str) -> Result<Unit, String> {
    match word {
        "count" => Ok(Unit::Count),
        "bytes" => Ok(Unit::Bytes),
        "microseconds" => Ok(Unit::Microseconds),
        "milliseconds" => Ok(Unit::Milliseconds),
        "seconds" => Ok(Unit::Seconds),
        "percent" => Ok(Unit::Percent),
        _ => Err(format!(
            "unit `{word}` is none of count, bytes, microseconds, milliseconds, seconds, percent"
        )),
    }
}

fn width(word: &str) -> Result<Width, String> {
    if word.is_empty() {
        return Ok(Width::FULL);
    }
    let (digits, saturates) = match word.strip_suffix('s') {
        Some(digits) => (digits, true),
        None => (word, false),
    };
    match digits.parse() {
        Ok(bits @ 1..=64) => Ok(Width { bits, saturates }),
        _ => Err(format!("width `{word}` is no number of bits from 1 to 64, such as 32 or 16s")),
    }
}

fn freshness(word: &str) -> Result<Freshness, String> {
    match word {
        "live" => Ok(Freshness::Live),
        "unknown" | "" => Ok(Freshness::Unknown),
        _ => match word.parse::<u32>() {
            Ok(milliseconds @ 1..) => {
                Ok(Freshness::Every(Duration::from_millis(milliseconds.into())))
            }
            _ => Err(format!("freshness_ms `{word}` is none of live, unknown, or milliseconds")),
        },
    }
}

fn detail(word: &str) -> Result<Option<Arc<str>>, String> {
    if word.is_empty() {
        return Ok(None);
    }
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if word.bytes().all(plain) {
        Ok(Some(word.into()))
    } else {
        Err(format!("detail `{word}` may have small letters, digits and _ only"))
    }
}

fn combine(word: &str) -> Result<Combine, String> {
    match word {
        "" => Ok(Combine::Alone),
        "sum" => Ok(Combine::Sum),
        "fallback" => Ok(Combine::Fallback),
        _ => Err(format!("combine `{word}` is none of sum, fallback, or empty")),
    }
}

fn factor(word: &str) -> Result<u64, String> {
    const LARGEST: u64 = 1 << 32;
    match u64::from_str(if word.is_empty() { "1" } else { word }) {
        Ok(factor @ 1..=LARGEST) => Ok(factor),
        _ => Err(format!("factor `{word}` is no number from 1 to {LARGEST}")),
    }
}
