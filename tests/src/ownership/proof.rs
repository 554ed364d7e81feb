//! Proves from a log and the store's end that every agent had one owner at a time and nothing
//! acknowledged was lost. It knows nothing of how the server works, only what it promises.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::log::{Answer, Begun, Class, Did, Entry, Taken};
use super::stored::{Kept, Stored, Written};

/// A promise that was broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Breach {
    /// Two sessions had one epoch.
    TwoOwners,
    /// A write of an epoch was accepted after a later one had begun to own.
    StaleWrite,
    /// A write was made under an older epoch than its session had been told.
    OldEpoch,
    /// What was acknowledged is not there, or is another.
    Lost,
    /// Numbers have a gap.
    Gap,
    /// One thing is there twice.
    Twice,
    /// What was refused as lost is there, or what nobody wrote.
    Unasked,
    /// A reader or a taker was not shown what had been acknowledged, or was shown what is not there.
    StaleRead,
    /// A tool that acts outside ran twice.
    RanTwice,
    /// A taker was not told what became of an action that another had begun.
    Advice,
}

/// A promise that was broken, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which one.
    pub breach: Breach,
    /// Of which agent.
    pub agent: String,
    /// What was found.
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}: {}", self.breach, self.agent, self.found)
    }
}

/// How much a log holds: a proof about nothing proves nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Writes that were acknowledged: turns, states, outputs, actions begun and ended.
    pub acknowledged: usize,
    /// Writes that were refused.
    pub refused: usize,
    /// Writes whose outcome is unknown.
    pub unknown: usize,
    /// Times that an agent passed to another epoch.
    pub takeovers: usize,
    /// Runs of tools that act outside.
    pub external: usize,
    /// External actions that a taker was told not to run again.
    pub warned: usize,
    /// Reads that were answered.
    pub reads: usize,
}

/// Looks for broken promises; an empty answer is the proof.
#[must_use]
pub fn prove(log: &[Entry], stored: &Stored) -> Vec<Violation> {
    let mut agents: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in log {
        agents.entry(&entry.agent).or_default().push(entry);
    }
    let nothing = Kept::default();
    let mut violations = Vec::new();
    for (agent, log) in agents {
        let case = Case {
            agent,
            log,
            kept: stored.get(agent).unwrap_or(&nothing),
        };
        case.one_session_an_epoch(&mut violations);
        case.epochs_in_order(&mut violations);
        case.nothing_after_a_takeover(&mut violations);
        case.boundaries(&mut violations);
        case.all_there(&mut violations);
        case.no_gap(&mut violations);
        case.nothing_else(&mut violations);
        case.reads(&mut violations);
        case.runs(&mut violations);
        case.advice(&mut violations);
    }
    violations
}

/// Counts what a log holds.
#[must_use]
pub fn totals(log: &[Entry]) -> Totals {
    let mut totals = Totals::default();
    let mut epochs = BTreeSet::new();
    let mut count = |outcome: Option<bool>| match outcome {
        Some(true) => totals.acknowledged += 1,
        Some(false) => totals.refused += 1,
        None => totals.unknown += 1,
    };
    for entry in log {
        match &entry.did {
            Did::Turn(_, answer) | Did::State(_, answer) => count(outcome(answer)),
            Did::Output(_, answer) => count(outcome(answer)),
            Did::Begin(_, _, answer) => count(outcome(answer)),
            Did::End(_, _, answer) => count(outcome(answer)),
            Did::Take(_) | Did::Run(..) | Did::Read(_) | Did::Release(_) => {}
        }
    }
    for entry in log {
        match &entry.did {
            Did::Take(Answer::Done(taken)) => {
                epochs.insert((&entry.agent, taken.epoch));
                totals.warned += taken.pending.iter().filter(|p| p.warned()).count();
            }
            Did::Run(_, Class::External) => totals.external += 1,
            Did::Read(Answer::Done(_)) => totals.reads += 1,
            _ => {}
        }
    }
    totals.takeovers = epochs.len();
    totals
}

fn outcome<T>(answer: &Answer<T>) -> Option<bool> {
    match answer {
        Answer::Done(_) => Some(true),
        Answer::Refused(_) => Some(false),
        Answer::Unknown(_) => None,
    }
}

/// What is known of one agent.
struct Case<'a> {
    agent: &'a str,
    log: Vec<&'a Entry>,
    kept: &'a Kept,
}

