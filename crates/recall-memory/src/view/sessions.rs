//! What was written in one go: items of one session are neighbours in the search.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

/// Statements of one key that lie further apart do not belong together.
const MAX_GAP: SignedDuration = SignedDuration::from_mins(30);

/// The sessions of a namespace, numbered from 1: those that writers named, and for the other writes
/// of each key the runs whose observations lie close to one another.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    named: HashMap<Arc<str>, u32>,
    runs: HashMap<Arc<str>, Run>,
    /// The numbers of those in `named`.
    numbers: HashSet<u32>,
    last: u32,
    text: usize,
}

/// The run that a key is in.
#[derive(Clone, Copy, Debug)]
struct Run {
    session: u32,
    observed: Timestamp,
}

impl Sessions {
    /// The session of a statement, asked in the order of the log; 0 when nobody is known to have
    /// written it.
    pub(super) fn of(
        &mut self,
        key: Option<&Arc<str>>,
        named: Option<&Arc<str>>,
        observed: Timestamp,
    ) -> u32 {
        match (named, key) {
            (Some(name), _) => self.of_name(name),
            (None, Some(key)) => self.of_run(key, observed),
            (None, None) => 0,
        }
    }

    /// Whether its writer named a session.
    pub(super) fn is_named(&self, session: u32) -> bool {
        self.numbers.contains(&session)
    }

    fn of_name(&mut self, name: &Arc<str>) -> u32 {
        if let Some(no) = self.named.get(name) {
            return *no;
        }
        let no = self.new_session();
        self.text += name.len();
        self.named.insert(Arc::clone(name), no);
        self.numbers.insert(no);
        no
    }

    fn of_run(&mut self, key: &Arc<str>, observed: Timestamp) -> u32 {
        let run = self.runs.get(key).copied();
        let near = |run: &Run| observed.duration_since(run.observed).abs() <= MAX_GAP;
        let session = match run.filter(near) {
            Some(run) => run.session,
            None => self.new_session(),
        };
        if run.is_none() {
            self.text += key.len();
        }
        self.runs.insert(Arc::clone(key), Run { session, observed });
        session
    }

    fn new_session(&mut self) -> u32 {
        self.last = self.last.saturating_add(1);
        self.last
    }

    pub(super) fn bytes(&self) -> usize {
        const ENTRY: usize = 2 * (size_of::<(Arc<str>, Run)>() + 16);
        (self.named.len() + self.runs.len()) * ENTRY + self.numbers.capacity() * 8 + self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(writes: &[(Option<&str>, Option<&str>, &str)], expected: &[u32]) {
        let mut sessions = Sessions::default();
        let got: Vec<u32> = writes
            .iter()
            .map(|(key, name, at)| {
                let at = format!("2026-05-01T{at}Z").parse().unwrap();
                sessions.of(
                    key.map(Arc::from).as_ref(),
                    name.map(Arc::from).as_ref(),
                    at,
                )
            })
            .collect();
        assert_eq!(got, expected, "{writes:?}");
    }

    #[test]
    fn a_run_ends_when_its_key_is_silent_for_more_than_half_an_hour() {
        let k = Some("k1");
        check(
            &[
                (k, None, "10:00:00"),
                (k, None, "10:30:00"),
                (k, None, "11:00:01"),
                (k, None, "10:31:00"),
            ],
            &[1, 1, 2, 2],
        );
        check(&[(k, None, "10:00:00"), (k, None, "09:29:59")], &[1, 2]);
    }

    #[test]
    fn keys_have_their_own_runs_and_names_are_shared() {
        let (one, two) = (Some("k1"), Some("k2"));
        check(
            &[
                (one, None, "10:00:00"),
                (two, None, "10:00:00"),
                (one, None, "10:01:00"),
                (one, Some("call 7"), "10:02:00"),
                (two, Some("call 7"), "23:00:00"),
                (one, None, "10:03:00"),
            ],
            &[1, 2, 1, 3, 3, 1],
        );
    }

    #[test]
    fn what_nobody_is_known_to_have_written_has_none() {
        check(
            &[(None, None, "10:00:00"), (None, None, "10:00:01")],
            &[0, 0],
        );
    }
}
