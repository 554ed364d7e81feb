//! Which agent a pod is.

use std::collections::BTreeMap;

use super::NONSENSE;
use crate::error::Error;
use crate::facts::{Meta, Owner, Pod};
use crate::names;
use crate::rules::AgentRule;

/// On a pod as long as it waits in a warm pool; the patch that names the agent takes it off.
const POOL_LABEL: &str = "agents.x-k8s.io/warm-pool-sandbox";
const SANDBOX_GROUP: &str = "agents.x-k8s.io";
const EXTENSIONS_GROUP: &str = "extensions.agents.x-k8s.io";

/// What a pod alone says about its agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// The agent is known.
    Agent(String),
    /// The pod's owners decide.
    AskOwners,
}

/// What is found at the end of a pod's chain of controllers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// No warm pool and no claim.
    Neither,
    /// A warm pool: nobody has claimed the pod yet.
    Pool,
    /// A claim.
    Claim {
        /// Its name.
        name: String,
        /// The labels that it wants on the pod.
        pod_labels: BTreeMap<String, String>,
    },
    /// An owner that does not exist, or is not the one referred to.
    Broken,
}

/// What an owner is, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sandbox,
    Claim,
    Pool,
    Other,
}

/// The kind of an owner, whatever its version.
pub(crate) fn kind_of(owner: &Owner) -> Kind {
    match (owner.group(), owner.kind.as_str()) {
        (SANDBOX_GROUP, "Sandbox") => Kind::Sandbox,
        (EXTENSIONS_GROUP, "SandboxClaim") => Kind::Claim,
        (EXTENSIONS_GROUP, "SandboxWarmPool") => Kind::Pool,
        _ => Kind::Other,
    }
}

/// Whether the object that was read is the one that `owner` refers to.
pub(crate) fn verified(object: &Meta, namespace: &str, owner: &Owner) -> Result<bool, Error> {
    if object.name != owner.name || object.namespace != namespace || !names::is_uid(&object.uid) {
        return Err(NONSENSE);
    }
    Ok(object.uid == owner.uid)
}

/// What the pod says itself. The pool label comes first: whoever may label pods can put an agent's
/// name beside it, and only the controller takes the pool label off.
pub(crate) fn agent_of(pod: &Pod, rule: &AgentRule) -> Result<Lead, Error> {
    if pod.meta.labels.contains_key(POOL_LABEL) {
        return Err(Error::SandboxUnclaimed);
    }
    match rule {
        AgentRule::PodName => Ok(Lead::Agent(pod.meta.name.clone())),
        AgentRule::SandboxClaim => Ok(Lead::AskOwners),
        AgentRule::Label { key, .. } => match pod.meta.labels.get(key).map(String::as_str) {
            None | Some("") => Ok(Lead::AskOwners),
            Some(value) if names::is_label_value(value) => Ok(Lead::Agent(value.to_owned())),
            Some(_) => Err(Error::BadLabel("agent")),
        },
    }
}

/// What the owners say about a pod that does not name its agent itself.
pub(crate) fn agent_behind(pod: &Pod, rule: &AgentRule, behind: &Behind) -> Result<String, Error> {
    match (rule, behind) {
        (_, Behind::Pool) => Err(Error::SandboxUnclaimed),
        // The controller patches pods a moment after it gives them to a claim.
        (AgentRule::Label { key, .. }, Behind::Claim { pod_labels, .. })
            if pod_labels.get(key).is_some_and(|value| !value.is_empty()) =>
        {
            Err(Error::SandboxUnclaimed)
        }
        (
            AgentRule::Label {
                optional: false, ..
            },
            _,
        )
        | (AgentRule::Label { .. }, Behind::Broken) => Err(Error::AgentLabelMissing),
        (AgentRule::SandboxClaim, Behind::Claim { name, .. }) => Ok(name.clone()),
        (AgentRule::SandboxClaim, Behind::Broken) => Err(Error::PodGone),
        (_, _) => Ok(pod.meta.name.clone()),
    }
}
