//! What `recall doctor` finds in a pod in which something is wrong: each fault planted, named, its fix told.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::ground::{Ground, deployed};
use super::pods::{POLICIES, SANDBOX, pod_of, token_of};
use super::report::Report;
use super::rights;
use crate::shell::target;

/// A fault of a pod that only its manifest makes.
struct Planted {
    name: &'static str,
    plant: fn(&mut Value),
    found: Expected,
}

/// The check that fails, a part of what it says, and a part of what it advises.
struct Expected {
    check: &'static str,
    says: &'static str,
    advises: &'static str,
}

const LABEL: &str = "sandbox.users.io/agent";

const PLANTED: [Planted; 4] = [
    Planted {
        name: "fault-dns",
        plant: |template| {
            template["spec"]["dnsPolicy"] = json!("None");
            template["spec"]["dnsConfig"] = json!({ "nameservers": ["127.0.0.1"] });
        },
        found: Expected {
            check: "resolve",
            says: "has no address",
            advises: "DNS",
        },
    },
    Planted {
        name: "fault-audience",
        plant: |template| {
            template["spec"]["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"]["audience"] =
                json!("vault");
        },
        found: Expected {
            check: "exchange",
            says: "token_rejected",
            advises: "audience",
        },
    },
    Planted {
        name: "fault-subpath",
        plant: |template| {
            let mount = &mut template["spec"]["containers"][0]["volumeMounts"][0];
            mount["mountPath"] = json!("/var/run/secrets/recall/token");
            mount["subPath"] = json!("token");
        },
        found: Expected {
            check: "token",
            says: "subPath",
            advises: "directory",
        },
    },
    Planted {
        name: "fault-label",
        plant: |template| {
            let labels = template["metadata"]["labels"].as_object_mut();
            labels.and_then(|labels| labels.remove(LABEL));
        },
        found: Expected {
            check: "exchange",
            says: "agent_label_missing",
            advises: "label",
        },
    },
];

/// What a server without a right is seen to be.
const WITHOUT_RIGHTS: Expected = Expected {
    check: "exchange",
    says: "upstream",
    advises: "tokenreviews",
};
/// The reviews that a server took lately are good for ten seconds more.
const UNTIL_NOTICED: Duration = Duration::from_secs(60);

/// Plants one fault after the other.
pub(super) fn are_named(ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
    // No claim has taken it.
    let waiting = pod_of(ground, "agents.x-k8s.io/warm-pool-sandbox")?;
    let began = Instant::now();
    let sound = doctor(ground, SANDBOX, &[], "")?;
    ensure!(sound["ok"] == true, "a sound pod is called ill: {sound}");
    report.step(
        "recall doctor in a sound pod",
        began,
        &format!("{} checks, none failed", checks(&sound).count()),
    );
    let began = Instant::now();
    // The policies, which not everybody has, would refuse such pods.
    POLICIES
        .iter()
        .try_for_each(|policy| ground.remove(policy))?;
    for fault in PLANTED {
        planted(ground, &fault).with_context(|| format!("recall doctor in {}", fault.name))?;
    }
    POLICIES
        .iter()
        .try_for_each(|policy| ground.apply(policy))?;
    let unclaimed = Expected {
        check: "exchange",
        says: "sandbox_unclaimed",
        advises: "SandboxClaim",
    };
    unclaimed.is_found(&doctor(ground, &waiting, &[], "")?)?;
    let expired = Expected {
        check: "token",
        says: "expired",
        advises: "kubelet renews",
    };
    let old = aged(&token_of(ground, SANDBOX)?)?;
    let from_input = ["--token-file", "/dev/stdin"];
    expired.is_found(&doctor(ground, SANDBOX, &from_input, &old)?)?;
    rights::without_one(ground, "tokenreviews", "create", || {
        let started = Instant::now();
        loop {
            // Each call takes a good part of a second to get into the pod.
            let found = WITHOUT_RIGHTS.is_found(&doctor(ground, SANDBOX, &[], "")?);
            if found.is_ok() || started.elapsed() > UNTIL_NOTICED {
                return found;
            }
        }
    })?;
    report.step(
        "recall doctor names seven planted faults",
        began,
        "DNS, audience, subPath, label, unclaimed, expired, server without rights: each with its fix",
    );
    Ok(())
}

