//! The tools of the typed surface.

use recall_memory::Operation;
use serde_json::{Value, json};

use super::{Effect, Tool, object, output, session, string, time};

pub(super) static TOOLS: [Tool; 8] = [
    Tool {
        name: "list_predicates",
        operation: Operation::Predicates,
        title: "List predicates",
        description: "Lists the predicates that beliefs may use: what each means, whether it holds one \
            value or many, and which others it excludes. Read it before the first remember.",
        effect: Effect::Reads,
        schema: nothing,
        answer: output::predicates,
    },
    Tool {
        name: "remember",
        operation: Operation::Remember,
        title: "Remember",
        description: "Keeps a belief as subject, predicate and value. A new value of a single-valued \
            predicate replaces the old one, which stays in the history. Or keeps a text together with \
            the statements found in it, each with the words that prove it.",
        effect: Effect::Adds,
        schema: remember,
        answer: output::remembered,
    },
    Tool {
        name: "recall",
        operation: Operation::Recall,
        title: "Recall",
        description: "Reads current beliefs: of a subject, of a predicate, of both, or those that best \
            match a query in plain words. Give at least one of subject, predicate and query.",
        effect: Effect::Reads,
        schema: recall,
        answer: output::beliefs,
    },
    Tool {
        name: "forget",
        operation: Operation::Forget,
        title: "Forget",
        description: "Withdraws a belief, or every current value of the pair if no value is given. \
            Nothing older comes back by it, and the history keeps what was withdrawn.",
        effect: Effect::Withdraws,
        schema: forget,
        answer: output::withdrawn,
    },
    Tool {
        name: "explain",
        operation: Operation::Explain,
        title: "Explain",
        description: "Answers a question with the beliefs that match it best, and for each says why it is \
            believed: its source, the rules that apply and its whole history.",
        effect: Effect::Reads,
        schema: explain,
        answer: output::explained,
    },
    Tool {
        name: "memory_history",
        operation: Operation::History,
        title: "History of a belief",
        description: "Lists every statement and withdrawal of one subject and predicate, oldest first.",
        effect: Effect::Reads,
        schema: history,
        answer: output::events,
    },
    Tool {
        name: "timeline",
        operation: Operation::Timeline,
        title: "Timeline of a belief",
        description: "Tells how the belief of one subject and predicate changed, step by step, and what \
            is believed now.",
        effect: Effect::Reads,
        schema: pair,
        answer: output::timeline,
    },
    Tool {
        name: "diff",
        operation: Operation::Diff,
        title: "What changed",
        description: "Shows which beliefs began and ended between two times, per subject and predicate.",
        effect: Effect::Reads,
        schema: diff,
        answer: output::changes,
    },
];

fn nothing() -> Value {
    object(json!({}), &[])
}

fn subject() -> Value {
    string("Whom or what it is about; case does not matter.")
}

fn predicate() -> Value {
    string("A registered predicate, in snake_case.")
}

fn value(description: &str) -> Value {
    json!({ "type": ["string", "number", "boolean"], "description": description })
}

fn replaces() -> Value {
    let item = json!({
        "type": "object",
        "properties": {
            "predicate": { "type": "string", "description": "The predicate of the statement." },
            "value": { "type": ["string", "number", "boolean"], "description": "Its value." },
        },
        "required": ["predicate", "value"],
        "additionalProperties": false,
    });
    json!({
        "type": "array",
        "maxItems": 16,
        "items": item,
        "description": "Statements about the same subject that this one ends.",
    })
}

fn cardinality() -> Value {
    json!({
        "type": "string",
        "enum": ["single", "multi"],
        "description": "Only where predicates may be defined by writing: whether a new one holds one value or many.",
    })
}

fn definition() -> Value {
    string("Only where predicates may be defined by writing: what a new one means.")
}

fn statement() -> Value {
    json!({
        "type": "object",
        "properties": {
            "subject": subject(),
            "predicate": predicate(),
            "value": value("What is stated."),
            "evidence": string("The exact words of the text that state it."),
            "replaces": replaces(),
            "cardinality": cardinality(),
            "description": definition(),
        },
        "required": ["subject", "predicate", "value", "evidence"],
        "additionalProperties": false,
    })
}

fn remember() -> Value {
    let mut schema = object(
        json!({
            "subject": subject(),
            "predicate": predicate(),
            "value": value("What is believed."),
            "kind": { "type": "string", "enum": ["fact", "preference"], "description": "What kind of belief it is." },
            "confidence": { "type": "number", "minimum": 0, "maximum": 1, "description": "How sure it is; 1 if left out." },
            "source": {
                "type": "string",
                "enum": ["user_stated", "agent_inferred", "tool_result"],
                "description": "Where it comes from.",
            },
            "observed_at": time("When it was stated, if not now."),
            "session": session(),
            "replaces": replaces(),
            "text": { "type": "string", "maxLength": 32768, "description": "A text to keep whole, with its statements." },
            "statements": {
                "type": "array",
                "maxItems": 32,
                "items": statement(),
                "description": "What the text states.",
            },
            "cardinality": cardinality(),
            "description": definition(),
        }),
        &[],
    );
    schema["oneOf"] = json!([
        { "required": ["subject", "predicate", "value"] },
        { "required": ["text", "statements"] },
    ]);
    schema
}

fn recall() -> Value {
    object(
        json!({
            "subject": subject(),
            "predicate": predicate(),
            "query": string("What you want to know, in plain words. Times like \"last week\" help."),
            "as_of": time("Answer with what was believed at this time."),
            "min_confidence": { "type": "number", "minimum": 0, "maximum": 1, "description": "Leave out what is less sure." },
            "limit": { "type": "integer", "maximum": 1000, "description": "How many at most, up to 1000; 20 if left out, 0 or less." },
            "cursor": cursor(),
            "with_sources": { "type": "boolean", "description": "Add the words that a belief was drawn from." },
            "observed_after": time("Only what was stated at or after this time."),
            "observed_before": time("Only what was stated at or before this time."),
        }),
        &[],
    )
}

fn forget() -> Value {
    object(
        json!({
            "subject": subject(),
            "predicate": predicate(),
            "value": value("The value to withdraw; every current value if left out."),
            "all": { "type": "boolean", "description": "Says plainly that every current value is meant." },
        }),
        &["subject", "predicate"],
    )
}

fn explain() -> Value {
    object(
        json!({ "question": string("What to explain, in plain words.") }),
        &["question"],
    )
}

fn pair() -> Value {
    object(
        json!({ "subject": subject(), "predicate": predicate() }),
        &["subject", "predicate"],
    )
}

fn history() -> Value {
    object(
        json!({
            "subject": subject(),
            "predicate": predicate(),
            "limit": { "type": "integer", "maximum": 1000, "description": "How many events at most, up to 1000; all if left out, 0 or less." },
            "cursor": cursor(),
        }),
        &["subject", "predicate"],
    )
}

fn cursor() -> Value {
    string(
        "Where to go on: the next_cursor of the page before, with all else alike. Not for a query.",
    )
}

fn diff() -> Value {
    object(
        json!({
            "from": time("The earlier time."),
            "to": time("The later time; now if left out."),
            "subject": subject(),
        }),
        &["from"],
    )
}
