//! The tools of the text surface.

use recall_memory::Operation;
use serde_json::{Value, json};

use super::{Effect, Tool, object, output, session, string, time};

pub(super) static TOOLS: [Tool; 5] = [
    Tool {
        name: "remember",
        operation: Operation::Remember,
        title: "Remember",
        description: "Keeps something worth knowing later, in plain sentences: a fact about the user, \
            a preference, a decision. Saying the same again keeps it once. Pass either a text or the \
            messages of a conversation.",
        effect: Effect::Adds,
        schema: remember,
        answer: output::kept,
    },
    Tool {
        name: "recall",
        operation: Operation::Recall,
        title: "Recall",
        description: "Finds what was kept, best match first, at most 20. Without a question it gives \
            everything known about the user; with `since` only what was said after that time, newest \
            first.",
        effect: Effect::Reads,
        schema: recall,
        answer: output::memories,
    },
    Tool {
        name: "forget",
        operation: Operation::Forget,
        title: "Forget",
        description: "Withdraws something that is no longer true or should not be kept. Give the \
            sentence exactly as it was recalled. It is not recalled any more; `diff` over \
            the time of it tells that it ended.",
        effect: Effect::Withdraws,
        schema: forget,
        answer: output::forgotten,
    },
    Tool {
        name: "history",
        operation: Operation::History,
        title: "History",
        description: "Shows how something the question is about changed over time: what was said \
            first, what replaced it, what was withdrawn, each with its time. Sentences that were kept \
            whole are never replaced and have none; `diff` tells which came and which ended.",
        effect: Effect::Reads,
        schema: history,
        answer: output::histories,
    },
    Tool {
        name: "diff",
        operation: Operation::Diff,
        title: "What changed",
        description: "Shows what began and what ended to be believed between two times. Without `to`, \
            until now.",
        effect: Effect::Reads,
        schema: diff,
        answer: output::changes,
    },
];

fn remember() -> Value {
    let message = json!({
        "type": "object",
        "properties": {
            "role": { "type": "string", "enum": ["user", "assistant"], "description": "Who said it." },
            "content": { "type": "string", "description": "What was said." },
        },
        "required": ["role", "content"],
        "additionalProperties": false,
    });
    object(
        json!({
            "text": { "type": "string", "maxLength": 32768, "description": "What to keep, as sentences." },
            "messages": {
                "type": "array",
                "items": message,
                "description": "A conversation to keep, instead of a text.",
            },
            "observed_at": time("When it was said, if not now."),
            "session": session(),
        }),
        &[],
    )
}

fn recall() -> Value {
    object(
        json!({
            "question": string("What you want to know, in plain words. Times like \"last week\" help."),
            "as_of": time("Answer with what was believed at this time."),
            "since": time("Only what was said after this time."),
        }),
        &[],
    )
}

fn forget() -> Value {
    object(
        json!({ "text": string("The sentence to withdraw.") }),
        &["text"],
    )
}

fn history() -> Value {
    object(
        json!({ "question": string("What the history should be about.") }),
        &["question"],
    )
}

fn diff() -> Value {
    object(
        json!({ "from": time("The earlier time."), "to": time("The later time; now if left out.") }),
        &["from"],
    )
}
