//! Whether the NetworkPolicies let through what they name and nothing else.

use std::time::Instant;

use anyhow::ensure;
use serde_json::{Value, json};

use super::ground::Ground;
use super::pods::{CLAIM, PROBE, SANDBOX};
use super::report::Report;
use crate::shell::target;

const RECALL: &str = "recall.recall.svc";

/// Real connections, from an agent and from a pod of a namespace without the tenant label.
pub(super) fn holds(ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
    let began = Instant::now();
    let server = address(ground, "recall", "app.kubernetes.io/name=recall")?;
    let other = address(ground, "agents", &format!("sandbox.users.io/agent={CLAIM}"))?;
    let agent = |host: &str, port: &str| ground.in_pod(SANDBOX, &[PROBE, "reach", host, port], "");
    for (host, port, expected) in [
        (RECALL, "8080", true),
        (&server, "8080", true),
        (&server, "9090", false),
        (&other, "8080", false),
    ] {
        let found = agent(host, port)?;
        ensure!(
            found["reached"] == expected,
            "from {SANDBOX} to {host}:{port}: {found}"
        );
    }
    report.step(
        "agents reach Recall alone",
        began,
        "not its admin port, not each other: by their NetworkPolicies",
    );
    let began = Instant::now();
    let found = stranger(ground)?;
    ensure!(
        found["reached"] == false,
        "a stranger reaches Recall: {found}"
    );
    report.step(
        "strangers do not reach Recall",
        began,
        "a namespace without the tenant label: by the chart's NetworkPolicy",
    );
    Ok(())
}

fn address(ground: &Ground, namespace: &str, label: &str) -> anyhow::Result<String> {
    let (namespace, selector) = (
        format!("--namespace={namespace}"),
        format!("--selector={label}"),
    );
    ground.done(&[
        "get",
        "pods",
        &namespace,
        &selector,
        "--output=jsonpath={.items[0].status.podIP}",
    ])
}

/// What a pod elsewhere finds.
fn stranger(ground: &Ground) -> anyhow::Result<Value> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "stranger", "namespace": "default" },
        "spec": {
            "restartPolicy": "Never", "automountServiceAccountToken": false,
            "containers": [{
                "name": "stranger", "image": "recall-demo-agent:dev", "imagePullPolicy": "IfNotPresent",
                "command": ["python3", PROBE, "reach", RECALL, "8080"],
            }],
        },
    });
    let file = target().join("xtask/stranger.json");
    std::fs::write(&file, pod.to_string())?;
    ground.done(&["create", "--filename", &file.display().to_string()])?;
    let begins = "--for=jsonpath={.status.containerStatuses[0].containerID}";
    ground.done(&[
        "wait",
        "--namespace=default",
        "--timeout=60s",
        begins,
        "pod/stranger",
    ])?;
    let found = ground.line("default", "stranger", |line| line.contains("reached"))?;
    ground.done(&[
        "delete",
        "pod",
        "stranger",
        "--namespace=default",
        "--grace-period=1",
    ])?;
    Ok(serde_json::from_str(&found)?)
}
