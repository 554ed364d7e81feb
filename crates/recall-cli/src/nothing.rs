//! What to say when an answer is empty: nothing printed looks like nothing done.

use http::HeaderMap;

use crate::output::say;

/// What was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sought {
    /// What answers a question.
    Memories,
    /// How something changed.
    History,
    /// What changed between two times.
    Changes,
}

/// Says why there is no line of data, by what the server tells of its answer.
pub(crate) fn told(sought: Sought, headers: &HeaderMap) {
    let read = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    say(reason(sought, read("recall-empty"), read("recall-unknown")));
}

fn reason(sought: Sought, empty: Option<&str>, unknown: Option<&str>) -> &'static str {
    match (empty, unknown, sought) {
        (_, Some("subject"), _) => "nothing found: nothing was ever remembered about this subject",
        (_, Some("predicate"), _) => "nothing found: there is no such predicate",
        (Some("nothing_stored"), _, _) => "nothing found: this memory is empty",
        (_, _, Sought::History) => {
            "no history found: a text that was kept whole is said once and has none; `recall ask` finds \
             it, and what was withdrawn or replaced as a statement has a history"
        }
        (_, _, Sought::Changes) => "nothing changed in that time",
        (_, _, Sought::Memories) => "nothing found: nothing in this memory fits the question",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sought: Sought, empty: &str, unknown: Option<&str>, part: &str) {
        let found = reason(sought, Some(empty), unknown);
        assert!(found.contains(part), "{found}");
    }

    #[test]
    fn every_empty_answer_has_a_reason() {
        use Sought::{Changes, History, Memories};
        check(Memories, "nothing_stored", None, "is empty");
        check(Memories, "nothing_matches", None, "fits the question");
        check(Memories, "scope_unknown", Some("subject"), "subject");
        check(History, "scope_unknown", Some("predicate"), "predicate");
        check(History, "nothing_matches", None, "kept whole");
        check(Changes, "nothing_matches", None, "nothing changed");
        assert!(reason(Changes, None, None).contains("nothing changed"));
    }
}
