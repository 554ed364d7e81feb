//! A node that runs real pods: containerd, kubelet, scheduler, kube-proxy and DNS.
//!
//! Everything is in namespaces of its own for network, mounts and processes. When containerd ends, the
//! kernel ends every container with it, and no mount, rule or process is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use recall_testkit::process::{Process, Stamp, tail, wait_until};

use super::module::{CONTAINERD, COREDNS, NETWORK_POLICIES, NODE};
use super::net::Net;
use super::{Plane, Programs};
use crate::chart::Tools;
use crate::http;
use crate::image::Image;
use crate::shell::{has, output, run};
use recall_testkit::process::free_port;

/// What to do about a machine that cannot have a node.
pub(crate) const FIX: &str = "run as root on Linux with Go 1.26 or later, and with runc, iproute2, iptables and the CNI \
     plugins (apt-get install runc containernetworking-plugins iproute2 iptables)";

const SOCKET: &str = "/run/containerd/containerd.sock";
const PLUGINS: &str = "/usr/lib/cni";
/// Where packets wait for their verdict.
const QUEUE: &str = "102";
const PAUSE: &str = "recall-pause:1";

/// Whether a node can run here.
pub(crate) fn possible() -> bool {
    let root = output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    let plugins = Path::new(PLUGINS).join("bridge").exists();
    root && plugins
        && has("runc", "--version")
        && has("ip", "-V")
        && has("iptables", "--version")
        && has("go", "version")
}

impl Plane {
    /// Starts a control plane that pods reach, with a node that has these images.
    pub(crate) fn with_node(dir: &Path, tools: &Tools, images: &[Image]) -> anyhow::Result<Self> {
        ensure!(possible(), "no node can run here: {FIX}");
        let programs = Programs::built()?;
        let mut plane = Self::start_in(&programs, dir, Net::own()?)?;
        plane.add_node(tools, images)?;
        Ok(plane)
    }

    fn add_node(&mut self, tools: &Tools, images: &[Image]) -> anyhow::Result<()> {
        let node = Node {
            dir: self.dir.join("node"),
            programs: NODE.built()?,
            runtime: CONTAINERD.built()?,
        };
        node.files(self)?;
        let (runtime, inside) = node.containerd(self)?;
        self.add(vec![runtime])?;
        node.import(inside, images)?;
        let dns = node.dns(self)?;
        let mut kubelet = node.kubelet(self, inside)?;
        let policies = node.network_policies(self)?;
        let mut others = [node.scheduler(self)?, node.proxy(self)?, dns, policies];
        let ready = wait_until(&mut kubelet, || {
            let state = "--output=jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
            let mut get = self.kubectl(tools);
            let said = get.args(["get", "node", "n1", state]).output();
            said.is_ok_and(|said| said.stdout == b"True")
        });
        let all_run = others.iter_mut().all(Process::is_running);
        self.add([kubelet].into_iter().chain(others).collect())?;
        ready.map_err(|error| error.context(tail(&self.dir.join("log/kubelet.log"))))?;
        ensure!(
            all_run,
            "a part of the node ended; see {}",
            self.dir.join("log").display()
        );
        Ok(())
    }

    /// The volume for the one claim of the demo: there is no provisioner here.
    pub(crate) fn add_volume(&self, tools: &Tools, name: &str, size: &str) -> anyhow::Result<()> {
        let path = self.dir.join("node/volumes").join(name);
        fs::create_dir_all(&path)?;
        let volume = serde_json::json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": { "name": name },
            "spec": {
                "capacity": { "storage": size }, "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain", "local": { "path": path },
                "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [{
                    "key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"],
                }] }] } },
            },
        });
        let file = self.dir.join(format!("volume-{name}.json"));
        fs::write(&file, volume.to_string())?;
        run(self
            .quiet_kubectl(tools)
            .args(["apply", "--filename"])
            .arg(file))
    }
}

