//! The chart against a real API server: server-side dry runs, the life of a release, its rights.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use super::helm::{Tools, printed, said};
use super::render::{sets, template};
use super::{Report, dir};
use crate::cluster::{self, Plane, Programs};
use crate::shell::{has, say, scratch};
use crate::test;

/// Makes every warning of the API server about pods that are not restricted visible, and refuses them.
const NAMESPACES: &str = r#"
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "recall", "labels": {
    "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}}},
  {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "agents"}},
  {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "more-agents"}}]}"#;

/// Named in `RECALL_REQUIRE` where a real API server must be had.
const PART: &str = "chart";

pub(super) fn check(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    if !Programs::possible() {
        anyhow::ensure!(
            !test::required(PART),
            "no API server to try the chart on: {}",
            cluster::FIX
        );
        say(&format!(
            "skipped: the chart on a real API server ({})",
            cluster::FIX
        ));
        report.tally.skipped += 1;
        return Ok(());
    }
    let dir = scratch("test-chart")?;
    let plane = Plane::start(&Programs::find_or_build()?, &dir.join("cluster"))?;
    let live = Live {
        tools,
        plane: &plane,
        dir: &dir,
    };
    std::fs::write(dir.join("namespaces.json"), NAMESPACES)?;
    let mut namespaces = live.kubectl();
    namespaces
        .arg("apply")
        .arg("--filename")
        .arg(dir.join("namespaces.json"));
    printed(&mut namespaces)?.map_err(anyhow::Error::msg)?;
    live.dry_runs(report)?;
    live.release(report)?;
    if has("go", "version") {
        return live.deploy(report);
    }
    anyhow::ensure!(
        !test::required(PART),
        "no kinds of agent-sandbox: {}",
        cluster::FIX
    );
    say("skipped: the manifests of deploy/agent-sandbox (no Go to fetch its kinds with)");
    report.tally.skipped += 1;
    Ok(())
}

pub(super) struct Live<'a> {
    pub(super) tools: &'a Tools,
    pub(super) plane: &'a Plane,
    pub(super) dir: &'a Path,
}

