//! What the tools of agents answer, as schemas of their structured content.

use recall_agent::Tool;
use serde_json::{Value, json};

use crate::mcp::tools::output::{flag, listing, many, shape, text, whole};

/// What this tool answers.
pub(super) fn of(tool: Tool) -> Value {
    match tool {
        Tool::Resume | Tool::Context => context(),
        Tool::Acquire => acquired(),
        Tool::Release => shape(json!({ "released": flag() }), &["released"]),
        Tool::UpdateWorkingState | Tool::Milestone => state(),
        Tool::WorkingStateHistory => list(state()),
        Tool::RecordTurn => turn(),
        Tool::RecentTurns => list(turn()),
        Tool::StoreOutput | Tool::FetchOutput => output(),
        Tool::SetPointer => pointer(),
        Tool::RemovePointer => shape(json!({ "removed": text() }), &["removed"]),
        Tool::ListPointers => list(pointer()),
        Tool::BeginAction | Tool::EndAction => action(),
        Tool::PendingActions => list(action()),
    }
}

/// A list, and of an empty one whether nothing was ever kept of the agent.
fn list(item: Value) -> Value {
    let mut schema = listing(item);
    schema["properties"]["fresh"] = flag();
    schema
}

fn context() -> Value {
    let members = json!({
        "agent_id": text(),
        "fresh": flag(),
        "epoch": whole(),
        "lease_held": flag(),
        "pending_actions": many(action()),
        "working_state": state(),
        "pointers": many(pointer()),
        "outputs": many(output()),
        "memories": many(json!({ "type": "object" })),
        "recent_turns": many(turn()),
        "omitted": { "type": "object" },
        "turn_seq": whole(),
        "token_budget": whole(),
        "tokens": whole(),
        "briefing": text(),
    });
    let always = ["agent_id", "fresh", "lease_held", "tokens", "briefing"];
    shape(members, &always)
}

fn acquired() -> Value {
    let members = json!({
        "acquired": flag(),
        "epoch": whole(),
        "briefing": text(),
        "pending_actions": many(action()),
    });
    shape(members, &["acquired"])
}

fn state() -> Value {
    let members = json!({
        "goal": text(),
        "plan": many(text()),
        "progress": text(),
        "focus": text(),
        "decisions": many(text()),
        "open_questions": many(text()),
        "notes": text(),
        "step": whole(),
        "last_milestone": text(),
        "version": whole(),
        "updated_at": text(),
    });
    shape(members, &[])
}

fn turn() -> Value {
    let members = json!({
        "seq": whole(),
        "role": text(),
        "name": text(),
        "content": text(),
        "message_id": text(),
        "brief": text(),
        "output_ref": text(),
        "at": text(),
    });
    shape(members, &["seq", "role", "at"])
}

fn output() -> Value {
    let members = json!({
        "ref": text(),
        "tool": text(),
        "summary": text(),
        "content": text(),
        "tokens": whole(),
        "at": text(),
    });
    shape(members, &["ref", "at"])
}

fn pointer() -> Value {
    let members = json!({
        "name": text(),
        "type": text(),
        "fields": { "type": "object" },
        "note": text(),
        "at": text(),
    });
    shape(members, &["name", "type", "fields"])
}

fn action() -> Value {
    let members = json!({
        "seq": whole(),
        "tool": text(),
        "class": text(),
        "key": text(),
        "status": text(),
        "args": text(),
        "result": text(),
        "error": text(),
        "resolution": text(),
        "epoch": whole(),
        "started_at": text(),
        "ended_at": text(),
    });
    shape(members, &["seq", "tool", "class", "status"])
}
