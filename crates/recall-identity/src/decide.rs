//! The decisions: facts in, a verdict out. Nothing here asks anybody.

mod agent;
mod pod;
mod review;
mod tenant;

pub(crate) use agent::{Behind, Kind, Lead, agent_behind, agent_of, kind_of, verified};
pub(crate) use pod::live_pod;
pub(crate) use review::{Proof, proof};
pub(crate) use tenant::{tenant_of_namespace, tenant_of_service_account};

use crate::caller::{Caller, PodRef};
use crate::error::Error;
use crate::names;

/// An answer that contradicts the question: nothing is known from it.
pub(crate) const NONSENSE: Error = Error::Upstream { retry_after: None };

/// The caller, once every part of it was verified.
pub(crate) fn caller(
    proof: Proof,
    cluster: Option<&str>,
    tenant: String,
    agent: String,
) -> Result<Caller, Error> {
    let tenant = match cluster {
        Some(cluster) => format!("{cluster}.{tenant}"),
        None => tenant,
    };
    if !names::names_a_memory(&tenant, &agent) {
        return Err(Error::BadLabel("agent"));
    }
    Ok(Caller {
        tenant,
        agent,
        pod: PodRef {
            namespace: proof.namespace,
            name: proof.pod_name,
            uid: proof.pod_uid,
        },
        service_account: proof.service_account,
        node: proof.node,
        token_id: proof.token_id,
    })
}
