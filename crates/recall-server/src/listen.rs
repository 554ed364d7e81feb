//! Accepting connections, and draining them.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use recall_api::Peer;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection::{Connection, Protocols};
use crate::tls::Tls;

/// Connections served at once: ten thousand that are idle, and room. More are hung up on at once, so
/// that those that are served stay fast.
const MAX_CONNECTIONS: usize = 12_288;
/// Requests under way are given this long once the server stops.
const DRAIN: Duration = Duration::from_secs(10);
/// After a failed accept (no file descriptors left), so as not to spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` on `listener`, over TLS if there is one, until `stop`; then finishes what is under
/// way.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    router: Router,
    stop: CancellationToken,
) {
    let protocols = Arc::new(Protocols::default());
    let open = TaskTracker::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            () = stop.cancelled() => break,
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            tracing::debug!("a connection was hung up on: too many are open");
            continue;
        };
        let connection = Connection {
            protocols: Arc::clone(&protocols),
            router: router.clone(),
            peer: Peer(address.ip()),
            stop: stop.clone(),
        };
        let acceptor = tls.as_ref().map(Tls::acceptor);
        open.spawn(async move {
            match acceptor {
                Some(acceptor) => connection.secured(stream, acceptor).await,
                None => connection.plain(stream).await,
            }
            drop(place);
        });
    }
    drop(listener);
    open.close();
    if tokio::time::timeout(DRAIN, open.wait()).await.is_err() {
        tracing::warn!("requests still under way after 10 s were cut off");
    }
}
