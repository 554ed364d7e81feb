//! What one namespace writes, no other one reads.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::rebuild::{act, call, everything};
use super::support::{World, run};
use crate::Operation::{self, Forget, Remember};

/// Marks every string that a namespace sends, so that it can be known anywhere.
fn marked(value: Value, mark: &str) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| {
                let free = matches!(key.as_str(), "value" | "text" | "evidence");
                let value = match value {
                    Value::String(text) if free => json!(format!("{text} {mark}")),
                    other => marked(other, mark),
                };
                (key, value)
            })
            .collect(),
        Value::Array(list) => list.into_iter().map(|item| marked(item, mark)).collect(),
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn no_sequence_of_calls_reads_another_namespace(
        acts in proptest::collection::vec((any::<bool>(), act()), 1..40),
    ) {
        run(async {
            let world = World::open();
            let spaces = ["one", "two"].map(|name| World { ns: name.parse().unwrap(), ..world.clone() });
            let marks = ["alphamark", "betamark"];
            for (second, act) in acts {
                let own = usize::from(second);
                let (operation, args): (Operation, Value) = call(act);
                let answer = spaces[own].answer(operation, marked(args, marks[own])).await;
                if let (Ok(answer), Remember | Forget) = (answer, operation) {
                    let text = String::from_utf8(answer.json).unwrap();
                    assert!(!text.contains(marks[1 - own]), "{text}");
                }
            }
            for own in [0, 1] {
                for answer in everything(&spaces[own]).await {
                    assert!(!answer.contains(marks[1 - own]), "{answer}");
                }
            }
        });
    }
}
