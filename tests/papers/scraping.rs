//! The scrape configurations on the pages are good ones to Prometheus itself.

use std::fs;
use std::process::Command;

use super::read_paper;

/// The YAML blocks of a page that begin with this comment.
fn blocks(page: &str, comment: &str) -> Vec<String> {
    let text = read_paper(page);
    let found = text.split("```yaml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    found.filter(|block| block.starts_with(comment)).map(str::to_owned).collect()
}

#[test]
fn scrape_configurations_are_understood() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("prometheus.yml");
    let shown = [("docs/prometheus.md", 3), ("alerts/README.md", 1)];
    for (page, number) in shown {
        let found = blocks(page, "# prometheus.yml\n");
        assert_eq!(found.len(), number, "{page}");
        for block in found {
            fs::write(&file, &block).unwrap();
            // The files that they name are on nobody's machine.
            let mut promtool = Command::new("promtool");
            let Ok(output) =
                promtool.args(["check", "config", "--syntax-only"]).arg(&file).output()
            else {
                let required = std::env::var_os("ROCE_REQUIRE_ALL_TIERS");
                assert!(required.is_none_or(|value| value != "1"), "promtool is missing");
                return println!("SKIPPED: promtool");
            };
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{page}: {said}\n{block}");
        }
    }
}