impl Expected {
    /// Whether exactly this failed.
    fn is_found(&self, findings: &Value) -> anyhow::Result<()> {
        let mut failed = checks(findings).filter(|check| check["ok"] == false);
        let Some(first) = failed.next() else {
            bail!("it found nothing: {findings}");
        };
        let holds = |member: &str, part: &str| {
            first[member]
                .as_str()
                .is_some_and(|text| text.contains(part))
        };
        ensure!(
            first["check"] == self.check
                && holds("detail", self.says)
                && holds("fix", self.advises)
                && failed.next().is_none(),
            "it should fail {} with \"{}\" and advise \"{}\": {findings}",
            self.check,
            self.says,
            self.advises,
        );
        Ok(())
    }
}

fn checks(findings: &Value) -> impl Iterator<Item = &Value> {
    findings["checks"].as_array().into_iter().flatten()
}

/// A sandbox like the one of the story, with a fault in it, for as long as it takes to look at it.
fn planted(ground: &Ground, fault: &Planted) -> anyhow::Result<()> {
    let path = deployed("manifests/30-sandbox.yaml");
    let sound = ground.done(&[
        "create",
        "--dry-run=client",
        "--output=json",
        "--filename",
        &path,
    ])?;
    let mut sandbox: Value = serde_json::from_str(&sound)?;
    sandbox["metadata"] = json!({ "name": fault.name, "namespace": "agents" });
    let template = &mut sandbox["spec"]["podTemplate"];
    template["metadata"]["labels"][LABEL] = json!(fault.name);
    // The agent itself would end over such a fault, and the doctor has to be called into the pod.
    let waits = json!(["python3", "-c", "import time; time.sleep(600)"]);
    template["spec"]["containers"][0]["command"] = waits;
    (fault.plant)(template);
    let file = target().join("xtask").join(format!("{}.json", fault.name));
    std::fs::write(&file, sandbox.to_string())?;
    ground.done(&["create", "--filename", &file.display().to_string()])?;
    ground.wait(&format!("sandbox/{}", fault.name), "condition=Ready")?;
    let found = doctor(ground, fault.name, &[], "")?;
    let delete = [
        "delete",
        "--namespace=agents",
        "--wait=false",
        "sandbox",
        fault.name,
    ];
    ground.done(&delete)?;
    fault.found.is_found(&found)
}

/// Runs the doctor in a pod; it fails where a check does, and prints what it found all the same.
fn doctor(ground: &Ground, pod: &str, more: &[&str], input: &str) -> anyhow::Result<Value> {
    let call = [
        "exec",
        "--stdin",
        "--namespace=agents",
        pod,
        "--",
        "recall",
        "doctor",
        "--json",
    ];
    let mut child = ground
        .kubectl(&call)
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdin = child.stdin.take().context("stdin is piped")?;
    { stdin }.write_all(input.as_bytes())?;
    let said = child.wait_with_output()?;
    serde_json::from_slice(&said.stdout).with_context(|| {
        let words = String::from_utf8_lossy(&said.stderr).into_owned();
        format!("recall doctor in {pod} gave no report: {words}")
    })
}

/// A token as it looks an hour after its end. Its signature does not fit any more, but the doctor looks at
/// what it says before anybody is asked, as it does for a copy that nobody renews.
fn aged(token: &str) -> anyhow::Result<String> {
    let mut parts: Vec<_> = token.trim().split('.').map(str::to_owned).collect();
    let payload = parts.get_mut(1).context("a token has three parts")?;
    let mut claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload.as_str())?)?;
    let issued = claims["iat"]
        .as_i64()
        .context("a token says when it was made")?;
    claims["exp"] = json!(issued - 3600);
    *payload = URL_SAFE_NO_PAD.encode(claims.to_string());
    Ok(parts.join("."))
}
