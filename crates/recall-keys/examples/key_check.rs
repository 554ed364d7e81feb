//! What checking a key adds to a request: 1,000 keys, each checked 100 times in a scattered order
//! after it was checked once. Prints the middle and the 99th percentile in microseconds.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_client::registry::Registry;
use recall_keys::{Config, Keys, Metrics, Reach, Spec};
use recall_store::{MemoryStore, SystemClock};
use secrecy::ExposeSecret;

const KEYS: usize = 1_000;
const CHECKS: usize = 100_000;
/// Coprime to the number of keys, so that each is checked as often as any other.
const STRIDE: usize = 617;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let config = Config {
        auth_cache_ttl: Duration::from_secs(30),
        max_keys_per_pod: 8,
        max_pod_key_lifetime: None,
        cluster: None,
    };
    let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(SystemClock));
    let metrics = Metrics::register(&mut Registry::default());
    let keys = Keys::new(store, clock, config, Vec::new(), metrics);
    let mut minted = Vec::with_capacity(KEYS);
    for number in 0..KEYS {
        let spec = Spec {
            reach: Reach::Namespace(format!("team:{number}").parse().expect("a namespace")),
            agent: None,
            session: None,
            note: None,
            ttl: None,
        };
        minted.push(keys.mint(spec).await.expect("a key").key);
    }
    let mut times = Vec::with_capacity(CHECKS);
    for round in 0..KEYS + CHECKS {
        let key = minted[round * STRIDE % KEYS].expose_secret();
        let began = Instant::now();
        let grant = keys.verify(key).await;
        let took = began.elapsed();
        grant.expect("it is good");
        if round >= KEYS {
            times.push(took);
        }
    }
    times.sort_unstable();
    let at = |share: usize| times[CHECKS * share / 100].as_secs_f64() * 1e6;
    writeln!(std::io::stdout(), "{:.2} {:.2}", at(50), at(99)).expect("stdout is open");
}
