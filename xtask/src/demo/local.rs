//! The story with real pods on this machine, without a container engine.

use std::path::Path;

use super::Args;
use super::ground::Ground;
use super::{faults, pods, report::Report, restart, shared};
use crate::chart::Tools;
use crate::cluster::{self, Plane};
use crate::image;
use crate::shell::{say, scratch};

/// What differs from a cluster of one's own.
const VALUES: [&str; 3] = [
    "--set=image.repository=recall,image.tag=dev,image.pullPolicy=Never",
    "--set=test.image.repository=recall-demo-tools,test.image.tag=dev,test.image.pullPolicy=Never",
    // The only network is the machine's own.
    "--set=serviceMonitor.enabled=false",
];

const NOT_SHOWN: &str = "Not shown here: the rules for DNS and for the API server, which are on the node itself; several nodes.";

pub(super) fn run(arguments: &Args, programs: &Path) -> anyhow::Result<()> {
    let tools = Tools::find_or_fetch()?;
    say(
        "Making images of this machine's own parts: the server, an agent, a shell for `helm test`.",
    );
    let images = [
        image::server(programs)?,
        image::agent(programs)?,
        image::tools()?,
        shared::image()?,
    ];
    say(
        "Starting a real cluster: etcd, kube-apiserver, its controllers and scheduler; containerd, kubelet, kube-proxy, DNS.",
    );
    let dir = if arguments.keep {
        cluster::dir()
    } else {
        scratch("demo-pods")?
    };
    let mut plane = Plane::with_node(&dir, &tools, &images)?;
    plane.add_sandboxes(&tools)?;
    plane.add_volume(&tools, "recall-data", "1Gi")?;
    let ground = Ground {
        tools,
        kubeconfig: dir.join("kubeconfig"),
    };
    let mut report = Report::default();
    let told = pods::tell(&ground, &VALUES, &mut report)
        .and_then(|()| match arguments.faults {
            true => {
                faults::are_named(&ground, &mut report)?;
                restart::tell(&ground, &mut report)
            }
            false => Ok(()),
        })
        .and_then(|()| shared::tell(&ground, &mut report));
    if told.is_err() {
        ground.tell_state();
    }
    if arguments.keep {
        say(&format!(
            "It stays. Use it with: export KUBECONFIG={}",
            ground.kubeconfig.display()
        ));
        say("End it with: cargo xtask cluster down");
        plane.leave();
    }
    told?;
    say(NOT_SHOWN);
    report.finish("local", arguments)
}

/// The cluster that was kept.
pub(super) fn ground() -> anyhow::Result<Ground> {
    let kubeconfig = cluster::dir().join("kubeconfig");
    anyhow::ensure!(
        cluster::runs(),
        "no cluster was kept; start one with: cargo xtask demo --cluster local --keep"
    );
    Ok(Ground {
        tools: Tools::find_or_fetch()?,
        kubeconfig,
    })
}
