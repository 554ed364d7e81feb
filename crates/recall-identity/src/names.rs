//! Which strings may name what, in Kubernetes and in a memory.

const MAX_LABEL: usize = 63;
const MAX_SUBDOMAIN: usize = 253;
const MAX_UID: usize = 128;
/// The longest `<tenant>:<agent>` that a memory can be named.
const MAX_MEMORY_NAME: usize = 128;

/// Whether `text` is a label value that Kubernetes accepts and that is not empty.
pub(crate) fn is_label_value(text: &str) -> bool {
    text.len() <= MAX_LABEL && is_word(text)
}

/// Whether `text` is the key of a label: a name, with or without a domain before it.
pub(crate) fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((domain, name)) => is_subdomain(domain) && is_label_value(name),
        None => is_label_value(text),
    }
}

/// Whether `text` is a DNS-1123 label, as namespaces are named.
pub(crate) fn is_dns_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    text.len() <= MAX_LABEL
        && text.bytes().all(inner)
        && !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Whether `text` is a DNS-1123 subdomain, as most objects are named.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.len() <= MAX_SUBDOMAIN && text.split('.').all(is_dns_label)
}

/// Whether `text` can be the UID of an object.
pub(crate) fn is_uid(text: &str) -> bool {
    text.len() <= MAX_UID && is_word(text)
}

/// Whether `<tenant>:<agent>` is short enough and plain enough to name a memory.
///
/// Neither part can hold the colon between them, so no two pairs have one name.
pub(crate) fn names_a_memory(tenant: &str, agent: &str) -> bool {
    tenant.len() + 1 + agent.len() <= MAX_MEMORY_NAME && is_word(tenant) && is_word(agent)
}

/// Letters, digits, `-`, `_` and `.`, with a letter or digit at either end.
fn is_word(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let end = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    text.bytes().all(inner) && end(text.bytes().next()) && end(text.bytes().next_back())
}

#[cfg(test)]
mod tests;