impl<'a> Case<'a> {
    fn breach(&self, breach: Breach, found: String) -> Violation {
        Violation {
            breach,
            agent: self.agent.to_owned(),
            found,
        }
    }

    /// The times that somebody was told to own the agent.
    fn takes(&self) -> impl Iterator<Item = (&'a Entry, &'a Taken)> {
        self.log.iter().filter_map(|entry| match &entry.did {
            Did::Take(Answer::Done(taken)) => Some((*entry, taken)),
            _ => None,
        })
    }

    fn begun(&self) -> impl Iterator<Item = (&'a Entry, &'a str, Class, &'a Begun)> {
        self.log.iter().filter_map(|entry| match &entry.did {
            Did::Begin(job, class, Answer::Done(begun)) => {
                Some((*entry, job.as_str(), *class, begun))
            }
            _ => None,
        })
    }

    /// The attempts that may have written this text.
    fn attempts(&self) -> BTreeMap<&'a str, Vec<&'a Entry>> {
        let mut attempts: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
        for entry in &self.log {
            if let Did::Turn(text, _) | Did::State(text, _) | Did::Output(text, _) = &entry.did {
                attempts.entry(text).or_default().push(entry);
            }
        }
        attempts
    }

    fn written(&self) -> impl Iterator<Item = &'a Written> {
        let kept = self.kept;
        kept.turns
            .iter()
            .chain(&kept.states)
            .chain(kept.outputs.values())
    }

    fn one_session_an_epoch(&self, violations: &mut Vec<Violation>) {
        let mut owners: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
        for (entry, taken) in self.takes() {
            owners
                .entry(taken.epoch)
                .or_default()
                .insert(&entry.session);
        }
        for (entry, _, _, begun) in self.begun() {
            owners
                .entry(begun.epoch)
                .or_default()
                .insert(&entry.session);
        }
        let attempts = self.attempts();
        for written in self.written() {
            let by = attempts.get(written.text.as_str()).into_iter().flatten();
            let sessions = by.map(|entry| entry.session.as_str());
            owners.entry(written.epoch).or_default().extend(sessions);
        }
        let shared = owners.into_iter().filter(|(_, by)| by.len() > 1);
        violations.extend(shared.map(|(epoch, by)| {
            self.breach(
                Breach::TwoOwners,
                format!("epoch {epoch} belongs to {by:?}"),
            )
        }));
    }

    /// Whatever is numbered was written under epochs that only grow.
    fn epochs_in_order(&self, violations: &mut Vec<Violation>) {
        for (what, written) in [("turn", &self.kept.turns), ("state", &self.kept.states)] {
            let falls = written.windows(2).filter(|two| two[1].epoch < two[0].epoch);
            violations.extend(falls.map(|two| {
                let (before, after) = (&two[0], &two[1]);
                let found = format!(
                    "{what} {} of epoch {} comes after one of epoch {}",
                    after.seq, after.epoch, before.epoch
                );
                self.breach(Breach::StaleWrite, found)
            }));
        }
        let mut begun: Vec<_> = self.begun().map(|(_, _, _, begun)| begun).collect();
        begun.sort_by_key(|begun| begun.seq);
        let falls = begun.windows(2).filter(|two| two[1].epoch < two[0].epoch);
        violations.extend(falls.map(|two| {
            let found = format!(
                "action {} of epoch {} comes after one of epoch {}",
                two[1].seq, two[1].epoch, two[0].epoch
            );
            self.breach(Breach::StaleWrite, found)
        }));
    }

    /// What began after somebody was told to own the agent was written under no earlier epoch, nor
    /// under one that its own session knew to be past.
    fn nothing_after_a_takeover(&self, violations: &mut Vec<Violation>) {
        let takes: Vec<_> = self.takes().collect();
        let mut judge = |epoch: u64, attempts: &[&Entry], what: String| {
            let Some(first) = attempts.iter().map(|entry| entry.began).min() else {
                return;
            };
            let later = takes
                .iter()
                .find(|(entry, taken)| taken.epoch > epoch && entry.ended < first);
            if let Some((entry, taken)) = later {
                let found = format!(
                    "{what} of epoch {epoch} began after {} had been told to own epoch {}",
                    entry.actor, taken.epoch
                );
                violations.push(self.breach(Breach::StaleWrite, found));
            }
            let told = attempts.iter().filter_map(|entry| entry.epoch).min();
            if let Some(told) = told.filter(|told| *told > epoch) {
                let found = format!("{what} of epoch {epoch} is by one who was told epoch {told}");
                violations.push(self.breach(Breach::OldEpoch, found));
            }
        };
        let attempts = self.attempts();
        for written in self.written() {
            if let Some(attempts) = attempts.get(written.text.as_str()) {
                judge(written.epoch, attempts, format!("{:?}", written.text));
            }
        }
        for (entry, job, _, begun) in self.begun() {
            judge(begun.epoch, &[entry], format!("action {job:?}"));
        }
    }

    /// The last turn that a taker was told is the boundary between its epoch and earlier ones.
    fn boundaries(&self, violations: &mut Vec<Violation>) {
        for (entry, taken) in self.takes() {
            let Some(last) = taken.turn_seq else {
                continue;
            };
            let crossed = self.kept.turns.iter().find(|turn| match turn.seq <= last {
                true => turn.epoch > taken.epoch,
                false => turn.epoch < taken.epoch,
            });
            if let Some(turn) = crossed {
                let found = format!(
                    "{} was told epoch {} and turn {last}, and turn {} is of epoch {}",
                    entry.actor, taken.epoch, turn.seq, turn.epoch
                );
                violations.push(self.breach(Breach::StaleWrite, found));
            }
        }
    }

    /// Everything acknowledged is there as it was acknowledged.
    fn all_there(&self, violations: &mut Vec<Violation>) {
        let by_seq = |written: &'a [Written]| -> BTreeMap<u64, &'a str> {
            written.iter().map(|w| (w.seq, w.text.as_str())).collect()
        };
        let (turns, states) = (by_seq(&self.kept.turns), by_seq(&self.kept.states));
        let owned = |found: Option<&&str>| found.map(|text| (*text).to_owned());
        for entry in &self.log {
            let (what, wanted, found) = match &entry.did {
                Did::Turn(text, Answer::Done(seq)) => {
                    (format!("turn {seq}"), text.clone(), owned(turns.get(seq)))
                }
                Did::State(text, Answer::Done(version)) => (
                    format!("state {version}"),
                    text.clone(),
                    owned(states.get(version)),
                ),
                Did::Output(text, Answer::Done(reference)) => (
                    format!("output {reference}"),
                    text.clone(),
                    self.kept.outputs.get(reference).map(|w| w.text.clone()),
                ),
                Did::Begin(job, _, Answer::Done(begun)) => (
                    format!("action {}", begun.seq),
                    format!("{job} {}", begun.key),
                    self.kept
                        .actions
                        .get(&begun.seq)
                        .map(|action| format!("{} {}", action.job, action.key)),
                ),
                Did::End(seq, result, Answer::Done(())) => (
                    format!("the end of action {seq}"),
                    format!("done {result}"),
                    self.kept
                        .actions
                        .get(seq)
                        .map(|action| format!("{} {}", action.status, action.result)),
                ),
                _ => continue,
            };
            if found.as_ref() != Some(&wanted) {
                let found = format!(
                    "{what}, acknowledged to {} as {wanted:?}, is {found:?}",
                    entry.actor
                );
                violations.push(self.breach(Breach::Lost, found));
            }
        }
    }

    fn no_gap(&self, violations: &mut Vec<Violation>) {
        let seqs = |written: &[Written]| written.iter().map(|w| w.seq).collect::<Vec<_>>();
        for (what, found) in [
            ("turns", seqs(&self.kept.turns)),
            ("states", seqs(&self.kept.states)),
            ("actions", self.kept.actions.keys().copied().collect()),
        ] {
            let wrong = (1..).zip(&found).find(|(wanted, found)| wanted != *found);
            if let Some((wanted, found)) = wrong {
                let found = format!("{what}: {found} stands where {wanted} is due");
                violations.push(self.breach(Breach::Gap, found));
            }
        }
    }

    /// Nothing is there twice, nothing that nobody wrote, and nothing that was refused as lost.
    fn nothing_else(&self, violations: &mut Vec<Violation>) {
        let mut seen = BTreeSet::new();
        let jobs = self.kept.actions.values().map(|action| &action.job);
        let texts = self.written().map(|written| &written.text).chain(jobs);
        for text in texts.filter(|text| !seen.insert(*text)) {
            violations.push(self.breach(Breach::Twice, format!("{text:?} is there twice")));
        }
        let attempts = self.attempts();
        for written in self.written() {
            let by = attempts.get(written.text.as_str());
            let possible = by.into_iter().flatten().any(|entry| match &entry.did {
                Did::Turn(_, answer) | Did::State(_, answer) => outcome(answer) != Some(false),
                Did::Output(_, answer) => outcome(answer) != Some(false),
                _ => false,
            });
            if !possible {
                let found = format!("{:?} is there and nobody wrote it", written.text);
                violations.push(self.breach(Breach::Unasked, found));
            }
        }
    }

    /// Whoever reads or takes is shown everything that was acknowledged before.
    fn reads(&self, violations: &mut Vec<Violation>) {
        let turns: BTreeMap<u64, &str> = self
            .kept
            .turns
            .iter()
            .map(|turn| (turn.seq, turn.text.as_str()))
            .collect();
        let acknowledged = self.acknowledged_turns();
        for entry in &self.log {
            let last = match &entry.did {
                Did::Take(Answer::Done(taken)) => taken.turn_seq,
                Did::Read(Answer::Done(read)) => {
                    let there = |seq, text: &str| turns.get(seq) == Some(&text);
                    if let Some(turn) = read.iter().find(|(seq, text)| !there(seq, text)) {
                        let found = format!("{} read {turn:?}, which is not there", entry.actor);
                        violations.push(self.breach(Breach::StaleRead, found));
                    }
                    Some(read.last().map_or(0, |(seq, _)| *seq))
                }
                _ => None,
            };
            let before = acknowledged.range(..entry.began).next_back();
            let known = before.map(|(_, highest)| *highest);
            if let (Some(last), Some(known)) = (last, known)
                && last < known
            {
                let found = format!(
                    "{} was shown turn {last} as the last after {known} had been acknowledged",
                    entry.actor
                );
                violations.push(self.breach(Breach::StaleRead, found));
            }
        }
    }

    /// The highest turn that had been acknowledged, by the time since when it had.
    fn acknowledged_turns(&self) -> BTreeMap<u64, u64> {
        let mut highest = BTreeMap::new();
        for entry in &self.log {
            if let Did::Turn(_, Answer::Done(seq)) = &entry.did {
                let at = highest.entry(entry.ended).or_insert(*seq);
                *at = (*at).max(*seq);
            }
        }
        let mut most = 0;
        for seq in highest.values_mut() {
            most = most.max(*seq);
            *seq = most;
        }
        highest
    }

    fn runs(&self, violations: &mut Vec<Violation>) {
        let mut ran: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for entry in &self.log {
            if let Did::Run(job, Class::External) = &entry.did {
                ran.entry(job).or_default().push(&entry.actor);
            }
        }
        let twice = ran.into_iter().filter(|(_, by)| by.len() > 1);
        violations.extend(
            twice.map(|(job, by)| self.breach(Breach::RanTwice, format!("{job:?} by {by:?}"))),
        );
    }

    /// Whoever takes the agent is told of every action that was begun before and not ended: of an
    /// external one that its outcome is unknown and that it must not run again, of an idempotent one
    /// the key it began with.
    fn advice(&self, violations: &mut Vec<Violation>) {
        let mut ends: BTreeMap<u64, u64> = BTreeMap::new();
        for entry in &self.log {
            if let Did::End(seq, ..) = &entry.did {
                let first = ends.entry(*seq).or_insert(entry.began);
                *first = (*first).min(entry.began);
            }
        }
        let begun: Vec<_> = self.begun().collect();
        for (entry, taken) in self.takes().filter(|(_, taken)| taken.settles) {
            for (begin, job, class, begun) in &begun {
                let ended = ends.get(&begun.seq).is_some_and(|at| *at <= entry.ended);
                if ended || begin.ended >= entry.began || *class == Class::Pure {
                    continue;
                }
                let pending = taken.pending.iter().find(|p| p.seq == begun.seq);
                let wanted = match class {
                    Class::External => "unknown",
                    Class::Pure | Class::Idempotent => "started",
                };
                let told = pending.is_some_and(|p| {
                    let warned = p.warned() == (*class == Class::External);
                    p.status == wanted && p.key == begun.key && warned
                });
                if !told {
                    let found = format!(
                        "{} took epoch {} and was told of the {class:?} action {job:?}: {pending:?}",
                        entry.actor, taken.epoch
                    );
                    violations.push(self.breach(Breach::Advice, found));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
