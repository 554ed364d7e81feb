//! Who a token was found to belong to.

/// One pod, told apart from a later one of the same name by its UID.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PodRef {
    /// The Kubernetes namespace it runs in.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID, unique over time.
    pub uid: String,
}

/// A verified caller. Made once every required fact was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The tenant: the pod's namespace, or what a label says, with the cluster's prefix if one is
    /// configured.
    pub tenant: String,
    /// The agent's name within the tenant.
    pub agent: String,
    /// The pod that holds the token.
    pub pod: PodRef,
    /// The name of the pod's service account.
    pub service_account: String,
    /// The node, where the token says one.
    pub node: Option<String>,
    /// The token's id (JTI), where the API server says it.
    pub token_id: Option<String>,
}
