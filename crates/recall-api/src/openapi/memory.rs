//! The memory operations, with the schemas of the tools of both surfaces.

use recall_memory::{Operation as Does, Surface};
use serde_json::{Map, Value, json};

use super::operation::{Access, Operation, answer, body, parameter};
use crate::mcp::tool_schemas;
use crate::routes::{MAX_ITEMS, OPERATIONS};

/// What a person should know beyond the schemas.
struct Card {
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    /// What is sent and what comes back: on the typed surface, then on the text surface.
    examples: fn() -> [Option<[Value; 2]>; 2],
}

pub(super) fn operations() -> Vec<Operation> {
    OPERATIONS
        .iter()
        .map(|(_, operation)| describe(*operation))
        .chain([batch()])
        .collect()
}

fn describe(does: Does) -> Operation {
    let card = card(does);
    let shown = (card.examples)();
    let surfaces = [(Surface::Typed, "typed"), (Surface::Text, "text")];
    let (mut takes, mut answers) = (Vec::new(), Vec::new());
    let (mut asked, mut told) = (Vec::new(), Vec::new());
    for ((surface, name), example) in surfaces.into_iter().zip(shown) {
        if let Some((input, output)) = tool_schemas(surface, does) {
            takes.push(lenient(input));
            answers.push(output);
        }
        if let Some([sent, received]) = example {
            asked.push((name, sent));
            told.push((name, received));
        }
    }
    takes.push(json!({ "type": "null" }));
    let mut success = answer("What was asked for.", any_of(answers), &told);
    cover(&mut success, does.reads());
    Operation {
        method: "post",
        path: card.path,
        id: card.id,
        tag: "memory",
        summary: card.summary,
        description: "For namespace keys. The server offers the typed or the text surface, and takes the \
            arguments of that one.",
        access: Access::Key,
        parameters: if does.reads() {
            Vec::new()
        } else {
            vec![idempotency_key()]
        },
        body: Some(optional(body(any_of(takes), &asked))),
        success: vec![(200, success)],
        refusals: if does.reads() { &READ } else { &WRITE },
    }
}

const READ: [u16; 9] = [400, 401, 403, 405, 408, 413, 415, 429, 503];
const WRITE: [u16; 10] = [400, 401, 403, 405, 408, 413, 415, 422, 429, 503];

fn idempotency_key() -> Value {
    let schema =
        json!({ "type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$" });
    let description = "A name for this write: sent again within 24 hours under the same key, it is \
        answered as the first time, with Idempotency-Replayed.";
    parameter("header", "Idempotency-Key", description, schema)
}

fn batch() -> Operation {
    let takes = [Surface::Typed, Surface::Text].map(|surface| {
        let (input, _) = tool_schemas(surface, Does::Remember).unwrap_or_default();
        lenient(input)
    });
    let answers = [Surface::Typed, Surface::Text]
        .map(|surface| tool_schemas(surface, Does::Remember).unwrap_or_default().1);
    let mut items = json!({ "type": "array", "maxItems": MAX_ITEMS });
    items["items"] = any_of(takes.into());
    let error = json!({
        "type": "object",
        "properties": { "code": { "type": "string" }, "message": { "type": "string" } },
        "required": ["code", "message"],
    });
    let mut result = json!({ "type": "object", "required": ["ok"] });
    result["properties"] = json!({ "ok": { "type": "boolean" }, "error": error });
    result["properties"]["result"] = any_of(answers.into());
    let schema = json!({
        "type": "object",
        "properties": { "results": { "type": "array", "items": result } },
        "required": ["results"],
    });
    let takes = json!({
        "type": "object",
        "properties": { "items": items },
        "required": ["items"],
        "additionalProperties": false,
    });
    let asked = json!({ "items": [pair(json!({ "value": "helix" }))] });
    let told = json!({ "results": [{ "ok": true, "result": { "stored": belief() } }] });
    Operation {
        method: "post",
        path: "/v1/remember:batch",
        id: "rememberBatch",
        tag: "memory",
        summary: "Keep many things, each with a result of its own",
        description: "For namespace keys. The items are kept in their order; one that is refused stops \
            none of the others.",
        access: Access::Key,
        parameters: vec![idempotency_key()],
        body: Some(body(takes, &[("typed", asked)])),
        success: vec![(
            200,
            answer("A result for each item.", schema, &[("typed", told)]),
        )],
        refusals: &WRITE,
    }
}

/// Nothing at all is sent for no arguments.
fn optional(mut body: Value) -> Value {
    body["required"] = false.into();
    body
}

/// An argument that is `null` counts as left out.
fn lenient(mut schema: Value) -> Value {
    let required: Vec<String> = match &schema["required"] {
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let optional = properties
            .iter_mut()
            .filter(|(name, _)| !required.contains(name));
        optional.for_each(|(_, property)| admit_null(property));
    }
    schema
}

fn admit_null(property: &mut Value) {
    if let Some(format) = property.get("format").cloned() {
        // An empty time counts as left out as well.
        let time = json!({ "type": "string", "format": format });
        let description = property["description"].take();
        *property = json!({ "description": description, "anyOf": [time, { "enum": ["", null] }] });
        return;
    }
    if let Some(Value::Array(choices)) = property.get_mut("enum") {
        choices.push(Value::Null);
    }
    match property.get_mut("type") {
        Some(Value::Array(types)) => types.push("null".into()),
        Some(one) => *one = json!([one, "null"]),
        None => {}
    }
}

fn any_of(mut schemas: Vec<Value>) -> Value {
    match schemas.len() {
        1 => schemas.remove(0),
        _ => json!({ "anyOf": schemas }),
    }
}

