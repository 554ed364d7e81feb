//! The story with real pods: the chart, a warm pool, claims, a sandbox that is killed and carries on.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::ground::{Ground, deployed};
use super::report::Report;
use super::{network, rights, tls};
use crate::chart;
use crate::shell::output;

const AGENT: &str = "/usr/local/bin/agent.py";
pub(super) const PROBE: &str = "/usr/local/bin/probe.py";
pub(super) const CLAIM: &str = "run-1";
pub(super) const SANDBOX: &str = "demo-1";
const FACT: &str = "The user prefers helix and deploys on Fridays.";
/// What a platform may add to keep its tenants from forging pods.
pub(super) const POLICIES: [&str; 4] = [
    "optional/admission-pods.yaml",
    "optional/admission-tokens.yaml",
    "optional/admission-claims.yaml",
    "optional/admission-token-requests.yaml",
];
/// A sandbox has done this much before it is killed.
const STEPS: u64 = 3;

/// Tells all of it; every step fails if what it says does not hold.
pub(super) fn tell(ground: &Ground, values: &[&str], report: &mut Report) -> anyhow::Result<()> {
    install(ground, values, report)?;
    // Before there are agents: they were told http.
    tls::there_and_back(ground, report)?;
    warm_pool(ground, report)?;
    claim(ground, report)?;
    recreate(ground, report)?;
    network::holds(ground, report)?;
    admission(ground, report)?;
    rights::each_is_needed(ground, report)?;
    upgrade(ground, report)?;
    farewell(ground, report)
}

/// The first commands of the story.
pub(super) fn opening(ground: &Ground) -> Vec<Command> {
    let apply = |file: &str| {
        let path = deployed(file);
        ground.kubectl(&["apply", "--server-side", "--filename", &path])
    };
    let mut commands: Vec<_> = ["manifests/00-namespaces.yaml", "manifests/10-tenant.yaml"]
        .map(apply)
        .into();
    commands.push(upgrade_command(ground, &[]));
    commands.push(ground.helm_test());
    let policies = POLICIES.map(apply);
    commands.extend(policies);
    let rest = ["20-template", "21-warm-pool", "31-sandbox-network"];
    commands.extend(rest.map(|name| apply(&format!("manifests/{name}.yaml"))));
    commands
}

/// The heart of it alone, on a cluster where the story was told: another pod, the same work.
pub(super) fn recreate_once_more(ground: &Ground) -> anyhow::Result<()> {
    let before = last_step(ground)?;
    let mut report = Report::default();
    let began = Instant::now();
    ground.done(&["delete", "--namespace=agents", "--wait", "sandbox", SANDBOX])?;
    report.step(
        "sandbox deleted",
        began,
        &format!("it had done {before} steps"),
    );
    let began = Instant::now();
    ground.apply("manifests/30-sandbox.yaml")?;
    ground.wait(&format!("sandbox/{SANDBOX}"), "condition=Ready")?;
    let resumed = ground.hear(SANDBOX, |event| event["event"] == "resumed")?;
    ensure!(resumed["step"].as_u64() >= Some(before), "{resumed}");
    report.step(
        "recreated and resumed",
        began,
        &format!("it goes on after step {}", resumed["step"]),
    );
    Ok(())
}

/// The chart, by helm, and its own test.
fn install(ground: &Ground, values: &[&str], report: &mut Report) -> anyhow::Result<()> {
    ground.apply("manifests/00-namespaces.yaml")?;
    ground.apply("manifests/10-tenant.yaml")?;
    let began = Instant::now();
    output(&mut upgrade_command(ground, values))?;
    report.step(
        "chart installed, server ready",
        began,
        "a restricted pod, its own token, its rights, its volume",
    );
    let began = Instant::now();
    output(&mut ground.helm_test())?;
    report.step(
        "helm test",
        began,
        "a pod's token is taken or refused by rule, one of another audience is refused",
    );
    POLICIES.iter().try_for_each(|policy| ground.apply(policy))
}

pub(super) fn upgrade_command(ground: &Ground, values: &[&str]) -> Command {
    let chart = chart::dir().display().to_string();
    let file = format!("--values={}", deployed("values.yaml"));
    let mut helm = ground.helm(&[
        "upgrade",
        "--install",
        "recall",
        &chart,
        &file,
        "--wait",
        "--timeout=180s",
    ]);
    helm.args(values);
    helm
}

/// Pods that wait are nobody.
fn warm_pool(ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
    let began = Instant::now();
    for file in ["20-template", "21-warm-pool", "31-sandbox-network"] {
        ground.apply(&format!("manifests/{file}.yaml"))?;
    }
    ground.wait(
        "sandboxwarmpool/agent-pool",
        "jsonpath={.status.readyReplicas}=2",
    )?;
    report.step(
        "warm pool of two ready (cold start)",
        began,
        "two pods run, each with a token, claimed by nobody",
    );
    let waiting = pod_of(ground, "agents.x-k8s.io/warm-pool-sandbox")?;
    let began = Instant::now();
    let answer = ground.in_pod(&waiting, &[PROBE, "exchange"], "")?;
    ensure!(
        answer["status"] == 409 && answer["code"] == "sandbox_unclaimed",
        "{answer}"
    );
    report.step(
        "unclaimed pod refused",
        began,
        "its token is good and gets no identity: 409 sandbox_unclaimed",
    );
    Ok(())
}

