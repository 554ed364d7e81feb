//! What may be a token at all, told without asking anybody.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::error::Error;

/// No token that Kubernetes issues is near this long.
pub const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// A JSON web token has two, and nothing longer is taken apart.
const MAX_DOTS: usize = 2;

/// The SHA-256 of a token, to know it again without keeping it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash of `token`.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(..)")
    }
}

/// Whether `token` is worth asking about.
///
/// The API server trims white space before it looks, which makes two texts of one token: here such
/// a text is refused.
pub(crate) fn check_shape(token: &str) -> Result<(), Error> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(Error::TooLarge {
            limit: MAX_TOKEN_BYTES,
        });
    }
    if token.trim().is_empty() {
        return Err(Error::Malformed("must not be empty"));
    }
    if !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Error::Malformed(
            "must be visible ASCII text without spaces",
        ));
    }
    if token.bytes().filter(|b| *b == b'.').count() > MAX_DOTS {
        return Err(Error::Malformed("has too many parts"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(token: &str, expected: Option<&str>) {
        let refused = check_shape(token).err();
        assert_eq!(
            refused.map(|e| e.to_string()).as_deref(),
            expected,
            "{:.20}",
            token
        );
    }

    #[test]
    fn only_something_like_a_token_is_asked_about() {
        check("eyJhbGciOiJSUzI1NiJ9.e30.c2ln", None);
        check("!!.##.%%", None);
        check(&"a".repeat(MAX_TOKEN_BYTES), None);
        let large = Some("token: over the limit of 16384 bytes");
        check(&"a".repeat(MAX_TOKEN_BYTES + 1), large);
        check(&".".repeat(1_000_000), large);
        check(
            &".".repeat(MAX_TOKEN_BYTES),
            Some("token: has too many parts"),
        );
        check("", Some("token: must not be empty"));
        check(" \n\t", Some("token: must not be empty"));
        for odd in [
            "a b",
            " a",
            "a\n",
            "a\nb",
            "\u{feff}a",
            "tökèn",
            "a\0",
            "a\u{a0}",
        ] {
            check(
                odd,
                Some("token: must be visible ASCII text without spaces"),
            );
        }
    }

    #[test]
    fn a_hash_shows_nothing() {
        assert_eq!(format!("{:?}", TokenHash::of("secret")), "TokenHash(..)");
        assert_ne!(TokenHash::of("a"), TokenHash::of("b"));
    }
}
