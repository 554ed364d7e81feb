//! The predicates that statements may use, and the rules that come with them.

mod file;
mod starter;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use unicode_normalization::UnicodeNormalization;

pub use file::RegistryError;

use crate::event::Placed;
use crate::limits::MAX_PREDICATE_BYTES;
use crate::time;
use crate::value::Value;

/// The predicate that always exists: words kept as they were said.
pub(crate) const NOTE: &str = "note";
/// The subject under which the log keeps definitions.
pub(crate) const REGISTRY_SUBJECT: &str = "recall:registry";
/// The predicate under which the log keeps definitions.
pub(crate) const REGISTRY_PREDICATE: &str = "registry_change";

/// How many values a subject has under a predicate at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cardinality {
    /// One: a new value replaces the old one.
    Single,
    /// Any number: a new value is added.
    Multi,
}

/// What a predicate's values are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// Any string.
    String,
    /// A finite number.
    Number,
    /// True or false.
    Boolean,
    /// A string that is a date, `YYYY-MM-DD`, or an RFC 3339 instant.
    Date,
    /// A string that names something kept elsewhere.
    Ref,
    /// One of these strings; any string where none are listed.
    Enum(Vec<String>),
}

/// A predicate and its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) cardinality: Cardinality,
    pub(crate) value_type: ValueType,
    pub(crate) description: String,
    /// A statement ends the same value under these.
    pub(crate) excludes: Vec<Arc<str>>,
    /// Speaks of what happened, so nothing ever ends it but a withdrawal.
    pub(crate) historical: bool,
}

/// A predicate as callers are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PredicateInfo {
    /// Its name.
    pub predicate: String,
    /// `single` or `multi`.
    pub cardinality: Cardinality,
    /// What its values are.
    pub value_type: ValueType,
    /// What it is for.
    pub description: String,
    /// The predicates under which a statement ends the same value.
    pub excludes: Vec<String>,
    /// Whether it speaks of what happened, and is therefore never replaced.
    pub historical: bool,
}

/// The predicates a server starts with, and whether writes may define more.
#[derive(Clone, Debug)]
pub struct Registry {
    pub(crate) definitions: BTreeMap<Arc<str>, Arc<Definition>>,
    pub(crate) open: bool,
}

impl Registry {
    /// The starter predicates; writes may not define others.
    #[must_use]
    pub fn closed() -> Self {
        starter::registry(false)
    }

    /// The starter predicates and those of everyday life; the first use of another one defines it.
    #[must_use]
    pub fn open() -> Self {
        starter::registry(true)
    }

    /// Reads a registry file: `{name: {cardinality, value_type, description, excludes?, historical?}}`.
    ///
    /// # Errors
    ///
    /// A [`RegistryError`] that names the predicate and the member at fault.
    pub fn from_json(text: &str, open: bool) -> Result<Self, RegistryError> {
        file::read(text, open)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Definition>> {
        self.definitions.get(name)
    }
}

impl Cardinality {
    /// The name of the contract.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Multi => "multi",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Single, Self::Multi]
            .into_iter()
            .find(|cardinality| cardinality.as_str() == text)
    }
}

impl ValueType {
    /// The name of the contract.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::Ref => "ref",
            Self::Enum(_) => "enum",
        }
    }

    fn parse(text: &str, values: Vec<String>) -> Option<Self> {
        let plain = [
            Self::String,
            Self::Number,
            Self::Boolean,
            Self::Date,
            Self::Ref,
            Self::Enum(values),
        ];
        plain.into_iter().find(|kind| kind.as_str() == text)
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Text(_) => Self::String,
            Value::Number(_) => Self::Number,
            Value::Flag(_) => Self::Boolean,
        }
    }

    fn fits(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::String | Self::Ref, Value::Text(_))
            | (Self::Number, Value::Number(_))
            | (Self::Boolean, Value::Flag(_)) => true,
            (Self::Date, Value::Text(text)) => {
                let text = text.as_str();
                time::parse(text).is_ok() || time::parse(&format!("{text}T00:00:00Z")).is_ok()
            }
            (Self::Enum(values), Value::Text(text)) => {
                values.is_empty() || values.iter().any(|allowed| allowed == text.as_str())
            }
            (
                Self::String
                | Self::Number
                | Self::Boolean
                | Self::Date
                | Self::Ref
                | Self::Enum(_),
                _,
            ) => false,
        }
    }
}

