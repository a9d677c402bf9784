//! Links between the pages lead somewhere, and the README leads to every page.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use super::names::papers;
use super::read_paper;

/// Targets of the links of a page, without those to other sites and within the page.
fn targets(text: &str) -> Vec<(String, Option<String>)> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let inside = |target: &&str| !target.contains("://") && !target.starts_with('#');
    let found = link.captures_iter(text).map(|found| found.get(1).unwrap().as_str());
    let split = |target: &str| match target.split_once('#') {
        Some((file, place)) => (file.to_owned(), Some(place.to_owned())),
        None => (target.to_owned(), None),
    };
    found.filter(inside).map(split).collect()
}

/// The anchors of the headings of a page, as forges make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let text = line.trim_start_matches('#').trim().to_lowercase();
        text.chars().filter(kept).collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn links_lead_to_files_and_headings_that_are_there() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    for page in papers() {
        let text = read_paper(&page);
        for (file, place) in targets(&text) {
            let path = top.join(&page).parent().unwrap().join(&file);
            assert!(path.exists(), "{page} leads to {file}");
            let Some(place) = place else { continue };
            let found = anchors(&std::fs::read_to_string(&path).unwrap());
            assert!(found.contains(&place), "{page} leads to {file}#{place}; there are {found:?}");
        }
    }
}

#[test]
fn the_readme_leads_to_every_page() {
    let readme = read_paper("README.md");
    let linked: BTreeSet<String> = targets(&readme).into_iter().map(|(file, _)| file).collect();
    for page in papers().iter().filter(|page| page.starts_with("docs/")) {
        // A runbook is reached from its alert.
        let is_runbook = page.starts_with("docs/runbooks/");
        assert!(is_runbook || linked.contains(page), "the README does not lead to {page}");
    }
}
