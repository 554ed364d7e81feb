//! A connection on which every refusal says what it refuses.
//!
//! A request whose head cannot be read reaches no route: the HTTP library answers it by itself, with a
//! status and an empty body. This layer puts the error's words in the place of that answer. It also
//! hangs up on a client that takes nothing of what it asked for: the HTTP library would hold the answer
//! for it as long as the connection stands.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::StatusCode;
use recall_api::unreadable;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long a client may take nothing at all of what is written to it.
const MAX_STALL: Duration = Duration::from_secs(30);

/// A stream that HTTP is spoken on.
#[derive(Debug)]
pub(crate) struct Spoken<S> {
    stream: S,
    /// What is written in the place of a bare refusal, as far as it is not yet written.
    instead: Vec<u8>,
    /// Runs while nothing more can be written.
    stalled: Option<Pin<Box<Sleep>>>,
    max_stall: Duration,
}

impl<S> Spoken<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            instead: Vec::new(),
            stalled: None,
            max_stall: MAX_STALL,
        }
    }

    /// What a try to write came to, or the end of the connection if none came to anything for too long.
    fn timed<T>(&mut self, context: &mut Context<'_>, tried: Poll<Result<T>>) -> Poll<Result<T>> {
        if tried.is_ready() {
            self.stalled = None;
            return tried;
        }
        let max_stall = self.max_stall;
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(sleep(max_stall)));
        ready!(stalled.as_mut().poll(context));
        tracing::debug!("a client that takes nothing was hung up on");
        Poll::Ready(Err(std::io::ErrorKind::TimedOut.into()))
    }
}

/// The status of an answer that the HTTP library gives by itself: a head alone that names no request,
/// as each of ours does. None of our bodies ends like a head, so the rest of one is never taken for it.
fn bare_refusal(written: &[u8]) -> Option<StatusCode> {
    let rest = written.strip_prefix(b"HTTP/1.1 ")?;
    let status = StatusCode::from_bytes(rest.get(..3)?).ok()?;
    let head = std::str::from_utf8(written.strip_suffix(b"\r\n\r\n")?).ok()?;
    let says = |name: &str| {
        let mut lines = head.lines().skip(1);
        lines.any(|line| line.to_ascii_lowercase().starts_with(name))
    };
    let bare = status.is_client_error()
        && !head.contains("\r\n\r\n")
        && !says("x-request-id:")
        && says("content-length: 0");
    bare.then_some(status)
}

impl<S: AsyncWrite + Unpin> Spoken<S> {
    fn poll_instead(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        while !self.instead.is_empty() {
            let tried = Pin::new(&mut self.stream).poll_write(context, &self.instead);
            let written = ready!(self.timed(context, tried))?;
            if written == 0 {
                return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into()));
            }
            self.instead.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Spoken<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let this = self.get_mut();
        // Who could not write all at once comes back with the same bytes.
        if this.instead.is_empty() {
            let Some(status) = bare_refusal(bytes) else {
                let tried = Pin::new(&mut this.stream).poll_write(context, bytes);
                return this.timed(context, tried);
            };
            this.instead = unreadable(status);
        }
        ready!(this.poll_instead(context))?;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let mut full = parts.iter().filter(|part| !part.is_empty());
        if let (Some(only), None) = (full.next(), full.next()) {
            return self.poll_write(context, only);
        }
        let this = self.get_mut();
        let tried = Pin::new(&mut this.stream).poll_write_vectored(context, parts);
        this.timed(context, tried)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Spoken<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const BARE: &str = "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

    #[track_caller]
    fn check(written: &str, expected: Option<u16>) {
        let found = bare_refusal(written.as_bytes()).map(|status| status.as_u16());
        assert_eq!(found, expected, "{written:?}");
    }

    #[test]
    fn only_an_answer_that_names_no_request_is_bare() {
        check(BARE, Some(431));
        check(&BARE.replace("431", "200"), None);
        check(
            &BARE.replace("connection", "X-Request-Id: a\r\nconnection"),
            None,
        );
        check(
            &BARE.replace("content-length: 0", "content-length: 1"),
            None,
        );
        check(&format!("{BARE}x"), None);
        check(&BARE[..BARE.len() - 1], None);
        check(&BARE[1..], None);
        // A first answer and a second one in one go.
        check(&format!("{BARE}{BARE}"), None);
        check("", None);
    }

    #[tokio::test]
    async fn a_bare_refusal_is_worded_however_little_is_taken_at_once() {
        let (near, mut far) = tokio::io::duplex(7);
        let mut spoken = Spoken::new(near);
        let write = async {
            spoken
                .write_all(BARE.as_bytes())
                .await
                .expect("it is taken");
            spoken.shutdown().await.expect("it ends");
        };
        let mut text = String::new();
        let (_, read) = tokio::join!(write, far.read_to_string(&mut text));
        read.expect("text");
        assert!(text.starts_with("HTTP/1.1 431 "), "{text}");
        let (_, body) = text.split_once("\r\n\r\n").expect("a head");
        assert!(
            body.starts_with("{\"error\":{\"code\":\"invalid_argument\""),
            "{text}"
        );
        assert!(
            text.contains(&format!("content-length: {}\r\n", body.len())),
            "{text}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_hung_up_on_and_a_slow_one_is_not() {
        let (near, mut far) = tokio::io::duplex(4);
        let mut spoken = Spoken::new(near);
        let slow = async {
            for _ in 0..10 {
                sleep(MAX_STALL / 2).await;
                let mut taken = [0u8; 4];
                far.read_exact(&mut taken).await.expect("bytes");
            }
        };
        let (written, ()) = tokio::join!(spoken.write_all(&[b'x'; 40]), slow);
        written.expect("it took all");
        let held = spoken
            .write_all(&[b'x'; 40])
            .await
            .expect_err("nobody reads");
        assert_eq!(held.kind(), std::io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn everything_else_is_passed_on() {
        let (near, mut far) = tokio::io::duplex(1024);
        let mut spoken = Spoken::new(near);
        let parts = [IoSlice::new(b"HTTP/1.1 400 "), IoSlice::new(b"x")];
        let sent = spoken.write_vectored(&parts).await.expect("it is taken");
        spoken.shutdown().await.expect("it ends");
        let mut bytes = Vec::new();
        far.read_to_end(&mut bytes).await.expect("bytes");
        assert_eq!(bytes.len(), sent);
    }
}
