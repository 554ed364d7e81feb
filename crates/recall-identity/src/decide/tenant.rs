//! The tenant that a label names.

use super::{NONSENSE, Proof};
use crate::error::Error;
use crate::facts::Meta;
use crate::names;

/// The tenant on the proof's service account.
pub(crate) fn tenant_of_service_account(
    proof: &Proof,
    account: Option<&Meta>,
    key: &str,
) -> Result<String, Error> {
    // An account that was made again is another account, and its tokens are not this one's.
    let account = account.ok_or(Error::Rejected)?;
    if account.name != proof.service_account || account.namespace != proof.namespace {
        return Err(NONSENSE);
    }
    if account.uid.is_empty() || account.uid != proof.service_account_uid {
        return Err(Error::Rejected);
    }
    tenant(account, key)
}

/// The tenant on the proof's namespace.
pub(crate) fn tenant_of_namespace(
    proof: &Proof,
    namespace: Option<&Meta>,
    key: &str,
) -> Result<String, Error> {
    let namespace = namespace.ok_or(Error::PodGone)?;
    if namespace.name != proof.namespace {
        return Err(NONSENSE);
    }
    tenant(namespace, key)
}

fn tenant(meta: &Meta, key: &str) -> Result<String, Error> {
    let value = meta.labels.get(key).filter(|value| !value.is_empty());
    let value = value.ok_or(Error::TenantLabelMissing)?;
    if !names::is_label_value(value) {
        return Err(Error::BadLabel("tenant"));
    }
    Ok(value.clone())
}
