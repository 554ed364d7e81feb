//! The tools of each surface, and what a model is told about them.

mod agent;
mod output;
mod text;
mod typed;

use recall_agent::Tool as AgentTool;
use recall_keys::Grant;
use recall_memory::{Operation, Surface};
use serde_json::{Map, Value, json};

use crate::state::Api;

/// A tool as it is advertised, and the operation behind it.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) operation: Operation,
    title: &'static str,
    description: &'static str,
    /// What it does to the memory.
    effect: Effect,
    schema: fn() -> Value,
    answer: fn() -> Value,
}

/// What a tool does to what is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Reads,
    /// Adds, and the same again adds nothing.
    Adds,
    /// Adds each time.
    Appends,
    /// Takes something away, and the same again takes nothing more.
    Withdraws,
    /// May put something in the place of what was there.
    Replaces,
}

impl Effect {
    /// The hints of the protocol. Absent ones mean the worst.
    fn annotations(self) -> Value {
        match self {
            Self::Reads => json!({ "readOnlyHint": true, "openWorldHint": false }),
            Self::Adds | Self::Appends | Self::Withdraws | Self::Replaces => json!({
                "readOnlyHint": false,
                "destructiveHint": matches!(self, Self::Withdraws | Self::Replaces),
                "idempotentHint": matches!(self, Self::Adds | Self::Withdraws),
                "openWorldHint": false,
            }),
        }
    }
}

/// The tool of this name, if the surface has it.
pub(super) fn find(surface: Surface, name: &str) -> Option<&'static Tool> {
    table(surface).iter().find(|tool| tool.name == name)
}

/// What an operation takes and answers where it is no tool, if the surface has it.
pub(crate) fn schemas(surface: Surface, operation: Operation) -> Option<(Value, Value)> {
    let tool = table(surface)
        .iter()
        .find(|tool| tool.operation == operation)?;
    let answer = (tool.answer)();
    let bare = answer.pointer("/properties/result").cloned();
    Some(((tool.schema)(), bare.unwrap_or(answer)))
}

/// The tools as `tools/list` shows them to a key.
pub(super) fn list(api: &Api, grant: &Grant) -> Vec<Value> {
    let (memory, agents) = (&api.memory, api.agents.is_some());
    let mut tools = all(memory.surface(), agents, memory.reads_texts());
    if grant.session.is_some() {
        fix_session(&mut tools);
    }
    tools
}

/// Offers no choice of a session where the key says which one it is.
fn fix_session(tools: &mut [Value]) {
    for tool in tools {
        let properties = tool.pointer_mut("/inputSchema/properties");
        if let Some(properties) = properties.and_then(Value::as_object_mut) {
            properties.remove("session");
        }
    }
}

/// The tools in a fixed order.
///
/// Where `reads` says that texts are read by a model, they may come without statements.
fn all(surface: Surface, agents: bool, reads: bool) -> Vec<Value> {
    let mut tools: Vec<_> = table(surface).iter().map(Tool::advertise).collect();
    if reads && surface == Surface::Typed {
        let remember = tools.iter_mut().find(|tool| tool["name"] == "remember");
        if let Some(alone) = remember.and_then(|it| it.pointer_mut("/inputSchema/oneOf/1")) {
            *alone = json!({ "required": ["text"] });
        }
    }
    if agents {
        tools.extend(AgentTool::ALL.into_iter().map(agent::advertise));
    }
    tools
}

fn table(surface: Surface) -> &'static [Tool] {
    match surface {
        Surface::Text => &text::TOOLS,
        Surface::Typed => &typed::TOOLS,
    }
}

impl Tool {
    fn advertise(&self) -> Value {
        let answer = match self.effect {
            Effect::Reads => output::with_coverage((self.answer)()),
            Effect::Adds | Effect::Appends | Effect::Withdraws | Effect::Replaces => {
                (self.answer)()
            }
        };
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": (self.schema)(),
            "outputSchema": answer,
            "annotations": self.effect.annotations(),
        })
    }
}

/// An object schema that admits nothing beyond its properties.
fn object(properties: Value, required: &[&str]) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties);
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    Value::Object(schema)
}

fn string(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

/// What a write belongs together with.
fn session() -> Value {
    string(
        "A name for what is written in one go, such as one conversation: its parts help to find each \
         other. If left out, what you write shortly one after the other belongs together.",
    )
}

/// An instant with its zone.
fn time(description: &str) -> Value {
    let description = format!("{description} RFC 3339 with a zone, such as 2026-11-29T12:00:00Z.");
    json!({ "type": "string", "format": "date-time", "description": description })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(surface: Surface) -> Vec<&'static str> {
        table(surface).iter().map(|tool| tool.name).collect()
    }

    #[test]
    fn clients_tell_the_surface_by_the_tools() {
        let typed = names(Surface::Typed);
        let expected = [
            "list_predicates",
            "remember",
            "recall",
            "forget",
            "explain",
            "memory_history",
            "timeline",
            "diff",
        ];
        assert_eq!(typed, expected);
        assert_eq!(
            names(Surface::Text),
            ["remember", "recall", "forget", "history", "diff"]
        );
    }

    #[test]
    fn agent_tools_come_last_and_only_where_they_work() {
        for surface in [Surface::Text, Surface::Typed] {
            let (without, with) = (all(surface, false, false), all(surface, true, false));
            assert_eq!(without, with[..without.len()]);
            assert_eq!(with.len() - without.len(), AgentTool::ALL.len());
            assert_eq!(with[without.len()]["name"], "agent_resume");
        }
    }

    #[test]
    fn a_key_with_a_session_of_its_own_is_offered_no_other() {
        for surface in [Surface::Text, Surface::Typed] {
            let mut tools = all(surface, true, false);
            let offered = |tools: &[Value]| Value::from(tools).to_string().contains("\"session\":");
            assert!(offered(&tools));
            fix_session(&mut tools);
            assert!(!offered(&tools), "{surface:?}");
        }
    }

    #[test]
    fn a_text_may_come_alone_where_a_model_reads_it() {
        let choices = |reads| all(Surface::Typed, false, reads)[1]["inputSchema"]["oneOf"].clone();
        assert_eq!(choices(false)[1]["required"], json!(["text", "statements"]));
        assert_eq!(choices(true)[1]["required"], json!(["text"]));
    }

    #[test]
    fn every_tool_is_described_and_closed() {
        for surface in [Surface::Text, Surface::Typed] {
            for tool in all(surface, true, true) {
                let schema = &tool["inputSchema"];
                assert_eq!(schema["type"], "object", "{tool}");
                assert_eq!(schema["additionalProperties"], false, "{tool}");
                // An array at the root of one makes clients refuse the whole list.
                assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
                assert!(
                    tool["description"]
                        .as_str()
                        .is_some_and(|text| text.len() > 40),
                    "{tool}"
                );
                for (name, property) in schema["properties"].as_object().expect("an object") {
                    assert!(
                        property["description"].is_string(),
                        "{}: {name}",
                        tool["name"]
                    );
                }
            }
        }
    }
}
