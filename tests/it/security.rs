//! `docs/security.md` and `docs/retrieval.md` claim nothing without a test.

use std::collections::BTreeSet;
use std::path::Path;

/// All names of functions in Rust files below `dir`.
fn functions(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "target" {
            functions(&path, found);
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(&path).expect("text");
            let names = text.split("fn ").skip(1);
            found.extend(names.filter_map(|rest| Some(rest.split_once('(')?.0.to_owned())));
        }
    }
}

/// The names in backticks after each "Shown by", up to the end of the paragraph.
fn shown(text: &str) -> Vec<&str> {
    let claims = text.split("Shown by").skip(1);
    claims
        .flat_map(|claim| {
            let end = claim.find(".\n").unwrap_or(claim.len());
            claim[..end].split('`').skip(1).step_by(2)
        })
        .collect()
}

#[test]
fn every_test_that_the_security_page_names_exists() {
    exist("docs/security.md", 50);
}

#[test]
fn every_test_that_the_retrieval_page_names_exists() {
    exist("docs/retrieval.md", 30);
}

#[track_caller]
fn exist(page: &str, least: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(root.join(page)).expect("the page");
    let mut known = BTreeSet::new();
    for dir in ["crates", "tests"] {
        functions(&root.join(dir), &mut known);
    }
    let named = shown(&text);
    assert!(named.len() > least, "only {} are named", named.len());
    let missing: Vec<_> = named
        .iter()
        .filter(|name| !known.contains(**name))
        .collect();
    assert!(missing.is_empty(), "there is no test {missing:?}");
}

#[test]
fn every_claim_of_the_security_page_names_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(root.join("docs/security.md")).expect("the page");
    let claims = text.split("\n* **").skip(1);
    for claim in claims {
        let claim = claim.split("\n* ").next().unwrap_or_default();
        assert!(!shown(claim).is_empty(), "nothing shows: {claim}");
    }
}
