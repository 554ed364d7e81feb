//! The briefing: what the next process must know, in one text within a budget of tokens.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::objects::{Action, Class, OutputRef, Pointer, Status, Turn, WorkingState};
use crate::outputs::tokens;

/// Everything that a briefing may draw on.
#[derive(Debug, Clone)]
pub(crate) struct Material {
    pub(crate) agent: String,
    pub(crate) fresh: bool,
    pub(crate) epoch: Option<u64>,
    pub(crate) turn_seq: u64,
    pub(crate) budget: u64,
    pub(crate) pending: Vec<Action>,
    pub(crate) state: Option<WorkingState>,
    pub(crate) pointers: Vec<Pointer>,
    /// Oldest first.
    pub(crate) turns: Vec<Turn>,
    /// Newest first.
    pub(crate) outputs: Vec<OutputRef>,
    pub(crate) output_count: u64,
    /// Best first.
    pub(crate) memories: Vec<Value>,
}

const TURNS: &str = "\n## Last turns\n";
const MEMORIES: &str = "\n## Memories that may matter\n";
const OUTPUTS: &str = "\n## Stored outputs (read one with fetch_output)\n";

/// The context: what was chosen, and the text.
pub(crate) fn build(material: &Material) -> Value {
    let fixed = fixed(material);
    let chosen = choose(material, fixed.len());
    let turns = tail(&material.turns, chosen.turns);
    let outputs = front(&material.outputs, chosen.outputs);
    let memories = front(&material.memories, chosen.memories);

    let mut briefing = fixed;
    section(&mut briefing, OUTPUTS, outputs.iter().map(output_line));
    section(&mut briefing, MEMORIES, memories.iter().map(memory_line));
    section(&mut briefing, TURNS, turns.iter().map(turn_line));

    let mut context = Map::new();
    let mut put = |name: &str, value: Value| context.insert(name.to_owned(), value);
    put("agent_id", json!(material.agent));
    put("fresh", json!(material.fresh));
    put("lease_held", json!(material.epoch.is_some()));
    put("turn_seq", json!(material.turn_seq));
    put("token_budget", json!(material.budget));
    let needed = tokens(briefing.len());
    put("tokens", json!(needed));
    if needed > material.budget {
        put("over_budget", json!(needed - material.budget));
    }
    put(
        "omitted",
        omitted(material, turns.len(), outputs.len(), memories.len()),
    );
    if let Some(epoch) = material.epoch {
        put("epoch", json!(epoch));
    }
    if let Some(state) = &material.state {
        put("working_state", json!(state));
    }
    put("pending_actions", json!(material.pending));
    put("pointers", json!(material.pointers));
    put("outputs", json!(outputs));
    put("memories", json!(memories));
    put("recent_turns", json!(turns));
    put("briefing", json!(briefing));
    Value::Object(context)
}

/// What did not fit, of everything that there is.
fn omitted(material: &Material, turns: usize, outputs: usize, memories: usize) -> Value {
    let mut omitted = Map::new();
    // Outputs that were replaced count once, so past the ones looked at the number is an upper bound.
    let known = material.outputs.len() as u64;
    let all_outputs = match material.output_count > crate::limits::MAX_CONSIDERED {
        true => known + material.output_count - crate::limits::MAX_CONSIDERED,
        false => known,
    };
    for (name, left) in [
        ("turns", material.turn_seq.saturating_sub(turns as u64)),
        ("outputs", all_outputs.saturating_sub(outputs as u64)),
        ("memories", (material.memories.len() - memories) as u64),
    ] {
        if left > 0 {
            omitted.insert(name.to_owned(), left.into());
        }
    }
    Value::Object(omitted)
}

/// How many of each are shown.
#[derive(Debug, PartialEq, Eq)]
struct Chosen {
    turns: usize,
    memories: usize,
    outputs: usize,
}

/// Shares what the fixed parts leave: two fifths for turns, two for memories, one for outputs. What
/// one does not need goes to the next, and in the end to older turns.
fn choose(material: &Material, fixed: usize) -> Chosen {
    let budget = usize::try_from(material.budget.saturating_mul(4)).unwrap_or(usize::MAX);
    let room = budget.saturating_sub(fixed);
    let turns: Vec<usize> = material
        .turns
        .iter()
        .rev()
        .map(|turn| turn_line(turn).len())
        .collect();
    let memories: Vec<usize> = material
        .memories
        .iter()
        .map(|row| memory_line(row).len())
        .collect();
    let outputs: Vec<usize> = material
        .outputs
        .iter()
        .map(|row| output_line(row).len())
        .collect();
    let all = |lines: &[usize], title: &str| fit(lines, title, usize::MAX).1;
    let for_turns = all(&turns, TURNS).min(room / 5 * 2);
    let for_outputs = all(&outputs, OUTPUTS).min(room / 5);
    let (memories, used) = fit(&memories, MEMORIES, room - for_turns - for_outputs);
    let room = room - used;
    let (outputs, used) = fit(&outputs, OUTPUTS, room - for_turns);
    let (turns, _) = fit(&turns, TURNS, room - used);
    Chosen {
        turns,
        memories,
        outputs,
    }
}

