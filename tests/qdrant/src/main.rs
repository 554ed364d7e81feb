//! A stand-in for a Qdrant server, for tests where no real one is at hand.
//!
//! `qdrant-standin --listen 127.0.0.1:6334 --dir DIR [--rest 127.0.0.1:6333] [--version 1.18.3]
//! [--api-key KEY]`
//!
//! Over the real wire (the gRPC services that `qdrant-client` carries) stands Qdrant's own engine
//! (`qdrant-edge`: segments, payload indexes, filters, conditional writes), one shard a collection,
//! one write of a shard at a time. So filters, number matching, the order of a scroll, what an update
//! filter and an update mode do, and what a wrong dimension is answered with are Qdrant's own.
//!
//! # What it cannot show
//!
//! * **A cluster.** There is one node: write ordering and read consistency are accepted and have
//!   nothing to do; replication, a change of leader and a lagging replica do not occur.
//! * **Qdrant's durability.** The engine alone does not replay its log after a crash, so this program
//!   keeps a log of its own, written before a write is answered, and replays it at the start. It
//!   survives `kill -9`, as the real server does; it says nothing of a loss of power on either.
//! * **The server around the engine**: limits on sizes and rates, strict mode, TLS, background
//!   optimisation, memory and disk running out, upgrades of stored data. Busy and broken answers are
//!   told to it by a file (see `faults`).
//! * **Old servers.** With a `--version` below 1.17 (1.16) it ignores update modes (update filters) in
//!   silence, as protocol buffers do; nothing else about it is old.
//! * **Speed.** It is not built for it and not measured.
//!
//! Calls that no adapter of ours makes are answered with `UNIMPLEMENTED`; of REST there is what the
//! published server calls (see `rest`).

mod collections;
mod convert;
mod faults;
mod health;
mod points;
mod rest;
mod shard;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use qdrant_client::qdrant::collections_server::CollectionsServer;
use qdrant_client::qdrant::points_server::PointsServer;
use qdrant_client::qdrant::qdrant_server::QdrantServer;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::{Request, Status};

use crate::collections::Store;
use crate::faults::Faults;
use crate::health::Health;

/// The largest message that is taken; the real server takes more than this over gRPC.
const MAX_MESSAGE: usize = 64 * 1024 * 1024;

struct Arguments {
    listen: SocketAddr,
    rest: Option<SocketAddr>,
    dir: PathBuf,
    version: String,
    key: Option<String>,
}

fn arguments() -> anyhow::Result<Arguments> {
    let (mut listen, mut rest, mut dir, mut key) = (None, None, None, None);
    let mut version = "1.18.3".to_owned();
    let mut given = std::env::args().skip(1);
    while let Some(flag) = given.next() {
        let value = given
            .next()
            .with_context(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--listen" => listen = Some(value.parse().context("--listen needs an address")?),
            "--rest" => rest = Some(value.parse().context("--rest needs an address")?),
            "--dir" => dir = Some(PathBuf::from(value)),
            "--version" => version = value,
            "--api-key" => key = Some(value),
            other => bail!("{other} is not known: see the head of main.rs"),
        }
    }
    let listen: SocketAddr = listen.context("--listen is needed")?;
    for address in [Some(listen), rest].into_iter().flatten() {
        if !address.ip().is_loopback() {
            bail!("{address}: this program listens on loopback only");
        }
    }
    Ok(Arguments {
        listen,
        rest,
        dir: dir.context("--dir is needed")?,
        version,
        key,
    })
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments {
        listen,
        rest,
        dir,
        version,
        key,
    } = arguments()?;
    let store = Arc::new(Store::open(&dir, &version)?);
    let faults = Arc::new(Faults::new(dir.join("faults")));
    let listener = TcpListener::bind(listen).await?;
    if let Some(rest) = rest {
        let routes = rest::router(Arc::clone(&store), key.clone(), version.clone());
        let listener = TcpListener::bind(rest).await?;
        tokio::spawn(async move { axum::serve(listener, routes).await });
    }
    let allow = move |request: Request<()>| match &key {
        Some(key)
            if request
                .metadata()
                .get("api-key")
                .is_none_or(|sent| sent != key) =>
        {
            Err(Status::unauthenticated("Invalid API key or JWT"))
        }
        _ => Ok(request),
    };
    let points = points::Service::new(Arc::clone(&store), Arc::clone(&faults));
    let collections = collections::Service::new(store, faults);
    let points = PointsServer::new(points).max_decoding_message_size(MAX_MESSAGE);
    let collections = CollectionsServer::new(collections);
    let serve = Server::builder()
        .add_service(QdrantServer::new(Health { version }))
        .add_service(InterceptedService::new(points, allow.clone()))
        .add_service(InterceptedService::new(collections, allow));
    let mut term = signal(SignalKind::terminate())?;
    let stop = async move {
        term.recv().await;
    };
    serve
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), stop)
        .await?;
    Ok(())
}
