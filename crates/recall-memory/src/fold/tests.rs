use jiff::Timestamp;

use super::*;
use crate::event::{Kind, Source};
use crate::event_id::EventId;

fn event(no: i64, value: Option<&str>, retraction: bool) -> Event {
    let at = Timestamp::from_second(no).unwrap();
    Event {
        id: EventId::parse(&format!("e{no}")),
        observed: at,
        recorded: at,
        value: value.map(Value::text),
        confidence: 1.0,
        kind: Kind::Fact,
        source: Source::UserStated,
        retraction,
        assistant: false,
        session: 0,
        arrival: 0,
        extra: None,
    }
}

/// Statements are values, withdrawals `-value`, `-` withdraws everything.
fn events(script: &str) -> Vec<Event> {
    (1..)
        .zip(script.split_whitespace())
        .map(|(no, word)| match word.strip_prefix('-') {
            None => event(no, Some(word), false),
            Some("") => event(no, None, true),
            Some(value) => event(no, Some(value), true),
        })
        .collect()
}

#[track_caller]
fn check(single: bool, script: &str, expected: &str) {
    let (events, predicate) = (events(script), Arc::from("p"));
    let cluster = Cluster {
        members: vec![Member {
            pair: 0,
            predicate: &predicate,
            single,
            ends: Vec::new(),
            events: &events,
            order: None,
            added: Vec::new(),
        }],
    };
    let state = cluster.fold(None);
    let held: Vec<String> = state[0]
        .iter()
        .map(|belief| {
            events[belief.slot as usize]
                .value
                .as_ref()
                .unwrap()
                .to_string()
        })
        .collect();
    assert_eq!(held.join(" "), expected, "{script}");
    assert_eq!(state[0].len(), held.len());
}

#[test]
fn a_single_value_is_replaced_and_never_revived() {
    for (script, expected) in [
        ("a", "a"),
        ("a b", "b"),
        ("a b -a", "b"),
        ("a b -b", ""),
        ("a b -", ""),
        ("a - a", "a"),
        ("a A", "A"),
        ("-a a", "a"),
    ] {
        check(true, script, expected);
    }
}

#[test]
fn many_values_stand_in_the_order_of_first_mention() {
    for (script, expected) in [
        ("a b c", "a b c"),
        ("a b c -b", "a c"),
        ("a b c -b b", "a c b"),
        ("a b -", ""),
        ("a b a", "a b"),
        ("a b A", "A b"),
        ("a b c B a", "a B c"),
        ("a b -a a", "b a"),
        ("a b - b a", "b a"),
        ("- a -b", "a"),
    ] {
        check(false, script, expected);
    }
}

#[test]
fn long_lists_keep_their_order_while_values_come_and_go() {
    let mut script: Vec<String> = (0..100).map(|no| format!("v{no}")).collect();
    script.extend((0..90).map(|no| format!("-v{no}")));
    script.extend((20..25).map(|no| format!("v{no}")));
    let expected: Vec<String> = (90..100).chain(20..25).map(|no| format!("v{no}")).collect();
    check(false, &script.join(" "), &expected.join(" "));
    // What is stated again stays where it is, and is found there.
    script.extend([95, 22, 90].map(|no| format!("V{no}")));
    script.extend(["-v95", "-v91"].map(str::to_owned));
    let expected = "V90 v92 v93 v94 v96 v97 v98 v99 v20 v21 V22 v23 v24";
    check(false, &script.join(" "), expected);
}

#[test]
fn folding_for_one_value_sees_that_value_alike() {
    let (events, predicate) = (events("a b -a c a - b a -b"), Arc::from("p"));
    let member = || Member {
        pair: 0,
        predicate: &predicate,
        single: false,
        ends: Vec::new(),
        events: &events,
        order: None,
        added: Vec::new(),
    };
    let cluster = Cluster {
        members: vec![member()],
    };
    let find = |state: &[Believed], value: &Value| {
        let found = state[0].find(value, |slot| events.get(slot as usize));
        found.map(|belief| belief.slot)
    };
    for second in 0..10 {
        let until = Timestamp::from_second(second).ok();
        for value in ["a", "b", "c"].map(Value::text) {
            let one = find(&cluster.fold_value(until, &value), &value);
            assert_eq!(
                one,
                find(&cluster.fold(until), &value),
                "{value} at {second}"
            );
        }
    }
}