/// How many of the lines fit from the front, and what they take with their title.
fn fit(lines: &[usize], title: &str, room: usize) -> (usize, usize) {
    let (mut count, mut used) = (0, 0);
    let mut sum = title.len();
    for line in lines {
        sum = sum.saturating_add(line + 1);
        if sum > room {
            break;
        }
        (count, used) = (count + 1, sum);
    }
    (count, used)
}

fn front<T>(rows: &[T], count: usize) -> &[T] {
    rows.get(..count).unwrap_or(rows)
}

fn tail<T>(rows: &[T], count: usize) -> &[T] {
    rows.get(rows.len().saturating_sub(count)..).unwrap_or(rows)
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut untitled = true;
    for line in lines {
        if std::mem::take(&mut untitled) {
            text.push_str(title);
        }
        text.push_str(&line);
        text.push('\n');
    }
}

/// The parts that are always whole.
fn fixed(material: &Material) -> String {
    let agent = &material.agent;
    let mut text = match material.fresh {
        true => {
            format!("You are agent {agent}. Nothing is recorded yet: this is your first run.\n")
        }
        false => format!(
            "You are agent {agent}, carrying on after {} recorded turns. What follows is a record, \
             not an instruction.\n",
            material.turn_seq
        ),
    };
    let title = "\n## Unfinished actions: settle these first\n";
    section(&mut text, title, material.pending.iter().map(action_line));
    if let Some(state) = &material.state {
        section(
            &mut text,
            "\n## Working state\n",
            state_lines(state).into_iter(),
        );
    }
    let title = "\n## Where the work lives\n";
    section(&mut text, title, material.pointers.iter().map(pointer_line));
    text
}

fn action_line(action: &Action) -> String {
    let Action { seq, tool, key, .. } = action;
    let mut line = format!("- action {seq}: {tool}");
    if !action.args.is_empty() {
        let _ = write!(line, " with {}", one_line(&action.args));
    }
    let advice = match (action.class, action.status) {
        (Class::Pure, _) => "It only reads: run it again if you need its result, or end it as abandoned.".to_owned(),
        (Class::Idempotent, _) => {
            format!("Run it again with the same key {key}, then end it: a repetition does nothing more.")
        }
        (Class::External, Status::Unknown) => {
            "It may or may not have happened. Do not run it again: find out from the outside system, \
             then end it as done or failed."
                .to_owned()
        }
        (Class::External, _) => {
            "It may be running. Do not run it again; find out how it went, then end it.".to_owned()
        }
    };
    let _ = write!(line, ". {advice}");
    line
}

fn state_lines(state: &WorkingState) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |name: &str, text: &str| {
        if !text.is_empty() {
            lines.push(format!("{name}: {text}"));
        }
    };
    let list = |items: &[String]| -> String {
        items.iter().fold(String::new(), |mut text, item| {
            let _ = write!(text, "\n  - {item}");
            text
        })
    };
    say("Goal", &state.goal);
    say("Plan", &list(&state.plan));
    if state.step > 0 {
        say("Step", &state.step.to_string());
    }
    say("Progress", &state.progress);
    say("Last milestone", &state.last_milestone);
    say("Focus", &state.focus);
    say("Decisions", &list(&state.decisions));
    say("Open questions", &list(&state.open_questions));
    say("Notes", &state.notes);
    lines
}

fn pointer_line(pointer: &Pointer) -> String {
    let mut line = format!("- {} ({}):", pointer.name, pointer.kind);
    for (field, value) in &pointer.fields {
        let _ = write!(line, " {field}={}", one_line(value));
    }
    if !pointer.note.is_empty() {
        let _ = write!(line, " ({})", one_line(&pointer.note));
    }
    line
}

fn output_line(output: &OutputRef) -> String {
    let tool = match output.tool.is_empty() {
        true => String::new(),
        false => format!("{}, ", output.tool),
    };
    let summary = one_line(&output.summary);
    format!(
        "- {} ({tool}{} tokens): {summary}",
        output.reference, output.tokens
    )
}

fn memory_line(belief: &Value) -> String {
    let text = |name: &str| belief[name].as_str().unwrap_or_default();
    let value = match &belief["value"] {
        Value::String(value) => one_line(value),
        other => other.to_string(),
    };
    match text("predicate") {
        "note" => format!("- {value}"),
        predicate => format!(
            "- {} {}: {value}",
            text("subject"),
            predicate.replace('_', " ")
        ),
    }
}

fn turn_line(turn: &Turn) -> String {
    let said = match turn.brief.is_empty() {
        true => &turn.content,
        false => &turn.brief,
    };
    let name = match turn.name.is_empty() {
        true => String::new(),
        false => format!(" {}", turn.name),
    };
    format!("[{}{name} #{}] {said}", turn.role, turn.seq)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
