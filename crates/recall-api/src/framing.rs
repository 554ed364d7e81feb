//! Where a request ends, as those before and behind the server may see it differently.

use http::header::{CONNECTION, EXPECT, HOST, TRANSFER_ENCODING};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, StatusCode, Version};

use crate::error::ApiError;
use crate::request_id;

/// Whether no further request of this connection is read.
///
/// A body whose length is told both by Content-Length and by Transfer-Encoding ends where the latter
/// says; what stands before the server may have gone by the former, and a second request may hide in
/// the difference. The HTTP library drops the length, so nobody can tell whether one was sent: no
/// connection outlives an encoded body.
pub(crate) fn is_last(version: Version, headers: &HeaderMap) -> bool {
    version < Version::HTTP_2 && headers.contains_key(TRANSFER_ENCODING)
}

/// Demands the one `Host` that HTTP/1.1 asks for (RFC 9112, 3.2): without it, or with two, what stands
/// before the server may take the request to be for somebody else.
pub(crate) fn names_its_host(version: Version, headers: &HeaderMap) -> Result<(), ApiError> {
    if version != Version::HTTP_11 {
        return Ok(());
    }
    let mut sent = headers.get_all(HOST).iter();
    let why = match (sent.next(), sent.next()) {
        (Some(host), None) if is_host(host) => return Ok(()),
        (Some(_), None) => "is not a name or an address",
        (None, _) => "is missing",
        (Some(_), Some(_)) => "was sent more than once",
    };
    Err(ApiError::invalid(format!("the header Host {why}")))
}

/// An empty one stands for a target without an authority, of which this server has none.
fn is_host(value: &HeaderValue) -> bool {
    let host = value.to_str().unwrap_or_default().parse::<Authority>();
    host.is_ok_and(|host| !host.as_str().contains('@'))
}

/// Refuses what a client waits for before it sends its body, but for the one thing that there is to wait
/// for (RFC 9110, 10.1.1).
pub(crate) fn expects_what_is_known(headers: &HeaderMap) -> Result<(), ApiError> {
    let known = |value: &HeaderValue| {
        let value = value.as_bytes().trim_ascii();
        value.eq_ignore_ascii_case(b"100-continue")
    };
    match headers.get_all(EXPECT).iter().all(known) {
        true => Ok(()),
        false => Err(ApiError::new(
            StatusCode::EXPECTATION_FAILED,
            "invalid_argument",
            "Expect: only 100-continue is known",
        )),
    }
}

/// Tells the client that the connection ends here.
pub(crate) fn end(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
}

/// The whole answer, head and body, to a request whose head the HTTP library could not read. It would
/// answer with this status and nothing else; ours says what is wrong, as every refusal does.
#[must_use]
pub fn unreadable(status: StatusCode) -> Vec<u8> {
    let why = match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            "the head of the request is over the limit of 64 KiB"
        }
        StatusCode::URI_TOO_LONG => "the path of the request is over the limit of 64 KiB",
        _ => "the head of the request is not one of HTTP/1.1",
    };
    let id = request_id::generate();
    let error = ApiError::new(status, "invalid_argument", why);
    let (body, kind) = (
        error.body(id.to_str().unwrap_or_default()),
        "application/json",
    );
    let reason = status.canonical_reason().unwrap_or("Refused");
    let head = format!(
        "HTTP/1.1 {} {reason}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nx-request-id: {}\r\n\
         connection: close\r\n\r\n",
        status.as_u16(),
        body.len(),
        id.to_str().unwrap_or_default(),
    );
    [head.as_bytes(), &body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(version: Version, hosts: &[&'static str], expected: bool) {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_static(host));
        }
        let found = names_its_host(version, &headers);
        assert_eq!(found.is_ok(), expected, "{version:?} {hosts:?}");
        if let Err(error) = found {
            assert_eq!(
                (error.status.as_u16(), error.code),
                (400, "invalid_argument")
            );
        }
    }

    #[test]
    fn a_request_of_http_1_1_names_one_host() {
        for good in ["recall", "recall:8080", "127.0.0.1:1", "[::1]:8080"] {
            check(Version::HTTP_11, &[good], true);
        }
        for bad in ["", "a b", "a@b", "a/b", "a:b:c"] {
            check(Version::HTTP_11, &[bad], false);
        }
        check(Version::HTTP_11, &[], false);
        check(Version::HTTP_11, &["a", "a"], false);
        check(Version::HTTP_10, &[], true);
        check(Version::HTTP_2, &[], true);
    }

    #[test]
    fn a_client_may_wait_to_be_told_to_go_on_and_for_nothing_else() {
        for (value, expected) in [
            ("100-continue", true),
            ("100-Continue ", true),
            ("", false),
            ("200-ok", false),
            ("100-continue, x", false),
        ] {
            let headers = HeaderMap::from_iter([(EXPECT, HeaderValue::from_static(value))]);
            let found = expects_what_is_known(&headers);
            let status = found.err().map(|error| error.status.as_u16());
            assert_eq!(status, (!expected).then_some(417), "{value:?}");
        }
        assert!(expects_what_is_known(&HeaderMap::new()).is_ok());
    }
}
