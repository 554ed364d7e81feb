//! The tools of agents, on every surface.

mod output;

use recall_agent::Tool;
use serde_json::{Value, json};

use super::{Effect, object, string};

/// What a model is told about an agent tool.
struct Card {
    title: &'static str,
    description: &'static str,
    effect: Effect,
    properties: fn() -> Value,
    required: &'static [&'static str],
}

/// The tool as `tools/list` shows it.
pub(super) fn advertise(tool: Tool) -> Value {
    let card = card(tool);
    let mut properties = (card.properties)();
    properties["agent_id"] = string("The agent: 1 to 128 letters, digits and . _ -");
    let mut required = vec!["agent_id"];
    required.extend(card.required);
    json!({
        "name": tool.name(),
        "title": card.title,
        "description": card.description,
        "inputSchema": object(properties, &required),
        "outputSchema": output::of(tool),
        "annotations": card.effect.annotations(),
    })
}

fn card(tool: Tool) -> Card {
    match tool {
        Tool::Resume => Card {
            title: "Resume an agent",
            description: "Takes the agent for this session and answers with a briefing: unfinished \
                actions, working state, pointers, stored outputs, memories and the last turns. Call it \
                first. No other session can write as the agent until it is released, its lease runs \
                out or its owner is gone.",
            effect: Effect::Appends,
            properties: resume,
            required: &[],
        },
        Tool::Acquire => Card {
            title: "Acquire the agent's lease",
            description: "Takes the agent after a resume with defer_lease, or takes it back after a \
                loss. Tries once; says by whom and until when it is held otherwise.",
            effect: Effect::Appends,
            properties: nothing,
            required: &[],
        },
        Tool::Release => Card {
            title: "Release an agent",
            description: "Gives the agent back, so that the next session can resume it at once. \
                Call it last.",
            effect: Effect::Adds,
            properties: nothing,
            required: &[],
        },
        Tool::UpdateWorkingState => Card {
            title: "Update the working state",
            description: "Changes the note that the next resume shows whole. Fields that are passed \
                replace, the others stay; an empty text or list clears. Earlier versions are kept.",
            effect: Effect::Appends,
            properties: working_state,
            required: &[],
        },
        Tool::Milestone => Card {
            title: "Reach a milestone",
            description: "Notes a durable point of the work in the working state. A crash costs at \
                most what came after it.",
            effect: Effect::Appends,
            properties: milestone,
            required: &["name"],
        },
        Tool::RecordTurn => Card {
            title: "Record a turn",
            description: "Appends one message of the run, word for word, with the next number. The \
                same message_id again answers the turn that it became. A long content is stored as an \
                output and cut in the turn.",
            effect: Effect::Appends,
            properties: turn,
            required: &["role", "content"],
        },
        Tool::RecentTurns => Card {
            title: "Recent turns",
            description: "Lists the newest turns of the agent, oldest of them first.",
            effect: Effect::Reads,
            properties: limit,
            required: &[],
        },
        Tool::StoreOutput => Card {
            title: "Store an output",
            description: "Keeps a large content whole under a reference, to be fetched when needed \
                instead of being carried along. The same ref replaces.",
            effect: Effect::Replaces,
            properties: output,
            required: &["content"],
        },
        Tool::FetchOutput => Card {
            title: "Fetch an output",
            description: "Reads a stored output with its whole content.",
            effect: Effect::Reads,
            properties: reference,
            required: &["ref"],
        },
        Tool::SetPointer => Card {
            title: "Set a pointer",
            description: "Says where a piece of the work lives: a branch, an object, an environment, \
                an outside thing, a process. The same name replaces.",
            effect: Effect::Withdraws,
            properties: pointer,
            required: &["name", "type", "fields"],
        },
        Tool::RemovePointer => Card {
            title: "Remove a pointer",
            description: "Removes a pointer by its name; it need not exist.",
            effect: Effect::Withdraws,
            properties: name,
            required: &["name"],
        },
        Tool::ListPointers => Card {
            title: "List pointers",
            description: "Lists the agent's pointers by name: where each piece of the work lives.",
            effect: Effect::Reads,
            properties: nothing,
            required: &[],
        },
        Tool::BeginAction => Card {
            title: "Begin an action",
            description: "Notes that a tool is about to run; run it only once this has answered. If \
                the process ends before end_action, the next resume shows what was left open and what \
                to do. Hand the key of the answer to an idempotent tool.",
            effect: Effect::Appends,
            properties: begin,
            required: &["tool", "class"],
        },
        Tool::EndAction => Card {
            title: "End an action",
            description: "Notes how an action went. Only an open one can be ended; unknown leaves it \
                open until someone finds out.",
            effect: Effect::Appends,
            properties: end,
            required: &["seq", "status"],
        },
        Tool::PendingActions => Card {
            title: "Pending actions",
            description: "Lists the actions that were begun and not ended, or ended as unknown, \
                oldest first.",
            effect: Effect::Reads,
            properties: nothing,
            required: &[],
        },
        Tool::Context => Card {
            title: "Agent context",
            description: "Builds the briefing anew, with the budget of the resume.",
            effect: Effect::Reads,
            properties: nothing,
            required: &[],
        },
        Tool::WorkingStateHistory => Card {
            title: "History of the working state",
            description: "Lists the versions of the working state, newest first.",
            effect: Effect::Reads,
            properties: limit,
            required: &[],
        },
    }
}

