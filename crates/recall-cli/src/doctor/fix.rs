//! What to do about a refusal, by its code.

pub(super) const TOKEN_FILE: &str = "mount a projected volume with a serviceAccountToken source \
    (audience recall, expirationSeconds 3600), give its directory as mountPath without subPath, and \
    name the file in RECALL_TOKEN_FILE";

/// What to do when nothing answers.
pub(super) fn unreachable() -> &'static str {
    "see that the server runs and that the Service, the port and the NetworkPolicies of both sides let \
     this pod reach it"
}

/// What to do about a refusal of the exchange or of a call.
pub(super) fn of(code: &str) -> &'static str {
    match code {
        "token_rejected" => {
            "give the token the server's audience (recall unless --kubernetes-audience says otherwise), \
             and mount it without subPath so that it is renewed"
        }
        "pod_gone" => "nothing: this pod is being replaced, and the new one has a token of its own",
        "not_pod_bound" => {
            "use a projected service-account token; one of kubectl create token or of a Secret is bound \
             to no pod"
        }
        "agent_label_missing" => {
            "put the label that names the agent on the pod, or start the server with \
             --kubernetes-agent-label-optional"
        }
        "tenant_label_missing" => {
            "label the pod's service account or namespace with the tenant, as --kubernetes-tenant-label \
             says"
        }
        "bad_label" => "use letters, digits and - _ . in the label's value, 63 at most",
        "identity_changed" => "make a new pod: one pod stays one agent",
        "sandbox_unclaimed" => {
            "nothing if the pod waits in a warm pool: a SandboxClaim gives it to an agent. recall connect \
             waits for that by itself"
        }
        "upstream" => {
            "see the server's log: it names the rule it lacks (tokenreviews create, pods get, list and \
             watch) or why the Kubernetes API server cannot be asked"
        }
        "store_unavailable" => "see the server's log and its /readyz: its store cannot be asked",
        "not_found" => "start the server with --kubernetes, or use a key (RECALL_API_KEY)",
        "rate_limited" | "overloaded" => "wait and run recall doctor again",
        "unauthenticated" => "the key is unknown, expired or revoked: get a new one",
        "forbidden" | "namespace_mismatch" => {
            "use a key of this agent's memory; an admin key reaches none"
        }
        "redirected" => "set RECALL_URL to the address that the server redirects to",
        _ => "see the server's log by the request id",
    }
}
