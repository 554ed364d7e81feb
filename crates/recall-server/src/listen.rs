//! Accepting connections, bounding what a slow one may cost, and draining.

use std::time::Duration;

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use recall_api::Peer;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// A client that takes longer to send a request's head is cut off.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// The most bytes of a request's head.
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// Requests under way are given this long once the server stops.
const DRAIN: Duration = Duration::from_secs(10);
/// After a failed accept (no file descriptors left), so as not to spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` on `listener` until `stop`, then finishes what is under way.
pub(crate) async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let server = builder();
    let graceful = GracefulShutdown::new();
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
        let peer = Peer(address.ip());
        let service = router
            .clone()
            .map_request(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(peer);
                request
            });
        let service = TowerToHyperService::new(service);
        let connection = server.serve_connection(prepare(stream), service);
        let connection = graceful.watch(connection.into_owned());
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error, "a connection ended early");
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!("requests still under way after 10 s were cut off");
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES)
        .pipeline_flush(true);
    server
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(MAX_HEADER_BYTES as u32);
    server
}

fn prepare(stream: TcpStream) -> TokioIo<TcpStream> {
    // Answers are small and whole: waiting to fill a packet only adds delay.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its delay");
    }
    TokioIo::new(stream)
}
