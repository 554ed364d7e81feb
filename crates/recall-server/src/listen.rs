//! Accepting connections, bounding what a slow one may cost, and draining.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use http::{Request, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use recall_api::Peer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::spoken::Spoken;
use crate::tls::Tls;
use crate::untaken::Untaken;

/// A client that takes longer to send a request's head is cut off.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// How often a silent HTTP/2 connection is asked whether anybody is there.
const HTTP2_PING: Duration = Duration::from_secs(20);
/// What an HTTP/2 connection begins with.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Connections served at once: ten thousand that are idle, and room. More are hung up on at once, so
/// that those that are served stay fast.
const MAX_CONNECTIONS: usize = 12_288;
/// The most bytes of a request's head.
const MAX_HEADER_BYTES: usize = 64 * 1024;
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
    let server = builder();
    let graceful = GracefulShutdown::new();
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
            server: server.clone(),
            watcher: graceful.watcher(),
            router: router.clone(),
            peer: Peer(address.ip()),
        };
        let acceptor = tls.as_ref().map(Tls::acceptor);
        tokio::spawn(async move {
            match acceptor {
                Some(acceptor) => connection.secured(stream, acceptor).await,
                None => connection.plain(stream).await,
            }
            drop(place);
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

/// One connection, and what it needs to be served.
struct Connection {
    server: auto::Builder<TokioExecutor>,
    watcher: Watcher,
    router: Router,
    peer: Peer,
}

impl Connection {
    async fn plain(self, stream: TcpStream) {
        let spoke = tokio::time::timeout(HEADER_TIMEOUT, speaks(&stream)).await;
        if spoke.is_err() {
            tracing::debug!("a connection that said nothing was hung up on");
            return;
        }
        prepare(&stream);
        self.talk(stream).await;
    }

    async fn secured(mut self, stream: TcpStream, acceptor: TlsAcceptor) {
        prepare(&stream);
        let stream = match tokio::time::timeout(HEADER_TIMEOUT, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                tracing::debug!(%error, "a TLS handshake failed");
                return;
            }
            Err(_) => {
                tracing::debug!("a TLS handshake took too long");
                return;
            }
        };
        // The protocol was agreed on; telling it from the first bytes is not bounded in time.
        self.server = match stream.get_ref().1.alpn_protocol() {
            Some(b"h2") => self.server.http2_only(),
            _ => self.server.http1_only(),
        };
        self.talk(stream).await;
    }

    async fn talk(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let (peer, router, untaken) = (self.peer, self.router, Untaken::default());
        let watch = untaken.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let (router, watch) = (router.clone(), watch.clone());
            async move {
                let streams = request.version() == Version::HTTP_2;
                let answer = router.oneshot(request).await?;
                Ok::<_, Infallible>(match streams {
                    true => answer.map(|body| watch.watch(body)),
                    false => answer,
                })
            }
        });
        let connection = self
            .server
            .serve_connection(TokioIo::new(Spoken::new(stream)), service)
            .into_owned();
        tokio::select! {
            ended = self.watcher.watch(connection) => if let Err(error) = ended {
                tracing::debug!(error, "a connection ended early");
            },
            () = untaken.stalled() => {
                tracing::debug!("a client that takes no answer was hung up on");
            }
        }
    }
}

/// Waits until a connection has said enough to tell its protocol by; telling it is not bounded in
/// time by the one who does.
async fn speaks(stream: &TcpStream) {
    let mut seen = [0u8; HTTP2_PREFACE.len()];
    loop {
        match stream.peek(&mut seen).await {
            Ok(count) if count > 0 => {
                let said = &seen[..count];
                if said == HTTP2_PREFACE || !HTTP2_PREFACE.starts_with(said) {
                    return;
                }
            }
            Ok(_) | Err(_) => return,
        }
        // More of the preface is on its way; nothing wakes a peek that would see the same again.
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEADER_BYTES);
    server
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HTTP2_PING)
        .keep_alive_timeout(HEADER_TIMEOUT)
        .max_header_list_size(MAX_HEADER_BYTES as u32);
    server
}

/// Answers are small and whole: waiting to fill a packet only adds delay.
fn prepare(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its delay");
    }
}