/// The headers that tell what an answer was taken from.
fn cover(answer: &mut Value, reads: bool) {
    let mut headers = vec![
        ("Recall-Revision", "Revision"),
        ("RateLimit-Policy", "RatePolicy"),
        ("RateLimit", "Rate"),
    ];
    if reads {
        headers.extend([
            ("Recall-In-Scope", "InScope"),
            ("Recall-Considered", "Considered"),
            ("Recall-Left-Out", "LeftOut"),
            ("Recall-Next-Cursor", "NextCursor"),
            ("Recall-Indexes", "Indexes"),
            ("Recall-Degraded", "Degraded"),
            ("Recall-Empty", "Empty"),
        ]);
    }
    for (name, known) in headers {
        answer["headers"][name] = json!({ "$ref": format!("#/components/headers/{known}") });
    }
}

fn card(does: Does) -> Card {
    let (path, id, summary, examples): (_, _, _, fn() -> _) = match does {
        Does::Remember => ("/v1/remember", "remember", "Keep something", remember),
        Does::Recall => ("/v1/recall", "recall", "Find what is believed", recall),
        Does::Forget => ("/v1/forget", "forget", "Withdraw something", forget),
        Does::History => ("/v1/history", "history", "Everything ever stated", history),
        Does::Timeline => ("/v1/timeline", "timeline", "How a belief changed", timeline),
        Does::Diff => ("/v1/diff", "diff", "What changed between two times", diff),
        Does::Predicates => (
            "/v1/predicates",
            "predicates",
            "List predicates",
            predicates,
        ),
        Does::Explain => (
            "/v1/explain",
            "explain",
            "Why something is believed",
            explain,
        ),
    };
    Card {
        path,
        id,
        summary,
        examples,
    }
}

fn belief() -> Value {
    json!({
        "subject": "user",
        "predicate": "prefers_editor",
        "value": "helix",
        "confidence": 1.0,
        "source": "user_stated",
        "kind": "preference",
        "observed_at": "2026-11-29T12:00:00Z",
        "event_id": "m-a552cb1fb782292124f31a1b",
    })
}

fn event() -> Value {
    let mut event = belief();
    if let Value::Object(members) = &mut event {
        let id = members.remove("event_id");
        members.extend(id.map(|id| ("id".to_owned(), id)));
    }
    event
}

fn pair(more: Value) -> Value {
    let mut members = Map::from_iter([
        ("subject".to_owned(), "user".into()),
        ("predicate".to_owned(), "prefers_editor".into()),
    ]);
    if let Value::Object(more) = more {
        members.extend(more);
    }
    Value::Object(members)
}

fn remember() -> [Option<[Value; 2]>; 2] {
    let typed = [
        pair(json!({ "value": "helix" })),
        json!({ "stored": belief() }),
    ];
    let text = [
        json!({ "text": "I moved from vim to helix." }),
        json!({ "kept_as_text": true }),
    ];
    [Some(typed), Some(text)]
}

fn recall() -> [Option<[Value; 2]>; 2] {
    let typed = [json!({ "query": "which editor" }), json!([belief()])];
    let memory =
        json!({ "text": "I moved from vim to helix.", "since": "2026-11-29", "days_ago": 0 });
    let text = [
        json!({ "question": "which editor" }),
        json!({ "memories": [memory] }),
    ];
    [Some(typed), Some(text)]
}

fn forget() -> [Option<[Value; 2]>; 2] {
    let typed = [pair(json!({ "value": "helix" })), json!({ "withdrawn": 1 })];
    let sentence = "I moved from vim to helix.";
    let text = [
        json!({ "text": sentence }),
        json!({ "forgotten": [sentence] }),
    ];
    [Some(typed), Some(text)]
}

fn history() -> [Option<[Value; 2]>; 2] {
    let typed = [pair(Value::Null), json!([event()])];
    let text = [
        json!({ "question": "which editor" }),
        json!({ "history": [] }),
    ];
    [Some(typed), Some(text)]
}

fn timeline() -> [Option<[Value; 2]>; 2] {
    let step = json!({
        "at": "2026-11-29T12:00:00Z",
        "change": "stated",
        "statement": "user prefers editor: helix",
        "added": ["user prefers editor: helix"],
    });
    let line = pair(json!({ "now": ["user prefers editor: helix"], "steps": [step] }));
    [Some([pair(Value::Null), line]), None]
}

fn diff() -> [Option<[Value; 2]>; 2] {
    let asked = json!({ "from": "2026-11-28T00:00:00Z" });
    let sentences = json!(["user prefers editor: helix"]);
    let change = pair(json!({ "before": [], "after": sentences, "added": sentences }));
    let typed = [asked.clone(), json!({ "changes": [change] })];
    let text = [
        asked,
        json!({ "changes": [{ "began": ["I moved from vim to helix."] }] }),
    ];
    [Some(typed), Some(text)]
}

fn predicates() -> [Option<[Value; 2]>; 2] {
    let known = json!({
        "predicate": "prefers_editor",
        "cardinality": "single",
        "value_type": "string",
        "description": "The editor that the subject likes to work with.",
    });
    [Some([json!({}), json!([known])]), None]
}

fn explain() -> [Option<[Value; 2]>; 2] {
    let why = pair(json!({
        "memory": "user prefers editor: helix",
        "value": "helix",
        "stated_at": "2026-11-29T12:00:00Z",
        "source": "user_stated",
        "rules": [],
        "history": [event()],
    }));
    [
        Some([json!({ "question": "which editor" }), json!([why])]),
        None,
    ]
}
