//! Which of the protocol's two eras a request belongs to: with a handshake or without.

use http::HeaderMap;

use super::failure::Failure;
use super::header::{self, Sent};
use super::message::Incoming;
use super::revision;

/// Decided for each request by what it claims to speak, never by what came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// The revisions that open with `initialize`, and all who claim nothing.
    Handshake,
    /// Everything later, and everything unknown.
    Stateless,
}

impl Era {
    /// # Errors
    ///
    /// If body and header claim different revisions.
    pub(super) fn of(message: &Incoming, headers: &HeaderMap) -> Result<Self, Failure> {
        let claim = message.claim();
        let sent = header::sent(headers, &header::VERSION);
        if let (Some(claim), Sent::Once(sent)) = (claim.and_then(|claim| claim.as_str()), &sent)
            && claim != sent
        {
            let why = "does not say what the body says";
            return Err(header::mismatch(&header::VERSION, why));
        }
        let claimed = match (claim, &sent) {
            (Some(claim), _) => claim.as_str(),
            // A handshake negotiates: a header from before or beside it says nothing.
            (None, _) if message.method == "initialize" => return Ok(Self::Handshake),
            (None, Sent::Never) => return Ok(Self::Handshake),
            (None, Sent::Once(sent)) => Some(sent.as_str()),
            (None, Sent::Repeatedly) => None,
        };
        Ok(match claimed.is_some_and(revision::has_handshake) {
            true => Self::Handshake,
            false => Self::Stateless,
        })
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::{Value, json};

    use super::super::message::VERSION_KEY;
    use super::*;

    #[track_caller]
    fn check(method: &str, claim: &Value, sent: &[&'static str], expected: Result<Era, i32>) {
        let mut params = json!({ "_meta": {} });
        if !claim.is_null() {
            params["_meta"][VERSION_KEY] = claim.clone();
        }
        let message = Incoming {
            id: Some(serde_json::value::RawValue::TRUE.to_owned()),
            method: method.to_owned(),
            params: Some(params),
            versioned: true,
            answers: false,
        };
        let mut headers = HeaderMap::new();
        for sent in sent {
            headers.append(&header::VERSION, HeaderValue::from_static(sent));
        }
        let found = Era::of(&message, &headers).map_err(|failure| failure.code);
        assert_eq!(found, expected, "{method} {claim} {sent:?}");
    }

    #[test]
    fn the_claim_decides_and_silence_is_the_handshake() {
        use Era::{Handshake, Stateless};
        check("tools/list", &json!(null), &[], Ok(Handshake));
        check("tools/list", &json!(null), &["2025-11-25"], Ok(Handshake));
        check("tools/list", &json!("2024-11-05"), &[], Ok(Handshake));
        check("tools/list", &json!(null), &["2026-07-28"], Ok(Stateless));
        check("tools/list", &json!("2026-07-28"), &[], Ok(Stateless));
        check("tools/list", &json!("bogus"), &[], Ok(Stateless));
        check("tools/list", &json!(null), &["bogus"], Ok(Stateless));
        check("tools/list", &json!(7), &[], Ok(Stateless));
        check("tools/list", &json!(7), &["2026-07-28"], Ok(Stateless));
        let twice = ["2025-11-25", "2025-11-25"];
        check("tools/list", &json!(null), &twice, Ok(Stateless));
    }

    #[test]
    fn initialize_is_the_handshake_unless_its_own_metadata_says_otherwise() {
        use Era::{Handshake, Stateless};
        check("initialize", &json!(null), &[], Ok(Handshake));
        check("initialize", &json!(null), &["2026-07-28"], Ok(Handshake));
        check("initialize", &json!("2026-07-28"), &[], Ok(Stateless));
        check("initialize", &json!("2025-06-18"), &[], Ok(Handshake));
    }

    #[test]
    fn two_claims_that_differ_are_refused_whatever_they_say() {
        for (claim, sent) in [
            ("2026-07-28", "2025-11-25"),
            ("2025-11-25", "2026-07-28"),
            ("2025-11-25", "2025-06-18"),
            ("a", "b"),
        ] {
            check("tools/list", &json!(claim), &[sent], Err(-32020));
            check("initialize", &json!(claim), &[sent], Err(-32020));
        }
    }
}
