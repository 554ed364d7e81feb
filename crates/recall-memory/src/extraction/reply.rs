//! What the model answers, read with suspicion.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;

use crate::event::Source;
use crate::limits::{
    MAX_DESCRIPTION_BYTES, MAX_REPLACES, MAX_SPELLING_BYTES, MAX_STATEMENTS, MAX_SUBJECT_BYTES,
    MAX_VALUE_BYTES,
};
use crate::plan::{Proposal, Replace, Statement};
use crate::registry::Cardinality;
use crate::sentence;
use crate::typed::remember::DRAWN_CONFIDENCE;
use crate::value::{Value, lower};

#[derive(Debug, Deserialize)]
struct Statements {
    statements: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Chosen {
    forget: Vec<i64>,
}

/// A statement as the model gives it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Item {
    #[serde(default)]
    subject: String,
    #[serde(default)]
    predicate: String,
    #[serde(default)]
    value: serde_json::Value,
    #[serde(default)]
    pub(super) evidence: String,
    #[serde(default)]
    cardinality: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    value_type: String,
    #[serde(default)]
    replaces: Vec<Replaced>,
}

#[derive(Debug, Deserialize)]
struct Replaced {
    #[serde(default)]
    predicate: String,
    #[serde(default)]
    value: serde_json::Value,
}

/// Reads the statements of an answer; beyond the most that a text may have, the rest is left.
pub(super) fn statements(text: &str) -> Result<Vec<Item>, String> {
    let read: Statements = serde_json::from_str(bare(text)).map_err(|error| error.to_string())?;
    Ok(read.statements.into_iter().take(MAX_STATEMENTS).collect())
}

/// Reads a choice among `most` sentences. One that is not there makes the whole choice worthless:
/// nothing is forgotten by halves.
pub(super) fn chosen(text: &str, most: usize) -> Result<Vec<usize>, String> {
    let read: Chosen = serde_json::from_str(bare(text)).map_err(|error| error.to_string())?;
    let place = |no: i64| {
        let no = usize::try_from(no).ok().filter(|no| *no < most);
        no.ok_or_else(|| "a sentence that was not offered".to_owned())
    };
    let mut chosen = read
        .forget
        .into_iter()
        .map(place)
        .collect::<Result<Vec<_>, _>>()?;
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

/// Small models like to fence their JSON.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let inner = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"));
    inner.map_or(text, |inner| inner.trim_start_matches("json").trim())
}

impl Item {
    /// What it states, for answers that tell of it.
    pub(super) fn said(&self) -> String {
        let value = match &self.value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let about = sentence::about(self.subject.trim(), self.predicate.trim());
        let said = format!("{about}: {}", value.trim());
        said.chars().take(256).collect()
    }

    /// The statement as it may be kept, or why it may not.
    pub(super) fn proposal(
        &self,
        text: &str,
        observed: Option<Timestamp>,
    ) -> Result<Proposal, String> {
        let evidence = self.evidence.trim();
        if evidence.is_empty() || !text.contains(evidence) {
            return Err("its evidence is not in the text".to_owned());
        }
        let subject = name(&self.subject, MAX_SUBJECT_BYTES).ok_or("it has no subject")?;
        let predicate = name(&self.predicate, MAX_SPELLING_BYTES).ok_or("it has no predicate")?;
        let value = value(&self.value, &self.value_type).ok_or("it has no value")?;
        let description = name(&self.description, MAX_DESCRIPTION_BYTES);
        let replaces = self.replaces.iter().take(MAX_REPLACES);
        Ok(Proposal {
            subject: self.subject.clone().into(),
            value: value.to_json(),
            statement: Statement {
                subject: Arc::from(lower(subject)),
                predicate: predicate.to_owned(),
                value,
                kind: None,
                confidence: DRAWN_CONFIDENCE,
                source: Source::AgentInferred,
                observed,
                replaces: replaces.filter_map(Replaced::read).collect(),
                cardinality: Cardinality::parse(&self.cardinality),
                description: description.map(str::to_owned),
                evidence: Some(Arc::from(evidence)),
                assistant: false,
            },
        })
    }
}

