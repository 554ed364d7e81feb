//! Every key's history of writes and reads is linearizable, while servers die and join.
//!
//! Clients write values that are never repeated and read them back through whichever server is next,
//! and note when each call began and ended and what came of it. A checker then looks for an order in
//! which every call takes effect between its beginning and its end and every read answers the value
//! last written. A write whose outcome is unknown may have taken effect at any time since, or never.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::*;

const CLIENTS: usize = 6;
const KEYS: [&str; 3] = ["prefers_editor", "role", "timezone"];
/// Calls of one client: as long as servers come and go, within these bounds.
const CALLS: std::ops::Range<usize> = 60..400;
/// A client's pause between calls: a history is searched, and should not be endless.
const PAUSE: Duration = Duration::from_millis(20);

/// One call of a client, in nanoseconds since the start.
#[derive(Debug, Clone)]
struct Call {
    began: u128,
    /// Never, if its outcome is unknown.
    ended: u128,
    did: Did,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Did {
    Wrote(u32),
    /// 0 is nothing.
    Read(u32),
}

/// Whether some order explains these calls on one value.
fn linearizable(calls: &[Call]) -> bool {
    let mut seen = HashSet::new();
    let whole = calls.iter().filter(|call| call.ended < u128::MAX).count();
    search(calls, &mut vec![false; calls.len()], whole, 0, &mut seen)
}

/// Tries every call that may come next: one that began before the first of the rest ended.
fn search(
    calls: &[Call],
    done: &mut Vec<bool>,
    left: usize,
    value: u32,
    seen: &mut HashSet<(Vec<bool>, u32)>,
) -> bool {
    if left == 0 {
        return true;
    }
    if !seen.insert((done.clone(), value)) {
        return false;
    }
    let rest = || calls.iter().zip(done.iter()).filter(|(_, done)| !**done);
    let first_end = rest()
        .map(|(call, _)| call.ended)
        .min()
        .unwrap_or(u128::MAX);
    for at in 0..calls.len() {
        let Some(call) = calls
            .get(at)
            .filter(|call| !done[at] && call.began <= first_end)
        else {
            continue;
        };
        let next = match call.did {
            Did::Wrote(written) => written,
            Did::Read(read) if read == value => value,
            Did::Read(_) => continue,
        };
        done[at] = true;
        let counted = usize::from(call.ended < u128::MAX);
        if search(calls, done, left - counted, next, seen) {
            return true;
        }
        done[at] = false;
    }
    false
}

#[track_caller]
fn check(calls: &[(u128, u128, Did)], expected: bool) {
    let calls: Vec<Call> = calls
        .iter()
        .map(|(began, ended, did)| Call {
            began: *began,
            ended: *ended,
            did: did.clone(),
        })
        .collect();
    assert_eq!(linearizable(&calls), expected, "{calls:?}");
}

#[test]
fn the_checker_tells_good_histories_from_bad_ones() {
    use Did::{Read, Wrote};
    check(&[(0, 1, Wrote(1)), (2, 3, Read(1))], true);
    check(&[(0, 1, Wrote(1)), (2, 3, Read(0))], false);
    // Two at once may come in either order, but not in both.
    check(
        &[(0, 9, Wrote(1)), (0, 9, Wrote(2)), (10, 11, Read(1))],
        true,
    );
    check(
        &[
            (0, 9, Wrote(1)),
            (0, 9, Wrote(2)),
            (10, 11, Read(1)),
            (12, 13, Read(2)),
        ],
        false,
    );
    // A read may see a write under way; a later one may not unsee it.
    check(&[(0, 9, Wrote(1)), (1, 2, Read(1)), (3, 4, Read(1))], true);
    check(&[(0, 9, Wrote(1)), (1, 2, Read(1)), (3, 4, Read(0))], false);
    // What nobody answered may have happened, late or never.
    check(
        &[(0, u128::MAX, Wrote(1)), (5, 6, Read(0)), (7, 8, Read(1))],
        true,
    );
    check(
        &[(0, u128::MAX, Wrote(1)), (5, 6, Read(1)), (7, 8, Read(0))],
        false,
    );
    check(&[(0, u128::MAX, Wrote(1)), (5, 6, Read(0))], true);
    check(&[(5, u128::MAX, Wrote(1)), (0, 1, Read(1))], false);
}

/// The next of a row of numbers that a seed begins: each run of a test makes the same choices.
fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Works as one client and answers what it did to each key.
async fn client(
    fleet: Arc<Fleet>,
    key: String,
    seed: u64,
    start: Instant,
    calm: Arc<AtomicBool>,
) -> Vec<(usize, Call)> {
    let mut state = seed;
    let mut calls = Vec::new();
    for n in 0..CALLS.end {
        if n >= CALLS.start && calm.load(Ordering::Relaxed) {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        let at = random(&mut state) as usize % KEYS.len();
        let server = fleet.next();
        let began = start.elapsed().as_nanos();
        let write = random(&mut state).is_multiple_of(2);
        let value = (seed as u32) * 10_000 + n as u32 + 1;
        let (path, body) = match write {
            true => ("/v1/remember", fact(KEYS[at], &value.to_string())),
            false => ("/v1/recall", about(KEYS[at])),
        };
        let answer = fleet
            .http
            .post(&format!("{server}{path}"), &key, &body)
            .await;
        let ended = start.elapsed().as_nanos();
        let good = answer.ok().filter(|answer| answer.status == 200);
        let call = match (write, good) {
            (true, Some(_)) => Call {
                began,
                ended,
                did: Did::Wrote(value),
            },
            (true, None) => Call {
                began,
                ended: u128::MAX,
                did: Did::Wrote(value),
            },
            (false, Some(answer)) => {
                let read = value_of(&answer).map_or(0, |value| value.parse().expect("ours"));
                Call {
                    began,
                    ended,
                    did: Did::Read(read),
                }
            }
            // A read that failed says nothing.
            (false, None) => continue,
        };
        calls.push((at, call));
    }
    calls
}

on_each_store![histories_are_linearizable_while_servers_die_and_join,];

async fn histories_are_linearizable_while_servers_die_and_join(kind: Kind) {
    let Some(fleet) = Fleet::start(kind, 3, &["--surface=typed"]) else {
        return;
    };
    let fleet = Arc::new(fleet);
    let key = fleet.key(&json!({ "namespace": "team:a" })).await;
    let (start, calm) = (Instant::now(), Arc::new(AtomicBool::new(false)));
    let clients: Vec<_> = (1..=CLIENTS as u64)
        .map(|seed| {
            let (fleet, calm) = (Arc::clone(&fleet), Arc::clone(&calm));
            tokio::spawn(client(fleet, key.clone(), seed, start, calm))
        })
        .collect();
    let trouble = {
        let fleet = Arc::clone(&fleet);
        tokio::task::spawn_blocking(move || {
            // A crash, one more, an orderly stop, one more.
            fleet.kill(0);
            fleet.join();
            fleet.stop(1);
            fleet.join();
            calm.store(true, Ordering::Relaxed);
        })
    };
    let mut histories: HashMap<usize, Vec<Call>> = HashMap::new();
    for client in clients {
        for (at, call) in client.await.expect("no client fails") {
            histories.entry(at).or_default().push(call);
        }
    }
    trouble.await.expect("servers come and go");
    // Last words: every server that is left answers the same.
    for (at, predicate) in KEYS.iter().enumerate() {
        for _ in 0..3 {
            let began = start.elapsed().as_nanos();
            let answer = fleet.post("/v1/recall", &key, &about(predicate)).await;
            assert_eq!(answer.status, 200, "{}", fleet.complaints());
            let read = value_of(&answer).map_or(0, |value| value.parse().expect("ours"));
            let call = Call {
                began,
                ended: start.elapsed().as_nanos(),
                did: Did::Read(read),
            };
            histories.entry(at).or_default().push(call);
        }
    }
    for (at, calls) in histories {
        let answered = calls.iter().filter(|call| call.ended < u128::MAX).count();
        assert!(
            answered > CALLS.start,
            "too little was done to {}: {answered}",
            KEYS[at]
        );
        assert!(
            linearizable(&calls),
            "no order explains {}: {calls:#?}",
            KEYS[at]
        );
    }
}
