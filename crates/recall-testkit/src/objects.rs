//! The objects of a fake cluster.

use std::collections::BTreeMap;

use serde_json::{Value, json};

const SANDBOX_API: &str = "agents.x-k8s.io/v1beta1";
const EXTENSIONS_API: &str = "extensions.agents.x-k8s.io/v1beta1";
/// On a pod as long as it waits in a warm pool.
pub(crate) const POOL_LABEL: &str = "agents.x-k8s.io/warm-pool-sandbox";
const CREATED: &str = "2026-01-01T00:00:00Z";

/// A pod to be made.
#[derive(Debug, Clone)]
pub struct NewPod {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) service_account: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) node: Option<String>,
    pub(crate) phase: String,
    pub(crate) owner: Option<Value>,
}

impl NewPod {
    /// A running pod on node `n1`, of service account `runner`.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            service_account: "runner".to_owned(),
            labels: BTreeMap::new(),
            node: Some("n1".to_owned()),
            phase: "Running".to_owned(),
            owner: None,
        }
    }

    /// With a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// With another service account.
    #[must_use]
    pub fn service_account(mut self, name: &str) -> Self {
        name.clone_into(&mut self.service_account);
        self
    }

    /// In another phase.
    #[must_use]
    pub fn phase(mut self, phase: &str) -> Self {
        phase.clone_into(&mut self.phase);
        self
    }

    /// Not scheduled to a node.
    #[must_use]
    pub fn without_node(mut self) -> Self {
        self.node = None;
        self
    }

    /// Controlled by an owner.
    #[must_use]
    pub fn owned_by(mut self, api_version: &str, kind: &str, name: &str, uid: &str) -> Self {
        self.owner = Some(reference(api_version, kind, name, uid));
        self
    }

    /// Controlled by this `Sandbox`.
    #[must_use]
    pub fn owned_by_sandbox(self, name: &str, uid: &str) -> Self {
        self.owned_by(SANDBOX_API, "Sandbox", name, uid)
    }

    pub(crate) fn object(&self, uid: &str) -> Value {
        let owners: Vec<&Value> = self.owner.iter().collect();
        json!({
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "uid": uid,
                "creationTimestamp": CREATED,
                "labels": self.labels,
                "ownerReferences": owners,
            },
            "spec": {
                "serviceAccountName": self.service_account,
                "nodeName": self.node,
                "containers": [{ "name": "agent", "image": "agent" }],
            },
            "status": { "phase": self.phase },
        })
    }
}

pub(crate) fn plain(kind: &str, namespace: &str, name: &str, uid: &str) -> Value {
    json!({
        "kind": kind,
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid,
            "creationTimestamp": CREATED,
            "labels": {},
        },
    })
}

pub(crate) fn sandbox(namespace: &str, name: &str, uid: &str, owner: Option<Value>) -> Value {
    let mut object = plain("Sandbox", namespace, name, uid);
    object["apiVersion"] = json!(SANDBOX_API);
    object["metadata"]["ownerReferences"] = owner.into_iter().collect();
    object
}

pub(crate) fn claim(
    namespace: &str,
    name: &str,
    uid: &str,
    pod_labels: &BTreeMap<String, String>,
) -> Value {
    let mut object = plain("SandboxClaim", namespace, name, uid);
    object["apiVersion"] = json!(EXTENSIONS_API);
    object["spec"] = json!({ "additionalPodMetadata": { "labels": pod_labels } });
    object
}

pub(crate) fn pool_reference(name: &str, uid: &str) -> Value {
    reference(EXTENSIONS_API, "SandboxWarmPool", name, uid)
}

pub(crate) fn claim_reference(name: &str, uid: &str) -> Value {
    reference(EXTENSIONS_API, "SandboxClaim", name, uid)
}

fn reference(api_version: &str, kind: &str, name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// The same object without all but its metadata.
pub(crate) fn metadata_only(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}