fn whole(description: &str) -> Value {
    json!({ "type": "integer", "description": description })
}

fn strings(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": description })
}

fn one_of(words: &[&str], description: &str) -> Value {
    json!({ "type": "string", "enum": words, "description": description })
}

fn nothing() -> Value {
    json!({})
}

fn limit() -> Value {
    json!({ "limit": whole("How many, at most 1000; 20 if left out, 0 or less.") })
}

fn resume() -> Value {
    json!({
        "token_budget": whole("Tokens that the briefing may take; 8000 if absent."),
        "lease_ttl_seconds": whole("How long the lease lives without a sign of life, 5 to 3600; 60 if absent."),
        "holder": string("What others are told about who holds the agent, at most 200 bytes."),
        "output_threshold": whole("Tokens beyond which a content is stored as an output; 2000 if absent, negative for never."),
        "defer_lease": { "type": "boolean", "description": "Only read for now; take the lease later with agent_acquire." },
    })
}

fn working_state() -> Value {
    json!({
        "goal": string("What the work is for."),
        "plan": strings("The steps of the plan."),
        "progress": string("How far it came."),
        "focus": string("What is being worked on now."),
        "decisions": strings("What was decided, and why."),
        "open_questions": strings("What is not known yet."),
        "notes": string("Anything else that the next process must know."),
        "step": { "type": "integer", "minimum": 0, "description": "The number of the current step." },
    })
}

fn milestone() -> Value {
    json!({
        "name": string("The name of the milestone."),
        "progress": string("How far the work came with it."),
    })
}

fn turn() -> Value {
    json!({
        "role": one_of(&["system", "user", "assistant", "tool"], "Who speaks."),
        "content": string("The message, word for word."),
        "name": string("The name of the tool or speaker."),
        "message_id": string("The harness's id of the message, at most 256 bytes; makes a retry harmless."),
        "brief": string("A shorter form for the briefing, at most 4096 bytes."),
    })
}

fn output() -> Value {
    json!({
        "content": string("The content, at most 1 MiB."),
        "tool": string("The tool it came from."),
        "summary": string("What it is, in a line; its beginning if absent."),
        "ref": string("A reference of your own: 1 to 128 letters, digits and . _ -"),
    })
}

fn reference() -> Value {
    json!({ "ref": string("The reference of the output.") })
}

fn pointer() -> Value {
    json!({
        "name": string("A name: 1 to 128 letters, digits and . _ -"),
        "type": one_of(&["git_ref", "object", "env", "external", "process"], "What kind of place it is."),
        "fields": {
            "type": "object",
            "additionalProperties": { "type": "string" },
            "description": "Where it is. At least one of: git_ref sha, branch; object uri; env image, \
                lockfile_hash, setup; external id, url; process command.",
        },
        "note": string("A remark."),
    })
}

fn name() -> Value {
    json!({ "name": string("The name of the pointer.") })
}

fn begin() -> Value {
    json!({
        "tool": string("The tool that is about to run."),
        "class": one_of(
            &["pure", "idempotent", "external"],
            "What running it twice would do: nothing (pure), nothing more given the same key \
             (idempotent), or happen twice (external).",
        ),
        "args": string("Its arguments, at most 1 MiB."),
    })
}

fn end() -> Value {
    json!({
        "seq": whole("The number that begin_action answered."),
        "status": one_of(&["done", "failed", "abandoned", "unknown"], "How it went."),
        "result": string("What came out, at most 1 MiB."),
        "error": string("What went wrong."),
        "resolution": string("How it was found out, if it was settled after a crash."),
    })
}