struct Node {
    dir: PathBuf,
    programs: PathBuf,
    runtime: PathBuf,
}

impl Node {
    fn files(&self, plane: &Plane) -> anyhow::Result<()> {
        let pods = plane.net.pods().context("the network has room for pods")?;
        for folder in ["containerd", "kubelet", "cni", "logs"] {
            fs::create_dir_all(self.dir.join(folder))?;
        }
        let dir = self.dir.display().to_string();
        let write = |name: &str, text: String| fs::write(self.dir.join(name), text);
        write("containerd.toml", containerd_config(&dir))?;
        write("cni/10-bridge.conflist", bridge_config(&dir, &pods))?;
        let (address, ca) = (&plane.net.address, plane.dir.join("ca.crt"));
        write(
            "kubelet.yaml",
            kubelet_config(&dir, address, &ca.display().to_string()),
        )?;
        // What a pod would be told by the machine; it is told by the cluster's DNS alone.
        write("resolv.conf", String::new())?;
        write("Corefile", corefile(plane))?;
        Ok(())
    }

    /// Starts containerd as the first process of its namespaces and answers that process's number.
    fn containerd(&self, plane: &Plane) -> anyhow::Result<(Process, u32)> {
        // What is written outside of our folder stays in this mount namespace: it is private first, so that
        // nothing comes out, and shared after that, so that it reaches the containers.
        let script = format!(
            "mount --make-rshared /\n\
             for d in /run/containerd /run/netns /var/lib/cni /var/log/containers /var/log/pods; do\n\
             mkdir -p $d; mount -t tmpfs -o mode=755 tmpfs $d; done\n\
             mkdir -p /var/lib/kubelet; mount --bind {dir}/kubelet /var/lib/kubelet\n\
             exec {runtime}/containerd --config {dir}/containerd.toml",
            dir = self.dir.display(),
            runtime = self.runtime.display(),
        );
        let mut command = plane.net.command(Path::new("unshare"));
        command
            .args([
                "--mount",
                "--propagation=private",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
            ])
            .args(["sh", "-euc", &script])
            .env("PATH", self.path());
        let log = plane.dir.join("log/containerd.log");
        let mut process = Process::start("containerd", &mut command, &log)?;
        let outside = process.pid();
        let mut inside = None;
        let ready = wait_until(&mut process, || {
            inside = Stamp::family(outside).get(1).map(Stamp::pid);
            inside.is_some_and(|inside| {
                let said = self.ctr(inside).arg("version").output();
                said.is_ok_and(|said| said.status.success())
            })
        });
        ready.map_err(|error| error.context(tail(&log)))?;
        Ok((process, inside.context("containerd has a number")?))
    }

