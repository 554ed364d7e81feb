//! Whether the owner of an agent lives, by its keys.

use recall_agent::{Life, Liveness, Session, SessionKind};
use recall_keys::{KeyId, Keys, PodStanding, Standing};
use recall_store::BoxFuture;

/// Answers from the keys of the server.
#[derive(Debug)]
pub(crate) struct KeyLife(Keys);

impl KeyLife {
    pub(crate) fn new(keys: Keys) -> Self {
        Self(keys)
    }

    async fn look(&self, session: &Session) -> Result<Life, recall_keys::Error> {
        if let SessionKind::Pod(uid) = &session.kind {
            return Ok(match self.0.pod_standing(uid).await? {
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
        Ok(match (self.0.standing(&key).await?, &session.kind) {
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
}
