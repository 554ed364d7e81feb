//! Each broken promise is found, and a kept one is not taken for broken.

use super::super::log::Pending;
use super::super::stored::KeptAction;
use super::*;

/// What actor `name` of a session of its own did from one moment to another, as it was told `epoch`.
fn entry(name: &str, (began, ended): (u64, u64), epoch: u64, did: Did) -> Entry {
    Entry {
        actor: name.to_owned(),
        agent: "team/coder".to_owned(),
        session: format!("session of {name}"),
        epoch: (epoch > 0).then_some(epoch),
        began,
        ended,
        did,
    }
}

fn take(epoch: u64, turn_seq: u64, pending: &[(u64, &str, Class, &str, &str)]) -> Did {
    let pending = pending
        .iter()
        .map(|(seq, job, class, status, key)| Pending {
            seq: *seq,
            job: (*job).to_owned(),
            class: *class,
            status: (*status).to_owned(),
            key: (*key).to_owned(),
            advice: match *status {
                "unknown" => "Do not run it again.".to_owned(),
                _ => "Run it again.".to_owned(),
            },
        });
    Did::Take(Answer::Done(Taken {
        epoch,
        turn_seq: Some(turn_seq),
        pending: pending.collect(),
        settles: true,
    }))
}

fn turn(text: &str, seq: u64) -> Did {
    Did::Turn(text.to_owned(), Answer::Done(seq))
}

fn begin(job: &str, class: Class, seq: u64, epoch: u64) -> Did {
    let key = format!("key {seq}");
    Did::Begin(
        job.to_owned(),
        class,
        Answer::Done(Begun { seq, key, epoch }),
    )
}

/// Turns by number, epoch and text; actions by number, job and status.
fn kept(turns: &[(u64, u64, &str)], actions: &[(u64, &str, &str)]) -> Kept {
    let written = |(seq, epoch, text): &(u64, u64, &str)| Written {
        seq: *seq,
        epoch: *epoch,
        text: (*text).to_owned(),
    };
    let action = |(seq, job, status): &(u64, &str, &str)| {
        let action = KeptAction {
            job: (*job).to_owned(),
            key: format!("key {seq}"),
            status: (*status).to_owned(),
            result: "r".to_owned(),
        };
        (*seq, action)
    };
    Kept {
        turns: turns.iter().map(written).collect(),
        actions: actions.iter().map(action).collect(),
        ..Kept::default()
    }
}

#[track_caller]
fn check(log: &[Entry], kept: Kept, expected: &[Breach]) {
    let stored = Stored::from([("team/coder".to_owned(), kept)]);
    let violations = prove(log, &stored);
    let mut found: Vec<_> = violations.iter().map(|v| v.breach).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, expected, "{violations:#?}");
}

/// A takes over, writes, is paused; B takes over and writes; A is refused.
fn handover() -> Vec<Entry> {
    let lost = Answer::Refused("lease was lost".to_owned());
    vec![
        entry("a", (0, 1), 0, take(1, 0, &[])),
        entry("a", (2, 3), 1, turn("a1", 1)),
        entry("b", (10, 12), 0, take(3, 1, &[])),
        entry("b", (13, 14), 3, turn("b1", 2)),
        entry("a", (20, 21), 1, Did::Turn("a2".to_owned(), lost)),
    ]
}

#[test]
fn a_clean_handover_breaks_nothing() {
    check(&handover(), kept(&[(1, 1, "a1"), (2, 3, "b1")], &[]), &[]);
}

#[test]
fn a_write_that_crossed_the_takeover_may_have_come_first() {
    let mut log = handover();
    let crossed = Did::Turn("a3".to_owned(), Answer::Unknown("no answer".to_owned()));
    log.push(entry("a", (5, 40), 1, crossed));
    log[2] = entry("b", (10, 12), 0, take(3, 2, &[]));
    log[3] = entry("b", (13, 14), 3, turn("b1", 3));
    let came = kept(&[(1, 1, "a1"), (2, 1, "a3"), (3, 3, "b1")], &[]);
    check(&log, came, &[]);
}

#[test]
fn two_sessions_of_one_epoch_are_two_owners() {
    let log = [
        entry("a", (0, 1), 0, take(1, 0, &[])),
        entry("b", (2, 3), 0, take(1, 0, &[])),
    ];
    check(&log, kept(&[], &[]), &[Breach::TwoOwners]);
}

#[test]
fn a_write_under_the_epoch_of_another_makes_two_owners() {
    let mut log = handover();
    log.push(entry(
        "a",
        (30, 31),
        0,
        Did::Turn("a3".to_owned(), Answer::Done(3)),
    ));
    let stored = kept(&[(1, 1, "a1"), (2, 3, "b1"), (3, 3, "a3")], &[]);
    check(&log, stored, &[Breach::TwoOwners]);
}