/// The official client claims one, and the agent in it begins by itself.
fn claim(ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
    let claimed = ground.claims("create", CLAIM)?;
    let began = Instant::now();
    let ms = claimed["ms"].as_f64().context("the claim was measured")?;
    report.measured(
        "warm claim ready",
        ms,
        "k8s-agent-sandbox 1.0.8 claims a pod that runs already",
    );
    let pod = pod_of(ground, &format!("sandbox.users.io/agent={CLAIM}"))?;
    ensure!(
        claimed["pod"] == pod.as_str(),
        "the client names {}, the label {pod}",
        claimed["pod"]
    );
    let first = ground.hear(&pod, |event| event["event"] == "resumed")?;
    ensure!(first["fresh"] == true, "{first}");
    report.step(
        "claim ready to first record",
        began,
        "the waiting agent sees its name, exchanges its token and takes up its work",
    );
    ground.hear(&pod, |event| event["event"] == "step")?;
    let exchanged = ground.in_pod(&pod, &[PROBE, "exchange"], "")?;
    ensure!(
        exchanged["namespace"] == format!("agents:{CLAIM}"),
        "{exchanged}"
    );
    let ms = exchanged["ms"]
        .as_f64()
        .context("the exchange was measured")?;
    report.measured(
        "token exchanged",
        ms,
        "the key reaches agents:run-1 and nothing else",
    );
    let began = Instant::now();
    ground.in_pod(&pod, &[AGENT, "remember", FACT], "")?;
    let found = ground.in_pod(
        &pod,
        &[
            AGENT,
            "--through=connect",
            "ask",
            "What does the user prefer?",
        ],
        "",
    )?;
    ensure!(found.to_string().contains("helix"), "{found}");
    report.step(
        "remembered by Python, found through recall connect",
        began,
        "two programs in a pod, one memory",
    );
    let again = ground.claims("adopt", CLAIM)?;
    ensure!(
        again["sandbox"] == claimed["sandbox"],
        "{again} is not {claimed}"
    );
    let ms = again["ms"].as_f64().context("it was measured")?;
    report.measured(
        "claim found again",
        ms,
        "the client adopts the claim by its name and gets the same pod",
    );
    Ok(())
}

/// A sandbox is killed in the middle of its work; its successor goes on, and its token and key are dead.
fn recreate(ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
    let began = Instant::now();
    ground.apply("manifests/30-sandbox.yaml")?;
    ground.wait(&format!("sandbox/{SANDBOX}"), "condition=Ready")?;
    report.step(
        "sandbox ready",
        began,
        "a plain Sandbox, without template or claim",
    );
    ground.hear(SANDBOX, |event| event["step"].as_u64() >= Some(STEPS))?;
    ground.in_pod(SANDBOX, &[AGENT, "remember", "The user is called Ada."], "")?;
    let other = pod_of(ground, &format!("sandbox.users.io/agent={CLAIM}"))?;
    let stranger = ground.in_pod(&other, &[AGENT, "ask", "What is the user called?"], "")?;
    ensure!(
        !stranger.to_string().contains("Ada"),
        "another agent reads it: {stranger}"
    );
    let token = token_of(ground, SANDBOX)?;
    let key = ground.in_pod(SANDBOX, &[PROBE, "key"], "")?;
    let key = key["key"]
        .as_str()
        .context("the exchange gave a key")?
        .to_owned();

    let began = Instant::now();
    ground.done(&["delete", "--namespace=agents", "--wait", "sandbox", SANDBOX])?;
    ground.done(&[
        "wait",
        "--namespace=agents",
        "--for=delete",
        "--timeout=60s",
        &format!("pod/{SANDBOX}"),
    ])?;
    report.step(
        "sandbox deleted, pod gone",
        began,
        "by the kubelet, with its grace period",
    );
    let refused = ground.in_pod(&other, &[PROBE, "until-refused"], &key)?;
    ensure!(refused["refused"] == true, "{refused}");
    let ms = refused["ms"].as_f64().context("it was measured")?;
    report.measured(
        "key of the dead pod refused",
        ms,
        "after the pod was gone; the watch ended it, not its time",
    );
    let began = Instant::now();
    let answer = ground.in_pod(&other, &[PROBE, "exchange", "-"], &token)?;
    ensure!(answer["status"] == 401, "{answer}");
    let code = answer["code"].as_str().unwrap_or_default().to_owned();
    report.step(
        "token of the dead pod refused",
        began,
        &format!("401 {code}"),
    );

    let began = Instant::now();
    ground.apply("manifests/30-sandbox.yaml")?;
    ground.wait(&format!("sandbox/{SANDBOX}"), "condition=Ready")?;
    let resumed = ground.hear(SANDBOX, |event| event["event"] == "resumed")?;
    ensure!(
        resumed["fresh"] == false && resumed["step"].as_u64() >= Some(STEPS),
        "{resumed}"
    );
    report.step(
        "recreated and resumed",
        began,
        &format!(
            "another pod, another key, the same work: it goes on after step {}",
            resumed["step"]
        ),
    );
    let known = ground.in_pod(SANDBOX, &[AGENT, "ask", "What is the user called?"], "")?;
    ensure!(known.to_string().contains("Ada"), "{known}");
    Ok(())
}

