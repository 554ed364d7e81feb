//! Pointers: where pieces of the work live.

use std::collections::BTreeMap;

use recall_store::{Precondition, Record, RecordWrite};
use serde_json::json;

use crate::args::Fields;
use crate::change::{Change, Plan, found};
use crate::error::Error;
use crate::head::{Desk, Head};
use crate::limits::{MAX_BRIEF_BYTES, MAX_POINTER_FIELDS, MAX_POINTERS};
use crate::objects::Pointer;
use crate::records::{Names, Place};

/// Each type with the fields of which at least one must be there.
const TYPES: [(&str, (&str, &[&str])); 5] = [
    ("git_ref", ("git_ref", &["sha", "branch"])),
    ("object", ("object", &["uri"])),
    ("env", ("env", &["image", "lockfile_hash", "setup"])),
    ("external", ("external", &["id", "url"])),
    ("process", ("process", &["command"])),
];

/// `set_pointer`.
#[derive(Debug)]
pub(crate) struct Set {
    name: String,
    kind: &'static str,
    fields: BTreeMap<String, String>,
    note: String,
}

/// `remove_pointer`.
#[derive(Debug)]
pub(crate) struct Remove(String);

fn name(fields: &mut Fields) -> Result<String, Error> {
    fields
        .name("name")?
        .ok_or_else(|| Error::refused("name is required"))
}

pub(crate) fn set(mut fields: Fields) -> Result<Set, Error> {
    let name = name(&mut fields)?;
    let (kind, needed) = fields.choice("type", &TYPES)?;
    let members = fields.strings("fields", MAX_POINTER_FIELDS, MAX_BRIEF_BYTES)?;
    let says = |field: &&str| members.get(*field).is_some_and(|value| !value.is_empty());
    if !needed.iter().any(says) {
        let text = format!("fields of a {kind} need one of {}", needed.join(", "));
        return Err(Error::refused(text));
    }
    let note = fields.string("note", MAX_BRIEF_BYTES)?.unwrap_or_default();
    fields.finish()?;
    Ok(Set {
        name,
        kind,
        fields: members,
        note,
    })
}

pub(crate) fn remove(mut fields: Fields) -> Result<Remove, Error> {
    let name = name(&mut fields)?;
    fields.finish()?;
    Ok(Remove(name))
}

impl Change for Set {
    fn needs(&self, names: Names<'_>, _: &Head) -> Vec<Place> {
        vec![names.pointer(&self.name)]
    }

    fn decide(
        &self,
        names: Names<'_>,
        head: &mut Head,
        records: &[Option<Record>],
        desk: &Desk,
    ) -> Result<Plan, Error> {
        if found(records, 0).is_none() {
            if head.pointers >= MAX_POINTERS {
                let text = format!("an agent may have at most {MAX_POINTERS} pointers");
                return Err(Error::refused(text));
            }
            head.pointers += 1;
        }
        let pointer = Pointer {
            name: self.name.clone(),
            kind: self.kind.to_owned(),
            fields: self.fields.clone(),
            note: self.note.clone(),
            at: desk.now,
        };
        let place = names.pointer(&self.name);
        let write = names.write(place, &pointer, desk.epoch, Precondition::None)?;
        Plan::new(vec![write], &pointer)
    }
}

impl Change for Remove {
    fn needs(&self, names: Names<'_>, _: &Head) -> Vec<Place> {
        vec![names.pointer(&self.0)]
    }

    fn decide(
        &self,
        names: Names<'_>,
        head: &mut Head,
        records: &[Option<Record>],
        _: &Desk,
    ) -> Result<Plan, Error> {
        let mut writes = Vec::new();
        if found(records, 0).is_some() {
            head.pointers = head.pointers.saturating_sub(1);
            let Place { kind, key } = names.pointer(&self.0);
            writes.push(RecordWrite {
                kind,
                key,
                body: None,
                precondition: Precondition::None,
            });
        }
        Plan::new(writes, &json!({ "removed": self.0 }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[track_caller]
    fn check(kind: &str, fields: Value, expected: Result<(), &str>) {
        let mut arguments = json!({"name": "p", "type": kind});
        arguments["fields"] = fields;
        let Value::Object(arguments) = arguments else {
            panic!("an object")
        };
        let outcome = set(Fields::new(arguments))
            .map(drop)
            .map_err(|error| error.to_string());
        assert_eq!(outcome, expected.map_err(str::to_owned));
    }

    #[test]
    fn each_type_needs_a_field_that_finds_the_work() {
        check("git_ref", json!({"sha": "x"}), Ok(()));
        check("git_ref", json!({"branch": "x", "more": "y"}), Ok(()));
        check("object", json!({"uri": "x"}), Ok(()));
        check("env", json!({"lockfile_hash": "x"}), Ok(()));
        check("external", json!({"url": "x"}), Ok(()));
        check("process", json!({"command": "x"}), Ok(()));
        let needs = Err("fields of a git_ref need one of sha, branch");
        check("git_ref", json!({"colour": "red"}), needs);
        check("git_ref", json!({"sha": ""}), needs);
        check(
            "object",
            json!({"uri": 1}),
            Err("fields must be an object of strings, got a number"),
        );
        check(
            "planet",
            json!({}),
            Err("type must be one of git_ref, object, env, external, process, got \"planet\""),
        );
    }
}
