//! Gives the program the words of `--version`: revision, branch, compiler and target.
//!
//! No date and no host name, so that the same sources give the same program. Works without git and outside
//! a checkout, where revision and branch are `unknown` unless a packager sets `ROCE_EXPORTER_REVISION` and
//! `ROCE_EXPORTER_BRANCH`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const UNKNOWN: &str = "unknown";

fn main() {
    let checkout =
        env::var_os("CARGO_MANIFEST_DIR").and_then(|package| Checkout::at(Path::new(&package)));
    let git = |arguments: &[&str]| checkout.as_ref()?.git(arguments);
    let revision = from_packager("ROCE_EXPORTER_REVISION").or_else(|| git(&["rev-parse", "HEAD"]));
    let branch = from_packager("ROCE_EXPORTER_BRANCH")
        .or_else(|| git(&["rev-parse", "--abbrev-ref", "HEAD"]));
    tell("REVISION", revision);
    tell("BRANCH", branch);
    tell("RUSTC", compiler_version());
    tell("TARGET", env::var("TARGET").ok());

    // Naming any file replaces cargo's default, which is to run this again when any file changes.
    println!("cargo::rerun-if-changed=build.rs");
    for file in checkout.iter().flat_map(Checkout::files_that_move_with_head) {
        println!("cargo::rerun-if-changed={}", file.display());
    }
}

/// A value with a blank or a line end in it would break cargo's line or that of `--version`.
fn tell(name: &str, value: Option<String>) {
    let one_word = |value: &String| !value.is_empty() && !value.contains(char::is_whitespace);
    let value = value.filter(one_word).unwrap_or_else(|| UNKNOWN.to_owned());
    println!("cargo::rustc-env=ROCE_EXPORTER_BUILD_{name}={value}");
}

fn from_packager(variable: &str) -> Option<String> {
    println!("cargo::rerun-if-env-changed={variable}");
    env::var(variable).ok()
}

/// `rustc 1.95.0 (hash date)` gives `1.95.0`.
fn compiler_version() -> Option<String> {
    let output = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    String::from_utf8(output.stdout).ok()?.split_whitespace().nth(1).map(str::to_owned)
}

/// The git checkout whose top is this package.
struct Checkout {
    top: PathBuf,
}

impl Checkout {
    /// None without git, outside a checkout, and in a copy inside another project's checkout, whose revision
    /// says nothing of this program.
    fn at(package: &Path) -> Option<Self> {
        let checkout = Self { top: package.canonicalize().ok()? };
        let top = checkout.git(&["rev-parse", "--show-toplevel"])?;
        (Path::new(&top).canonicalize().ok()? == checkout.top).then_some(checkout)
    }

    fn git(&self, arguments: &[&str]) -> Option<String> {
        let output = Command::new("git").arg("-C").arg(&self.top).args(arguments).output().ok()?;
        let text = output.status.success().then_some(output.stdout)?;
        Some(String::from_utf8(text).ok()?.trim_end().to_owned())
    }

    /// `HEAD` changes with the branch; its log, the branch's file and the packed references with commits. A
    /// missing file must not be named: cargo takes it as always changed.
    fn files_that_move_with_head(&self) -> Vec<PathBuf> {
        let branch = self.git(&["symbolic-ref", "--quiet", "HEAD"]);
        let names =
            ["HEAD", "logs/HEAD", "packed-refs"].into_iter().map(str::to_owned).chain(branch);
        names
            .filter_map(|name| self.git(&["rev-parse", "--git-path", &name]))
            .map(|path| self.top.join(path))
            .filter(|path| path.exists())
            .collect()
    }
}
