//! Settings that must be refused, and what the refusal must say.

use super::helm::{Tools, printed};
use super::{Report, dir};

/// Settings on the command line, and words of the refusal.
const REFUSED: [(&[&str], &str); 43] = [
    // Wrong together: the sentence says what to change.
    (
        &["replicaCount=2"],
        "Set replicaCount: 1, or choose backend.kind: polign or qdrant",
    ),
    (
        &["autoscaling.enabled=true"],
        "autoscaling.enabled needs a store that replicas share",
    ),
    (
        &["backend.url=http://polign:23000"],
        "backend.url is set and backend.kind is embedded",
    ),
    (
        &["backend.existingSecret=x"],
        "backend.existingSecret is set and backend.kind is embedded",
    ),
    (
        &["backend.kind=polign"],
        "backend.url is empty: name the address of the store",
    ),
    (
        &["backend.kind=qdrant"],
        "backend.kind is qdrant and backend.url is empty",
    ),
    (
        &["backend.qdrantLeases=true"],
        "backend.qdrantLeases is set and backend.kind is embedded",
    ),
    (
        &["persistence.enabled=false", "persistence.existingClaim=x"],
        "turn persistence on, or leave the claim out",
    ),
    (&["kubernetes.audience="], "kubernetes.audience is empty"),
    (&["kubernetes.agentLabel=-agent"], "is no label key"),
    (
        &["kubernetes.agentLabel=Example.com/agent"],
        "is no label key",
    ),
    (&["kubernetes.agentLabel=a/b/c"], "is no label key"),
    (
        &["kubernetes.tenantLabel=pod:tenant"],
        "use KEY or serviceaccount:KEY, or namespace:KEY",
    ),
    (
        &["kubernetes.tenantLabel=namespace:"],
        "use KEY or serviceaccount:KEY, or namespace:KEY",
    ),
    (&["kubernetes.keyTTL=9s"], "the server takes 10s to 24h"),
    (
        &["kubernetes.keyTTL=0.9s9000ms"],
        "the server takes 10s to 24h",
    ),
    (&["kubernetes.keyTTL=24h1s"], "the server takes 10s to 24h"),
    (
        &["podLabels.app\\.kubernetes\\.io/name=x"],
        "podLabels names app.kubernetes.io/name, which the chart sets itself",
    ),
    (
        &[
            "backend.kind=polign",
            "backend.url=http://polign:23000",
            "replicaCount=3",
            "podDisruptionBudget.minAvailable=3",
        ],
        "podDisruptionBudget.minAvailable is 3 and there may be no more than 3 replicas",
    ),
    (
        &[
            "backend.kind=polign",
            "backend.url=http://polign:23000",
            "replicaCount=3",
            "podDisruptionBudget.minAvailable=100%",
        ],
        "Lower it, or run more replicas",
    ),
    (
        &[
            "backend.kind=polign",
            "backend.url=http://polign:23000",
            "autoscaling.enabled=true",
            "autoscaling.minReplicas=2",
            "podDisruptionBudget.minAvailable=2",
        ],
        "there may be no more than 2 replicas",
    ),
    (
        &["kubernetes.agentLabelOptional=true"],
        "there is no label that could be missing",
    ),
    (
        &["kubernetes.sandboxClaims=true", "kubernetes.agentLabel=a"],
        "both name the agent: keep one of them",
    ),
    (
        &["kubernetes.watch=false", "kubernetes.podSelector=a=b"],
        "kubernetes.podSelector narrows the watch of pods",
    ),
    (
        &["image.tag=v1", DIGEST],
        "image.tag and image.digest are both set",
    ),
    (
        &["networkPolicy.apiServer.cidrs=null"],
        "networkPolicy.apiServer names neither cidrs nor selectors",
    ),
    (
        &["podDisruptionBudget.minAvailable=1"],
        "no node could be drained any more",
    ),
    (
        &[
            "backend.kind=polign",
            "backend.url=http://a:1",
            "autoscaling.enabled=true",
            "autoscaling.minReplicas=9",
        ],
        "autoscaling.minReplicas is above autoscaling.maxReplicas",
    ),
    (
        &["terminationGracePeriodSeconds=15"],
        "terminationGracePeriodSeconds must be above",
    ),
    (
        &["tls.clientCAKey=ca.crt"],
        "without TLS no client shows a certificate",
    ),
    (
        &["config.backend-key=secret"],
        "additional properties 'backend-key' not allowed",
    ),
    // Typos and values out of bounds: the schema names the place.
    (
        &["replicas=2"],
        "additional properties 'replicas' not allowed",
    ),
    (
        &["kubernetes.enable=true"],
        "additional properties 'enable' not allowed",
    ),
    (
        &["kubernetes.keyTtl=5m"],
        "additional properties 'keyTtl' not allowed",
    ),
    (
        &["config.view-memry=1GiB"],
        "additional properties 'view-memry' not allowed",
    ),
    (
        &["config.listen=0.0.0.0:1"],
        "additional properties 'listen' not allowed",
    ),
    (
        &["config.kubernetes-audience=x"],
        "additional properties 'kubernetes-audience' not allowed",
    ),
    (&["backend.kind=memory"], "/backend/kind"),
    (&["kubernetes.keyTTL=15"], "/kubernetes/keyTTL"),
    (
        &["kubernetes.tokenExpirationSeconds.api=599"],
        "/kubernetes/tokenExpirationSeconds/api",
    ),
    (&["service.port=0"], "/service/port"),
    (&["image.digest=sha256:abc"], "/image/digest"),
    (&["persistence.size=big"], "/persistence/size"),
];

const DIGEST: &str =
    "image.digest=sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

pub(super) fn check(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    for (settings, words) in REFUSED {
        let mut template = tools.helm();
        template.args(["template", "recall"]).arg(dir());
        for setting in settings {
            template.args(["--set", setting]);
        }
        let outcome = match printed(&mut template)? {
            Ok(_) => Err(format!("was accepted; expected: {words}")),
            Err(refusal) if refusal.contains(words) => Ok(()),
            Err(refusal) => Err(format!("expected: {words}; refused with: {refusal}")),
        };
        report.check(&settings.join(" "), outcome);
    }
    Ok(())
}