impl Replaced {
    fn read(&self) -> Option<Replace> {
        let predicate = name(&self.predicate, MAX_SPELLING_BYTES)?;
        Some(Replace {
            predicate: predicate.to_owned(),
            value: value(&self.value, "")?,
            sent: (self.predicate.clone().into(), self.value.clone()),
        })
    }
}

fn name(text: &str, most: usize) -> Option<&str> {
    let text = text.trim();
    (!text.is_empty() && text.len() <= most && !text.contains('\0')).then_some(text)
}

fn value(sent: &serde_json::Value, value_type: &str) -> Option<Value> {
    match sent {
        serde_json::Value::String(text) => {
            let text = name(text, MAX_VALUE_BYTES)?;
            Some(of_type(text, value_type).unwrap_or_else(|| Value::text(text)))
        }
        serde_json::Value::Bool(flag) => Some(Value::Flag(*flag)),
        serde_json::Value::Number(number) => {
            let number = number.as_f64().filter(|number| number.is_finite());
            number.map(Value::number)
        }
        serde_json::Value::Null | serde_json::Value::Array(_) | serde_json::Value::Object(_) => {
            None
        }
    }
}

/// A text as the number or the flag that it stands for.
pub(crate) fn of_type(text: &str, value_type: &str) -> Option<Value> {
    match value_type {
        "number" => {
            let number: f64 = text.parse().ok()?;
            number.is_finite().then(|| Value::number(number))
        }
        "boolean" => text.parse().ok().map(Value::Flag),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_with_or_without_a_fence() {
        for text in [
            r#"{"statements": [{"subject": "user", "predicate": "likes", "value": "tea", "evidence": "tea"}]}"#,
            "```json\n{\"statements\": [{\"predicate\": \"likes\"}]}\n```",
        ] {
            assert_eq!(statements(text).unwrap().len(), 1, "{text}");
        }
        for text in [
            "",
            "Sure!",
            "[]",
            r#"{"statement": []}"#,
            r#"{"statements": {}}"#,
        ] {
            assert!(statements(text).is_err(), "{text}");
        }
        let many = format!(r#"{{"statements": [{}]}}"#, vec!["{}"; 40].join(","));
        assert_eq!(statements(&many).unwrap().len(), MAX_STATEMENTS);
    }

    #[track_caller]
    fn refused(item: &str, reason: &str) {
        let item: Item = serde_json::from_str(item).unwrap();
        let error = item.proposal("I drink tea daily.", None).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn what_is_not_quoted_or_not_whole_is_not_taken() {
        refused(
            r#"{"subject": "user", "predicate": "likes", "value": "tea"}"#,
            "evidence",
        );
        refused(
            r#"{"subject": "user", "predicate": "likes", "value": "tea", "evidence": "I drink coffee"}"#,
            "evidence",
        );
        refused(
            r#"{"subject": " ", "predicate": "likes", "value": "tea", "evidence": "tea"}"#,
            "subject",
        );
        refused(
            r#"{"subject": "user", "value": "tea", "evidence": "tea"}"#,
            "predicate",
        );
        refused(
            r#"{"subject": "user", "predicate": "likes", "value": null, "evidence": "tea"}"#,
            "value",
        );
        refused(
            r#"{"subject": "user", "predicate": "likes", "value": ["tea"], "evidence": "tea"}"#,
            "value",
        );
    }

    #[test]
    fn values_take_the_type_that_is_named() {
        let json = |text, value_type| of_type(text, value_type).map(|value| value.to_json());
        assert_eq!(json("42", "number"), Some(42.into()));
        assert_eq!(json("many", "number"), None);
        assert_eq!(json("inf", "number"), None);
        assert_eq!(json("true", "boolean"), Some(true.into()));
        assert_eq!(json("42", ""), None);
    }

    #[test]
    fn a_choice_is_among_what_was_offered() {
        assert_eq!(chosen(r#"{"forget": [2, 0, 2]}"#, 3), Ok(vec![0, 2]));
        assert_eq!(chosen(r#"{"forget": []}"#, 3), Ok(Vec::new()));
        for text in [
            r#"{"forget": [0, 3]}"#,
            r#"{"forget": [-1]}"#,
            r#"{"forget": "all"}"#,
            "{}",
        ] {
            assert!(chosen(text, 3).is_err(), "{text}");
        }
    }
}
