//! Messages of any kind: whatever is sent, there is an answer, and it is one of the protocol.

use http::{HeaderMap, HeaderValue};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_assert, prop_oneof, proptest};
use proptest::sample::{Index, select};

use super::era::Era;
use super::message::Incoming;
use super::{header, stateless};

const SEEDS: [&str; 4] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"question":"x"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    r#"[{"id":null},{"method":7},[[[]]],"\ud800",1e400]"#,
];

/// A good message with some of its bytes replaced by others, or by pieces of the grammar.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        vec(any::<u8>(), 0..4),
        select(vec![
            &b"null"[..],
            b"{",
            b"}",
            b"[",
            b"]",
            b"\"",
            b"\\",
            b":",
            b",",
            b"1e9",
            b"-0",
            b"\\u0000"
        ])
        .prop_map(<[u8]>::to_vec),
    ];
    let edits = vec((any::<Index>(), 0_usize..12, piece), 0..5);
    (select(SEEDS.to_vec()), edits).prop_map(|(seed, edits)| {
        let mut bytes = seed.as_bytes().to_vec();
        for (at, length, piece) in edits {
            let from = at.index(bytes.len() + 1);
            let to = (from + length).min(bytes.len());
            bytes.splice(from..to, piece);
        }
        bytes
    })
}

fn sent() -> impl Strategy<Value = HeaderMap> {
    let value = prop_oneof![
        select(vec![
            "2026-07-28",
            "2025-06-18",
            "tools/call",
            "recall",
            "=?base64?cmVjYWxs?=",
            "=?base64?"
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        vec(any::<u8>(), 0..12),
    ];
    vec((0_usize..3, value), 0..5).prop_map(|sent| {
        let names = [&header::VERSION, &header::METHOD, &header::NAME];
        let headers = sent.into_iter().filter_map(|(name, value)| {
            Some((
                names.get(name)?.to_owned().clone(),
                HeaderValue::from_bytes(&value).ok()?,
            ))
        });
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value);
        }
        map
    })
}

proptest! {
    #[test]
    fn messages_never_panic(body in message(), headers in sent()) {
        let allowed = [-32700, -32600, -32602, -32020, -32022];
        match Incoming::parse(&body) {
            Err(unread) => prop_assert!(unread.failure.code == -32700 && unread.failure.status == 400),
            Ok(message) => match Era::of(&message, &headers) {
                Err(failure) => prop_assert!(failure.code == -32020),
                Ok(Era::Handshake) => {}
                Ok(Era::Stateless) => if let Err(failure) = stateless::admit(&headers, &message) {
                    prop_assert!(allowed.contains(&failure.code) && failure.status == 400);
                },
            },
        }
    }

    #[test]
    fn bodies_never_panic(body in message()) {
        let _ = crate::body::object(&body);
    }

    #[test]
    fn origins_hosts_and_rates_never_panic(text in "(https?://)?[a-z0-9.\\[\\]:@/%-]{0,24}|\\PC{0,20}") {
        let _ = text.parse::<crate::Origin>();
        let _ = text.parse::<crate::Host>();
        let _ = text.parse::<crate::Rate>();
    }
}
