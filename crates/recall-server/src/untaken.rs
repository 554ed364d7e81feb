//! Answers on HTTP/2 that nobody takes.
//!
//! There, a client says how much it takes, and one that says nothing leaves the connection free to
//! write: nothing stalls, and the HTTP library holds its answers for as long as it is there. So an
//! answer goes out in pieces, each asked for only once the one before was taken, and a connection ends
//! on which an answer waits for too long. On HTTP/1 the stream itself tells ([`crate::spoken`]).

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as _, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// The largest piece: no more than this lies with the HTTP library once a client takes nothing.
const PIECE_BYTES: usize = 16 * 1024;
/// How long an answer waits for its client to take more of it.
const MAX_STALL: Duration = Duration::from_secs(30);

/// The answers of one connection that are under way. Cheap to clone; all clones are one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Untaken(Arc<State>);

#[derive(Debug, Default)]
struct State {
    answers: Mutex<Answers>,
    begun: Notify,
}

#[derive(Debug, Default)]
struct Answers {
    next: u64,
    /// When each was last asked for more.
    asked: HashMap<u64, Instant>,
}

impl Untaken {
    /// The same answer, watched until it was taken.
    pub(crate) fn watch(&self, body: Body) -> Body {
        if body.is_end_stream() {
            return body;
        }
        let number = {
            let mut answers = self.0.answers.lock();
            answers.next += 1;
            let number = answers.next;
            answers.asked.insert(number, Instant::now());
            number
        };
        self.0.begun.notify_one();
        Body::new(Watched {
            body,
            rest: Bytes::new(),
            of: self.clone(),
            number,
        })
    }

    /// Ends once an answer was not taken for too long.
    pub(crate) async fn stalled(&self) {
        loop {
            let oldest = self.0.answers.lock().asked.values().min().copied();
            let Some(oldest) = oldest else {
                self.0.begun.notified().await;
                continue;
            };
            let end = oldest + MAX_STALL;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

/// An answer in pieces.
struct Watched {
    body: Body,
    rest: Bytes,
    of: Untaken,
    number: u64,
}

impl hyper::body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let now = Instant::now();
        this.of.0.answers.lock().asked.insert(this.number, now);
        if this.rest.is_empty() {
            match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.rest = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                other => return Poll::Ready(other),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE_BYTES));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    /// The end is told apart from the last piece, so that it is asked for once that was taken.
    fn is_end_stream(&self) -> bool {
        false
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let inner = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.of.0.answers.lock().asked.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use http_body_util::BodyExt;

    use super::*;

    fn body(bytes: usize) -> Body {
        Body::from(vec![b'x'; bytes])
    }

    #[tokio::test]
    async fn an_answer_goes_out_whole_in_pieces() {
        for bytes in [1, PIECE_BYTES, PIECE_BYTES + 1, 100_000] {
            let untaken = Untaken::default();
            let mut watched = untaken.watch(body(bytes));
            assert_eq!(watched.size_hint().exact(), Some(bytes as u64));
            let mut taken = 0;
            while let Some(frame) = watched.frame().await {
                let piece = frame.expect("a frame").into_data().expect("data").len();
                assert!((1..=PIECE_BYTES).contains(&piece));
                taken += piece;
            }
            assert_eq!(taken, bytes);
        }
        let untaken = Untaken::default();
        assert!(untaken.watch(Body::empty()).is_end_stream());
    }

    #[tokio::test(start_paused = true)]
    async fn only_an_answer_that_nobody_takes_ends_its_connection() {
        let untaken = Untaken::default();
        let wait = |time| tokio::time::timeout(time, untaken.stalled());
        assert!(wait(MAX_STALL * 10).await.is_err(), "there is none");
        let mut slow = untaken.watch(body(PIECE_BYTES * 8));
        for _ in 0..8 {
            assert!(wait(MAX_STALL / 2).await.is_err(), "it is taken, slowly");
            assert!(slow.frame().now_or_never().is_some());
        }
        assert!(wait(MAX_STALL * 2).await.is_ok(), "its end is not taken");
        drop(slow);
        assert!(wait(MAX_STALL * 2).await.is_err(), "it was called off");
        let _held = untaken.watch(body(1));
        assert!(wait(MAX_STALL * 2).await.is_ok());
    }
}
