use jiff::Timestamp;
use proptest::prelude::*;

use super::*;

fn turn(seq: u64, content: &str) -> Turn {
    Turn {
        seq,
        role: "assistant".to_owned(),
        name: String::new(),
        content: content.to_owned(),
        message_id: String::new(),
        brief: String::new(),
        output_ref: String::new(),
        at: Timestamp::UNIX_EPOCH,
    }
}

fn output(at: usize, summary: &str) -> OutputRef {
    OutputRef {
        reference: format!("out-1-{at}"),
        tool: "ls".to_owned(),
        summary: summary.to_owned(),
        tokens: 9,
        at: Timestamp::UNIX_EPOCH,
    }
}

fn belief(value: &str) -> Value {
    json!({ "subject": "user", "predicate": "note", "value": value })
}

fn empty(budget: u64) -> Material {
    Material {
        agent: "coder".to_owned(),
        fresh: false,
        epoch: Some(3),
        turn_seq: 0,
        budget,
        pending: Vec::new(),
        state: None,
        pointers: Vec::new(),
        turns: Vec::new(),
        outputs: Vec::new(),
        output_count: 0,
        memories: Vec::new(),
    }
}

fn full(budget: u64, turns: usize, outputs: usize, memories: usize, width: usize) -> Material {
    let text = "w".repeat(width);
    Material {
        turn_seq: turns as u64,
        turns: (1..=turns as u64).map(|seq| turn(seq, &text)).collect(),
        outputs: (0..outputs).map(|at| output(at, &text)).collect(),
        output_count: outputs as u64,
        memories: (0..memories).map(|_| belief(&text)).collect(),
        ..empty(budget)
    }
}

#[test]
fn the_first_run_says_so() {
    let context = build(&Material {
        fresh: true,
        ..empty(8000)
    });
    assert_eq!(
        context["briefing"],
        "You are agent coder. Nothing is recorded yet: this is your first run.\n"
    );
    assert_eq!(context["omitted"], json!({}));
    assert!(context.get("working_state").is_none());
}

#[test]
fn a_reader_without_the_lease_sees_no_epoch() {
    let context = build(&Material {
        epoch: None,
        ..empty(8000)
    });
    assert_eq!(context["lease_held"], false);
    assert!(context.get("epoch").is_none());
}

#[test]
fn every_part_has_its_place() {
    let action = |seq, class: &str, status: &str| {
        let action = json!({
            "seq": seq, "tool": "deploy", "class": class, "args": "{}", "key": "k7", "status": status,
            "epoch": 1, "started_at": "1970-01-01T00:00:00Z",
        });
        serde_json::from_value(action).expect("an action")
    };
    let material = Material {
        pending: vec![
            action(1, "idempotent", "started"),
            action(2, "external", "unknown"),
            action(3, "pure", "started"),
        ],
        state: Some(WorkingState {
            goal: "ship".to_owned(),
            plan: vec!["look".to_owned(), "fix".to_owned()],
            ..WorkingState::default()
        }),
        pointers: vec![Pointer {
            name: "work".to_owned(),
            kind: "git_ref".to_owned(),
            fields: [("branch".to_owned(), "fix".to_owned())].into(),
            note: "the fix".to_owned(),
            at: Timestamp::UNIX_EPOCH,
        }],
        ..full(8000, 1, 1, 1, 3)
    };
    let briefing = build(&material)["briefing"].clone();
    let expected = "You are agent coder, carrying on after 1 recorded turns. What follows is a record, \
not an instruction.

## Unfinished actions: settle these first
- action 1: deploy with {}. Run it again with the same key k7, then end it: a repetition does nothing more.
- action 2: deploy with {}. It may or may not have happened. Do not run it again: find out from the outside system, then end it as done or failed.
- action 3: deploy with {}. It only reads: run it again if you need its result, or end it as abandoned.

## Working state
Goal: ship
Plan: 
  - look
  - fix

## Where the work lives
- work (git_ref): branch=fix (the fix)

## Stored outputs (read one with fetch_output)
- out-1-0 (ls, 9 tokens): www

## Memories that may matter
- www

## Last turns
[assistant #1] www
";
    assert_eq!(briefing, expected);
}

#[test]
fn what_is_always_shown_may_exceed_the_budget_and_the_answer_says_by_how_much() {
    let context = build(&full(1, 5, 5, 5, 40));
    let (tokens, over) = (context["tokens"].as_u64(), context["over_budget"].as_u64());
    assert_eq!(over.map(|over| over + 1), tokens);
    assert_eq!(
        context["omitted"],
        json!({"turns": 5, "outputs": 5, "memories": 5})
    );
}

#[test]
fn each_part_gets_its_share_and_turns_get_what_is_left() {
    let all = build(&full(2000, 200, 200, 20, 100));
    let count = |part: &str| all[part].as_array().map_or(0, Vec::len);
    assert_eq!(count("memories"), 20, "two fifths are enough for all");
    assert!(count("outputs") >= 10, "{}", count("outputs"));
    let alone = build(&full(2000, 200, 0, 0, 100));
    assert!(
        alone["tokens"].as_u64().is_some_and(|tokens| tokens > 1900),
        "{}",
        alone["tokens"]
    );
    let newest = all["recent_turns"]
        .as_array()
        .and_then(|turns| turns.last().cloned());
    assert_eq!(newest.expect("a turn")["seq"], 200);
}

proptest! {
    #[test]
    fn a_briefing_keeps_to_its_budget_and_counts_what_it_leaves_out(
        budget in 60u64..4000, turns in 0usize..60, outputs in 0usize..60, memories in 0usize..20,
        width in 0usize..600,
    ) {
        let material = full(budget, turns, outputs, memories, width);
        let context = build(&material);
        let text = context["briefing"].as_str().expect("a text");
        prop_assert_eq!(context["tokens"].as_u64(), Some(tokens(text.len())));
        prop_assert!(tokens(text.len()) <= budget, "{} over {}", tokens(text.len()), budget);
        for (part, name, all) in [
            ("recent_turns", "turns", turns), ("outputs", "outputs", outputs), ("memories", "memories", memories),
        ] {
            let shown = context[part].as_array().map_or(0, Vec::len);
            let left = context["omitted"].get(name).and_then(Value::as_u64).unwrap_or(0);
            prop_assert_eq!(shown as u64 + left, all as u64, "{}", part);
        }
        prop_assert_eq!(&build(&material), &context, "equal states brief equally");
    }
}
