//! Writes what a package holds beside the program and is made from its sources: man pages and shell completions
//! from the command line's description, the example of a settings file from its documentation.
//!
//! `cargo run --example install_files -- DIRECTORY`. The same sources give the same bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a tool of the build: what goes wrong ends it, with the place"
)]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap_complete::Shell;
use clap_mangen::Man;

const PROGRAM: &str = "roce_exporter";

/// What the command line's description does not say. Macros of man(7).
const FURTHER_SECTIONS: &str = r#".SH "EXIT STATUS"
.TP
0
Stopped as asked, or done.
.TP
1
Failed while running; the last line on standard error says why.
.TP
2
Bad flags or settings; all that are wrong are listed.
.PP
.BR roce_exporter\-check (1)
also says by it what it found: 1 warning, 2 critical.
.SH SIGNALS
.TP
SIGHUP
Read the settings file and the files that it names again. A file with a fault changes nothing.
.TP
SIGUSR1, SIGUSR2
Log one level more, or less.
.TP
SIGTERM, SIGINT
Answer what is under way, then stop within 5 seconds.
.SH FILES
.TP
.I /etc/default/roce_exporter
Flags for the systemd service, in
.BR ARGS .
.TP
.I /usr/share/doc/roce\-exporter/examples
A settings file with every key.
.TP
.I /usr/share/roce_exporter
Rules for Prometheus and dashboards for Grafana.
"#;

fn main() {
    let directory = std::env::args_os().nth(1).expect("the directory to write to");
    let directory = PathBuf::from(directory);
    man_pages(&directory.join("man"));
    completions(&directory.join("completions"));
    let example = directory.join("roce_exporter.example.yml");
    fs::write(example, settings_example(include_str!("../docs/configuration.md"))).unwrap();
}

/// The page's heading shows the version alone, not the lines of `--version`.
fn command() -> clap::Command {
    roce_exporter::config::command().display_name(PROGRAM).version(env!("CARGO_PKG_VERSION"))
}

fn man_pages(directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    clap_mangen::generate_to(command(), directory).unwrap();
    let mut page = Vec::new();
    Man::new(command()).manual("Prometheus exporters").render(&mut page).unwrap();
    page.write_all(FURTHER_SECTIONS.as_bytes()).unwrap();
    fs::write(directory.join(PROGRAM).with_extension("1"), page).unwrap();
}

fn completions(directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    for (shell, file) in [
        (Shell::Bash, PROGRAM),
        (Shell::Zsh, "_roce_exporter"),
        (Shell::Fish, "roce_exporter.fish"),
    ] {
        let mut file = File::create(directory.join(file)).unwrap();
        clap_complete::generate(shell, &mut command(), PROGRAM, &mut file);
    }
}

/// The example that the tests hold complete, each line a comment: a file with every key set fits no host.
fn settings_example(paper: &str) -> String {
    let after = paper.split_once("<!-- example -->").expect("the example's mark").1;
    let block = after.split_once("```yaml\n").expect("the example").1;
    let block = block.split_once("```").expect("the example's end").0;
    let lines = block
        .lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("#{line}\n") });
    let head = "# Settings of roce_exporter, every key with a value that shows its form. Copy to\n\
                # /etc/roce_exporter/roce_exporter.yml, keep the lines that you need without their `#`,\n\
                # and name the file with --config.file.\n\n";
    std::iter::once(head.to_owned()).chain(lines).collect()
}
