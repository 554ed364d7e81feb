//! The headers that repeat what a request's body says, so that what stands before the server can
//! route by them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName};

use super::failure::Failure;

pub(super) static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) static METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(super) static NAME: HeaderName = HeaderName::from_static("mcp-name");

/// What stands around a value that is no plain text.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// A header as it was sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Never,
    Once(String),
    Repeatedly,
}

/// Reads a header without the blanks around its value.
pub(super) fn sent(headers: &HeaderMap, name: &HeaderName) -> Sent {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Sent::Never,
        (Some(value), None) => Sent::Once(
            String::from_utf8_lossy(value.as_bytes())
                .trim_matches([' ', '\t'])
                .to_owned(),
        ),
        (Some(_), Some(_)) => Sent::Repeatedly,
    }
}

/// Demands that a header be there once and say what the body says.
pub(super) fn agrees(headers: &HeaderMap, name: &HeaderName, body: &str) -> Result<(), Failure> {
    let why = match sent(headers, name) {
        Sent::Once(value) if decoded(value.clone()).is_some_and(|value| value == body) => {
            return Ok(());
        }
        Sent::Once(_) => "does not say what the body says",
        Sent::Never => "is missing",
        Sent::Repeatedly => "was sent more than once",
    };
    Err(mismatch(name, why))
}

pub(super) fn mismatch(name: &HeaderName, why: &str) -> Failure {
    Failure::header_mismatch(format!("the header {name} {why}"))
}

/// What a value stands for; `None` if it is encoded and cannot be read.
fn decoded(value: String) -> Option<String> {
    let inner = value
        .strip_prefix(ENCODED.0)
        .and_then(|rest| rest.strip_suffix(ENCODED.1));
    match inner {
        None => Some(value),
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(values: &[&str], body: &str, expected: bool) {
        let mut headers = HeaderMap::new();
        for value in values {
            let value = HeaderValue::from_bytes(value.as_bytes()).expect("a value");
            headers.append(&NAME, value);
        }
        let found = agrees(&headers, &NAME, body);
        assert_eq!(found.is_ok(), expected, "{values:?} {body}: {found:?}");
        if let Err(failure) = found {
            assert_eq!((failure.code, failure.status.as_u16()), (-32020, 400));
        }
    }

    #[test]
    fn a_header_says_once_what_the_body_says() {
        check(&["remember"], "remember", true);
        check(&[" \tremember "], "remember", true);
        check(&["Remember"], "remember", false);
        check(&[], "remember", false);
        check(&["remember", "remember"], "remember", false);
        check(&[""], "", true);
    }

    #[test]
    fn a_value_that_is_no_plain_text_is_encoded() {
        check(&["=?base64?cmVtZW1iZXI=?="], "remember", true);
        check(&["=?base64?w6k=?="], "é", true);
        check(&["=?BASE64?cmVtZW1iZXI=?="], "remember", false);
        check(&["=?base64?!?="], "!", false);
        check(&["=?base64?cmVtZW1iZXI?="], "remember", false);
        check(&["=?base64?/w==?="], "\u{fffd}", false);
    }
}
