//! Choosing parts, wiring them, serving.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use prometheus_client::registry::Registry;
use recall_agent::Agents;
use recall_api::{
    AdminState, Answers, Api, Bounds, Check, Hosts, Sampling, Services, admin_router, router,
};
use recall_keys::{Keys, parse_bootstrap_key, parse_static_keys};
use recall_memory::{Memory, Registry as Predicates, Surface};
use recall_store::{Clock, Store, SystemClock};
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::admin_key;
use crate::config::{Backend, Config, ConfigError};
use crate::exit::Failure;
use crate::kubernetes;
use crate::life::KeyLife;
use crate::listen::serve;
use crate::models;
use crate::pod_watch::PodWatch;
use crate::readiness;
use crate::stores::{self, Opened};
use crate::tls::Tls;
use crate::views;

/// How often unfinished actions are looked at for the metrics.
const MEASURE_PERIOD: Duration = Duration::from_secs(15);
/// How often a bootstrap key is tried to be registered while the store is away.
const REGISTER_AGAIN: Duration = Duration::from_secs(1);
/// How long the leases of before may keep a server from answering. The rest is taken up beside.
const TAKE_UP: Duration = Duration::from_secs(5);
/// How often dead keys are erased.
const SWEEP_PERIOD: Duration = Duration::from_secs(60);

/// A server that listens but does not answer yet.
#[derive(Debug)]
pub struct Server {
    api: Api,
    listener: TcpListener,
    admin_listener: TcpListener,
    registry: Registry,
    checks: Vec<Check>,
    watch: Option<PodWatch>,
    tls: Option<Tls>,
    actions: recall_agent::Metrics,
    opened: Opened,
    /// A bootstrap key that is registered once the store answers.
    late: Option<SecretString>,
}

impl Server {
    /// Opens the store, reads the key files, prepares the token exchange and binds both addresses.
    ///
    /// # Errors
    ///
    /// [`Failure`], by what stopped it.
    pub async fn bind(config: Config) -> Result<Self, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let tls = config.tls.clone().map(Tls::load).transpose()?;
        let mut registry = Registry::default();
        let opened = stores::open(&config, &clock)?;
        let store = Arc::clone(&opened.store);
        let memory = memory(&config, Arc::clone(&store), Arc::clone(&clock))?;
        let keys = keys(
            &config,
            Arc::clone(&store),
            Arc::clone(&clock),
            &mut registry,
        )?;
        let late = first_keys(&config, &keys, &opened).await?;
        let mut checks = vec![
            readiness::store(Arc::clone(&store), opened.kind),
            readiness::bootstrap_key(keys.clone()),
        ];
        let (exchange, watch, pods) = match &config.kubernetes {
            Some(settings) => {
                let parts = kubernetes::connected(settings, &keys, &mut registry, &mut checks);
                let kubernetes::Parts {
                    exchange,
                    watch,
                    api,
                } = parts.await?;
                (Some(exchange), watch, Some(api))
            }
            None => (None, None, None),
        };
        let agents = agents(&store, &memory, clock, KeyLife::new(keys.clone(), pods));
        let metrics = recall_api::Metrics::register(&mut registry);
        let actions = recall_agent::Metrics::register(&mut registry);
        models::register(&memory, &mut registry);
        views::register(&memory, &mut registry);
        let bounds = Bounds::new(config.limit_per_key, config.quota_agents);
        let bounds = match config.backend.shared() {
            Some(_) => bounds.for_far_store(),
            None => bounds,
        };
        let api = Api::from(Services {
            keys,
            memory,
            agents,
            exchange,
            answers: Answers::default(),
            bounds,
            hosts: Hosts::new(
                config.allowed_origins.clone(),
                config.allowed_hosts.clone(),
                config.listen.ip().is_loopback(),
            ),
            backend: opened.kind,
            traces: config
                .otlp_endpoint
                .is_some()
                .then(|| Sampling::new(config.trace_ratio)),
            names_namespaces: config.trace_namespaces,
            version: env!("CARGO_PKG_VERSION"),
            metrics,
        });
        let listener = bind(config.listen).await?;
        let admin_listener = bind(config.admin_listen).await?;
        Ok(Self {
            api,
            listener,
            admin_listener,
            registry,
            checks,
            watch,
            tls,
            actions,
            opened,
            late,
        })
    }

    /// Where the Memory API is served; tells the port when port 0 was asked for.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Where the admin routes are served.
    #[must_use]
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin_listener.local_addr().ok()
    }
}