const READ_TOKEN: &str = "import os; print(open(os.environ['RECALL_TOKEN_FILE']).read(), end='')";

/// The token that a pod holds.
pub(super) fn token_of(ground: &Ground, pod: &str) -> anyhow::Result<String> {
    ground.done(&[
        "exec",
        "--namespace=agents",
        pod,
        "--",
        "python3",
        "-c",
        READ_TOKEN,
    ])
}

/// What whoever may edit the namespace may not do.
fn admission(ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
    let began = Instant::now();
    for (who, attempt) in [
        (
            "relabel",
            &[
                "label",
                "--overwrite",
                "pod",
                SANDBOX,
                "sandbox.users.io/agent=run-1",
            ][..],
        ),
        (
            "token",
            &["create", "token", "runner", "--audience=recall"][..],
        ),
        (
            "pod",
            &["run", "forged", "--image=recall-demo-agent:dev", FORGED][..],
        ),
    ] {
        let said = ground.kubectl(attempt).arg("--namespace=agents").output()?;
        let words = String::from_utf8_lossy(&said.stderr).into_owned();
        let refused = !said.status.success() && words.contains("ValidatingAdmissionPolicy");
        ensure!(refused, "{who} was not refused by a policy: {words}");
    }
    report.step(
        "forgeries refused",
        began,
        "relabelled pod, token by request, hand-made pod: by the admission policies",
    );
    Ok(())
}

const FORGED: &str = r#"--overrides={"spec":{"serviceAccountName":"runner","securityContext":{"runAsNonRoot":true,
"runAsUser":10001,"seccompProfile":{"type":"RuntimeDefault"}},"containers":[{"name":"forged",
"image":"recall-demo-agent:dev","securityContext":{"allowPrivilegeEscalation":false,
"capabilities":{"drop":["ALL"]}}}]}}"#;

/// The server is replaced under a working agent, and brought back.
fn upgrade(ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
    let began = Instant::now();
    output(&mut upgrade_command(
        ground,
        &["--reuse-values", "--set=config.log-filter=debug"],
    ))?;
    output(&mut ground.helm(&["rollback", "recall", "--wait", "--timeout=180s"]))?;
    report.step(
        "upgraded and rolled back",
        began,
        "two restarts of the server on one volume",
    );
    let began = Instant::now();
    let before = last_step(ground)?;
    ground.hear(SANDBOX, |event| event["step"].as_u64() > Some(before))?;
    let known = ground.in_pod(SANDBOX, &[AGENT, "ask", "What is the user called?"], "")?;
    ensure!(known.to_string().contains("Ada"), "{known}");
    report.step(
        "agent went on",
        began,
        "it waited while the server was away; nothing is lost",
    );
    Ok(())
}

/// The last step that the agent has said that it did.
fn last_step(ground: &Ground) -> anyhow::Result<u64> {
    let words = ground.done(&["logs", "--namespace=agents", SANDBOX])?;
    let events = words
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events
        .filter_map(|event| event["step"].as_u64())
        .max()
        .context("the agent has done a step")
}

/// The claim is deleted, and its pod and its key with it.
fn farewell(ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
    let pod = pod_of(ground, &format!("sandbox.users.io/agent={CLAIM}"))?;
    let key = ground.in_pod(&pod, &[PROBE, "key"], "")?;
    let key = key["key"]
        .as_str()
        .context("the exchange gave a key")?
        .to_owned();
    let began = Instant::now();
    ground.claims("delete", CLAIM)?;
    ground.done(&[
        "wait",
        "--namespace=agents",
        "--for=delete",
        "--timeout=60s",
        &format!("pod/{pod}"),
    ])?;
    let refused = ground.in_pod(SANDBOX, &[PROBE, "until-refused"], &key)?;
    ensure!(refused["refused"] == true, "{refused}");
    report.step(
        "claim deleted, pod gone, key refused",
        began,
        "by the official client",
    );
    Ok(())
}

/// The newest pod with a label, once there is one: labels land a moment after a claim is ready.
pub(super) fn pod_of(ground: &Ground, label: &str) -> anyhow::Result<String> {
    let selector = format!("--selector={label}");
    let there = [
        "wait",
        "--namespace=agents",
        "--for=create",
        "--timeout=60s",
        "pod",
        &selector,
    ];
    ground.done(&there)?;
    let name = [
        "get",
        "pods",
        "--namespace=agents",
        &selector,
        "--output=jsonpath={.items[0].metadata.name}",
    ];
    ground.done(&name)
}
