//! The `roce_exporter` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    roce_exporter::app::run(std::env::args_os())
}
