//! values.schema.json: descriptions come from values.yaml and the members of `config` from the server;
//! types and bounds are written by hand.

use std::collections::BTreeSet;

use anyhow::Context;
use serde_json::{Value, json};

use super::settings::Setting;
use super::values::Entry;
use super::{Mode, Report, dir};

const FILE: &str = "values.schema.json";

/// Settings of the server that the chart makes of its own values.
const OWNED: [&str; 15] = [
    "admin-listen",
    "backend",
    "backend-key-file",
    "backend-url",
    "bootstrap-key-file",
    "config",
    "data-dir",
    "keys-file",
    "listen",
    "otlp-endpoint",
    "print-config",
    "qdrant-leases",
    "tls-cert-file",
    "tls-client-ca-file",
    "tls-key-file",
];

/// The settings of the exchange that `config` may give: the chart has no value of its own for them.
const LIMITS: &str = "kubernetes-limit-";

/// Members that values.yaml cannot show: they have no default.
const WITHOUT_DEFAULT: [&str; 4] = [
    "global",
    "resources.limits.cpu",
    "resources.limits.ephemeral-storage",
    "resources.requests.ephemeral-storage",
];

pub(super) fn generate(
    entries: &[Entry],
    settings: &[Setting],
    mode: Mode,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut schema: Value = serde_json::from_str(&std::fs::read_to_string(dir().join(FILE))?)?;
    for entry in entries {
        match member(&mut schema, &entry.path) {
            Some(member) => {
                // A reference beside other members is read alone by draft 7.
                if let Some(reference) = member.as_object_mut().and_then(|m| m.remove("$ref")) {
                    member["allOf"] = json!([{ "$ref": reference }]);
                }
                member["description"] = json!(entry.description);
            }
            None => report.check(
                FILE,
                Err(format!(
                    "values.yaml has {}, the schema does not",
                    entry.path
                )),
            ),
        }
    }
    let config = member(&mut schema, "config").context("the schema knows `config`")?;
    config["properties"] = settings
        .iter()
        .filter(|setting| free(setting))
        .map(property)
        .collect();
    let known: BTreeSet<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    for path in closed_members(&schema, "") {
        let shown = known.contains(path.as_str()) || WITHOUT_DEFAULT.contains(&path.as_str());
        report.check(
            FILE,
            match shown
                || known
                    .iter()
                    .any(|entry| path.starts_with(&format!("{entry}.")))
            {
                true => Ok(()),
                false => Err(format!("the schema has {path}, values.yaml does not")),
            },
        );
    }
    let text = format!("{}\n", serde_json::to_string_pretty(&schema)?);
    report.file(FILE, &text, mode)
}

/// Whether a setting of the server may stand in `config`.
fn free(setting: &Setting) -> bool {
    let name = setting.name.as_str();
    let exchange = name == "kubernetes" || name.starts_with("kubernetes-");
    !setting.secret && !OWNED.contains(&name) && (!exchange || name.starts_with(LIMITS))
}

fn property(setting: &Setting) -> (String, Value) {
    let kind = match setting.switch {
        true => json!("boolean"),
        false => json!(["string", "number"]),
    };
    let property = json!({ "type": kind, "description": setting.help });
    (setting.name.clone(), property)
}

/// The schema of the value at a path.
fn member<'a>(schema: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('.').try_fold(schema, |schema, name| {
        schema.get_mut("properties")?.get_mut(name)
    })
}

/// The paths of all values that the schema names.
fn closed_members(schema: &Value, path: &str) -> Vec<String> {
    let properties = schema["properties"].as_object();
    if properties.is_none_or(|properties| properties.is_empty()) {
        return vec![path.to_owned()];
    }
    let members = properties.into_iter().flatten().flat_map(|(name, member)| {
        let path = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        closed_members(member, &path)
    });
    members.collect()
}
