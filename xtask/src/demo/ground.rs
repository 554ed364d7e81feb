//! The cluster that a story is told on: how its programs are called.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::chart::Tools;
use crate::python;
use crate::shell::{output, root, say};

/// A folder of the demo.
pub(super) const DEPLOY: &str = "deploy/agent-sandbox";
/// The packages that claim sandboxes.
const CLAIM_PACKAGES: &str = "deploy/agent-sandbox/requirements.txt";

/// Of what one question about a failed story answers.
const SHOWN_LINES: usize = 80;

/// A cluster by its kubeconfig.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) tools: Tools,
    pub(super) kubeconfig: PathBuf,
}

impl Ground {
    pub(super) fn kubectl(&self, arguments: &[&str]) -> Command {
        let mut kubectl = self.tools.kubectl();
        kubectl.env("KUBECONFIG", &self.kubeconfig).args(arguments);
        kubectl
    }

    pub(super) fn helm(&self, arguments: &[&str]) -> Command {
        let mut helm = self.tools.helm();
        helm.env("KUBECONFIG", &self.kubeconfig)
            .args(arguments)
            .arg("--namespace=recall");
        helm
    }

    /// Runs kubectl; its words are shown only if it fails.
    pub(super) fn done(&self, arguments: &[&str]) -> anyhow::Result<String> {
        output(&mut self.kubectl(arguments))
    }

    /// Applies a file of the demo's folder.
    pub(super) fn apply(&self, file: &str) -> anyhow::Result<()> {
        let path = deployed(file);
        self.done(&["apply", "--server-side", "--filename", &path])
            .map(drop)
    }

    /// Deletes what a file of the deployment makes.
    pub(super) fn remove(&self, file: &str) -> anyhow::Result<()> {
        let path = deployed(file);
        self.done(&["delete", "--filename", &path]).map(drop)
    }

    /// The chart's own test of what is installed.
    pub(super) fn helm_test(&self) -> Command {
        self.helm(&["test", "recall", "--timeout=300s"])
    }

    /// Shows what a failed story leaves: its pods, what happened to them, what they said.
    pub(super) fn tell_state(&self) {
        let recall = "--namespace=recall";
        let questions: [&[&str]; 5] = [
            &["get", "pods,jobs", "--all-namespaces", "--output=wide"],
            &["events", "--all-namespaces"],
            &[
                "describe",
                "pods",
                recall,
                "--selector=app.kubernetes.io/component=test",
            ],
            &[
                "logs",
                recall,
                "--selector=app.kubernetes.io/component=test",
                "--prefix",
                "--tail=30",
            ],
            &[
                "logs",
                recall,
                "--selector=app.kubernetes.io/name=recall",
                "--prefix",
                "--tail=60",
            ],
        ];
        for question in questions {
            say(&format!("$ kubectl {}", question.join(" ")));
            let answer = self.kubectl(question).arg("--request-timeout=10s").output();
            let Ok(answer) = answer else { continue };
            for said in [answer.stdout, answer.stderr] {
                // Enough of it to see what happened last.
                let said = String::from_utf8_lossy(&said);
                let lines: Vec<_> = said.lines().collect();
                let last = lines.len().saturating_sub(SHOWN_LINES);
                lines[last..].iter().for_each(|line| say(line));
            }
        }
    }

    /// Waits for a condition, as kubectl states it.
    pub(super) fn wait(&self, what: &str, condition: &str) -> anyhow::Result<()> {
        let condition = format!("--for={condition}");
        let wait = [
            "wait",
            "--namespace=agents",
            "--timeout=120s",
            what,
            &condition,
        ];
        self.done(&wait).map(drop)
    }

    /// Starts the agent's program once more in its pod; what it prints comes when its standard input ends.
    pub(super) fn begin_in_pod(&self, pod: &str, words: &[&str]) -> anyhow::Result<Child> {
        let mut exec = self.kubectl(&[
            "exec",
            "--stdin",
            "--namespace=agents",
            pod,
            "--",
            "python3",
        ]);
        Ok(exec
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?)
    }

    /// Runs the agent's program once more in its pod, with a text on its standard input.
    pub(super) fn in_pod(&self, pod: &str, words: &[&str], input: &str) -> anyhow::Result<Value> {
        let mut exec = self.kubectl(&[
            "exec",
            "--stdin",
            "--namespace=agents",
            pod,
            "--",
            "python3",
        ]);
        let mut child = exec
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        child
            .stdin
            .take()
            .context("stdin is piped")?
            .write_all(input.as_bytes())?;
        let said = child.wait_with_output()?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        anyhow::ensure!(
            said.status.success(),
            "{} in {pod} failed: {text}",
            words.join(" ")
        );
        let last = text
            .lines()
            .last()
            .with_context(|| format!("{} said nothing", words.join(" ")))?;
        Ok(serde_json::from_str(last)?)
    }

    /// Follows an agent's words until one of them is what is waited for.
    pub(super) fn hear(&self, pod: &str, wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let event = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_default();
        let line = self.line("agents", pod, |line| wanted(&event(line)))?;
        Ok(event(&line))
    }

    /// Follows a pod's log until a line is what is waited for.
    pub(super) fn line(
        &self,
        namespace: &str,
        pod: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> anyhow::Result<String> {
        let namespace = format!("--namespace={namespace}");
        let follow = [
            "logs",
            "--follow",
            &namespace,
            "--pod-running-timeout=60s",
            pod,
        ];
        let mut child = self.kubectl(&follow).stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let mut heard = Vec::new();
        let mut found = false;
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            found = wanted(&line);
            heard.push(line);
            if found {
                break;
            }
        }
        child.kill()?;
        child.wait()?;
        match heard.pop() {
            Some(line) if found => Ok(line),
            last => {
                heard.extend(last);
                bail!("{pod} ended without it; it said:\n{}", heard.join("\n"))
            }
        }
    }

    /// The official client of agent-sandbox.
    pub(super) fn claims(&self, command: &str, name: &str) -> anyhow::Result<Value> {
        let environment = python::environment(CLAIM_PACKAGES)?;
        let script = deployed("claims.py");
        let mut python = python::python(&environment);
        python
            .env("KUBECONFIG", &self.kubeconfig)
            .arg(script)
            .args([command, name]);
        Ok(serde_json::from_str(&output(&mut python)?)?)
    }
}

/// The path of a file of the deployment.
pub(super) fn deployed(file: &str) -> String {
    root().join(DEPLOY).join(file).display().to_string()
}
