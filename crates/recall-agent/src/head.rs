//! The one record of an agent that every write renews: its counters and its owner.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::limits::{DEFAULT_BUDGET, DEFAULT_THRESHOLD, DEFAULT_TTL};
use crate::session::{Session, mark};

/// How many former owners are remembered, so that they learn that they lost the agent.
const MAX_PAST: usize = 32;
/// How many processes of an owner are told apart. Those beyond are one that never leaves.
const MAX_PROCESSES: usize = 32;
/// What stands for processes that have no name: they cannot say that they leave.
const NAMELESS: &str = "";

/// Counters and owner of an agent. Writing it on the condition that it is unchanged is what makes
/// sequence numbers whole and refuses a former owner even where a store knows no fences.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Head {
    pub(crate) turn_seq: u64,
    pub(crate) action_seq: u64,
    pub(crate) output_seq: u64,
    pub(crate) version: u64,
    pub(crate) pointers: u32,
    /// What the agent's records take, in bytes, as far as they were written through this server's
    /// tools.
    pub(crate) bytes: u64,
    /// The actions that are open, oldest first.
    pub(crate) open: Vec<u64>,
    pub(crate) hold: Option<Hold>,
    /// Sessions that the agent was taken from, the latest last.
    pub(crate) past: Vec<String>,
}

/// An owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hold {
    pub(crate) session: String,
    /// The key that resumed.
    pub(crate) key: Option<String>,
    /// The epoch at which the session took over. What clients see and records carry.
    pub(crate) epoch: u64,
    /// The epoch to write under. Some stores raise it at each renewal.
    pub(crate) fence: u64,
    pub(crate) settings: Settings,
    /// The processes that resumed or wrote, by the names they have for themselves.
    #[serde(default)]
    pub(crate) processes: BTreeSet<String>,
}

/// What a session asked for when it resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) holder: String,
    pub(crate) ttl_seconds: u64,
    pub(crate) token_budget: u64,
    pub(crate) output_threshold: i64,
}

impl Settings {
    pub(crate) fn of(session: &Session) -> Self {
        Self {
            holder: session.label.clone(),
            ttl_seconds: DEFAULT_TTL.as_secs(),
            token_budget: DEFAULT_BUDGET,
            output_threshold: DEFAULT_THRESHOLD,
        }
    }

    pub(crate) fn ttl(&self) -> Duration {
        Duration::from_secs(self.ttl_seconds)
    }
}

impl Head {
    /// Whether nothing was ever kept of the agent.
    pub(crate) fn fresh(&self) -> bool {
        self.turn_seq == 0
            && self.action_seq == 0
            && self.output_seq == 0
            && self.version == 0
            && self.pointers == 0
    }

    /// The hold of this session, if it is the owner.
    pub(crate) fn hold_of(&self, session: &Session) -> Option<&Hold> {
        self.hold
            .as_ref()
            .filter(|hold| hold.session == session.id())
    }

    /// Makes a session the owner and remembers from whom it took over.
    pub(crate) fn pass_to(&mut self, hold: Hold) {
        self.past.retain(|former| *former != hold.session);
        if let Some(former) = self.hold.replace(hold)
            && self
                .hold
                .as_ref()
                .is_some_and(|hold| hold.session != former.session)
        {
            self.remember(former.session);
        }
    }

    /// Takes the agent from its owner, who then learns that it lost it.
    pub(crate) fn let_go(&mut self) {
        if let Some(former) = self.hold.take() {
            self.remember(former.session);
        }
    }

    fn remember(&mut self, session: String) {
        self.past.retain(|former| *former != session);
        self.past.push(session);
        let surplus = self.past.len().saturating_sub(MAX_PAST);
        self.past.drain(..surplus);
    }
}

impl Hold {
    /// What is written into the store's lease: a mark of the session, then the holder's words.
    pub(crate) fn lease_holder(session: &str, settings: &Settings) -> String {
        let mut text = format!("{} {}", mark(session), settings.holder);
        let mut end = text.len().min(crate::limits::MAX_HOLDER_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text
    }

    /// Notes that a process of the owner works on the agent; answers whether that is new.
    pub(crate) fn attach(&mut self, process: Option<&str>) -> bool {
        let name = process
            .filter(|name| self.processes.contains(*name) || self.processes.len() < MAX_PROCESSES)
            .unwrap_or(NAMELESS);
        self.processes.insert(name.to_owned())
    }

    /// Notes that a process leaves; answers whether another is left.
    pub(crate) fn detach(&mut self, process: &str) -> bool {
        self.processes.remove(process);
        !self.processes.is_empty()
    }

    pub(crate) fn session(&self) -> Session {
        Session::recorded(&self.session, self.key.as_deref(), &self.settings.holder)
    }
}

/// What is kept beside the counters while deciding: when, and under which epoch.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    pub(crate) now: Timestamp,
    /// A fresh random key, should the decision need one.
    pub(crate) key: String,
    pub(crate) epoch: u64,
    pub(crate) threshold: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(session: &str) -> Hold {
        Hold {
            session: session.to_owned(),
            key: None,
            epoch: 1,
            fence: 1,
            settings: Settings {
                holder: "é".repeat(200),
                ttl_seconds: 60,
                token_budget: 1,
                output_threshold: 1,
            },
            processes: BTreeSet::new(),
        }
    }

    #[test]
    fn former_owners_are_remembered_up_to_a_limit() {
        let mut head = Head::default();
        for round in 0..100 {
            head.pass_to(hold(&format!("s{round}")));
            head.pass_to(hold(&format!("s{round}")));
        }
        assert_eq!(head.past.len(), MAX_PAST);
        assert_eq!(head.past.last().map(String::as_str), Some("s98"));
        head.pass_to(hold("s98"));
        assert!(
            !head.past.contains(&"s98".to_owned()),
            "the owner lost nothing"
        );
    }

    #[test]
    fn the_last_process_that_leaves_is_known_as_such() {
        let mut hold = hold("pod:u");
        assert!(hold.attach(Some("p1")) && hold.attach(Some("p2")) && !hold.attach(Some("p1")));
        assert!(hold.detach("p1"), "p2 is left");
        assert!(hold.detach("p1"), "leaving twice is leaving once");
        assert!(!hold.detach("p2"));
        assert!(hold.attach(None) && hold.attach(Some("p3")));
        assert!(hold.detach("p3"), "who has no name cannot leave");
        for number in 0..100 {
            hold.attach(Some(&format!("q{number}")));
        }
        assert!(hold.processes.len() <= MAX_PROCESSES + 1);
        for number in 0..100 {
            assert!(
                hold.detach(&format!("q{number}")),
                "not all were told apart"
            );
        }
    }

    #[test]
    fn a_lease_holder_fits_every_store() {
        let text = Hold::lease_holder("pod:u", &hold("pod:u").settings);
        assert!(text.len() <= 200, "{}", text.len());
        assert!(text.starts_with(&mark("pod:u")));
    }
}
