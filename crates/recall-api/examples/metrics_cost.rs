//! What it costs to count a request, in microseconds, while another thread counts too: `cargo xtask
//! bench --only observing` sets it beside what the request itself costs.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::StatusCode;
use recall_api::Metrics;

const TIMES: u32 = 1_000_000;

fn main() -> std::io::Result<()> {
    let metrics = Metrics::default();
    let done = AtomicBool::new(false);
    let elapsed = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                count(&metrics);
            }
        });
        let began = Instant::now();
        for _ in 0..TIMES {
            count(&metrics);
        }
        let elapsed = began.elapsed();
        done.store(true, Ordering::Relaxed);
        elapsed
    });
    let micros = elapsed.as_secs_f64() * 1e6 / f64::from(TIMES);
    writeln!(std::io::stdout(), "{micros:.6}")
}

fn count(metrics: &Metrics) {
    metrics.answered("/v1/recall", StatusCode::OK, Duration::from_micros(20));
}
