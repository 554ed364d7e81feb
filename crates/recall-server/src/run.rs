//! Choosing parts, wiring them, serving.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use prometheus_client::registry::Registry;
use recall_agent::Agents;
use recall_api::{AdminState, Api, Check, admin_router, router};
use recall_keys::{Keys, parse_bootstrap_key, parse_static_keys};
use recall_memory::{Memory, Registry as Predicates, Surface};
use recall_store::{Clock, MemoryStore, Store, SystemClock};
use recall_store_embedded::{EmbeddedStore, OpenError};
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
}

impl Server {
    /// Opens the store, reads the key files, prepares the token exchange and binds both addresses.
    ///
    /// # Errors
    ///
    /// [`Failure`], by what stopped it.
    pub async fn bind(config: Config) -> Result<Self, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let mut registry = Registry::default();
        let store = open_store(&config.backend)?;
        let memory = memory(&config, Arc::clone(&store), Arc::clone(&clock))?;
        let keys = keys(
            &config,
            Arc::clone(&store),
            Arc::clone(&clock),
            &mut registry,
        )?;
        first_keys(&config, &keys).await?;
        let mut checks = vec![readiness::store(Arc::clone(&store))];
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
        models::register(&memory, &mut registry);
        let api = Api {
            keys,
            memory,
            agents,
            exchange,
            version: env!("CARGO_PKG_VERSION"),
            metrics,
        };
        let listener = bind(config.listen).await?;
        let admin_listener = bind(config.admin_listen).await?;
        Ok(Self {
            api,
            listener,
            admin_listener,
            registry,
            checks,
            watch,
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
    let admin = AdminState {
        registry: Arc::new(registry),
        checks: checks.into(),
    };
    // The admin routes outlive the API, so that it is seen to be unready while it drains.
    let admin_stop = CancellationToken::new();
    let admin = tokio::spawn(serve(
        admin_listener,
        admin_router(admin),
        admin_stop.clone(),
    ));
    serve(listener, router(api), stop).await;
    beside.shutdown().await;
    admin_stop.cancel();
    admin
        .await
        .map_err(|error| Failure::Unavailable(format!("the admin listener failed: {error}")))
}

fn open_store(backend: &Backend) -> Result<Arc<dyn Store>, Failure> {
    match backend {
        Backend::Memory => Ok(Arc::new(MemoryStore::new())),
        Backend::Embedded(dir) => match EmbeddedStore::open(dir) {
            Ok(store) => Ok(Arc::new(store)),
            Err(error @ (OpenError::Damaged { .. } | OpenError::NewerFormat { .. })) => {
                Err(Failure::Damaged(error.to_string()))
            }
            Err(error @ (OpenError::InUse { .. } | OpenError::Io { .. })) => {
                Err(Failure::Unavailable(error.to_string()))
            }
        },
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
        freshness: config.freshness,
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

/// Registers the bootstrap key, or makes the first admin key of a fresh embedded store.
async fn first_keys(config: &Config, keys: &Keys) -> Result<(), Failure> {
    if let Some(path) = &config.bootstrap_key_file {
        let refusal = |reason: String| unusable("bootstrap-key-file", path, reason);
        let text = std::fs::read_to_string(path).map_err(|error| refusal(error.to_string()))?;
        let key = parse_bootstrap_key(&text).map_err(|error| refusal(error.to_string()))?;
        let record = keys
            .bootstrap(&key)
            .await
            .map_err(|error| Failure::Unavailable(error.to_string()))?;
        tracing::info!(key_id = %record.id, "the bootstrap admin key is registered");
        return Ok(());
    }
    let Backend::Embedded(dir) = &config.backend else {
        return Ok(());
    };
    let made = admin_key::ensure(keys, dir).await;
    match made.map_err(|error| Failure::Unavailable(format!("{error:#}")))? {
        Some(path) => {
            tracing::info!(file = %path.display(), "an admin key was made: it is in this file")
        }
        None => tracing::debug!("the store has keys already"),
    }
    Ok(())
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
