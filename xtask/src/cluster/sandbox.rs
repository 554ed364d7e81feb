//! The agent-sandbox controller, run here, outside the cluster, under the account it has inside one.

use std::path::Path;

use anyhow::Context;
use recall_testkit::process::{Process, tail, wait_until};

use super::Plane;
use super::module::AGENT_SANDBOX;
use crate::chart::Tools;
use crate::http;
use crate::shell::{output, run};
use recall_testkit::process::free_port;

const MODULE: &str = "sigs.k8s.io/agent-sandbox";
const NAMESPACE: &str = "agent-sandbox-system";
const ACCOUNT: &str = "agent-sandbox-controller";

/// The kinds that it brings.
const KINDS: [&str; 4] = [
    "sandboxes.agents.x-k8s.io",
    "sandboxclaims.extensions.agents.x-k8s.io",
    "sandboxtemplates.extensions.agents.x-k8s.io",
    "sandboxwarmpools.extensions.agents.x-k8s.io",
];

/// Before version 1.0 the definitions have an older version too, which a webhook inside the cluster
/// converts. There is none here, and nobody uses that version.
const NEW_VERSION_ONLY: &str = r#"[
    {"op": "test", "path": "/spec/versions/1/name", "value": "v1alpha1"},
    {"op": "remove", "path": "/spec/versions/1"},
    {"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}}]"#;

impl Plane {
    /// Brings the kinds, without a controller: what is applied is checked and stored.
    pub(crate) fn add_sandbox_kinds(&self, tools: &Tools) -> anyhow::Result<()> {
        let module = AGENT_SANDBOX.source_of(MODULE)?;
        let kubectl = || self.quiet_kubectl(tools);
        // Larger than the annotation that a client-side apply writes may be.
        run(kubectl()
            .args(["apply", "--server-side", "--filename"])
            .arg(module.join("k8s/crds")))?;
        for kind in KINDS {
            run(kubectl().args([
                "patch",
                "crd",
                kind,
                "--type=json",
                "--patch",
                NEW_VERSION_ONLY,
            ]))?;
        }
        run(kubectl().args([
            "wait",
            "--for=condition=Established",
            "--timeout=30s",
            "crd",
            "--all",
        ]))
    }

    /// Brings the kinds and starts their controller.
    pub(crate) fn add_sandboxes(&mut self, tools: &Tools) -> anyhow::Result<()> {
        let program = AGENT_SANDBOX.built()?.join("agent-sandbox-controller");
        self.add_sandbox_kinds(tools)?;
        let token = self.sandbox_account(tools)?;
        let config = self.kubeconfig_with(ACCOUNT, &token, "agent-sandbox.kubeconfig")?;
        let (mut process, port) = self.sandbox_controller(&program, &config)?;
        let address = self.net.address.clone();
        let log = self.dir.join("log/agent-sandbox.log");
        wait_until(&mut process, || http::answers(&address, port, "/readyz"))
            .map_err(|error| error.context(tail(&log)))?;
        self.add(vec![process])
    }

    fn sandbox_controller(&self, program: &Path, config: &Path) -> anyhow::Result<(Process, u16)> {
        let port = free_port()?;
        let mut command = self.net.command(program);
        command
            .arg(format!("--kubeconfig={}", config.display()))
            .args([
                "--extensions",
                "--leader-elect=false",
                "--enable-webhook=false",
                "--metrics-bind-address=0",
            ]);
        command.arg(format!(
            "--health-probe-bind-address={}:{port}",
            self.net.address
        ));
        let log = self.dir.join("log/agent-sandbox.log");
        Ok((Process::start(ACCOUNT, &mut command, &log)?, port))
    }

    /// The account with the rights that the module lists; answers a token of it.
    fn sandbox_account(&self, tools: &Tools) -> anyhow::Result<String> {
        let module = AGENT_SANDBOX.source_of(MODULE)?.join("k8s");
        let kubectl = || self.quiet_kubectl(tools);
        let roles =
            ["rbac.generated.yaml", "extensions-rbac.generated.yaml"].map(|file| module.join(file));
        for file in roles {
            run(kubectl()
                .args(["apply", "--server-side", "--filename"])
                .arg(file))?;
        }
        run(kubectl().args(["create", "namespace", NAMESPACE]))?;
        run(kubectl().args([
            "create",
            "serviceaccount",
            ACCOUNT,
            "--namespace",
            NAMESPACE,
        ]))?;
        for role in [ACCOUNT, "agent-sandbox-controller-extensions"] {
            let (role_flag, account) = (
                format!("--clusterrole={role}"),
                format!("--serviceaccount={NAMESPACE}:{ACCOUNT}"),
            );
            run(kubectl().args(["create", "clusterrolebinding", role, &role_flag, &account]))?;
        }
        let token = [
            "create",
            "token",
            ACCOUNT,
            "--namespace",
            NAMESPACE,
            "--duration=24h",
        ];
        let token =
            output(self.kubectl(tools).args(token)).context("the controller has no token")?;
        Ok(token.trim().to_owned())
    }
}