    /// The client of containerd, in its mount namespace.
    fn ctr(&self, inside: u32) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args([&format!("--target={inside}"), "--mount", "--"])
            .arg(self.runtime.join("ctr"))
            .args(["--address", SOCKET, "--namespace=k8s.io"]);
        command
    }

    fn import(&self, inside: u32, images: &[Image]) -> anyhow::Result<()> {
        let pause = Image::of_one_program(PAUSE, &self.programs.join("pause"));
        for (number, image) in images.iter().chain([&pause]).enumerate() {
            let file = self.dir.join(format!("image-{number}.tar"));
            image.write(&file)?;
            output(self.ctr(inside).args(["images", "import"]).arg(&file))?;
            fs::remove_file(&file)?;
        }
        Ok(())
    }

    fn kubelet(&self, plane: &Plane, inside: u32) -> anyhow::Result<Process> {
        let config = plane.kubeconfig_file("system:node:n1", "kubelet.kubeconfig")?;
        let mut command = Command::new("nsenter");
        command
            .args([
                &format!("--target={inside}"),
                "--net",
                "--mount",
                "--pid",
                "--",
            ])
            .arg(self.programs.join("kubelet"))
            .arg(format!(
                "--config={}",
                self.dir.join("kubelet.yaml").display()
            ))
            .arg(format!("--kubeconfig={}", config.display()))
            .arg(format!("--node-ip={}", plane.net.address))
            .args(["--hostname-override=n1", "--root-dir=/var/lib/kubelet"])
            .arg(format!("--cert-dir={}", self.dir.display()))
            .env("PATH", self.path());
        Process::start("kubelet", &mut command, &plane.dir.join("log/kubelet.log"))
    }

    fn scheduler(&self, plane: &Plane) -> anyhow::Result<Process> {
        let config = plane.kubeconfig_file("system:kube-scheduler", "scheduler.kubeconfig")?;
        let mut command = plane.net.command(&self.programs.join("kube-scheduler"));
        command
            .arg(format!("--kubeconfig={}", config.display()))
            .args(["--leader-elect=false", "--bind-address=127.0.0.1"])
            .arg(format!("--secure-port={}", free_port()?))
            .arg(format!("--cert-dir={}", self.dir.display()));
        let log = plane.dir.join("log/kube-scheduler.log");
        Process::start("kube-scheduler", &mut command, &log)
    }

    fn proxy(&self, plane: &Plane) -> anyhow::Result<Process> {
        let config = plane.kubeconfig_file("system:kube-proxy", "proxy.kubeconfig")?;
        let pods = plane.net.pods().context("the network has room for pods")?;
        let mut command = plane.net.command(&self.programs.join("kube-proxy"));
        command
            .arg(format!("--kubeconfig={}", config.display()))
            .arg(format!("--cluster-cidr={pods}"))
            .args(["--hostname-override=n1", "--proxy-mode=iptables"])
            // The limits of connections belong to the machine, which is not the cluster's.
            .args(["--conntrack-max-per-core=0", "--conntrack-min=0"])
            .args([
                "--conntrack-tcp-timeout-established=0s",
                "--conntrack-tcp-timeout-close-wait=0s",
            ])
            .arg(format!("--healthz-bind-address=127.0.0.1:{}", free_port()?))
            .arg(format!("--metrics-bind-address=127.0.0.1:{}", free_port()?))
            .env("PATH", self.path());
        Process::start(
            "kube-proxy",
            &mut command,
            &plane.dir.join("log/kube-proxy.log"),
        )
    }

    /// Starts the judge of packets and sends it every packet that a pod sends.
    fn network_policies(&self, plane: &Plane) -> anyhow::Result<Process> {
        let program = NETWORK_POLICIES.built()?.join("kube-network-policies");
        let (address, port) = (&plane.net.address, free_port()?);
        let (host, api_port) = plane.host_and_port();
        // It reads how to reach the API server only where a pod would find it.
        let account = "/var/run/secrets/kubernetes.io/serviceaccount";
        let script = format!(
            "mkdir -p /var/run/secrets; mount -t tmpfs -o mode=700 tmpfs /var/run/secrets\n\
             mkdir -p {account}; cp {dir}/ca.crt {account}/; printf %s \"$TOKEN\" >{account}/token; unset TOKEN\n\
             exec {program} --nfqueue-id={QUEUE} --disable-nri --hostname-override=n1 \
             --metrics-bind-address={address}:{port} --netfilter-bug-1766-fix=false",
            dir = plane.dir.display(),
            program = program.display(),
        );
        let mut command = plane.net.command(Path::new("unshare"));
        command
            .args(["--mount", "--propagation=private", "sh", "-euc", &script])
            .env("TOKEN", plane.token("admin"))
            .env("KUBERNETES_SERVICE_HOST", host)
            .env("KUBERNETES_SERVICE_PORT", api_port);
        let log = plane.dir.join("log/network-policies.log");
        let mut process = Process::start("kube-network-policies", &mut command, &log)?;
        wait_until(&mut process, || http::answers(address, port, "/metrics"))
            .map_err(|error| error.context(tail(&log)))?;
        // Its own rules need a kernel with queues for nftables; this one works with any. Without a judge
        // the kernel drops what is in the queue.
        let pods = plane.net.pods().context("the network has room for pods")?;
        let rule = [
            "--append",
            "FORWARD",
            "--source",
            &pods,
            "--jump",
            "NFQUEUE",
            "--queue-num",
            QUEUE,
        ];
        output(plane.net.command(Path::new("iptables")).args(rule))?;
        Ok(process)
    }

    fn dns(&self, plane: &Plane) -> anyhow::Result<Process> {
        let mut command = plane.net.command(&COREDNS.built()?.join("coredns"));
        command.arg("-conf").arg(self.dir.join("Corefile"));
        Process::start("coredns", &mut command, &plane.dir.join("log/coredns.log"))
    }

    fn path(&self) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        format!(
            "{}:{}:{path}:/usr/sbin:/sbin",
            self.runtime.display(),
            self.programs.display()
        )
    }
}

