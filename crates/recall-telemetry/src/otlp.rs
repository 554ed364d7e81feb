//! Traces to an OpenTelemetry collector: OTLP over HTTP in JSON.
//!
//! Spans of this product's own crates are collected when they close and sent in batches by a thread
//! of its own. What cannot be sent in time is dropped and counted: no request waits for a collector.

mod collect;
mod endpoint;
mod send;
mod span;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

pub use endpoint::{Endpoint, InvalidEndpoint};

pub(crate) use collect::{Collector, Wanted};
use send::Parcel;

/// Spans that wait to be sent; more are dropped.
const QUEUE: usize = 4096;
/// How long the end of the process waits for the last spans.
const LAST_FLUSH: Duration = Duration::from_secs(2);

/// Which traces go where.
#[derive(Debug, Clone)]
pub struct Traces {
    /// The collector.
    pub endpoint: Endpoint,
    /// Which part of all traces is sent, from 0 to 1; the same traces in every service that decides
    /// by their ids.
    pub ratio: f64,
    /// What the service calls its version.
    pub version: &'static str,
}

/// Sends what is left when the process ends.
#[derive(Debug)]
pub struct Flush(SyncSender<Parcel>);

impl Traces {
    /// The collector of spans and the flush of its end. Starts the thread that sends.
    pub(crate) fn start(self) -> std::io::Result<(Collector, Flush)> {
        let (sender, queue) = sync_channel(QUEUE);
        let (endpoint, version) = (self.endpoint, self.version);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        std::thread::Builder::new()
            .name("traces".to_owned())
            .spawn(move || send::for_ever(&queue, &counted, &endpoint, version))?;
        Ok((
            Collector::new(sender.clone(), lost, self.ratio),
            Flush(sender),
        ))
    }
}

impl Drop for Flush {
    fn drop(&mut self) {
        let (done, sent) = sync_channel(1);
        if self.0.try_send(Parcel::Flush(done)).is_ok() {
            // Whether all was sent in time or not, the process ends.
            let _ = sent.recv_timeout(LAST_FLUSH);
        }
    }
}
