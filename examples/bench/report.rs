//! What was measured, as a table and as JSON, and which of it misses its target.

use serde_json::{Value, json};

/// What a figure is held to.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    Most(f64),
    Least(f64),
}

impl Target {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::Most(most) => value <= most,
            Self::Least(least) => value >= least,
        }
    }

    fn told(self) -> String {
        match self {
            Self::Most(most) => format!("≤ {most}"),
            Self::Least(least) => format!("≥ {least}"),
        }
    }
}

struct Figure {
    section: &'static str,
    what: String,
    value: f64,
    unit: &'static str,
    target: Option<Target>,
}

impl Figure {
    fn verdict(&self) -> &'static str {
        match self.target {
            None => "",
            Some(target) if target.is_met(self.value) => "met",
            Some(_) => "MISSED",
        }
    }
}

/// All figures of a run, in the order in which they were measured.
#[derive(Default)]
pub struct Report {
    section: &'static str,
    figures: Vec<Figure>,
}

impl Report {
    pub fn section(&mut self, section: &'static str) {
        eprintln!("measuring: {section}");
        self.section = section;
    }

    pub fn add(&mut self, what: impl Into<String>, value: f64, unit: &'static str) {
        self.push(what.into(), value, unit, None);
    }

    pub fn hold(&mut self, what: impl Into<String>, value: f64, unit: &'static str, to: Target) {
        self.push(what.into(), value, unit, Some(to));
    }

    fn push(&mut self, what: String, value: f64, unit: &'static str, target: Option<Target>) {
        self.figures.push(Figure { section: self.section, what, value, unit, target });
    }

    pub fn print(&self) {
        let mut section = "";
        for figure in &self.figures {
            if figure.section != section {
                section = figure.section;
                println!(
                    "\n### {section}\n\n| figure | value | target | |\n| --- | --- | --- | --- |"
                );
            }
            let target = figure.target.map(Target::told).unwrap_or_default();
            let value = number(figure.value);
            println!(
                "| {} | {value} {} | {target} | {} |",
                figure.what,
                figure.unit,
                figure.verdict()
            );
        }
    }

    pub fn json(&self) -> Value {
        let figures = self.figures.iter().map(|figure| {
            let target = figure.target.map(Target::told);
            json!({
                "section": figure.section, "figure": figure.what, "value": figure.value,
                "unit": figure.unit, "target": target,
                "met": figure.target.map(|target| target.is_met(figure.value)),
            })
        });
        Value::Array(figures.collect())
    }

    /// The figures that miss their targets.
    pub fn missed(&self) -> Vec<String> {
        let missed = self.figures.iter().filter(|figure| figure.verdict() == "MISSED");
        let told = missed
            .map(|figure| format!("{}: {} {}", figure.what, number(figure.value), figure.unit));
        told.collect()
    }
}

fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