/// The Node authorizer lets no kubelet list Services for DNS: CoreDNS reads as the administrator.
fn corefile(plane: &Plane) -> String {
    format!(
        ".:53 {{\n  errors\n  kubernetes cluster.local {{\n    kubeconfig {} recall\n  }}\n}}\n",
        plane.dir.join("kubeconfig").display(),
    )
}

fn containerd_config(dir: &str) -> String {
    // Without CAP_SYS_RESOURCE a score below zero cannot be set, and every pod would fail.
    format!(
        r#"version = 3
root = "{dir}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri"]
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "docker.io/library/{PAUSE}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{PLUGINS}"]
    conf_dir = "{dir}/cni"
"#
    )
}

fn bridge_config(dir: &str, pods: &str) -> String {
    let plugins = serde_json::json!({
        "cniVersion": "1.0.0", "name": "recall", "plugins": [
            { "type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false, "hairpinMode": true,
              "ipam": { "type": "host-local", "dataDir": format!("{dir}/addresses"),
                        "ranges": [[{ "subnet": pods }]], "routes": [{ "dst": "0.0.0.0/0" }] } },
            { "type": "loopback" },
        ],
    });
    plugins.to_string()
}

fn kubelet_config(dir: &str, address: &str, ca: &str) -> String {
    let config = serde_json::json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        // A host of cgroup v1 is refused unless it is said here.
        "failCgroupV1": false, "failSwapOn": false, "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": false, "enforceNodeAllocatable": [], "oomScoreAdj": 0,
        "containerRuntimeEndpoint": format!("unix://{SOCKET}"),
        "address": address, "readOnlyPort": 0, "healthzPort": 0,
        "authentication": {
            "anonymous": { "enabled": false }, "webhook": { "enabled": true }, "x509": { "clientCAFile": ca },
        },
        "authorization": { "mode": "Webhook" },
        "clusterDNS": [address], "clusterDomain": "cluster.local", "resolvConf": format!("{dir}/resolv.conf"),
        "podLogsDir": format!("{dir}/logs"),
        // A full disk is this machine's affair: no pod is evicted for it.
        "evictionHard": {
            "memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%",
        },
        "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99, "maxPods": 60,
    });
    config.to_string()
}

/// Takes away the control groups that containers leave behind; those that are in use stay.
pub(super) fn sweep() {
    let Ok(hierarchies) = fs::read_dir("/sys/fs/cgroup") else {
        return;
    };
    let ours = |base: &Path| base.join("k8s.io");
    let folders = hierarchies.flatten().map(|entry| ours(&entry.path()));
    for folder in folders.chain([ours(Path::new("/sys/fs/cgroup"))]) {
        let groups = fs::read_dir(&folder).into_iter().flatten().flatten();
        for group in groups.map(|entry| entry.path()).chain([folder]) {
            // Fails for a file, for what is not there, and for what is in use.
            let _ = fs::remove_dir(group);
        }
    }
}