impl Live<'_> {
    pub(super) fn kubectl(&self) -> Command {
        let mut kubectl = self.tools.kubectl();
        kubectl.envs(self.plane.environment());
        kubectl.arg(format!(
            "--cache-dir={}",
            self.dir.join("kubectl").display()
        ));
        kubectl
    }

    fn helm(&self, arguments: &[&str]) -> Command {
        let mut helm = self.tools.helm();
        helm.envs(self.plane.environment())
            .args(arguments)
            .arg("--namespace=recall");
        helm
    }

    /// The API server takes every object of every set, strictly and without a warning.
    fn dry_runs(&self, report: &mut Report) -> anyhow::Result<()> {
        for set in sets()? {
            let rendered =
                printed(&mut template(self.tools, &set.file))?.map_err(anyhow::Error::msg)?;
            let file = self.dir.join(format!("{}.yaml", set.name));
            std::fs::write(&file, rendered)?;
            let mut apply = self.kubectl();
            apply
                .args([
                    "apply",
                    "--server-side",
                    "--dry-run=server",
                    "--validate=strict",
                ])
                .arg("--filename")
                .arg(&file);
            let output = said(&mut apply)?;
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            report.check(
                &format!("dry run, {}", set.name),
                match output.status.success() {
                    true if complaint.is_empty() => Ok(()),
                    _ => Err(complaint),
                },
            );
        }
        Ok(())
    }

    /// A release is installed, changed, brought back, removed and installed again.
    fn release(&self, report: &mut Report) -> anyhow::Result<()> {
        let chart = dir().display().to_string();
        let everything = format!("--values={}", dir().join("ci/everything.yaml").display());
        let namespaced = format!("--values={}", dir().join("ci/namespaced.yaml").display());
        // The name of `everything` would be another release's.
        let same_name = "--set=fullnameOverride=";
        let step = |report: &mut Report, name: &str, arguments: &[&str]| -> anyhow::Result<()> {
            let outcome = printed(&mut self.helm(arguments))?.map(drop);
            report.check(&format!("helm {name}"), outcome);
            Ok(())
        };
        step(report, "install", &["install", "recall", &chart])?;
        self.rights(
            report,
            "default",
            &[
                ("create", "tokenreviews.authentication.k8s.io", "", true),
                ("get", "pods", "agents", true),
                ("watch", "pods", "", true),
                ("get", "secrets", "recall", false),
                ("create", "pods", "agents", false),
                ("delete", "pods", "agents", false),
                ("get", "serviceaccounts", "agents", false),
                ("get", "namespaces", "", false),
                ("get", "sandboxes.agents.x-k8s.io", "agents", false),
                (
                    "create",
                    "subjectaccessreviews.authorization.k8s.io",
                    "",
                    false,
                ),
            ],
        )?;
        self.pods_are_made(report)?;
        step(
            report,
            "upgrade to namespaced",
            &["upgrade", "recall", &chart, &namespaced],
        )?;
        self.rights(
            report,
            "namespaced",
            &[
                ("create", "tokenreviews.authentication.k8s.io", "", true),
                ("list", "pods", "agents", true),
                ("watch", "pods", "more-agents", true),
                (
                    "get",
                    "sandboxclaims.extensions.agents.x-k8s.io",
                    "agents",
                    true,
                ),
                ("get", "namespaces/agents", "", true),
                ("get", "namespaces/kube-system", "", false),
                ("list", "pods", "recall", false),
                ("list", "pods", "", false),
                ("get", "serviceaccounts", "agents", false),
            ],
        )?;
        step(
            report,
            "upgrade to everything",
            &["upgrade", "recall", &chart, &everything, same_name],
        )?;
        step(report, "rollback", &["rollback", "recall", "1"])?;
        step(report, "uninstall", &["uninstall", "recall"])?;
        let claims =
            printed(
                self.kubectl()
                    .args(["get", "pvc", "--namespace=recall", "--output=name"]),
            )?;
        let kept = claims.is_ok_and(|claims| claims.contains("recall-data"));
        report.check(
            "memory outlives the release",
            match kept {
                true => Ok(()),
                false => Err("the claim is gone".to_owned()),
            },
        );
        step(
            report,
            "install again takes the claim up",
            &["install", "recall", &chart],
        )?;
        step(report, "uninstall again", &["uninstall", "recall"])
    }

    /// What the server's account may do is what is listed, by the API server's own word.
    fn rights(
        &self,
        report: &mut Report,
        set: &str,
        rights: &[(&str, &str, &str, bool)],
    ) -> anyhow::Result<()> {
        for (verb, resource, namespace, expected) in rights {
            let may = self.may(verb, resource, namespace)?;
            report.check(
                &format!("{set}: {verb} {resource} {namespace}"),
                match may == *expected {
                    true => Ok(()),
                    false => Err(format!("allowed: {may}, expected: {expected}")),
                },
            );
        }
        Ok(())
    }

    /// Asks the API server, which answers for kinds that it does not know as well.
    fn may(&self, verb: &str, resource: &str, namespace: &str) -> anyhow::Result<bool> {
        let (resource, name) = resource.split_once('/').unwrap_or((resource, ""));
        let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
        let review = serde_json::json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": "system:serviceaccount:recall:recall",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:recall", "system:authenticated"],
                "resourceAttributes": {
                    "verb": verb, "group": group, "resource": resource, "name": name, "namespace": namespace,
                },
            },
        });
        let file = self.dir.join("review.json");
        std::fs::write(&file, review.to_string())?;
        let mut ask = self.kubectl();
        ask.args([
            "create",
            "--output=jsonpath={.status.allowed}",
            "--filename",
        ])
        .arg(&file);
        let answer = printed(&mut ask)?.map_err(anyhow::Error::msg)?;
        Ok(answer == "true")
    }

    /// Admission lets the Deployment's pod into a namespace that enforces the restricted standard.
    fn pods_are_made(&self, report: &mut Report) -> anyhow::Result<()> {
        let mut wait = self.kubectl();
        wait.args([
            "wait",
            "--namespace=recall",
            "--timeout=30s",
            "deployment/recall",
        ]);
        // The count is written once the pod is let in; without a scheduler it stays pending.
        wait.arg("--for=jsonpath={.status.replicas}=1");
        let outcome = printed(&mut wait)?.map(drop);
        if outcome.is_err() {
            let state = printed(self.kubectl().args([
                "get",
                "deployment,replicaset",
                "--namespace=recall",
                "--output=yaml",
            ]))?;
            say(&state.ok().context("the Deployment can be read")?);
        }
        report.check("the restricted standard lets the pod in", outcome);
        Ok(())
    }
}
