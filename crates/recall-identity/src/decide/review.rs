//! What a review proves.

use std::collections::BTreeMap;

use super::NONSENSE;
use crate::error::Error;
use crate::facts::{Review, User};
use crate::names;

const USER_PREFIX: &str = "system:serviceaccount:";
const GROUP_PREFIX: &str = "system:serviceaccounts:";
const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const POD_UID: &str = "authentication.kubernetes.io/pod-uid";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
const TOKEN_ID_PREFIX: &str = "JTI=";

/// What the API server vouches for: a token of this pod, of this service account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) namespace: String,
    pub(crate) service_account: String,
    pub(crate) service_account_uid: String,
    pub(crate) pod_name: String,
    pub(crate) pod_uid: String,
    pub(crate) node: Option<String>,
    pub(crate) token_id: Option<String>,
}

/// The proof in a review that was asked for `audience`.
///
/// User name, group and both pod keys are required together: other issuers can be configured to
/// produce each of the first two, none of them the pod keys.
pub(crate) fn proof(review: &Review, audience: &str) -> Result<Proof, Error> {
    let clean = review.error.as_deref().unwrap_or_default().is_empty();
    if !review.authenticated || !clean || !review.audiences.iter().any(|a| a == audience) {
        return Err(Error::Rejected);
    }
    let user = review
        .user
        .as_ref()
        .filter(|user| !user.username.is_empty())
        .ok_or(NONSENSE)?;
    let (namespace, service_account) = service_account(&user.username).ok_or(Error::Rejected)?;
    if !in_group_of(user, namespace) {
        return Err(Error::Rejected);
    }
    let pod_name = single(&user.extra, POD_NAME).filter(|name| names::is_subdomain(name));
    let pod_uid = single(&user.extra, POD_UID).filter(|uid| names::is_uid(uid));
    let (pod_name, pod_uid) = pod_name.zip(pod_uid).ok_or(Error::NotPodBound)?;
    Ok(Proof {
        namespace: namespace.to_owned(),
        service_account: service_account.to_owned(),
        service_account_uid: user.uid.clone(),
        pod_name: pod_name.to_owned(),
        pod_uid: pod_uid.to_owned(),
        node: single(&user.extra, NODE_NAME)
            .filter(|n| names::is_subdomain(n))
            .map(str::to_owned),
        token_id: token_id(user).map(str::to_owned),
    })
}

/// Namespace and name in `system:serviceaccount:NAMESPACE:NAME`, and in nothing else.
fn service_account(username: &str) -> Option<(&str, &str)> {
    let (namespace, name) = username.strip_prefix(USER_PREFIX)?.split_once(':')?;
    (names::is_dns_label(namespace) && names::is_subdomain(name)).then_some((namespace, name))
}

fn in_group_of(user: &User, namespace: &str) -> bool {
    user.groups
        .iter()
        .any(|group| group.strip_prefix(GROUP_PREFIX) == Some(namespace))
}

fn single<'a>(extra: &'a BTreeMap<String, Vec<String>>, key: &str) -> Option<&'a str> {
    match extra.get(key)?.as_slice() {
        [one] if !one.is_empty() => Some(one),
        _ => None,
    }
}

fn token_id(user: &User) -> Option<&str> {
    single(&user.extra, CREDENTIAL_ID)?
        .strip_prefix(TOKEN_ID_PREFIX)
        .filter(|id| names::is_uid(id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(username: &str, expected: Option<(&str, &str)>) {
        assert_eq!(service_account(username), expected, "{username:?}");
    }

    #[test]
    fn a_user_name_is_taken_apart_exactly() {
        check(
            "system:serviceaccount:agents:runner",
            Some(("agents", "runner")),
        );
        check(
            "system:serviceaccount:agents:run.ner",
            Some(("agents", "run.ner")),
        );
        for odd in [
            "system:serviceaccount:a:b:c",
            "system:serviceaccount::x",
            "system:serviceaccount:x:",
            "system:serviceaccount:x",
            "system:serviceaccountx:a:b",
            "SYSTEM:SERVICEACCOUNT:a:b",
            "system:serviceaccount:A:b",
            "system:serviceaccount:a.b:c",
            "x:system:serviceaccount:a:b",
            " system:serviceaccount:a:b",
            "system:serviceaccount:a:b ",
            "system:serviceaccount:a:../b",
            "",
        ] {
            check(odd, None);
        }
    }

    proptest! {
        #[test]
        fn a_user_name_that_passes_is_the_one_made_of_its_parts(
            username in "(system:serviceaccount:)?[a-zA-Z0-9:./ -]{0,24}|\\PC{0,40}",
        ) {
            if let Some((namespace, name)) = service_account(&username) {
                prop_assert_eq!(format!("system:serviceaccount:{namespace}:{name}"), username.clone());
                prop_assert!(!namespace.contains(':') && !name.contains(':'));
            }
        }

        #[test]
        fn only_a_list_of_one_text_is_a_value(values in prop::collection::vec("[a-z]{0,3}", 0..4)) {
            let extra = BTreeMap::from([("key".to_owned(), values.clone())]);
            let expected = (values.len() == 1 && !values[0].is_empty()).then(|| values[0].as_str());
            prop_assert_eq!(single(&extra, "key"), expected);
        }
    }
}
