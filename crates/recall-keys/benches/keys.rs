//! What checking a key costs. Run and compared by `cargo xtask bench micro`.

use std::sync::Arc;
use std::time::Duration;

use divan::Bencher;
use prometheus_client::registry::Registry;
use recall_keys::{Config, Keys, Metrics, Reach, Spec};
use recall_store::{MemoryStore, SystemClock};
use secrecy::{ExposeSecret, SecretString};

/// Coprime to the number of keys, so that each is checked as often as any other.
const STRIDE: usize = 617;

fn main() {
    divan::main();
}

/// One of so many keys that were checked before.
#[divan::bench(args = [1, 1_000])]
fn verify(bencher: Bencher<'_, '_>, keys: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let config = Config {
        auth_cache_ttl: Duration::from_secs(3_600),
        max_keys_per_pod: 8,
        max_pod_key_lifetime: None,
        cluster: None,
    };
    let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(SystemClock));
    let metrics = Metrics::register(&mut Registry::default());
    let (ring, secrets) = runtime.block_on(async {
        let ring = Keys::new(store, clock, config, Vec::new(), metrics);
        let mut secrets: Vec<SecretString> = Vec::with_capacity(keys);
        for number in 0..keys {
            let spec = Spec {
                reach: Reach::Namespace(format!("team:{number}").parse().expect("a namespace")),
                agent: None,
                session: None,
                note: None,
                ttl: None,
            };
            let secret = ring.mint(spec).await.expect("a key").key;
            ring.verify(secret.expose_secret())
                .await
                .expect("it is good");
            secrets.push(secret);
        }
        (ring, secrets)
    });
    let mut number = 0;
    let next = || {
        number = (number + STRIDE) % keys;
        secrets[number].expose_secret()
    };
    bencher
        .with_inputs(next)
        .bench_local_values(|secret| runtime.block_on(ring.verify(secret)).expect("it is good"));
}
