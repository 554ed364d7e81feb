//! Traces to an OpenTelemetry collector: OTLP over HTTP in JSON.
//!
//! Spans of one target are written down when they close and sent in batches by a thread of its own. What
//! cannot be sent in time is dropped and counted: no request waits for a collector.

mod collect;
mod endpoint;
mod outbox;
mod send;
mod span;

use std::sync::Arc;
use std::time::Duration;

pub use endpoint::{Endpoint, InvalidEndpoint};

pub(crate) use collect::{Collector, Wanted};
use outbox::Outbox;

/// How long the end of the process waits for the last spans.
const LAST_FLUSH: Duration = Duration::from_secs(2);

/// Which traces go where.
#[derive(Debug, Clone)]
pub struct Traces {
    /// The collector.
    pub endpoint: Endpoint,
    /// The target of the spans that are sent. Whoever opens one with it has decided that its trace is;
    /// a field `traced` that is false takes that back, and `trace_id` and `parent_id` say where it
    /// belongs. Spans of the target that are opened within it belong to it.
    pub target: &'static str,
    /// What the service calls its version.
    pub version: &'static str,
}

/// Sends what is left when the process ends.
#[derive(Debug)]
pub struct Flush(Arc<Outbox>);

impl Traces {
    /// What is to be done with spans, and the flush of its end. Starts the thread that sends.
    pub(crate) fn start(self) -> std::io::Result<(Collector, Wanted, Flush)> {
        let outbox = Arc::new(Outbox::new(self.version));
        let (sent, endpoint, version) = (Arc::clone(&outbox), self.endpoint, self.version);
        std::thread::Builder::new()
            .name("traces".to_owned())
            .spawn(move || send::for_ever(&sent, &endpoint, version))?;
        let collector = Collector::new(Arc::clone(&outbox));
        Ok((collector, Wanted(self.target), Flush(outbox)))
    }
}

impl Drop for Flush {
    fn drop(&mut self) {
        // Whether all was sent in time or not, the process ends.
        let _ = self.0.flush().recv_timeout(LAST_FLUSH);
    }
}
