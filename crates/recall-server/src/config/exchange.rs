//! The settings of the exchange that are lists, limits and lifetimes.

use std::time::Duration;

use recall_api::Rate;
use recall_keys::parse_go;

/// A service account: its namespace and its name.
pub type ServiceAccount = (String, String);

/// How pods are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// Narrows the watch to pods with labels that fit.
    pub selector: Option<String>,
}

/// `NS/NAME` parts, with commas between them.
pub(super) fn service_accounts(text: &str) -> Result<Vec<ServiceAccount>, String> {
    const REFUSAL: &str = "must be NAMESPACE/NAME, several with commas between them";
    list(text, REFUSAL, |part| {
        let (namespace, name) = part.split_once('/')?;
        let good = dns_label(namespace) && name.split('.').all(dns_label) && name.len() <= 253;
        good.then(|| (namespace.to_owned(), name.to_owned()))
    })
}

pub(super) fn namespaces(text: &str) -> Result<Vec<String>, String> {
    const REFUSAL: &str = "must be names of namespaces with commas between them";
    list(text, REFUSAL, |part| {
        dns_label(part).then(|| part.to_owned())
    })
}

fn list<T>(text: &str, refusal: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    let parts = text.split(',').map(str::trim);
    parts
        .map(|part| parse(part).ok_or_else(|| refusal.to_owned()))
        .collect()
}

fn dns_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let edge = |byte: Option<&u8>| byte.is_some_and(|byte| *byte != b'-');
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().copied().all(inner)
        && edge(bytes.first())
        && edge(bytes.last())
}

/// A rate, or `off`.
pub(super) fn limit(text: &str) -> Result<Option<Rate>, String> {
    match text {
        "off" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|error: recall_api::InvalidRate| format!("{error}, or off")),
    }
}

/// A lifetime, or `off`.
pub(super) fn longest_life(text: &str) -> Result<Option<Duration>, String> {
    match text {
        "off" => Ok(None),
        text => parse_go(text)
            .map(Some)
            .map_err(|error| format!("{error}, or off")),
    }
}

/// Something that a label selector may be made of; the API server knows the rest.
pub(super) fn selector(text: &str) -> Result<String, &'static str> {
    let good = !text.is_empty() && text.len() <= 1024 && !text.chars().any(char::is_control);
    if good {
        Ok(text.to_owned())
    } else {
        Err("must be a label selector such as app=agent")
    }
}
