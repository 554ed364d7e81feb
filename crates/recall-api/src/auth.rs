//! From the Authorization header to a grant.

use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use recall_keys::{Grant, Reach};
use recall_store::Namespace;

use crate::error::ApiError;
use crate::state::Api;

const MISSING: &str = "no key: send it as Authorization: Bearer <key>";
const UNKNOWN: &str = "the key is unknown, expired or revoked";

/// Checks the request's key.
pub(crate) async fn grant(api: &Api, headers: &HeaderMap) -> Result<Arc<Grant>, ApiError> {
    let key = bearer(headers)?;
    api.keys.verify(key).await.map_err(|error| match error {
        recall_keys::Error::Unauthenticated => ApiError::unauthenticated(UNKNOWN),
        other => other.into(),
    })
}

/// The memory that a grant reaches; an admin key reaches none.
pub(crate) fn namespace(grant: &Grant) -> Result<&Namespace, ApiError> {
    match &grant.reach {
        Reach::Namespace(namespace) => Ok(namespace),
        Reach::Admin => Err(ApiError::namespace_mismatch(
            "an admin key manages keys and reaches no memory; use a key made for a namespace",
        )),
    }
}

/// Lets only admin keys pass.
pub(crate) fn admin(grant: &Grant) -> Result<(), ApiError> {
    match grant.reach {
        Reach::Admin => Ok(()),
        Reach::Namespace(_) => Err(ApiError::forbidden(
            "this is for admin keys: it manages keys and agents",
        )),
    }
}

/// The key that a request came with.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<&str, ApiError> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let header = sent.next().ok_or(ApiError::unauthenticated(MISSING))?;
    // Whatever stands before the server may have looked at the other one.
    if sent.next().is_some() {
        return Err(ApiError::invalid("Authorization: sent more than once"));
    }
    let text = header
        .to_str()
        .map_err(|_| ApiError::unauthenticated(UNKNOWN))?;
    let (scheme, key) = text.trim_start().split_once(' ').unwrap_or((text, ""));
    let key = key.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || key.is_empty() {
        return Err(ApiError::unauthenticated(MISSING));
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(header: &str, expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        headers.insert(
            AUTHORIZATION,
            HeaderValue::from_str(header).expect("a header"),
        );
        assert_eq!(bearer(&headers).ok(), expected, "{header:?}");
    }

    #[test]
    fn only_bearer_carries_a_key() {
        check("Bearer k", Some("k"));
        check("bearer k", Some("k"));
        check("BEARER    k  ", Some("k"));
        check("Basic k", None);
        check("k", None);
        check("Bearer", None);
        check("Bearer ", None);
        check("", None);
        assert!(bearer(&HeaderMap::new()).is_err());
    }

    #[test]
    fn two_keys_are_one_too_many() {
        let mut headers = HeaderMap::new();
        for key in ["Bearer k", "Bearer k"] {
            headers.append(AUTHORIZATION, HeaderValue::from_static(key));
        }
        let refused = bearer(&headers).expect_err("which one is meant?");
        assert_eq!(refused.status.as_u16(), 400);
    }
}
