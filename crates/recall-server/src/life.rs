//! Whether the owner of an agent lives: by its keys, and where it is in doubt by its pod.

use recall_agent::{Life, Liveness, Session, SessionKind};
use recall_identity::kube::ApiServer;
use recall_identity::{Phase, Pods};
use recall_keys::{KeyId, Keys, PodStanding, Standing};
use recall_store::BoxFuture;

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

    async fn look(&self, session: &Session) -> Result<Life, recall_keys::Error> {
        if let SessionKind::Pod(uid) = &session.kind {
            return Ok(match self.keys.pod_standing(uid).await? {
                PodStanding::Live => Life::Alive,
                PodStanding::Silent => Life::Ending,
                // A pod that asked for a key is pinned until it is known to be gone.
                PodStanding::Gone => Life::Gone,
            });
        }
        let Some(key) = &session.key else {
            return Ok(Life::Quiet);
        };
        let key: KeyId = key.parse()?;
        Ok(match (self.keys.standing(&key).await?, &session.kind) {
            (Standing::Lasting, _) => Life::Quiet,
            (Standing::Passing, _) => Life::Alive,
            // Nobody can call under a dead key again; under a session's name another key can.
            (Standing::Dead, SessionKind::Key(_)) => Life::Gone,
            (Standing::Dead, _) => Life::Ending,
        })
    }
}

impl Liveness for KeyLife {
    fn of<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, Life> {
        Box::pin(async move {
            match self.look(session).await {
                Ok(life) => life,
                Err(error) => {
                    tracing::debug!(%error, "it cannot be told whether a session lives");
                    Life::Ending
                }
            }
        })
    }

    fn gone<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            if self.of(session).await == Life::Gone {
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
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use prometheus_client::registry::Registry;
    use recall_keys::{Config, Metrics};
    use recall_store::{MemoryStore, SystemClock};

    use super::*;

    /// Its standing is looked at first; the watch may be told of its end before the pod is asked for.
    #[tokio::test]
    async fn a_pod_that_was_struck_off_meanwhile_is_gone() {
        let config = Config {
            auth_cache_ttl: Duration::from_secs(30),
            max_keys_per_pod: 8,
            max_pod_key_lifetime: None,
            cluster: None,
        };
        let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(SystemClock));
        let metrics = Metrics::register(&mut Registry::default());
        let keys = Keys::new(store, clock, config, Vec::new(), metrics);
        keys.pod_gone("u1").await.expect("it is noted");
        let life = KeyLife::new(keys, None);
        assert!(life.pod_gone("u1").await.expect("an answer"));
    }
}
