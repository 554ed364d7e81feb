//! Several servers over one store: none of a working agent's calls fails while they are replaced.

use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::ground::Ground;
use super::pods::{PROBE, SANDBOX, upgrade_command};
use super::report::Report;
use crate::image::Image;
use crate::python;
use crate::shell::{output, target};

const STORE: &str = "recall-demo-polign:dev";

/// The store that its Python package carries, as an image.
pub(super) fn image() -> anyhow::Result<Image> {
    let environment = python::environment(python::CURRENT)?;
    Ok(Image::of_one_program(
        STORE,
        &python::program(&environment, "polign-server")?,
    ))
}

/// Moves the release onto a store of its own with two servers, and upgrades them under load.
pub(super) fn tell(ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
    let began = Instant::now();
    store(ground)?;
    let values = [
        "--reuse-values",
        "--set=backend.kind=polign,backend.url=http://polign.store.svc:23000",
        "--set=replicaCount=2",
    ];
    output(&mut upgrade_command(ground, &values))?;
    report.step(
        "two servers over polign_db",
        began,
        "the same release on a store that replicas share",
    );
    ground.wait("sandbox/demo-1", "condition=Ready")?;
    let began = Instant::now();
    let old = ground.done(&[
        "get",
        "pods",
        "--namespace=recall",
        "--selector=app.kubernetes.io/name=recall",
        "--output=name",
    ])?;
    let mut load = ground.begin_in_pod(SANDBOX, &[PROBE, "load"])?;
    let upgraded = output(&mut upgrade_command(
        ground,
        &["--reuse-values", "--set=config.log-filter=debug"],
    ));
    // The last of the old servers ends some seconds after the new ones are ready.
    let mut gone = vec![
        "wait",
        "--namespace=recall",
        "--for=delete",
        "--timeout=60s",
    ];
    gone.extend(old.split_whitespace());
    let gone = ground.done(&gone);
    drop(load.stdin.take());
    let said = load.wait_with_output()?;
    upgraded?;
    gone?;
    let found: Value = serde_json::from_slice(&said.stdout).context("the load did not end well")?;
    ensure!(
        found["calls"].as_u64() > Some(100),
        "too few calls to mean anything: {found}"
    );
    ensure!(found["failed"] == json!([]), "calls failed: {found}");
    report.step(
        "rolling upgrade under load",
        began,
        &format!("{} calls, none failed", found["calls"]),
    );
    Ok(())
}

fn store(ground: &Ground) -> anyhow::Result<()> {
    let labels = json!({ "app": "polign" });
    let namespace = json!({ "name": "polign", "namespace": "store" });
    let container = json!({
        "name": "polign", "image": STORE, "imagePullPolicy": "Never",
        "args": ["-telemetry=false", "-store", "fs:/data/polign", "-http", "0.0.0.0:23000", "-grpc", "127.0.0.1:23001"],
        "env": [{ "name": "HOME", "value": "/data" }],
        "volumeMounts": [{ "name": "data", "mountPath": "/data" }],
        "readinessProbe": { "tcpSocket": { "port": 23000 }, "periodSeconds": 1 },
    });
    let pod = json!({
        "metadata": { "labels": labels },
        "spec": {
            "automountServiceAccountToken": false, "enableServiceLinks": false,
            "containers": [container], "volumes": [{ "name": "data", "emptyDir": {} }],
        },
    });
    let objects = json!({ "apiVersion": "v1", "kind": "List", "items": [
        { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "store" } },
        { "apiVersion": "v1", "kind": "Service", "metadata": namespace,
          "spec": { "selector": labels, "ports": [{ "port": 23000 }] } },
        { "apiVersion": "apps/v1", "kind": "Deployment", "metadata": namespace,
          "spec": { "selector": { "matchLabels": labels }, "template": pod } },
    ] });
    let file = target().join("xtask/store.json");
    std::fs::write(&file, objects.to_string())?;
    ground.done(&["apply", "--filename", &file.display().to_string()])?;
    let status = [
        "rollout",
        "status",
        "--namespace=store",
        "deployment/polign",
        "--timeout=60s",
    ];
    ground.done(&status).map(drop)
}
