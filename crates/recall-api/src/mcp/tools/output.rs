//! What the memory tools answer, as schemas of their structured content.
//!
//! An answer that is no object stands under `result`, because some revisions take nothing else.

use serde_json::{Map, Value, json};

/// An object that may hold more than it names.
pub(super) fn shape(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "required": required });
    schema["properties"] = properties;
    schema
}

/// A list.
pub(super) fn many(item: Value) -> Value {
    let mut schema = json!({ "type": "array" });
    schema["items"] = item;
    schema
}

/// A list as the whole answer.
pub(super) fn listing(item: Value) -> Value {
    shape(json!({ "result": many(item) }), &["result"])
}

pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

pub(super) fn whole() -> Value {
    json!({ "type": "integer" })
}

pub(super) fn flag() -> Value {
    json!({ "type": "boolean" })
}

fn sentences() -> Value {
    many(text())
}

fn value() -> Value {
    json!({ "type": ["string", "number", "boolean", "null"] })
}

/// What a reading tool adds: what its answer was taken from.
pub(super) fn with_coverage(mut schema: Value) -> Value {
    let coverage = json!({
        "type": "object",
        "description": "What the answer was taken from: how many records were in scope, met the \
            conditions and were left out, and why an empty answer is empty.",
    });
    schema["properties"]["coverage"] = coverage;
    let next = "Where a listing goes on, if it does: the cursor of the next page.";
    schema["properties"]["next_cursor"] = json!({ "type": "string", "description": next });
    schema
}

fn former() -> Value {
    let members = json!({ "value": value(), "predicate": text(), "observed_at": text() });
    shape(members, &["value"])
}

fn belief() -> Value {
    let members = json!({
        "subject": text(),
        "predicate": text(),
        "value": value(),
        "confidence": { "type": "number" },
        "source": text(),
        "kind": text(),
        "observed_at": text(),
        "event_id": text(),
        "days_ago": whole(),
        "replaced": many(former()),
        "elsewhere": many(former()),
        "no_longer": many(former()),
    });
    shape(members, &["subject", "predicate", "value", "observed_at"])
}

fn event() -> Value {
    let members = json!({
        "id": text(),
        "subject": text(),
        "predicate": text(),
        "value": value(),
        "observed_at": text(),
        "retraction": flag(),
        "replaced_by": text(),
    });
    shape(
        members,
        &["id", "subject", "predicate", "value", "observed_at"],
    )
}

// === typed surface ===

pub(super) fn predicates() -> Value {
    let members = json!({
        "predicate": text(),
        "cardinality": text(),
        "value_type": text(),
        "description": text(),
        "excludes": sentences(),
        "historical": flag(),
    });
    listing(shape(
        members,
        &["predicate", "cardinality", "value_type", "description"],
    ))
}

/// One statement, or a text with its statements.
pub(super) fn remembered() -> Value {
    let one = Map::from_iter([
        ("stored".to_owned(), belief()),
        ("already_known".to_owned(), flag()),
        ("superseded".to_owned(), many(belief())),
        ("related".to_owned(), many(belief())),
        (
            "unreplaced".to_owned(),
            many(shape(json!({}), &["predicate", "value"])),
        ),
    ]);
    let mut members = one.clone();
    let whole = [
        ("episode", shape(Value::Object(one.clone()), &["stored"])),
        ("proposals", json!({ "type": ["array", "null"] })),
        (
            "results",
            json!({ "type": ["array", "null"], "items": shape(Value::Object(one), &["stored"]) }),
        ),
        ("unfiled", json!({ "type": ["array", "null"] })),
    ];
    members.extend(whole.map(|(name, schema)| (name.to_owned(), schema)));
    let mut schema = json!({ "type": "object", "properties": members });
    schema["anyOf"] = json!([{ "required": ["stored"] }, { "required": ["episode"] }]);
    schema
}

pub(super) fn beliefs() -> Value {
    listing(belief())
}

pub(super) fn withdrawn() -> Value {
    shape(json!({ "withdrawn": whole() }), &["withdrawn"])
}

pub(super) fn explained() -> Value {
    let members = json!({
        "memory": text(),
        "subject": text(),
        "predicate": text(),
        "value": value(),
        "stated_at": text(),
        "source": text(),
        "rules": many(json!({ "type": "object" })),
        "history": many(event()),
    });
    listing(shape(members, &["memory", "rules", "history"]))
}

/// `null` where nothing was ever stated.
pub(super) fn events() -> Value {
    let result = json!({ "anyOf": [many(event()), { "type": "null" }] });
    shape(json!({ "result": result }), &["result"])
}

pub(super) fn timeline() -> Value {
    let step = json!({
        "at": text(),
        "change": text(),
        "statement": text(),
        "added": sentences(),
        "removed": sentences(),
    });
    let members = json!({
        "subject": text(),
        "predicate": text(),
        "now": sentences(),
        "steps": many(shape(step, &["at", "change"])),
    });
    shape(members, &["now", "steps"])
}

pub(super) fn changes() -> Value {
    let change = json!({
        "subject": text(),
        "predicate": text(),
        "before": sentences(),
        "after": sentences(),
        "added": sentences(),
        "removed": sentences(),
        "began": sentences(),
        "ended": sentences(),
    });
    shape(json!({ "changes": many(shape(change, &[])) }), &["changes"])
}

// === text surface ===

pub(super) fn kept() -> Value {
    let one = json!({ "text": text(), "replaces": sentences(), "already_known": flag() });
    let members = json!({
        "remembered": many(shape(one, &["text"])),
        "kept_as_text": flag(),
        "note": text(),
    });
    shape(members, &["kept_as_text"])
}

pub(super) fn memories() -> Value {
    let earlier = || many(shape(json!({ "text": text(), "since": text() }), &["text"]));
    let memory = json!({
        "text": text(),
        "since": text(),
        "days_ago": whole(),
        "before": earlier(),
        "elsewhere": earlier(),
        "said": text(),
        "no_longer": sentences(),
    });
    let memories = many(shape(memory, &["text"]));
    shape(json!({ "memories": memories }), &["memories"])
}

pub(super) fn forgotten() -> Value {
    shape(json!({ "forgotten": sentences() }), &["forgotten"])
}

pub(super) fn histories() -> Value {
    let change = json!({
        "when": text(),
        "change": text(),
        "began": sentences(),
        "ended": sentences(),
        "statement": text(),
        "said": text(),
    });
    let history = json!({
        "about": text(),
        "now": sentences(),
        "changes": many(shape(change, &["when", "change"])),
    });
    let history = many(shape(history, &["about", "changes"]));
    shape(json!({ "history": history }), &["history"])
}