/// Serves until `stop`, then drains. The store is closed when it returns.
///
/// # Errors
///
/// [`Failure`] if a part of the server fails while it runs.
pub async fn run(server: Server, stop: CancellationToken) -> Result<(), Failure> {
    let Server {
        api,
        listener,
        admin_listener,
        registry,
        mut checks,
        watch,
        tls,
        actions,
        opened,
        late,
    } = server;
    for (name, listener) in [("api", &listener), ("admin", &admin_listener)] {
        if let Ok(address) = listener.local_addr() {
            tracing::info!(listener = name, %address, "listening");
        }
    }
    checks.push(readiness::running(stop.clone()));
    // Dropped at the end, and with it what runs beside the requests.
    let mut beside = JoinSet::new();
    beside.spawn(api.keys.clone().sweep_for_ever(SWEEP_PERIOD));
    if let Some(watch) = watch {
        beside.spawn(watch.run());
    }
    if let Some(agents) = api.agents.clone() {
        if opened.store.capabilities().exclusive {
            take_up(&agents).await;
        }
        beside.spawn(agents.clone().watch_for_ever());
        beside.spawn(measure_for_ever(agents, actions));
    }
    if let Some(tls) = &tls {
        beside.spawn(tls.clone().follow_files());
    }
    if let Some(key) = late {
        beside.spawn(register_late(api.keys.clone(), key));
    }
    let admin = AdminState {
        registry: Arc::new(registry),
        checks: checks.into(),
    };
    // The admin routes outlive the API, so that it is seen to be unready while it drains.
    let admin_stop = CancellationToken::new();
    let admin = tokio::spawn(serve(
        admin_listener,
        None,
        admin_router(admin),
        admin_stop.clone(),
    ));
    serve(listener, tls, router(api), stop).await;
    beside.shutdown().await;
    opened.leave().await;
    admin_stop.cancel();
    admin
        .await
        .map_err(|error| Failure::Unavailable(format!("the admin listener failed: {error}")))
}

/// Before anybody may call: what a live owner held stays its own over a restart.
async fn take_up(agents: &Agents) {
    match tokio::time::timeout(TAKE_UP, agents.take_up()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "the leases of before were not all taken up"),
        Err(_) => tracing::warn!("the leases of before are still being taken up"),
    }
}

async fn measure_for_ever(agents: Agents, metrics: recall_agent::Metrics) {
    loop {
        agents.measure(&metrics).await;
        tokio::time::sleep(MEASURE_PERIOD).await;
    }
}

/// Agents need leases; without them their tools are not offered.
fn agents(
    store: &Arc<dyn Store>,
    memory: &Memory,
    clock: Arc<dyn Clock>,
    life: KeyLife,
) -> Option<Agents> {
    if !store.capabilities().leases {
        tracing::warn!("the store has no leases: the tools to resume agents are not offered");
        return None;
    }
    let (store, memory) = (Arc::clone(store), memory.clone());
    Some(Agents::new(store, memory, clock, Arc::new(life)))
}

