//! Whether the server needs each right that the chart grants it, and names the one that it lacks.

use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};

use super::ground::Ground;
use super::report::Report;
use crate::shell::target;

const ROLE: &str = "recall-recall";

/// A resource, a verb, and what the server says without the right.
const NEEDED: [(&str, &str); 6] = [
    ("tokenreviews", "create"),
    ("pods", "get"),
    ("pods", "list"),
    ("pods", "watch"),
    ("sandboxes", "get"),
    ("sandboxclaims", "get"),
];

/// Takes one right at a time away and starts a server like the one that runs.
pub(super) fn each_is_needed(ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
    let began = Instant::now();
    let deployment = ground.done(&[
        "get",
        "deployment",
        "recall",
        "--namespace=recall",
        "--output=json",
    ])?;
    let deployment: Value = serde_json::from_str(&deployment)?;
    for (resource, verb) in NEEDED {
        without_one(ground, resource, verb, || {
            named_by_a_server(ground, &deployment, resource, verb)
        })?;
    }
    report.step(
        "rights taken away one by one",
        began,
        "the server names each that it lacks, so none is granted in vain",
    );
    Ok(())
}

/// Looks at something while the servers lack one right.
pub(super) fn without_one(
    ground: &Ground,
    resource: &str,
    verb: &str,
    look: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let role = ground.done(&["get", "clusterrole", ROLE, "--output=json"])?;
    let role: Value = serde_json::from_str(&role)?;
    replace(ground, &without(&role, resource, verb))?;
    let seen = look();
    replace(ground, &role)?;
    seen.with_context(|| format!("without {verb} on {resource}"))
}

/// The role, but for one verb on one resource.
fn without(role: &Value, resource: &str, verb: &str) -> Value {
    let mut role = role.clone();
    // What the API server keeps account of by itself would make it a conflict to write it back.
    for kept in [
        "resourceVersion",
        "uid",
        "creationTimestamp",
        "managedFields",
    ] {
        role["metadata"]
            .as_object_mut()
            .and_then(|metadata| metadata.remove(kept));
    }
    for rule in role["rules"].as_array_mut().into_iter().flatten() {
        if rule["resources"] == json!([resource]) {
            let verbs = rule["verbs"].as_array_mut();
            verbs
                .into_iter()
                .for_each(|verbs| verbs.retain(|one| one != verb));
        }
    }
    let rules = role["rules"].as_array_mut();
    rules
        .into_iter()
        .for_each(|rules| rules.retain(|rule| rule["verbs"] != json!([])));
    role
}

fn replace(ground: &Ground, role: &Value) -> anyhow::Result<()> {
    let mut role = role.clone();
    role["metadata"]
        .as_object_mut()
        .and_then(|metadata| metadata.remove("resourceVersion"));
    apply(ground, "replace", "role.json", &role)
}

fn apply(ground: &Ground, how: &str, name: &str, object: &Value) -> anyhow::Result<()> {
    let file = target().join("xtask").join(name);
    std::fs::write(&file, object.to_string())?;
    ground
        .done(&[how, "--filename", &file.display().to_string()])
        .map(drop)
}

/// A server with the same account and settings, and a store of its own that goes with it.
fn named_by_a_server(
    ground: &Ground,
    deployment: &Value,
    resource: &str,
    verb: &str,
) -> anyhow::Result<()> {
    let name = format!("without-{verb}-{resource}");
    let mut spec = deployment["spec"]["template"]["spec"].clone();
    spec["restartPolicy"] = json!("Never");
    for volume in spec["volumes"].as_array_mut().into_iter().flatten() {
        if volume["name"] == "data" {
            *volume = json!({ "name": "data", "emptyDir": {} });
        }
    }
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": { "name": name, "namespace": "recall" },
    });
    apply(ground, "create", "pod.json", &pod)?;
    let begins = [
        "wait",
        "--namespace=recall",
        "--timeout=60s",
        "--for=jsonpath={.status.containerStatuses[0].containerID}",
    ];
    ground.done(&[&begins[..], &[&format!("pod/{name}")]].concat())?;
    let words = [format!("`{verb}`"), format!("`{resource}`")];
    let named = ground.line("recall", &name, |line| {
        words.iter().all(|word| line.contains(word))
    });
    ground.done(&[
        "delete",
        "pod",
        &name,
        "--namespace=recall",
        "--grace-period=1",
    ])?;
    named.map(drop)
}
