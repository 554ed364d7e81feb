//! The revisions of the protocol that are served.

/// The revision without a handshake: each request says for itself what it speaks.
pub(super) const STATELESS: &str = "2026-07-28";
/// Everything served, newest first.
pub(super) const ALL: [&str; 5] = [
    STATELESS,
    "2025-11-25",
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
];
/// What a handshake without a revision gets.
const UNNAMED: &str = "2025-06-18";
/// What a handshake with an unknown revision gets: the newest that has one.
const NEWEST_WITH_HANDSHAKE: &str = "2025-11-25";

/// Whether clients of this revision open with `initialize`.
pub(super) fn has_handshake(revision: &str) -> bool {
    revision != STATELESS && ALL.contains(&revision)
}

/// What `initialize` settles on. `asked` is `None` if the client names nothing, and inside `None` if
/// what it names is no text.
pub(super) fn settle(asked: Option<Option<&str>>) -> &'static str {
    let Some(asked) = asked else { return UNNAMED };
    let known = |known: &&&str| Some(**known) == asked && has_handshake(known);
    ALL.iter()
        .find(known)
        .copied()
        .unwrap_or(NEWEST_WITH_HANDSHAKE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_gets_the_revision_it_asks_for_or_the_newest() {
        assert_eq!(settle(None), "2025-06-18");
        assert_eq!(settle(Some(None)), "2025-11-25");
        assert_eq!(settle(Some(Some("2024-11-05"))), "2024-11-05");
        assert_eq!(settle(Some(Some("2026-07-28"))), "2025-11-25");
        assert_eq!(settle(Some(Some("yesterday"))), "2025-11-25");
    }
}