impl Definition {
    /// What a first use makes of a new predicate.
    pub(crate) fn from_use(
        value: &Value,
        cardinality: Option<Cardinality>,
        description: Option<&str>,
    ) -> Self {
        Self {
            cardinality: cardinality.unwrap_or(Cardinality::Single),
            value_type: ValueType::of(value),
            description: description.unwrap_or_default().to_owned(),
            excludes: Vec::new(),
            historical: false,
        }
    }

    /// What holds for stored events of a predicate that nobody defined: nothing is lost.
    pub(crate) fn unknown() -> Self {
        Self {
            cardinality: Cardinality::Multi,
            value_type: ValueType::String,
            description: String::new(),
            excludes: Vec::new(),
            historical: false,
        }
    }

    pub(crate) fn single(&self) -> bool {
        self.cardinality == Cardinality::Single
    }

    /// Checks a value by the whole rule, for writes.
    pub(crate) fn check(&self, name: &str, value: &Value) -> Result<(), String> {
        if self.value_type.fits(value) {
            return Ok(());
        }
        let got = match value {
            Value::Text(text) => format!("string {}", short(text.as_str())),
            Value::Number(_) => format!("number {value}"),
            Value::Flag(_) => format!("boolean {value}"),
        };
        let wanted = match &self.value_type {
            ValueType::Enum(values) => format!("one of {}", values.join(", ")),
            ValueType::Date => "a date like 2026-09-01".to_owned(),
            plain => format!("a {} value", plain.as_str()),
        };
        Err(format!("{name} expects {wanted}, got {got}"))
    }

    /// The value of the log event that records this definition.
    pub(crate) fn logged(&self, name: &str) -> String {
        json!({
            "name": name,
            "auto": true,
            "cardinality": self.cardinality.as_str(),
            "value_type": self.value_type.as_str(),
            "description": self.description,
        })
        .to_string()
    }

    /// Reads the definition that a log event records.
    pub(crate) fn read(placed: &Placed) -> Option<(String, Self)> {
        let Some(Value::Text(text)) = &placed.event.value else {
            return None;
        };
        let body: serde_json::Value = serde_json::from_str(text.as_str()).ok()?;
        let name = body.get("name")?.as_str()?.to_owned();
        let definition = file::definition(&name, &body).ok()?;
        Some((name, definition))
    }

    pub(crate) fn info(&self, name: &str) -> PredicateInfo {
        PredicateInfo {
            predicate: name.to_owned(),
            cardinality: self.cardinality,
            value_type: self.value_type.clone(),
            description: self.description.clone(),
            excludes: self
                .excludes
                .iter()
                .map(|name| String::from(&**name))
                .collect(),
            historical: self.historical,
        }
    }
}

/// Whether a predicate is spelt as predicates are.
pub(crate) fn is_name(name: &str) -> bool {
    name.len() <= MAX_PREDICATE_BYTES
        && name
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The nearest spelling that is a predicate, for names that callers spell in their own way.
pub(crate) fn nearest_name(name: &str) -> Option<String> {
    let mut near = String::new();
    for letter in name.nfkc().map(|letter| letter.to_ascii_lowercase()) {
        match letter.is_ascii_alphanumeric() {
            true => near.push(letter),
            false if !near.is_empty() && !near.ends_with('_') => near.push('_'),
            false => {}
        }
    }
    let near = near.trim_end_matches('_').to_owned();
    is_name(&near).then_some(near)
}

/// A string for an error text, quoted and cut.
pub(crate) fn short(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests;
