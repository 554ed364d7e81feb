use super::*;

/// Every id was answered by the published server.
#[test]
fn ids_are_those_of_the_published_server() {
    for (id, subject, predicate, key, retraction, at) in [
        (
            "m-cb7c6ec3bdaa4535680cf0d6",
            "user",
            "prefers_editor",
            "s:vim",
            false,
            "2026-01-01T00:00:00.5Z",
        ),
        (
            "m-9779f9cf1b898df7e8a3146d",
            "user",
            "prefers_editor",
            "s:helix",
            false,
            "2026-02-01T08:00:00Z",
        ),
        (
            "m-133c1f5ba183808597fd1fb1",
            "user",
            "uses_technology",
            "s:istanbul σασ ß",
            false,
            "2026-02-01T10:00:00.123456789Z",
        ),
        (
            "m-3e20cd2b929e7e68aa68482e",
            "ann",
            "tiny",
            "n:0.0000001",
            false,
            "2026-11-30T00:08:29.146809539Z",
        ),
        (
            "m-bf2fb00ad83273f42e515fb8",
            "ann",
            "huge",
            "n:1000000000000000000000",
            false,
            "2026-11-30T00:08:29.167858472Z",
        ),
        (
            "m-e8dd0c10cdb862164f8d2c02",
            "ann",
            "married",
            "b:true",
            false,
            "2026-11-30T00:08:29.127901162Z",
        ),
        (
            "m-ea752e5751b7f8c3fe585716",
            "ann",
            "likes",
            "s:cake",
            true,
            "2026-03-02T00:00:00Z",
        ),
        (
            "m-bf84b3a6a9ed83e8734ce412",
            "m",
            "owns",
            "",
            true,
            "2026-11-30T00:08:29.353154801Z",
        ),
    ] {
        let at = time::parse(at).unwrap();
        let made = EventId::of(subject, predicate, key, retraction, at);
        assert_eq!(made.to_string(), id);
        assert_eq!(EventId::parse(id), made);
    }
}

#[test]
fn other_ids_are_kept_as_they_are() {
    for id in [
        "m-cb7c",
        "m-CB7C6EC3BDAA4535680CF0D6",
        "x",
        "",
        "m-cb7c6ec3bdaa4535680cf0d6ff",
    ] {
        let parsed = EventId::parse(id);
        assert!(matches!(parsed, EventId::Other(_)), "{id}");
        assert_eq!(parsed.to_string(), id);
    }
}
