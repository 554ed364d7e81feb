//! The predicates that every server knows without a registry file.

use std::sync::Arc;

use super::Cardinality::{self, Multi, Single};
use super::{Definition, NOTE, Registry, ValueType};

type Row = (&'static str, Cardinality, &'static str);

/// For agents that work on a project with a person.
const WORK: &[Row] = &[
    (
        "prefers_editor",
        Single,
        "The editor the subject likes to work in",
    ),
    (
        "prefers_language",
        Single,
        "The programming language the subject likes best",
    ),
    (
        "prefers_response_style",
        Single,
        "How answers should be written, for instance short or detailed",
    ),
    (
        "prefers_test_framework",
        Single,
        "The test framework the subject likes best",
    ),
    (
        "prefers_package_manager",
        Single,
        "The package manager the subject likes best",
    ),
    ("name", Single, "What the subject is called"),
    ("pronouns", Single, "The pronouns to use for the subject"),
    ("timezone", Single, "The time zone the subject is in"),
    (
        "role",
        Single,
        "The subject's present job or part in the project",
    ),
    ("project_name", Single, "What the project is called"),
    (
        "repository_url",
        Single,
        "Where the project's source is kept",
    ),
    ("project_status", Single, "How the project stands now"),
    ("deployment_target", Single, "Where the project runs"),
    (
        "uses_technology",
        Multi,
        "A technology that the subject or project uses",
    ),
    (
        "project_constraint",
        Multi,
        "Something the project must do or must not do",
    ),
];

/// For open servers: everyday life.
const LIFE: &[Row] = &[
    (
        "allergic_to",
        Multi,
        "Something the subject must not eat, take or touch",
    ),
    (
        "cancelled",
        Multi,
        "Something that was planned and will not happen",
    ),
    (
        "detail",
        Multi,
        "A fact about the subject that fits nowhere else",
    ),
    (
        "did",
        Multi,
        "Something that the subject did or that happened, with the date if known",
    ),
    ("dislikes", Multi, "Something the subject does not like"),
    (
        "gave_away",
        Multi,
        "Something the subject no longer has: given away, sold or lost",
    ),
    ("goal", Multi, "Something the subject works towards"),
    ("likes", Multi, "Something the subject likes"),
    ("owns", Multi, "Something the subject has"),
    ("plans", Multi, "Something the subject means to do"),
    (
        "relationship",
        Multi,
        "A person in the subject's life and who they are to the subject",
    ),
    (
        "amount",
        Single,
        "How much or how many there are of the subject, or what it costs",
    ),
    (
        "date",
        Single,
        "When the subject happens or happened, or is due",
    ),
    ("diet", Single, "How the subject eats now"),
    (
        "email",
        Single,
        "The address for mail to the subject; mail for work goes to work_email",
    ),
    ("lives_in", Single, "Where the subject lives now"),
    ("phone", Single, "The number to call the subject on"),
    (
        "status",
        Single,
        "How the subject stands now, for instance in repair or half done",
    ),
    (
        "work_email",
        Single,
        "The address for the subject's mail at work",
    ),
    ("works_at", Single, "Where the subject works now"),
];

/// A statement under one ends the same value under the other.
const OPPOSED: [(&str, &str); 3] = [
    ("likes", "dislikes"),
    ("owns", "gave_away"),
    ("plans", "cancelled"),
];

/// What happened stays so.
const HISTORICAL: [&str; 3] = ["cancelled", "did", "gave_away"];

/// The starter registry.
pub(super) fn registry(open: bool) -> Registry {
    let life = if open { LIFE } else { &[] };
    let mut definitions: std::collections::BTreeMap<_, _> = WORK
        .iter()
        .chain(life)
        .map(|row| (Arc::from(row.0), Arc::new(define(row))))
        .collect();
    definitions.insert(Arc::from(NOTE), Arc::new(note()));
    Registry { definitions, open }
}

/// The predicate that always exists.
pub(super) fn note() -> Definition {
    define(&(
        NOTE,
        Multi,
        "Something worth keeping that fits no other predicate, in the words it was said",
    ))
}

fn define((name, cardinality, description): &Row) -> Definition {
    let opposed = OPPOSED.iter().filter_map(|(one, two)| match *name {
        name if name == *one => Some(Arc::from(*two)),
        name if name == *two => Some(Arc::from(*one)),
        _ => None,
    });
    Definition {
        cardinality: *cardinality,
        value_type: ValueType::String,
        description: (*description).to_owned(),
        excludes: opposed.collect(),
        historical: HISTORICAL.contains(name),
    }
}
