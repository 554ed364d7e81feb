//! From settings to a running server that ends on a signal.

use recall_telemetry::Traces;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, Settings};
use crate::exit::Failure;
use crate::run::{Server, run};

/// Of so many tasks that a thread of the runtime takes, one is from the queue that all threads share.
/// Writes wake up there, and what a full queue of a thread cannot hold waits there: while more comes in
/// than can be done, those who wait there must not wait behind all that comes in after them.
const TURNS: u32 = 2;

/// Parses, starts, and serves until SIGTERM or SIGINT.
pub(crate) fn start(settings: &Settings) -> Result<(), Failure> {
    let config = Config::parse(settings)?;
    let traces = config.otlp_endpoint.clone().map(|endpoint| Traces {
        endpoint,
        target: recall_api::TRACED,
        version: env!("CARGO_PKG_VERSION"),
    });
    let logging = recall_telemetry::init(config.log_format, &config.log_filter, traces);
    // Dropped at the end, it sends the last spans.
    let _flush = logging.map_err(|error| {
        let allowed = error.to_string();
        let (value, origin) = settings
            .get("log-filter")
            .map_or((String::new(), crate::Origin::Default), |(text, origin)| {
                (text.to_owned(), origin)
            });
        Failure::Config(crate::ConfigError::Value {
            flag: "log-filter",
            value,
            origin,
            allowed,
        })
    })?;
    for name in settings.unknown_variables() {
        tracing::warn!(
            name,
            "this variable begins with RECALL_ but nothing reads it"
        );
    }
    // A second provider in the process would make rustls refuse to choose.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .global_queue_interval(TURNS)
        .enable_all()
        .build()
        .map_err(|error| Failure::Unavailable(format!("no runtime: {error}")))?;
    runtime.block_on(async {
        let stop = CancellationToken::new();
        let server = Server::bind(config).await?;
        announce(settings);
        tokio::spawn(stop_on_signal(stop.clone()));
        run(server, stop).await
    })
}

fn announce(settings: &Settings) {
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "recall-server started");
    for name in ["backend", "data-dir", "surface"] {
        if let Some((value, origin)) = settings.get(name) {
            tracing::info!(setting = name, value, %origin, "setting in force");
        }
    }
}

async fn stop_on_signal(stop: CancellationToken) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut terminate) = signal(SignalKind::terminate()) else {
            return;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    }
    #[cfg(not(unix))]
    let _ = tokio::signal::ctrl_c().await;
    tracing::info!("stopping: finishing what is under way");
    stop.cancel();
}
