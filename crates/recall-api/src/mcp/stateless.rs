//! Revision 2026-07-28: no handshake, every request says for itself what it speaks.

use http::HeaderMap;
use recall_keys::Grant;
use serde_json::{Value, json};

use super::call;
use super::failure::Failure;
use super::header::{self, Sent};
use super::message::{CAPABILITIES_KEY, Incoming, VERSION_KEY};
use super::process::Process;
use super::{OTHER, Outcome, instructions, revision, tools};
use crate::auth;
use crate::error::ApiError;
use crate::state::Api;
use crate::trace;

const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";
const METHODS: &str = "server/discover, tools/list and tools/call in this revision";
/// How long a client may keep a list or a discovery: short enough that an upgrade shows.
const TTL_MS: u32 = 300_000;
/// Descriptions may name what only this key's namespace knows.
const CACHE_SCOPE: &str = "private";

pub(super) async fn answer(
    api: &Api,
    grant: &Grant,
    (headers, process): (&HeaderMap, Process),
    message: Incoming,
) -> Result<Outcome, ApiError> {
    if let Err(failure) = admit(headers, &message) {
        return Ok(Err(failure));
    }
    trace::mcp(known(&message.method), None);
    let result = match message.method.as_str() {
        "server/discover" => discover(api, grant).await?,
        "tools/list" if message.param("cursor").is_some() => {
            let text = "cursor: the list of tools has one page";
            return Ok(Err(Failure::invalid_params(text)));
        }
        "tools/list" => cached(json!({ "tools": tools::list(api, grant) })),
        "tools/call" => match message.params {
            Some(Value::Object(params)) if params.get("name").is_some_and(Value::is_string) => {
                match call::call(api, grant, &process, params).await? {
                    Ok(result) => result,
                    Err(unknown) => {
                        return Ok(Err(Failure::invalid_params(unknown.to_string())));
                    }
                }
            }
            _ => return Ok(Err(Failure::invalid_params("name: must be a string"))),
        },
        _ => return Ok(Err(Failure::method_not_found(METHODS))),
    };
    Ok(Ok(complete(api, result)))
}

/// The method by a name of ours, however it is spelt.
fn known(method: &str) -> &'static str {
    let known = ["server/discover", "tools/list", "tools/call"];
    known.into_iter().find(|it| *it == method).unwrap_or(OTHER)
}

/// The checks that come before the method is looked at, in the order of what a client has to mend.
pub(super) fn admit(headers: &HeaderMap, message: &Incoming) -> Result<(), Failure> {
    if !message.is_named() {
        let text = "id: must be a string or a whole number";
        return Err(Failure::invalid_request(text));
    }
    if message.method.is_empty() || !message.versioned {
        let text = "send {\"jsonrpc\":\"2.0\",\"id\":…,\"method\":…}";
        return Err(Failure::invalid_request(text));
    }
    version(headers)?;
    header::agrees(headers, &header::METHOD, &message.method)?;
    if let Some(name) = target(message) {
        header::agrees(headers, &header::NAME, name)?;
    }
    metadata(message)
}

fn version(headers: &HeaderMap) -> Result<(), Failure> {
    match header::sent(headers, &header::VERSION) {
        Sent::Once(version) if revision::ALL.contains(&version.as_str()) => Ok(()),
        Sent::Once(version) => Err(Failure::unsupported_version(&version)),
        Sent::Never => Err(header::mismatch(&header::VERSION, "is missing")),
        Sent::Repeatedly => {
            let why = "was sent more than once";
            Err(header::mismatch(&header::VERSION, why))
        }
    }
}

/// What a request is about, where a header has to repeat it.
fn target(message: &Incoming) -> Option<&str> {
    let member = match message.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return None,
    };
    message.param(member)?.as_str()
}

fn metadata(message: &Incoming) -> Result<(), Failure> {
    let missing = |key: &str, what: &str| {
        Failure::incomplete_metadata(format!("params._meta[\"{key}\"]: must be {what}"))
    };
    if !message.claim().is_some_and(Value::is_string) {
        return Err(missing(VERSION_KEY, "the revision that is spoken"));
    }
    let capabilities = message.meta().and_then(|meta| meta.get(CAPABILITIES_KEY));
    match capabilities.is_some_and(Value::is_object) {
        true => Ok(()),
        false => Err(missing(CAPABILITIES_KEY, "an object")),
    }
}

async fn discover(api: &Api, grant: &Grant) -> Result<Value, ApiError> {
    Ok(cached(json!({
        "supportedVersions": revision::ALL,
        "capabilities": { "tools": {} },
        "instructions": instructions::text(api, auth::namespace(grant)?).await?,
    })))
}

fn cached(mut result: Value) -> Value {
    result["ttlMs"] = TTL_MS.into();
    result["cacheScope"] = CACHE_SCOPE.into();
    result
}

fn complete(api: &Api, mut result: Value) -> Value {
    result["resultType"] = "complete".into();
    result["_meta"] = json!({ SERVER_INFO_KEY: { "name": "recall", "version": api.version } });
    result
}
