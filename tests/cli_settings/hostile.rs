//! Settings files that nobody should write.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::load_with_file;

/// Nine levels of nine aliases each: 9^9 values from half a kilobyte.
fn alias_bomb() -> String {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    bomb
}

#[test]
fn hostile_files_are_refused_soon() {
    let started = Instant::now();
    for (name, text) in [
        ("aliases", alias_bomb()),
        ("deep flow", format!("a: {}", "[".repeat(100_000))),
        (
            "deep blocks",
            (0..2000).fold(String::new(), |text, depth| format!("{text}{}a:\n", " ".repeat(depth))),
        ),
        ("many keys", (0..100_000).fold(String::new(), |text, key| text + &format!("k{key}: 1\n"))),
        (
            "many anchors",
            (0..1000).fold(String::new(), |text, key| text + &format!("k{key}: &a{key} 1\n")),
        ),
        ("large", "#".repeat(2 << 20)),
    ] {
        let errors = load_with_file(&text, &[]).unwrap_err();
        assert_eq!(errors.problems().len(), 1, "{name}: {}", errors.problems().len());
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

/// Text that is near YAML and near our keys, so that the search gets past the first letter.
fn nearly_yaml() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "web",
        "log",
        "device",
        "level",
        "listen_address",
        "include",
        ":",
        ": ",
        "\n",
        "\n  ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "&a ",
        "*a",
        "<<",
        "!!str ",
        "!x ",
        "\"",
        "'",
        "|",
        ">",
        "? ",
        "---",
        "...",
        "%YAML 1.2",
        "#",
        "~",
        "null",
        "info",
        "1",
        "\t",
        "\u{feff}",
        "\u{0}",
        "é",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_as_a_file_are_good_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check_any_file(&bytes);
    }

    #[test]
    fn any_near_yaml_as_a_file_is_good_or_refused(text in nearly_yaml()) {
        check_any_file(text.as_bytes());
    }
}

/// A key, a file's name and a parser's message are as foreign as a value.
#[test]
fn no_file_forges_a_line_of_its_own() {
    for text in [
        "\"\\n[\\n\": 1\n",
        "web:\n  \"a\\nb\": 1\n",
        "log: {\"\\e[2J\": 1}\n",
        "log: {level: \"in\\nfo\"}\n",
        "web: !<a%0Ab> 1\n",
    ] {
        let errors = load_with_file(text.as_bytes(), &[]).expect_err(text).to_string();
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(!errors.contains(char::is_control), "{errors:?}");
    }
}

fn check_any_file(bytes: &[u8]) {
    let started = Instant::now();
    if let Err(errors) = load_with_file(bytes, &[]) {
        assert!(!errors.problems().is_empty());
        assert_eq!(errors.to_string().lines().count(), errors.problems().len(), "{errors}");
    }
    assert!(started.elapsed() < Duration::from_secs(5));
}
