//! HTTP/1 connections on which nothing is said.
//!
//! The HTTP library keeps its buffers, some 20 KB, for as long as a connection stands, and most
//! connections of agents stand silent most of the time. So one that has been silent for a moment, with
//! nothing under way on it, is taken back from the library until it speaks again; what the client says
//! then is read ahead and handed to a fresh reader.

use std::future::poll_fn;
use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::sleep;

/// How often a connection is looked at. One that said nothing between two looks is silent.
pub(crate) const LOOK: Duration = Duration::from_millis(100);
/// How much is read of what ends a silence; the rest waits in the stream.
const AHEAD_BYTES: usize = 64;

/// What goes on on one connection. Only its own task looks at it and changes it.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// Grows with everything that is read, written and answered.
    events: AtomicU64,
    /// Requests of which the answer is not yet made.
    under_way: AtomicUsize,
    /// Something was read since the last request began or ended: it may be the begin of a head.
    begun: AtomicBool,
    /// The client does not take what is written.
    stalled: AtomicBool,
    /// An answer was given of which nobody knows how long it is still written.
    endless: AtomicBool,
}

impl Activity {
    /// A request, until what is returned is dropped.
    pub(crate) fn request(self: &Arc<Self>) -> Request {
        self.under_way.fetch_add(1, Relaxed);
        self.begun.store(false, Relaxed);
        Request(Arc::clone(self))
    }

    /// An answer was given that is not there as a whole: this connection is never taken for silent.
    pub(crate) fn answers_in_parts(&self) {
        self.endless.store(true, Relaxed);
    }

    fn happened(&self) {
        self.events.fetch_add(1, Relaxed);
    }

    fn waits_for_a_request(&self) -> bool {
        self.under_way.load(Relaxed) == 0
            && !self.begun.load(Relaxed)
            && !self.stalled.load(Relaxed)
            && !self.endless.load(Relaxed)
    }

    /// Ends once nothing was said between two looks, and a request is what comes next.
    pub(crate) async fn silence(&self) {
        let mut before = None;
        loop {
            sleep(LOOK).await;
            let events = self.events.load(Relaxed);
            if before == Some(events) && self.waits_for_a_request() {
                return;
            }
            before = Some(events);
        }
    }
}

/// A request that is under way.
#[derive(Debug)]
pub(crate) struct Request(Arc<Activity>);

impl Drop for Request {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Relaxed);
        // What was read meanwhile was its body.
        self.0.begun.store(false, Relaxed);
        self.0.happened();
    }
}

/// A stream that says what goes on on it.
#[derive(Debug)]
pub(crate) struct Heard<S> {
    stream: S,
    activity: Arc<Activity>,
    /// Read and not yet handed out.
    ahead: Bytes,
}

impl<S> Heard<S> {
    pub(crate) fn new(stream: S, activity: Arc<Activity>) -> Self {
        Self {
            stream,
            activity,
            ahead: Bytes::new(),
        }
    }

    /// Hands `bytes`, which were read from it, out again.
    pub(crate) fn put_back(&mut self, bytes: Bytes) {
        debug_assert!(self.ahead.is_empty(), "nothing is put before what is ahead");
        self.ahead = bytes;
    }
}

