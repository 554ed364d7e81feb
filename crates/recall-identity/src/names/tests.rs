use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(rule: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
    for text in good {
        assert!(rule(text), "{text:?} is refused");
    }
    for text in bad {
        assert!(!rule(text), "{text:?} is accepted");
    }
}

#[test]
fn label_values() {
    let (longest, too_long) = ("a".repeat(63), "a".repeat(64));
    check(
        is_label_value,
        &["A", "a..b", "a_b", "1", "run-1", &longest],
        &[
            "", "a:b", "../x", "a/b", "a-", "-a", "a.", "аgent", "a\0", "*", "a b", &too_long,
        ],
    );
}

#[test]
fn label_keys() {
    check(
        is_label_key,
        &["agent", "sandbox.users.io/agent", "a/B_c"],
        &[
            "",
            "/agent",
            "a/",
            "a/b/c",
            "Sandbox.io/agent",
            "a b",
            "sandbox.users.io/-agent",
        ],
    );
}

#[test]
fn object_names() {
    let (longest, too_long) = ("a".repeat(63), "a".repeat(64));
    check(
        is_dns_label,
        &["agents", "a-1", &longest],
        &["", "A", "a.b", "-a", "a-", "a_b", &too_long],
    );
    check(
        is_subdomain,
        &["demo-1", "a.b.c"],
        &["", ".", "a..b", "..", "a/b", "A"],
    );
    check(
        is_uid,
        &["8641a638-2342-446a-99a0-9c401a48c552"],
        &["", "a/b", "a b", &"a".repeat(129)],
    );
}

#[test]
fn memory_names() {
    assert!(names_a_memory("agents", "demo-1"));
    assert!(names_a_memory(&"t".repeat(63), &"a".repeat(64)));
    assert!(!names_a_memory(&"t".repeat(64), &"a".repeat(64)));
    assert!(!names_a_memory("a:b", "c"));
    assert!(!names_a_memory("a", "b:c"));
    assert!(!names_a_memory("", "a"));
}

proptest! {
    #[test]
    fn accepted_parts_split_again_into_themselves(tenant in ".{0,20}", agent in ".{0,20}") {
        if names_a_memory(&tenant, &agent) {
            let joined = format!("{tenant}:{agent}");
            prop_assert_eq!(joined.split_once(':'), Some((tenant.as_str(), agent.as_str())));
            prop_assert_eq!(joined.matches(':').count(), 1);
        }
    }

    #[test]
    fn a_label_value_is_one_that_kubernetes_documents(text in "[ -~]{0,70}|\\PC{0,8}") {
        let documented = text.len() <= 63
            && !text.is_empty()
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.ends_with(|c: char| c.is_ascii_alphanumeric());
        prop_assert_eq!(is_label_value(&text), documented);
    }
}
