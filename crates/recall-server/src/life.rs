//! Whether the owner of an agent lives: by its keys, and where it is in doubt by its pod.

use recall_agent::{Life, Liveness, Session, SessionKind};
use recall_identity::kube::ApiServer;
use recall_identity::{Phase, Pods};
use recall_keys::{FixedStanding, KeyId, Keys, PodStanding, Standing};
use recall_store::{BoxFuture, Namespace};

/// Answers from the keys of the server and from the API server.
#[derive(Debug)]
pub(crate) struct KeyLife {
    keys: Keys,
    pods: Option<ApiServer>,
}

impl KeyLife {
    pub(crate) fn new(keys: Keys, pods: Option<ApiServer>) -> Self {
        Self { keys, pods }
    }

    /// Asks the API server for the very pod. One that is being deleted still runs; one that has
    /// finished does not. What cannot be told is no proof.
    async fn pod_gone(&self, uid: &str) -> Result<bool, recall_keys::Error> {
        let Some(pod) = self.keys.pod_of(uid).await? else {
            // The watch was told of its end a moment ago, since its standing was looked at.
            return Ok(self.keys.pod_standing(uid).await? == PodStanding::Gone);
        };
        let Some(api) = &self.pods else {
            return Ok(false);
        };
        let found = match api.pod(&pod.namespace, &pod.name).await {
            Ok(found) => found.filter(|found| found.meta.uid == uid),
            Err(trouble) => {
                tracing::debug!(reason = trouble.kind.code(), "a pod could not be asked for");
                return Ok(false);
            }
        };
        let finished = |phase: &Phase| matches!(phase, Phase::Succeeded | Phase::Failed);
        if found.is_some_and(|found| !finished(&found.phase)) {
            return Ok(false);
        }
        // Its keys die with it, wherever they are tried.
        self.keys.pod_gone(uid).await?;
        Ok(true)
    }

    async fn look(&self, ns: &Namespace, session: &Session) -> Result<Life, recall_keys::Error> {
        match &session.kind {
            SessionKind::Pod(uid) => Ok(match self.keys.pod_standing(uid).await? {
                PodStanding::Live => Life::Alive,
                PodStanding::Silent => Life::Ending,
                // A pod that asked for a key is pinned until it is known to be gone.
                PodStanding::Gone => Life::Gone,
            }),
            SessionKind::Fixed => Ok(of_fixed(self.keys.fixed_standing(ns))),
            // Nobody can call under a dead key again.
            SessionKind::Key(id) => Ok(of_key(self.standing(id).await?, Life::Gone)),
            // Under a session's name another key can.
            SessionKind::Named(name) => {
                let asked = match &session.key {
                    Some(id) => self.standing(id).await?,
                    None => Standing::Dead,
                };
                let standing = match asked {
                    Standing::Dead => self.keys.session_standing(ns, name).await?,
                    live => live,
                };
                Ok(of_key(standing, Life::Ending))
            }
        }
    }

    async fn standing(&self, id: &str) -> Result<Standing, recall_keys::Error> {
        let id: KeyId = id.parse()?;
        self.keys.standing(&id).await
    }
}

/// What a key says of its session's life, and what its end would mean.
fn of_key(standing: Standing, end: Life) -> Life {
    match standing {
        Standing::Lasting => Life::Quiet,
        Standing::Passing => Life::Alive,
        Standing::Dead => end,
    }
}

fn of_fixed(standing: FixedStanding) -> Life {
    match standing {
        FixedStanding::Here => Life::Quiet,
        // A server that has such a key in its file keeps the lease up.
        FixedStanding::Unknown => Life::Ending,
        FixedStanding::Gone => Life::Gone,
    }
}

impl Liveness for KeyLife {
    fn of<'a>(&'a self, ns: &'a Namespace, session: &'a Session) -> BoxFuture<'a, Life> {
        Box::pin(async move {
            match self.look(ns, session).await {
                Ok(life) => life,
                Err(error) => {
                    tracing::debug!(%error, "it cannot be told whether a session lives");
                    Life::Ending
                }
            }
        })
    }

    fn gone<'a>(&'a self, ns: &'a Namespace, session: &'a Session) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            if self.of(ns, session).await == Life::Gone {
                return true;
            }
            let SessionKind::Pod(uid) = &session.kind else {
                return false;
            };
            self.pod_gone(uid).await.unwrap_or_else(|error| {
                tracing::debug!(%error, "it cannot be told whether a pod is gone");
                false
            })
        })
    }
}

#[cfg(test)]
mod tests;