#[test]
fn a_former_owners_write_after_a_takeover_is_stale() {
    let mut log = handover();
    log.push(entry("a", (30, 31), 1, turn("a3", 3)));
    let stored = kept(&[(1, 1, "a1"), (2, 3, "b1"), (3, 1, "a3")], &[]);
    check(&log, stored, &[Breach::StaleWrite]);
}

#[test]
fn a_former_owners_write_that_nobody_answered_is_stale_as_well() {
    let mut log = handover();
    let unknown = Did::Turn("a3".to_owned(), Answer::Unknown("no answer".to_owned()));
    log.push(entry("a", (30, 31), 1, unknown));
    let stored = kept(&[(1, 1, "a1"), (2, 3, "b1"), (3, 1, "a3")], &[]);
    check(&log, stored, &[Breach::StaleWrite]);
}

#[test]
fn a_turn_behind_the_boundary_of_a_takeover_is_stale() {
    // It began before the takeover, so only the number tells that it came after.
    let mut log = handover();
    let crossed = Did::Turn("a3".to_owned(), Answer::Unknown("no answer".to_owned()));
    log.push(entry("a", (5, 40), 1, crossed));
    log[3] = entry("b", (13, 14), 3, turn("b1", 3));
    let stored = kept(&[(1, 1, "a1"), (2, 1, "a3"), (3, 3, "b1")], &[]);
    check(&log, stored, &[Breach::StaleWrite]);
}

#[test]
fn an_action_begun_under_a_past_epoch_is_stale() {
    let mut log = handover();
    log.push(entry("a", (30, 31), 1, begin("job", Class::Pure, 1, 1)));
    let stored = kept(&[(1, 1, "a1"), (2, 3, "b1")], &[(1, "job", "started")]);
    check(&log, stored, &[Breach::StaleWrite]);
}

#[test]
fn a_write_under_an_epoch_older_than_its_session_knew_is_found() {
    let log = [
        entry("a", (0, 1), 0, take(1, 0, &[])),
        entry("a", (2, 3), 1, Did::Release(Answer::Done(true))),
        entry("a", (4, 5), 1, take(3, 0, &[])),
        entry("a", (6, 7), 3, turn("a1", 1)),
    ];
    check(
        &log,
        kept(&[(1, 1, "a1")], &[]),
        &[Breach::StaleWrite, Breach::OldEpoch],
    );
}

#[test]
fn what_was_acknowledged_and_is_gone_or_changed_is_lost() {
    check(&handover(), kept(&[(1, 1, "a1")], &[]), &[Breach::Lost]);
    // Its number was given once more.
    let other = kept(&[(1, 1, "a1"), (2, 3, "x")], &[]);
    check(&handover(), other, &[Breach::Lost, Breach::Unasked]);
    let log = [
        entry("a", (0, 1), 0, take(1, 0, &[])),
        entry("a", (2, 3), 1, begin("job", Class::Pure, 1, 1)),
        entry(
            "a",
            (4, 5),
            1,
            Did::End(1, "r".to_owned(), Answer::Done(())),
        ),
    ];
    check(&log, kept(&[], &[(1, "job", "done")]), &[]);
    check(&log, kept(&[], &[(1, "job", "started")]), &[Breach::Lost]);
    check(&log, kept(&[], &[]), &[Breach::Lost]);
    for did in [
        Did::State("n".to_owned(), Answer::Done(1)),
        Did::Output("o".to_owned(), Answer::Done("out-1-1".to_owned())),
    ] {
        check(
            &[entry("a", (0, 1), 0, did)],
            kept(&[], &[]),
            &[Breach::Lost],
        );
    }
}

#[test]
fn a_number_that_was_left_out_is_a_gap() {
    let log = [
        entry("a", (0, 1), 0, take(1, 0, &[])),
        entry("a", (2, 3), 1, turn("a1", 1)),
        entry("a", (4, 5), 1, turn("a3", 3)),
    ];
    check(
        &log,
        kept(&[(1, 1, "a1"), (3, 1, "a3")], &[]),
        &[Breach::Gap],
    );
}

#[test]
fn one_message_of_two_turns_is_there_twice() {
    let again = Did::Turn("a1".to_owned(), Answer::Unknown("no answer".to_owned()));
    let log = [
        entry("a", (0, 1), 0, take(1, 0, &[])),
        entry("a", (2, 3), 1, again),
        entry("a", (4, 5), 1, turn("a1", 2)),
    ];
    check(
        &log,
        kept(&[(1, 1, "a1"), (2, 1, "a1")], &[]),
        &[Breach::Twice],
    );
}

