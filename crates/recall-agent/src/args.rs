//! Arguments, read one by one with errors that name the field.

use std::collections::BTreeMap;

use recall_store::AgentId;
use serde_json::{Map, Value};

use crate::error::Error;

/// The arguments of one call, still to be read. `null` counts as absent.
#[derive(Debug)]
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    pub(crate) fn new(arguments: Map<String, Value>) -> Self {
        Self(arguments)
    }

    /// Refuses what nobody took.
    pub(crate) fn finish(self) -> Result<(), Error> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => {
                let name: String = name.chars().take(64).collect();
                Err(Error::refused(format!("unknown field {name}")))
            }
        }
    }

    pub(crate) fn agent_id(&mut self) -> Result<AgentId, Error> {
        let text = self.string("agent_id", usize::MAX)?.unwrap_or_default();
        text.parse()
            .map_err(|error: recall_store::NameError| Error::refused(error.to_string()))
    }

    /// A name of the alphabet of agent ids.
    pub(crate) fn name(&mut self, field: &str) -> Result<Option<String>, Error> {
        let Some(text) = self.string(field, usize::MAX)? else {
            return Ok(None);
        };
        match text.parse::<AgentId>() {
            Ok(_) => Ok(Some(text)),
            Err(error) => {
                let text = error.to_string().replacen("agent_id", field, 1);
                Err(Error::refused(text))
            }
        }
    }

    pub(crate) fn string(&mut self, name: &str, limit: usize) -> Result<Option<String>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => {
                fits(name, text.len(), limit)?;
                Ok(Some(text))
            }
            Some(other) => Err(wrong(name, "a string", &other)),
        }
    }

    /// A string that must say something.
    pub(crate) fn word(&mut self, name: &str, limit: usize) -> Result<String, Error> {
        let text = self.string(name, limit)?.unwrap_or_default();
        match text.trim().is_empty() {
            true => Err(Error::refused(format!("{name} must not be empty"))),
            false => Ok(text),
        }
    }

    pub(crate) fn required(&mut self, name: &str, limit: usize) -> Result<String, Error> {
        self.string(name, limit)?
            .ok_or_else(|| Error::refused(format!("{name} is required")))
    }

    /// One of a closed set.
    pub(crate) fn choice<T: Copy>(&mut self, name: &str, set: &[(&str, T)]) -> Result<T, Error> {
        let text = self.required(name, usize::MAX)?;
        let found = set.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<_> = set.iter().map(|(word, _)| *word).collect();
            let text: String = text.chars().take(64).collect();
            Error::refused(format!(
                "{name} must be one of {}, got {text:?}",
                words.join(", ")
            ))
        })
    }

    pub(crate) fn whole(&mut self, name: &str) -> Result<Option<i64>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Number(number)) => {
                let whole = number.as_i64().or_else(|| {
                    let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
                    // Beyond this a float does not say which integer is meant.
                    (float.abs() < 9e15).then_some(float as i64)
                });
                whole.map(Some).ok_or_else(|| {
                    Error::refused(format!("{name} must be a whole number, got {number}"))
                })
            }
            Some(other) => Err(wrong(name, "a whole number", &other)),
        }
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, Error> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(wrong(name, "true or false", &other)),
        }
    }

    pub(crate) fn list(
        &mut self,
        name: &str,
        most: usize,
        limit: usize,
    ) -> Result<Option<Vec<String>>, Error> {
        let items = match self.take(name) {
            None => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(wrong(name, "a list of strings", &other)),
        };
        if items.len() > most {
            let text = format!(
                "{name} may have at most {most} entries, got {}",
                items.len()
            );
            return Err(Error::refused(text));
        }
        let read = |item| match item {
            Value::String(text) => fits(name, text.len(), limit).map(|()| text),
            other => Err(wrong(name, "a list of strings", &other)),
        };
        items
            .into_iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// An object whose values are strings.
    pub(crate) fn strings(
        &mut self,
        name: &str,
        most: usize,
        limit: usize,
    ) -> Result<BTreeMap<String, String>, Error> {
        let map = match self.take(name) {
            None => return Err(Error::refused(format!("{name} is required"))),
            Some(Value::Object(map)) => map,
            Some(other) => return Err(wrong(name, "an object of strings", &other)),
        };
        if map.len() > most {
            let text = format!("{name} may have at most {most} members, got {}", map.len());
            return Err(Error::refused(text));
        }
        let read = |(key, value): (String, Value)| match value {
            Value::String(text) => {
                fits(name, key.len().max(text.len()), limit)?;
                Ok((key, text))
            }
            other => Err(wrong(name, "an object of strings", &other)),
        };
        map.into_iter().map(read).collect()
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }
}

fn fits(name: &str, got: usize, limit: usize) -> Result<(), Error> {
    match got <= limit {
        true => Ok(()),
        false => Err(Error::refused(format!(
            "{name} may have at most {limit} bytes, got {got}"
        ))),
    }
}

fn wrong(name: &str, wanted: &str, got: &Value) -> Error {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    Error::refused(format!("{name} must be {wanted}, got {got}"))
}
