//! The closed set of error codes, from which `docs/errors.md` is made.

/// One error code: what it means and what the client does about it.
#[derive(Debug)]
pub struct Code {
    /// The wire field `code`.
    pub code: &'static str,
    /// The HTTP statuses it comes with.
    pub statuses: &'static [u16],
    /// When it is answered, in one sentence.
    pub when: &'static str,
    /// What the client should do, in one sentence.
    pub what_to_do: &'static str,
}

const fn code(
    code: &'static str,
    statuses: &'static [u16],
    when: &'static str,
    what_to_do: &'static str,
) -> Code {
    Code {
        code,
        statuses,
        when,
        what_to_do,
    }
}

/// Every error code there is, by status.
pub static CODES: [Code; 23] = [
    code(
        "invalid_argument",
        &[400, 408, 413, 414, 415, 431],
        "The request is malformed, names an unknown field, is over a named limit, or does not arrive.",
        "Fix what the message names.",
    ),
    code(
        "tool_error",
        &[400],
        "The operation was understood and refused.",
        "Read the message: it says what is not allowed and what is.",
    ),
    code(
        "unauthenticated",
        &[401],
        "There is no key, or it is unknown, expired or revoked.",
        "Exchange the pod's token again, or use a good key.",
    ),
    code(
        "token_rejected",
        &[401],
        "The API server does not vouch for the token for exactly this audience.",
        "Read the token file again; check its audience and that it is not mounted with subPath.",
    ),
    code(
        "pod_gone",
        &[401],
        "The token's pod is deleted, being deleted, or replaced by one of the same name.",
        "Nothing: the new pod has a token of its own.",
    ),
    code(
        "forbidden",
        &[403],
        "The key, pod or service account may not do this.",
        "Use another key.",
    ),
    code(
        "namespace_mismatch",
        &[403],
        "An argument names another namespace, agent or session than the key's, or an admin key is used for memory.",
        "Leave the argument out, or use a key for what it names.",
    ),
    code(
        "quota_exceeded",
        &[403],
        "The namespace holds as many facts, bytes or agents as the operator lets it.",
        "Forget something, or ask the operator for more.",
    ),
    code(
        "not_pod_bound",
        &[403],
        "The token is valid and not bound to exactly one pod.",
        "Use a projected service-account token.",
    ),
    code(
        "agent_label_missing",
        &[403],
        "The pod lacks the label that names its agent, or it is empty.",
        "Label the pod, or start the server with --kubernetes-agent-label-optional.",
    ),
    code(
        "tenant_label_missing",
        &[403],
        "The label that names the tenant is absent or empty.",
        "Label the service account or namespace.",
    ),
    code(
        "bad_label",
        &[403],
        "A label's value cannot be part of a memory's name.",
        "Use letters, digits and - _ . up to 63 characters.",
    ),
    code(
        "identity_changed",
        &[403],
        "The pod was another agent before. Its earlier keys are revoked.",
        "Make a new pod for another agent.",
    ),
    code(
        "not_found",
        &[404],
        "There is no such route, key or operation, or the exchange is off.",
        "Check the path.",
    ),
    code(
        "method_not_allowed",
        &[405],
        "The route takes another method.",
        "Use one that Allow names.",
    ),
    code(
        "sandbox_unclaimed",
        &[409],
        "The pod waits in a warm pool, or its labels are still being written.",
        "Ask again after Retry-After, for as long as it lasts.",
    ),
    code(
        "renew_with_token",
        &[409],
        "The key was minted for a pod and came without the pod's token.",
        "Send {\"token\":\"…\"}, or exchange again.",
    ),
    code(
        "conflict",
        &[409],
        "Another writer was first, or the lease was lost.",
        "Read again and decide again.",
    ),
    code(
        "idempotency_key_reused",
        &[422],
        "The Idempotency-Key came with another request before.",
        "Take a new key for a new request.",
    ),
    code(
        "rate_limited",
        &[429],
        "Too many requests of this source, pod, tenant or key.",
        "Wait for Retry-After.",
    ),
    code(
        "upstream",
        &[503],
        "The Kubernetes API server could not be asked: nothing is known about the token.",
        "Ask again after Retry-After; existing keys go on working.",
    ),
    code(
        "store_unavailable",
        &[503],
        "The store could not be asked: nothing is known about the key or the memory.",
        "Ask again after Retry-After; a repeated write is harmless.",
    ),
    code(
        "overloaded",
        &[503],
        "A bounded queue is full.",
        "Ask again after Retry-After.",
    ),
];

/// Whether a code is of the set.
pub(crate) fn known(code: &str) -> bool {
    CODES.iter().any(|known| known.code == code)
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    /// The reference page. `UPDATE_EXPECT=1 cargo test -p recall-api` writes it anew.
    #[test]
    fn the_reference_page_lists_exactly_these_codes() {
        let mut page = String::from(
            "# Error codes\n\n\
             Every refusal over REST is `{\"error\":{\"code\",\"message\",\"request_id\"}}`, with `retry_after_ms` and a\n\
             `Retry-After` header where asking again makes sense. Over MCP a refusal by a tool is a result with\n\
             `isError`. 401 means that only a new proof helps, 403 that the proof is good and not enough, 503 that\n\
             nothing could be found out.\n",
        );
        for Code {
            code,
            statuses,
            when,
            what_to_do,
        } in &CODES
        {
            let statuses: Vec<_> = statuses.iter().map(u16::to_string).collect();
            page.push_str(&format!(
                "\n## `{code}`\n\nHTTP {}. {when}\n{what_to_do}\n",
                statuses.join(" or ")
            ));
        }
        expect_file!["../../../docs/errors.md"].assert_eq(&page);
    }

    #[test]
    fn every_code_of_the_crates_below_is_of_the_set() {
        let identity = [
            recall_identity::Error::Rejected,
            recall_identity::Error::PodGone,
            recall_identity::Error::NotPodBound,
            recall_identity::Error::AgentLabelMissing,
            recall_identity::Error::TenantLabelMissing,
            recall_identity::Error::BadLabel("agent"),
            recall_identity::Error::SandboxUnclaimed,
            recall_identity::Error::Overloaded,
            recall_identity::Error::Malformed("x"),
            recall_identity::Error::Upstream { retry_after: None },
        ];
        let keys = [
            recall_keys::Error::Unauthenticated,
            recall_keys::Error::NotFound,
            recall_keys::Error::NeverExpires,
            recall_keys::Error::RenewWithToken,
            recall_keys::Error::IdentityChanged,
            recall_keys::Error::OtherPod,
            recall_keys::Error::PodGone,
        ];
        let codes = identity.iter().map(recall_identity::Error::code);
        for code in codes.chain(keys.iter().map(recall_keys::Error::code)) {
            assert!(known(code), "{code} is not in docs/errors.md");
        }
    }
}