#[test]
fn a_refused_write_that_is_there_was_not_asked_for() {
    let stored = kept(&[(1, 1, "a1"), (2, 3, "b1"), (3, 3, "a2")], &[]);
    check(&handover(), stored, &[Breach::TwoOwners, Breach::Unasked]);
}

#[test]
fn a_reader_who_misses_a_turn_read_too_little() {
    let mut log = handover();
    let read = |turns: &[(u64, &str)]| {
        let turns = turns.iter().map(|(seq, text)| (*seq, (*text).to_owned()));
        Did::Read(Answer::Done(turns.collect()))
    };
    let stored = || kept(&[(1, 1, "a1"), (2, 3, "b1")], &[]);
    log.push(entry("r", (30, 31), 0, read(&[(1, "a1"), (2, "b1")])));
    check(&log, stored(), &[]);
    log.push(entry("r", (30, 31), 0, read(&[(1, "a1")])));
    check(&log, stored(), &[Breach::StaleRead]);
    log.pop();
    log.push(entry("r", (30, 31), 0, read(&[(1, "a1"), (2, "other")])));
    check(&log, stored(), &[Breach::StaleRead]);
}

#[test]
fn a_taker_who_is_not_told_the_last_turn_is_told_too_little() {
    let mut log = handover();
    log[2] = entry("b", (10, 12), 0, take(3, 0, &[]));
    let stored = kept(&[(1, 1, "a1"), (2, 3, "b1")], &[]);
    check(&log, stored, &[Breach::StaleWrite, Breach::StaleRead]);
}

/// A began an external action and was replaced by B, who was told this of it.
fn external(told: &[(u64, &str, Class, &str, &str)], runs: &[&str]) -> Vec<Entry> {
    let mut log = vec![
        entry("a", (0, 1), 0, take(1, 0, &[])),
        entry("a", (2, 3), 1, begin("job", Class::External, 1, 1)),
        entry("b", (10, 12), 0, take(3, 0, told)),
    ];
    log.extend(runs.iter().map(|actor| {
        let run = Did::Run("job".to_owned(), Class::External);
        entry(actor, (20, 20), 1, run)
    }));
    log
}

#[test]
fn an_external_action_that_ran_twice_is_found() {
    let stored = || kept(&[], &[(1, "job", "unknown")]);
    let told = [(1, "job", Class::External, "unknown", "key 1")];
    check(&external(&told, &["a"]), stored(), &[]);
    check(&external(&told, &["a", "b"]), stored(), &[Breach::RanTwice]);
}

#[test]
fn a_taker_who_is_told_wrong_of_an_action_is_found() {
    let stored = || kept(&[], &[(1, "job", "unknown")]);
    let started = [(1, "job", Class::External, "started", "key 1")];
    check(&external(&started, &[]), stored(), &[Breach::Advice]);
    check(&external(&[], &[]), stored(), &[Breach::Advice]);
}

#[test]
fn a_taker_who_is_advised_to_run_an_external_action_again_is_found() {
    let told = [(1, "job", Class::External, "unknown", "key 1")];
    let mut log = external(&told, &["a"]);
    if let Did::Take(Answer::Done(taken)) = &mut log[2].did {
        taken.pending[0].advice = "Run it again.".to_owned();
    }
    let stored = kept(&[], &[(1, "job", "unknown")]);
    check(&log, stored, &[Breach::Advice]);
}

#[test]
fn an_idempotent_action_keeps_its_key() {
    let log = |key| {
        let told = [(1, "job", Class::Idempotent, "started", key)];
        [
            entry("a", (0, 1), 0, take(1, 0, &[])),
            entry("a", (2, 3), 1, begin("job", Class::Idempotent, 1, 1)),
            entry("b", (10, 12), 0, take(3, 0, &told)),
        ]
    };
    let stored = || kept(&[], &[(1, "job", "started")]);
    check(&log("key 1"), stored(), &[]);
    check(&log("another"), stored(), &[Breach::Advice]);
}

#[test]
fn an_action_that_was_being_ended_need_not_be_told() {
    let mut log = external(&[], &[]);
    let end = Did::End(1, "r".to_owned(), Answer::Unknown("no answer".to_owned()));
    log.insert(2, entry("a", (4, 30), 1, end));
    check(&log, kept(&[], &[(1, "job", "done")]), &[]);
}

#[test]
fn a_log_survives_its_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("log.jsonl");
    let log = external(&[(1, "job", Class::External, "unknown", "key 1")], &["a"]);
    super::super::log::write(&path, &log).expect("written");
    assert_eq!(super::super::log::read(&path).expect("read"), log);
}
