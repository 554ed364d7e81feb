//! One connection, and what a slow client may cost on it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Request, Response};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use recall_api::Peer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::quiet::{Activity, Heard};
use crate::spoken::Spoken;
use crate::untaken::Untaken;

/// A client that takes longer to send a request's head is cut off.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// How often a silent HTTP/2 connection is asked whether anybody is there.
const HTTP2_PING: Duration = Duration::from_secs(20);
/// What an HTTP/2 connection begins with.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The most bytes of a request's head.
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// How long a client that has connected is still listened to once the server stops: its request is
/// on its way.
const LAST_CALL: Duration = Duration::from_secs(1);
/// Between two looks at a connection of which a part of the preface has come.
const PREFACE_PAUSE: Duration = Duration::from_millis(50);

/// How each protocol is spoken.
pub(crate) struct Protocols {
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
}

impl Default for Protocols {
    fn default() -> Self {
        let mut http1 = http1::Builder::new();
        http1
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_header_size(MAX_HEADER_BYTES)
            .max_buf_size(MAX_HEADER_BYTES);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .keep_alive_interval(HTTP2_PING)
            .keep_alive_timeout(HEADER_TIMEOUT)
            .max_header_list_size(MAX_HEADER_BYTES as u32);
        Self { http1, http2 }
    }
}

/// What a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
}

/// One connection, and what it needs to be served.
pub(crate) struct Connection {
    pub(crate) protocols: Arc<Protocols>,
    pub(crate) router: Router,
    pub(crate) peer: Peer,
    /// Once it is cancelled, what is under way is finished and nothing more is taken.
    pub(crate) stop: CancellationToken,
}

impl Connection {
    /// Serves a stream that nothing was read from.
    pub(crate) async fn plain(self, stream: TcpStream) {
        let told = tokio::time::timeout(HEADER_TIMEOUT, protocol(&stream));
        let told = tokio::select! {
            told = told => told,
            () = self.last_call() => return,
        };
        let Ok(protocol) = told else {
            tracing::debug!("a connection that said nothing was hung up on");
            return;
        };
        prepare(&stream);
        self.talk(protocol, stream).await;
    }

    /// Serves a stream on which the client begins with a TLS handshake.
    pub(crate) async fn secured(self, stream: TcpStream, acceptor: TlsAcceptor) {
        prepare(&stream);
        let shaken = tokio::time::timeout(HEADER_TIMEOUT, acceptor.accept(stream));
        let shaken = tokio::select! {
            shaken = shaken => shaken,
            () = self.last_call() => return,
        };
        let stream = match shaken {
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
        let protocol = match stream.get_ref().1.alpn_protocol() {
            Some(b"h2") => Protocol::Http2,
            _ => Protocol::Http1,
        };
        self.talk(protocol, stream).await;
    }

    /// Ends when a client that has not said its first words is not waited for any more.
    async fn last_call(&self) {
        self.stop.cancelled().await;
        tokio::time::sleep(LAST_CALL).await;
    }

    async fn talk<S>(self, protocol: Protocol, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        match protocol {
            Protocol::Http1 => self.http1(stream).await,
            Protocol::Http2 => self.http2(stream).await,
        }
    }

    async fn http1<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let activity = Arc::new(Activity::default());
        let mut stream = Heard::new(Spoken::new(stream), Arc::clone(&activity));
        loop {
            let service = service_fn(|request: Request<Incoming>| {
                let under_way = activity.request();
                let answer = answer(self.router.clone(), self.peer, request);
                let activity = &activity;
                async move {
                    let answer = answer.await;
                    if answer.body().size_hint().exact().is_none() {
                        activity.answers_in_parts();
                    }
                    drop(under_way);
                    Ok::<_, Infallible>(answer)
                }
            });
            let io = TokioIo::new(stream);
            // In a place of its own, which is given back while nothing is said.
            let mut connection = Box::new(self.protocols.http1.serve_connection(io, service));
            let ended = tokio::select! {
                biased;
                ended = connection.as_mut() => Some(ended),
                () = self.stop.cancelled() => {
                    Pin::new(connection.as_mut()).graceful_shutdown();
                    Some(connection.as_mut().await)
                }
                () = activity.silence() => None,
            };
            if let Some(ended) = ended {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended early");
                }
                return;
            }
            let parts = connection.into_parts();
            stream = parts.io.into_inner();
            stream.put_back(parts.read_buf);
            let speaks = tokio::time::timeout(HEADER_TIMEOUT, stream.speaks());
            let speaks = tokio::select! {
                biased;
                speaks = speaks => speaks,
                () = self.stop.cancelled() => return,
            };
            if !matches!(speaks, Ok(true)) {
                return;
            }
        }
    }

    async fn http2<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (peer, router, untaken) = (self.peer, self.router, Untaken::default());
        let watch = untaken.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let (answer, watch) = (answer(router.clone(), peer, request), watch.clone());
            async move { Ok::<_, Infallible>(answer.await.map(|body| watch.watch(body))) }
        });
        let io = TokioIo::new(Spoken::new(stream));
        let mut connection = Box::new(self.protocols.http2.serve_connection(io, service));
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            () = self.stop.cancelled() => {
                Pin::new(connection.as_mut()).graceful_shutdown();
                connection.as_mut().await
            }
            () = untaken.stalled() => {
                tracing::debug!("a client that takes no answer was hung up on");
                return;
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// What the router answers, who never fails.
async fn answer(router: Router, peer: Peer, mut request: Request<Incoming>) -> Response<Body> {
    request.extensions_mut().insert(peer);
    match router.oneshot(request).await {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}

/// What a client speaks, once it has said enough to tell; telling it is not bounded in time by the
/// one who does.
async fn protocol(stream: &TcpStream) -> Protocol {
    let mut seen = [0u8; HTTP2_PREFACE.len()];
    loop {
        match stream.peek(&mut seen).await {
            Ok(count) if count > 0 => {
                let said = &seen[..count];
                if said == HTTP2_PREFACE {
                    return Protocol::Http2;
                }
                if !HTTP2_PREFACE.starts_with(said) {
                    return Protocol::Http1;
                }
            }
            Ok(_) | Err(_) => return Protocol::Http1,
        }
        // More of the preface is on its way; nothing wakes a peek that would see the same again.
        tokio::time::sleep(PREFACE_PAUSE).await;
    }
}

/// Answers are small and whole: waiting to fill a packet only adds delay.
fn prepare(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection keeps its delay");
    }
}
