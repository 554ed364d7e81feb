//! The manifests of `deploy/agent-sandbox` against a real API server that knows the kinds.

use std::path::PathBuf;

use super::Report;
use super::helm::{printed, said};
use super::live::Live;
use crate::shell::root;

/// A manifest, what is changed in it, and the words of the policy that refuses it then.
const REFUSED: [(&str, &str, &str, &str); 5] = [
    (
        "manifests/30-sandbox.yaml",
        "automountServiceAccountToken: false",
        "automountServiceAccountToken: true",
        "a sandbox needs automountServiceAccountToken false",
    ),
    (
        "manifests/30-sandbox.yaml",
        "      automountServiceAccountToken: false\n",
        "",
        "a sandbox needs automountServiceAccountToken false",
    ),
    (
        "manifests/30-sandbox.yaml",
        "audience: recall",
        "audience: vault",
        "the one token a sandbox may have",
    ),
    (
        "manifests/30-sandbox.yaml",
        "expirationSeconds: 3600",
        "expirationSeconds: 86400",
        "the one token a sandbox may have",
    ),
    (
        "manifests/22-claim.yaml",
        "sandbox.users.io/agent: run-1",
        "sandbox.users.io/agent: run-2",
        "with the name of the claim",
    ),
];

impl Live<'_> {
    pub(super) fn deploy(&self, report: &mut Report) -> anyhow::Result<()> {
        self.plane.add_sandbox_kinds(self.tools)?;
        let mut namespace = self.kubectl();
        printed(namespace.args(["create", "namespace", "agent-sandbox-system"]))?
            .map_err(anyhow::Error::msg)?;
        self.apply("manifests/00-namespaces.yaml", &[], report)?;
        self.apply("manifests/10-tenant.yaml", &[], report)?;
        for folder in ["manifests", "optional"] {
            for file in files(folder)? {
                self.apply(&file, &["--dry-run=server"], report)?;
            }
        }
        for file in files("optional")?
            .iter()
            .filter(|file| file.contains("admission-"))
        {
            self.apply(file, &[], report)?;
        }
        self.policies_are_sound(report)?;
        self.refusals(report)
    }

    /// Every object is taken, strictly and without a warning.
    fn apply(&self, file: &str, more: &[&str], report: &mut Report) -> anyhow::Result<()> {
        let mut apply = self.kubectl();
        apply
            .args([
                "apply",
                "--server-side",
                "--force-conflicts",
                "--validate=strict",
            ])
            .args(more);
        let output = said(apply.arg("--filename").arg(path(file)))?;
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        report.check(
            file,
            match output.status.success() && complaint.is_empty() {
                true => Ok(()),
                false => Err(complaint),
            },
        );
        Ok(())
    }

    /// The API server has read the expressions of every policy and found nothing wrong with their types.
    fn policies_are_sound(&self, report: &mut Report) -> anyhow::Result<()> {
        let policies = "validatingadmissionpolicies";
        let mut wait = self.kubectl();
        wait.args([
            "wait",
            policies,
            "--all",
            "--timeout=30s",
            "--for=jsonpath={.status.observedGeneration}=1",
        ]);
        report.check("policies are read", printed(&mut wait)?.map(drop));
        let mut get = self.kubectl();
        get.args([
            "get",
            policies,
            "--output=jsonpath={.items[*].status.typeChecking.expressionWarnings}",
        ]);
        let warnings = printed(&mut get)?.map_err(anyhow::Error::msg)?;
        report.check(
            "types in policies",
            match warnings.trim() {
                "" => Ok(()),
                warnings => Err(warnings.to_owned()),
            },
        );
        Ok(())
    }

    fn refusals(&self, report: &mut Report) -> anyhow::Result<()> {
        for (file, from, to, words) in REFUSED {
            let manifest = std::fs::read_to_string(path(file))?;
            let changed = manifest.replace(from, to);
            let name = format!("{file} with {to:?}");
            report.check(
                &name,
                match changed == manifest {
                    true => Err(format!("there is no {from:?} to change")),
                    false => Ok(()),
                },
            );
            let copy = self.dir.join("changed.yaml");
            std::fs::write(&copy, changed)?;
            let mut apply = self.kubectl();
            apply
                .args(["apply", "--server-side", "--dry-run=server", "--filename"])
                .arg(copy);
            // A policy acts a moment after it is made, so it is asked until it does.
            let mut outcome = Err("was accepted".to_owned());
            for _ in 0..100 {
                outcome = match printed(&mut apply)? {
                    Err(refusal) if refusal.contains(words) => Ok(()),
                    Err(refusal) => Err(refusal),
                    Ok(_) => continue,
                };
                break;
            }
            report.check(&name, outcome);
        }
        Ok(())
    }
}

fn path(file: &str) -> PathBuf {
    root().join("deploy/agent-sandbox").join(file)
}

fn files(folder: &str) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path(folder))? {
        names.push(format!("{folder}/{}", entry?.file_name().to_string_lossy()));
    }
    names.sort();
    Ok(names)
}