fn memory(
    config: &Config,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
) -> Result<Memory, Failure> {
    let open = config
        .open
        .unwrap_or(config.surface == Surface::Text && config.predicates.is_none());
    let registry = match &config.predicates {
        None if open => Predicates::open(),
        None => Predicates::closed(),
        Some(path) => {
            let refusal = |reason: String| unusable("predicates", path, reason);
            let text = std::fs::read_to_string(path).map_err(|error| refusal(error.to_string()))?;
            Predicates::from_json(&text, open).map_err(|error| refusal(error.to_string()))?
        }
    };
    let settings = recall_memory::Config {
        surface: config.surface,
        registry,
        view_memory: usize::try_from(config.view_memory).unwrap_or(usize::MAX),
        // A shared store that follows its writers itself is asked each time.
        freshness: match config.backend.shared() {
            Some(_) => Duration::ZERO,
            None => config.freshness,
        },
        quota: config.quota,
    };
    let models = models::connect(config)?;
    Ok(Memory::with_models(store, clock, settings, models))
}

fn keys(
    config: &Config,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    registry: &mut Registry,
) -> Result<Keys, Failure> {
    let fixed = match &config.keys_file {
        None => Vec::new(),
        Some(path) => {
            let refusal = |reason: String| unusable("keys-file", path, reason);
            let text = std::fs::read_to_string(path).map_err(|error| refusal(error.to_string()))?;
            parse_static_keys(&text).map_err(|error| refusal(error.to_string()))?
        }
    };
    let kubernetes = config.kubernetes.as_ref();
    let settings = recall_keys::Config {
        auth_cache_ttl: config.auth_cache_ttl,
        max_keys_per_pod: config.max_keys_per_pod,
        max_pod_key_lifetime: kubernetes.and_then(|settings| settings.max_key_lifetime),
        cluster: kubernetes.and_then(|settings| settings.cluster.clone()),
    };
    Ok(Keys::new(
        store,
        clock,
        settings,
        fixed,
        recall_keys::Metrics::register(registry),
    ))
}

/// Registers the bootstrap key, or makes the first admin key of a fresh embedded store. Answers a
/// key that has to wait until the store answers.
async fn first_keys(
    config: &Config,
    keys: &Keys,
    opened: &Opened,
) -> Result<Option<SecretString>, Failure> {
    let bootstrap = match &config.bootstrap_key_file {
        None => None,
        Some(path) => {
            let refusal = |reason: String| unusable("bootstrap-key-file", path, reason);
            let text = std::fs::read_to_string(path).map_err(|error| refusal(error.to_string()))?;
            Some(parse_bootstrap_key(&text).map_err(|error| refusal(error.to_string()))?)
        }
    };
    if let Some(shared) = config.backend.shared() {
        match shared.wait {
            None => {
                if let Some(key) = &bootstrap {
                    keys.await_bootstrap(key);
                }
                return Ok(bootstrap);
            }
            Some(patience) => opened.wait(patience).await?,
        }
    }
    if let Some(key) = bootstrap {
        register(keys, &key)
            .await
            .map_err(|error| Failure::Unavailable(error.to_string()))?;
        return Ok(None);
    }
    let Backend::Embedded(dir) = &config.backend else {
        return Ok(None);
    };
    let made = admin_key::ensure(keys, dir).await;
    match made.map_err(|error| Failure::Unavailable(format!("{error:#}")))? {
        Some(path) => {
            tracing::info!(file = %path.display(), "an admin key was made: it is in this file")
        }
        None => tracing::debug!("the store has keys already"),
    }
    Ok(None)
}

async fn register(keys: &Keys, key: &SecretString) -> Result<(), recall_keys::Error> {
    let record = keys.bootstrap(key).await?;
    tracing::info!(key_id = %record.id, "the bootstrap admin key is registered");
    Ok(())
}

/// Registers a key as soon as the store can be asked.
async fn register_late(keys: Keys, key: SecretString) {
    while let Err(error) = register(&keys, &key).await {
        tracing::debug!(%error, "the bootstrap key waits for the store");
        tokio::time::sleep(REGISTER_AGAIN).await;
    }
}

fn unusable(flag: &'static str, path: &Path, reason: String) -> Failure {
    ConfigError::Content {
        flag,
        path: path.display().to_string(),
        reason,
    }
    .into()
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}"))
        .map_err(|error| Failure::Unavailable(format!("{error:#}")))
}
