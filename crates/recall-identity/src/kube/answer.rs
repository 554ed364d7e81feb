//! Whether an answer can be used.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::client::AnswerBody;
use super::wire::Status;
use crate::trouble::{Trouble, TroubleKind};

/// No object that is read here comes near it: a store of Kubernetes takes objects of 1.5 MB at
/// most, and a pod of ours is a few kilobytes.
pub(super) const MAX_ANSWER_BYTES: usize = 1024 * 1024;
/// A longer wait than this says nothing that a caller could use.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// The object in an answer, or `None` if the API server says that there is none.
pub(super) async fn object<T: DeserializeOwned>(
    answer: Response<AnswerBody>,
    limit: usize,
) -> Result<Option<T>, Trouble> {
    let status = answer.status();
    match status {
        StatusCode::OK | StatusCode::CREATED => Ok(Some(parse(&json(answer, limit).await?)?)),
        StatusCode::NOT_FOUND => {
            // Only the API server itself may say so: whatever stands between us and it, and a
            // server without this kind of object, answers 404 too.
            let said: Status = parse(&json(answer, limit).await?)?;
            if said.kind == "Status" && said.reason == "NotFound" {
                return Ok(None);
            }
            Err(Trouble::new(
                TroubleKind::Nonsense,
                "404 for something else than the object",
            ))
        }
        _ => Err(refusal(status, answer.headers())),
    }
}

/// What a status that is no success means.
pub(super) fn refusal(status: StatusCode, headers: &HeaderMap) -> Trouble {
    let kind = match status {
        StatusCode::UNAUTHORIZED => TroubleKind::OwnToken,
        StatusCode::FORBIDDEN => TroubleKind::Forbidden,
        StatusCode::TOO_MANY_REQUESTS => TroubleKind::Throttled,
        _ if status.is_server_error() => TroubleKind::Server,
        _ => TroubleKind::Nonsense,
    };
    let retry_after = match kind {
        TroubleKind::Throttled | TroubleKind::Server => retry_after(headers),
        _ => None,
    };
    Trouble {
        retry_after,
        ..Trouble::new(kind, format!("answered {}", status.as_u16()))
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_RETRY_AFTER))
}

async fn json(answer: Response<AnswerBody>, limit: usize) -> Result<Bytes, Trouble> {
    whole(answer, "application/json", limit).await
}

/// A set of keys, as text.
#[cfg(feature = "jwks")]
pub(super) async fn key_set(answer: Response<AnswerBody>) -> Result<String, Trouble> {
    match answer.status() {
        StatusCode::OK => {
            let body = whole(answer, super::client::KEY_SET, MAX_ANSWER_BYTES).await?;
            String::from_utf8(body.into())
                .map_err(|_| Trouble::new(TroubleKind::Nonsense, "the answer is no text"))
        }
        status => Err(refusal(status, answer.headers())),
    }
}

async fn whole(answer: Response<AnswerBody>, wanted: &str, limit: usize) -> Result<Bytes, Trouble> {
    let kind = answer
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind
        .and_then(|kind| kind.split(';').next())
        .unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case(wanted) {
        return Err(Trouble::new(
            TroubleKind::Nonsense,
            "the answer is of another type",
        ));
    }
    let body = Limited::new(answer.into_body(), limit).collect().await;
    Ok(body.map_err(|error| unread(&*error, limit))?.to_bytes())
}

fn unread(error: &(dyn std::error::Error + 'static), limit: usize) -> Trouble {
    if error.is::<LengthLimitError>() {
        let detail = format!("the answer is over {limit} bytes");
        return Trouble::new(TroubleKind::TooLarge, detail);
    }
    Trouble::new(TroubleKind::Nonsense, "the answer is cut off")
}

pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Trouble> {
    serde_json::from_slice(body).map_err(|error| {
        // The text of the error may repeat a part of the answer, and a review repeats the token.
        let detail = format!("the answer makes no sense at its byte {}", error.column());
        Trouble::new(TroubleKind::Nonsense, detail)
    })
}
