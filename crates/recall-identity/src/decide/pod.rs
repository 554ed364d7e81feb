//! Whether the pod that a token names is there and may act.

use super::{NONSENSE, Proof};
use crate::error::Error;
use crate::facts::{Phase, Pod};
use crate::names;

/// The pod, if it is the very one of the proof and alive.
///
/// A review can be ten seconds old, so this is what closes the window after a deletion.
pub(crate) fn live_pod(proof: &Proof, pod: Option<Pod>) -> Result<Pod, Error> {
    let pod = pod.ok_or(Error::PodGone)?;
    let meta = &pod.meta;
    if meta.name != proof.pod_name || meta.namespace != proof.namespace || !names::is_uid(&meta.uid)
    {
        return Err(NONSENSE);
    }
    if meta.uid != proof.pod_uid || meta.deleted {
        return Err(Error::PodGone);
    }
    if pod.service_account != proof.service_account {
        return Err(Error::Forbidden("the pod runs as another service account"));
    }
    match pod.phase {
        Phase::Pending | Phase::Running | Phase::Unknown => Ok(pod),
        Phase::Succeeded | Phase::Failed => Err(Error::Forbidden("the pod has finished")),
        Phase::Unreadable => Err(NONSENSE),
    }
}
