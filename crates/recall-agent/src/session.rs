//! Who owns an agent.

use std::fmt;

use recall_store::{BoxFuture, Namespace};
use sha2::{Digest, Sha256};

/// The owner of an agent: whoever can prove to be the same once more. Never a server process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// What makes it the same.
    pub kind: SessionKind,
    /// The id of the key that asks, if it has one.
    pub key: Option<String>,
    /// How it is called towards others; no secret.
    pub label: String,
    /// Which of its processes asks, if that one has a name for itself.
    pub process: Option<String>,
}

/// What two calls must share to be of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionKind {
    /// A pod, by its UID: all processes in it, and its containers after a restart.
    Pod(String),
    /// The session that an admin wrote on keys. Such sessions are made to replace each other.
    Named(String),
    /// One key, by its id.
    Key(String),
    /// A fixed key of the server's configuration.
    Fixed,
}

impl Session {
    /// The text that stands for the session in the records.
    #[must_use]
    pub fn id(&self) -> String {
        match &self.kind {
            SessionKind::Pod(uid) => format!("pod:{uid}"),
            SessionKind::Named(name) => format!("session:{name}"),
            SessionKind::Key(id) => format!("key:{id}"),
            SessionKind::Fixed => "fixed".to_owned(),
        }
    }

    /// The session behind a record, of which `key` asked last.
    pub(crate) fn recorded(id: &str, key: Option<&str>, label: &str) -> Self {
        let kind = match id.split_once(':') {
            Some(("pod", uid)) => SessionKind::Pod(uid.to_owned()),
            Some(("session", name)) => SessionKind::Named(name.to_owned()),
            Some((_, key)) => SessionKind::Key(key.to_owned()),
            None => SessionKind::Fixed,
        };
        Self {
            kind,
            key: key.map(str::to_owned),
            label: label.to_owned(),
            process: None,
        }
    }

    /// Whether a second resume of the same session finds it already there. A pod and a key are one
    /// caller; a named session may be two, and is told to release first.
    pub(crate) fn reattaches(&self) -> bool {
        !matches!(self.kind, SessionKind::Named(_))
    }

    /// Whether this session replaces that one by its word alone.
    pub(crate) fn replaces(&self, other: &Self) -> bool {
        let named = |session: &Self| matches!(session.kind, SessionKind::Named(_));
        named(self) && named(other)
    }
}

/// A short mark of a session id, put before the holder's words in the store's lease: a lease whose
/// grant was never recorded can be told apart by it.
pub(crate) fn mark(session: &str) -> String {
    let digest = Sha256::digest(session.as_bytes());
    hex::encode(digest.get(..8).unwrap_or_default())
}

/// What is known of a session's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It is there and its proof will end by itself; its lease is kept up without calls.
    Alive,
    /// Its key lasts for long or for ever, so the key proves nothing: only calls do. The lease is kept up for a
    /// while after each.
    Quiet,
    /// Its keys have ended, and it may come back with new ones: the lease runs out on its own.
    Ending,
    /// It is proved gone and cannot come back: the lease passes on at once.
    Gone,
}

/// Says whether a session of a namespace lives. Answered from keys and pods, which this crate does
/// not know.
pub trait Liveness: Send + Sync + fmt::Debug + 'static {
    /// What is known now. When nothing can be asked, answer [`Life::Ending`]: the lease then runs
    /// out by its own time and is not passed on before.
    fn of<'a>(&'a self, ns: &'a Namespace, session: &'a Session) -> BoxFuture<'a, Life>;

    /// Whether the session is proved gone, asked when another wants its agent: worth a question that
    /// is too dear to be asked at every renewal.
    fn gone<'a>(&'a self, ns: &'a Namespace, session: &'a Session) -> BoxFuture<'a, bool> {
        Box::pin(async move { self.of(ns, session).await == Life::Gone })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: SessionKind, id: &str) {
        let session = Session {
            kind,
            key: None,
            label: "x".to_owned(),
            process: None,
        };
        assert_eq!(session.id(), id);
        assert_eq!(Session::recorded(id, None, "x"), session);
    }

    #[test]
    fn sessions_survive_their_records() {
        check(SessionKind::Pod("u-1".to_owned()), "pod:u-1");
        check(SessionKind::Named("a:b".to_owned()), "session:a:b");
        check(SessionKind::Named("pod:u-1".to_owned()), "session:pod:u-1");
        check(SessionKind::Key("0f".to_owned()), "key:0f");
        check(SessionKind::Fixed, "fixed");
    }
}