impl<S: AsyncRead + Unpin> Heard<S> {
    /// Ends once the client says something; `false` if it has hung up.
    pub(crate) async fn speaks(&mut self) -> bool {
        if !self.ahead.is_empty() {
            return true;
        }
        let said = poll_fn(|context| {
            // Not held while nothing is said.
            let mut space = [0u8; AHEAD_BYTES];
            let mut buffer = ReadBuf::new(&mut space);
            let read = Pin::new(&mut self.stream).poll_read(context, &mut buffer);
            Poll::Ready(ready!(read).map(|()| Bytes::copy_from_slice(buffer.filled())))
        });
        match said.await {
            Ok(said) if !said.is_empty() => {
                self.ahead = said;
                true
            }
            Ok(_) | Err(_) => false,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Heard<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        if this.ahead.is_empty() {
            ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        } else {
            let count = this.ahead.len().min(buffer.remaining());
            buffer.put_slice(&this.ahead.split_to(count));
            if this.ahead.is_empty() {
                this.ahead = Bytes::new();
            }
        }
        if buffer.filled().len() > before {
            this.activity.begun.store(true, Relaxed);
            this.activity.happened();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Heard<S> {
    fn written<T>(&self, tried: Poll<Result<T>>) -> Poll<Result<T>> {
        self.activity.stalled.store(tried.is_pending(), Relaxed);
        self.activity.happened();
        tried
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Heard<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let this = self.get_mut();
        let tried = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.written(tried)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let this = self.get_mut();
        let tried = Pin::new(&mut this.stream).poll_write_vectored(context, parts);
        this.written(tried)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        let tried = Pin::new(&mut this.stream).poll_flush(context);
        match tried.is_pending() {
            true => this.written(tried),
            false => tried,
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::timeout;

    use super::*;

    fn pair(space: usize) -> (Heard<tokio::io::DuplexStream>, tokio::io::DuplexStream) {
        let (near, far) = tokio::io::duplex(space);
        (Heard::new(near, Arc::default()), far)
    }

    async fn silent(activity: &Activity) -> bool {
        timeout(LOOK * 10, activity.silence()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_silent_once_a_request_is_what_comes_next() {
        let (mut heard, mut far) = pair(4);
        let activity = Arc::clone(&heard.activity);
        assert!(silent(&activity).await, "nothing was ever said");
        far.write_all(b"GE").await.expect("it is taken");
        heard.read_exact(&mut [0; 2]).await.expect("bytes");
        assert!(!silent(&activity).await, "a head has begun");
        let request = activity.request();
        assert!(!silent(&activity).await, "a request is under way");
        far.write_all(b"body").await.expect("it is taken");
        heard.read_exact(&mut [0; 4]).await.expect("bytes");
        drop(request);
        assert!(silent(&activity).await, "what was read was its body");
        let written = timeout(LOOK, heard.write_all(b"answer")).await;
        assert!(written.is_err(), "four bytes fit");
        assert!(!silent(&activity).await, "the client takes nothing");
        far.read_exact(&mut [0; 4]).await.expect("bytes");
        heard.write_all(b"er").await.expect("it is taken");
        assert!(silent(&activity).await);
        activity.answers_in_parts();
        assert!(!silent(&activity).await, "an answer may still be written");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_speaks_between_looks_is_not_silent() {
        let (heard, _far) = pair(4);
        let activity = Arc::clone(&heard.activity);
        let speak = async {
            for _ in 0..20 {
                sleep(LOOK / 2).await;
                drop(activity.request());
            }
        };
        let silence = async {
            activity.silence().await;
            tokio::time::Instant::now()
        };
        let began = tokio::time::Instant::now();
        let ((), at) = tokio::join!(speak, silence);
        assert!(at - began > LOOK * 10, "{:?}", at - began);
    }

    #[tokio::test]
    async fn what_ends_a_silence_is_handed_out_before_the_rest() {
        let (mut heard, mut far) = pair(1024);
        let said: Vec<u8> = (0..200).collect();
        far.write_all(&said).await.expect("it is taken");
        assert!(heard.speaks().await);
        drop(far);
        let mut read = Vec::new();
        heard.read_to_end(&mut read).await.expect("bytes");
        assert_eq!(read, said);
        assert!(!heard.speaks().await, "the client has hung up");
        heard.put_back(Bytes::from_static(b"GET"));
        assert!(heard.speaks().await);
        let mut two = [0; 2];
        heard.read_exact(&mut two).await.expect("bytes");
        assert_eq!(&two, b"GE");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silence_lasts_until_something_is_said() {
        let (mut heard, _far) = pair(4);
        let waited = timeout(Duration::from_secs(3600), heard.speaks()).await;
        assert!(waited.is_err());
    }
}
