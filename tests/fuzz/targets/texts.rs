//! Short texts that stand for something: keys, names, durations, hosts, rates. What is read can be
//! written and read again, and nothing but a key that was minted opens anything.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use prometheus_client::registry::Registry;
use recall_api::{Host, Origin, Rate};
use recall_fuzz::run;
use recall_keys::{Config, Keys, Metrics, Reach, Spec, format_go, parse_go};
use recall_store::{AgentId, MemoryStore, Namespace, SystemClock};
use secrecy::ExposeSecret;

/// The length of the part of a key that is kept nowhere.
const SECRET_CHARS: usize = 32;

fuzz_target!(|text: &str| {
    if let Ok(namespace) = text.parse::<Namespace>() {
        assert!(namespace.as_str() == text && !namespace.is_internal());
    }
    if let Ok(agent) = text.parse::<AgentId>() {
        assert_eq!(agent.as_str(), text);
    }
    if let Ok(duration) = parse_go(text) {
        assert_eq!(
            parse_go(&format_go(duration)).ok(),
            Some(duration),
            "{text:?}"
        );
    }
    let _ = (
        text.parse::<Host>(),
        text.parse::<Origin>(),
        text.parse::<Rate>(),
    );
    let _ = recall_keys::parse_bootstrap_key(text);
    let fixed = recall_keys::parse_static_keys(text).unwrap_or_default();
    assert!(fixed.iter().all(|fixed| !fixed.namespace.is_internal()));
    run(async {
        let metrics = Metrics::register(&mut Registry::default());
        let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(SystemClock));
        let keys = Keys::new(store, clock, Config::default(), Vec::new(), metrics);
        let minted = keys.mint(Spec {
            reach: Reach::Namespace("team:a".parse().expect("a namespace")),
            agent: None,
            session: None,
            note: None,
            ttl: None,
        });
        let minted = minted.await.expect("a key");
        let key = minted.key.expose_secret();
        assert!(keys.verify(key).await.is_ok());
        assert!(keys.verify(text).await.is_err(), "{text:?}");
        // The same record asked for with another secret.
        let id = &key[..key.len() - SECRET_CHARS];
        for forged in [
            format!("{id}{text}"),
            format!("{key}{text}"),
            format!("{text}{key}"),
        ] {
            let opened = keys.verify(&forged).await.is_ok();
            assert!(!opened || forged == *key, "{forged:?}");
        }
    });
});
