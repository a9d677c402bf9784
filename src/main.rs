//! The `roce_exporter` program.

fn main() {}
