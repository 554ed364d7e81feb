//! The registry file, checked in full before a server starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{
    Cardinality, Definition, NOTE, REGISTRY_PREDICATE, Registry, ValueType, is_name, starter,
};
use crate::limits::MAX_DESCRIPTION_BYTES;

/// Why a registry file was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The file is no JSON object of objects.
    #[error("the registry is no JSON object of predicates: {0}")]
    Json(String),
    /// A predicate is not spelt as predicates are, or its name is reserved.
    #[error("predicate {0:?}: a name is snake_case, at most 64 bytes, and not `registry_change`")]
    Name(String),
    /// A member of a predicate is missing, unknown or of no known value.
    #[error("predicate {predicate:?}: {reason}")]
    Member {
        /// The predicate.
        predicate: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads a whole registry.
pub(super) fn read(text: &str, open: bool) -> Result<Registry, RegistryError> {
    let file: Map<String, Json> =
        serde_json::from_str(text).map_err(|error| RegistryError::Json(error.to_string()))?;
    let mut definitions = BTreeMap::new();
    for (name, body) in &file {
        if !is_name(name) || name == REGISTRY_PREDICATE {
            return Err(RegistryError::Name(name.clone()));
        }
        known_members(name, body)?;
        let definition = definition(name, body)?;
        definitions.insert(Arc::from(name.as_str()), Arc::new(definition));
    }
    definitions
        .entry(Arc::from(NOTE))
        .or_insert_with(|| Arc::new(starter::note()));
    check_note(&definitions)?;
    check_excludes(&definitions)?;
    Ok(Registry { definitions, open })
}

/// Reads one predicate.
pub(super) fn definition(name: &str, body: &Json) -> Result<Definition, RegistryError> {
    let bad = |reason: String| fault(name, reason);
    let text = |key: &str| match body.get(key) {
        None => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(bad(format!("`{key}` must be a string"))),
    };
    let strings = |key: &str| match body.get(key) {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(list) => serde_json::from_value::<Vec<String>>(list.clone())
            .map_err(|_| bad(format!("`{key}` must be a list of strings"))),
    };
    let cardinality = text("cardinality")?.unwrap_or_default();
    let value_type = text("value_type")?.unwrap_or("string");
    let description = text("description")?.unwrap_or_default();
    if description.len() > MAX_DESCRIPTION_BYTES {
        return Err(bad(format!(
            "`description` is over {MAX_DESCRIPTION_BYTES} bytes"
        )));
    }
    let historical = match body.get("historical") {
        None => false,
        Some(flag) => flag
            .as_bool()
            .ok_or_else(|| bad("`historical` must be true or false".to_owned()))?,
    };
    Ok(Definition {
        cardinality: Cardinality::parse(cardinality)
            .ok_or_else(|| bad("`cardinality` must be `single` or `multi`".to_owned()))?,
        value_type: ValueType::parse(value_type, strings("values")?).ok_or_else(|| {
            bad("`value_type` must be string, number, boolean, date, ref or enum".to_owned())
        })?,
        description: description.to_owned(),
        excludes: strings("excludes")?.into_iter().map(Arc::from).collect(),
        historical,
    })
}

fn known_members(name: &str, body: &Json) -> Result<(), RegistryError> {
    const KNOWN: [&str; 6] = [
        "cardinality",
        "value_type",
        "description",
        "excludes",
        "historical",
        "values",
    ];
    let members = body
        .as_object()
        .ok_or_else(|| fault(name, "must be an object".to_owned()))?;
    match members.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        Some(key) => Err(fault(name, format!("unknown member `{key}`"))),
        None => Ok(()),
    }
}

fn check_note(definitions: &BTreeMap<Arc<str>, Arc<Definition>>) -> Result<(), RegistryError> {
    let note = definitions.get(NOTE);
    match note.is_some_and(|note| {
        note.cardinality == Cardinality::Multi && note.value_type == ValueType::String
    }) {
        true => Ok(()),
        false => Err(fault(
            NOTE,
            "must be `multi` with `string` values".to_owned(),
        )),
    }
}

fn check_excludes(definitions: &BTreeMap<Arc<str>, Arc<Definition>>) -> Result<(), RegistryError> {
    for (name, definition) in definitions {
        for other in &definition.excludes {
            if other == name {
                return Err(fault(name, "excludes itself".to_owned()));
            }
            if !definitions.contains_key(other) {
                return Err(fault(
                    name,
                    format!("excludes `{other}`, which is not defined"),
                ));
            }
        }
    }
    Ok(())
}

fn fault(predicate: &str, reason: String) -> RegistryError {
    RegistryError::Member {
        predicate: predicate.to_owned(),
        reason,
    }
}
