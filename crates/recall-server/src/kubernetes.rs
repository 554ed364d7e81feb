//! The token exchange from its settings.

use std::sync::Arc;

use prometheus_client::registry::Registry;
use recall_api::{Check, Exchange};
use recall_identity::kube::{ApiServer, ConnectError, Connection, MissingRule, connect};
use recall_identity::{AgentRule, Call, InvalidRule, Limits, Resolver, Rules, TenantRule};
use recall_keys::Keys;

use crate::config::{ConfigError, Kubernetes, TenantLabel};
use crate::exit::Failure;
use crate::observe::ApiMetrics;
use crate::pod_watch::PodWatch;

/// Exchanges that may wait for their turn, none for longer than three seconds: a thousand pods that
/// start together come through without being sent away.
const QUEUE: usize = 1024;

/// The exchange, and the watch by which keys die with their pods.
pub(crate) struct Parts {
    pub(crate) exchange: Exchange,
    pub(crate) watch: Option<PodWatch>,
    /// The API server itself, to be asked for pods.
    pub(crate) api: ApiServer,
}

/// Connects to the API server and checks what the server's own account may do there. Adds the checks
/// that the API server can be asked and is heard.
pub(crate) async fn connected(
    settings: &Kubernetes,
    keys: &Keys,
    registry: &mut Registry,
    checks: &mut Vec<Check>,
) -> Result<Parts, Failure> {
    let rules = rules(settings);
    rules.check().map_err(|error| invalid(&error))?;
    if matches!(rules.agent, AgentRule::PodName) {
        tracing::info!("no agent label is configured: the agent is the name of the pod");
    }
    let connection = Connection {
        api: settings.api.clone(),
        ca_file: settings.ca_file.clone(),
        token_file: settings.token_file.clone(),
        kubeconfig: settings.kubeconfig.clone(),
    };
    let client = connect(&connection)
        .await
        .map_err(|error| cannot_connect(&error))?;
    let api = ApiServer::new(client.clone());
    let calls = calls(&rules, settings);
    if let Err(missing) = api.check_calls(&calls, &settings.namespaces).await {
        judge(&missing, &rules)?;
    }
    checks.push(reachable(api.clone()));
    let metrics = ApiMetrics::register(registry);
    let watch = settings.watch.as_ref().map(|watch| {
        let (keys, metrics) = (keys.clone(), metrics.clone());
        PodWatch::new(client, settings, watch, keys, metrics)
    });
    checks.extend(watch.as_ref().map(PodWatch::check));
    let authenticator =
        Arc::new(resolver(api.clone(), rules, settings).observed_by(Arc::new(metrics)));
    let exchange = Exchange::new(authenticator, settings.key_ttl, settings.limits);
    Ok(Parts {
        exchange,
        watch,
        api,
    })
}

/// Everything that the server's own account must be allowed.
fn calls(rules: &Rules, settings: &Kubernetes) -> Vec<Call> {
    let mut calls = rules.calls();
    if settings.watch.is_some() {
        calls.extend([Call::ListPods, Call::WatchPods]);
    }
    calls
}

fn resolver(api: ApiServer, rules: Rules, settings: &Kubernetes) -> Resolver<ApiServer> {
    let limits = Limits {
        queue: QUEUE,
        ..Limits::default()
    };
    let mut resolver = Resolver::new(api, rules, limits);
    if !settings.service_accounts.is_empty() {
        resolver = resolver.allow_only(settings.service_accounts.iter().cloned());
    }
    if !settings.namespaces.is_empty() {
        resolver = resolver.only_in(settings.namespaces.iter().cloned());
    }
    resolver
}

/// A missing permission stops the start if every exchange needs it. Sandboxes and claims are read
/// only for a pod without its label: a cluster may do without them, and is told what that means.
fn judge(missing: &[MissingRule], rules: &Rules) -> Result<(), Failure> {
    let spared = |rule: &&MissingRule| {
        let owners = [Call::GetSandbox, Call::GetSandboxClaim].contains(&rule.call);
        owners && !matches!(rules.agent, AgentRule::SandboxClaim)
    };
    let (optional, needed): (Vec<_>, Vec<_>) = missing.iter().partition(spared);
    for rule in optional {
        tracing::warn!(
            missing = %rule,
            "a pod without its agent label is answered 503 where its sandbox cannot be read"
        );
    }
    if needed.is_empty() {
        return Ok(());
    }
    let needed: Vec<_> = needed.iter().map(ToString::to_string).collect();
    Err(Failure::Unavailable(format!(
        "the server's service account lacks permissions: {}; grant them by RBAC",
        needed.join("; ")
    )))
}

fn rules(settings: &Kubernetes) -> Rules {
    let tenant = match &settings.tenant_label {
        None => TenantRule::Namespace,
        Some(TenantLabel::ServiceAccount(key)) => TenantRule::ServiceAccountLabel(key.clone()),
        Some(TenantLabel::Namespace(key)) => TenantRule::NamespaceLabel(key.clone()),
    };
    let agent = match (&settings.agent_label, settings.sandbox_claims) {
        (_, true) => AgentRule::SandboxClaim,
        (Some(key), false) => AgentRule::Label {
            key: key.clone(),
            optional: settings.agent_label_optional,
        },
        (None, false) => AgentRule::PodName,
    };
    let (audience, cluster) = (settings.audience.clone(), settings.cluster.clone());
    Rules {
        audience,
        tenant,
        agent,
        cluster,
    }
}

fn invalid(error: &InvalidRule) -> Failure {
    ConfigError::Together(format!("--kubernetes-{error}")).into()
}

fn cannot_connect(error: &ConnectError) -> Failure {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    ConfigError::Together(format!("--kubernetes: {text}")).into()
}

fn reachable(api: ApiServer) -> Check {
    Check {
        name: "kubernetes",
        probe: Arc::new(move || {
            let api = api.clone();
            Box::pin(async move {
                let answer = api.ping().await;
                answer.map_err(|trouble| {
                    format!("the API server cannot be asked ({})", trouble.kind.code())
                })
            })
        }),
    }
}
