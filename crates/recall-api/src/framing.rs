//! Where a request ends, as those before and behind the server may see it differently.

use http::header::{CONNECTION, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, Version};

/// Whether no further request of this connection is read.
///
/// A body whose length is told both by Content-Length and by Transfer-Encoding ends where the latter
/// says; what stands before the server may have gone by the former, and a second request may hide in
/// the difference. The HTTP library drops the length, so nobody can tell whether one was sent: no
/// connection outlives an encoded body.
pub(crate) fn is_last(version: Version, headers: &HeaderMap) -> bool {
    version < Version::HTTP_2 && headers.contains_key(TRANSFER_ENCODING)
}

/// Tells the client that the connection ends here.
pub(crate) fn end(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
}
