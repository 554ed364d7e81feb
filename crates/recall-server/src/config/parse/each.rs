//! No setting is read and then forgotten: each changes the configuration of the server.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::*;
use crate::config::table::SETTINGS;

/// Settings that are no part of the configuration: where it is read, and to show it.
const OTHERS: [&str; 2] = ["config", "print-config"];

const POLIGN: &str = "backend=polign";
const QDRANT: &str = "backend=qdrant";
const TLS: &str = "tls-cert-file=c tls-key-file=k";
const EXCHANGE: &str = "kubernetes=true";
const WATCHED: &str = "kubernetes=true kubernetes-watch=true";
const EMBED: &str = "embed-url=http://m embed-model=m";
const EXTRACT: &str = "extract-url=http://m extract-model=m";

/// A setting, what must stand beside it, and two values of it; an empty one leaves it out. `FILE` is
/// one that exists.
const EACH: &[(&str, &str, &str, &str)] = &[
    ("listen", "", "127.0.0.1:1", "127.0.0.1:2"),
    ("admin-listen", "", "127.0.0.1:1", "127.0.0.1:2"),
    ("tls-cert-file", TLS, "a", "b"),
    ("tls-key-file", TLS, "a", "b"),
    ("tls-client-ca-file", TLS, "", "a"),
    ("allowed-origins", "", "", "https://app.example.com"),
    ("allowed-hosts", "", "", "app.example.com"),
    ("backend", "", "memory", "embedded"),
    ("backend-url", POLIGN, "http://db:1", "http://db:2"),
    ("backend-key-file", POLIGN, "", "FILE"),
    ("backend-key", POLIGN, "", "k"),
    ("collection", POLIGN, "a", "b"),
    ("wait-for-backend", POLIGN, "off", "1s"),
    ("qdrant-leases", QDRANT, "false", "true"),
    ("data-dir", "", "a", "b"),
    ("surface", "", "text", "typed"),
    ("open", "", "false", "true"),
    ("predicates", "", "", "a"),
    ("view-memory", "", "1MiB", "2MiB"),
    ("freshness", "", "1ms", "2ms"),
    ("auth-cache-ttl", "", "1s", "2s"),
    ("bootstrap-key-file", "", "", "a"),
    ("keys-file", "", "", "a"),
    ("limit-per-key", "", "off", "1/1s"),
    ("quota-facts", "", "off", "1"),
    ("quota-bytes", "", "off", "1MiB"),
    ("quota-agents", "", "off", "1"),
    ("max-keys-per-pod", "", "1", "2"),
    ("kubernetes", "", "false", "true"),
    ("kubernetes-api", EXCHANGE, "", "http://api"),
    ("kubernetes-ca-file", EXCHANGE, "", "a"),
    ("kubernetes-token-file", EXCHANGE, "", "a"),
    ("kubernetes-kubeconfig", EXCHANGE, "", "a"),
    ("kubernetes-audience", EXCHANGE, "a", "b"),
    ("kubernetes-key-ttl", EXCHANGE, "10s", "20s"),
    ("kubernetes-tenant-label", EXCHANGE, "", "tenant"),
    ("kubernetes-agent-label", EXCHANGE, "", "agent"),
    ("kubernetes-agent-label-optional", EXCHANGE, "false", "true"),
    ("kubernetes-sandbox-claims", EXCHANGE, "false", "true"),
    ("kubernetes-cluster", EXCHANGE, "", "east"),
    ("kubernetes-namespaces", EXCHANGE, "", "agents"),
    ("kubernetes-service-account", EXCHANGE, "", "agents/runner"),
    ("kubernetes-max-key-lifetime", EXCHANGE, "off", "24h"),
    ("kubernetes-watch", EXCHANGE, "false", "true"),
    ("kubernetes-pod-selector", WATCHED, "", "app=agent"),
    ("kubernetes-limit-per-source", EXCHANGE, "off", "1/1s"),
    ("kubernetes-limit-per-pod", EXCHANGE, "off", "1/1s"),
    ("kubernetes-limit-per-tenant", EXCHANGE, "off", "1/1s"),
    ("embed-url", EMBED, "http://a", "http://b"),
    ("embed-model", EMBED, "a", "b"),
    ("embed-key-file", EMBED, "", "a"),
    ("embed-again", EMBED, "false", "true"),
    ("extract-url", EXTRACT, "http://a", "http://b"),
    ("extract-model", EXTRACT, "a", "b"),
    ("extract-key-file", EXTRACT, "", "a"),
    ("extract-timeout", EXTRACT, "1s", "2s"),
    ("otlp-endpoint", "", "", "http://localhost:4318"),
    ("trace-ratio", "", "0", "1"),
    ("trace-namespaces", "", "hash", "plain"),
    ("log-format", "", "text", "json"),
    ("log-filter", "", "info", "debug"),
];

/// The configuration that these variables make, as it is told.
fn told(beside: &str, (name, value): (&str, &str)) -> String {
    let variable = |name: &str| format!("RECALL_{}", name.to_uppercase().replace('-', "_"));
    let beside = beside
        .split_whitespace()
        .filter_map(|it| it.split_once('='));
    let given = beside
        .filter(|(other, _)| *other != name)
        .chain([(name, value)]);
    let variables = given.map(|(name, value)| (variable(name).into(), OsString::from(value)));
    let settings = Settings::read(std::iter::once("recall-server".into()), variables);
    let settings = settings.unwrap_or_else(|error| panic!("{name}={value}: {error}"));
    assert!(settings.unknown_variables().is_empty(), "{name}");
    let config = Config::parse(&settings);
    format!(
        "{:?}",
        config.unwrap_or_else(|error| panic!("{name}={value}: {error}"))
    )
}

#[test]
fn each_setting_changes_the_configuration() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "k\n").expect("written");
    let path = file.path().to_str().expect("a path");
    for (name, beside, one, other) in EACH {
        let other = if *other == "FILE" { path } else { other };
        let (one, other) = (told(beside, (name, one)), told(beside, (name, other)));
        assert_ne!(one, other, "--{name} has no effect");
    }
}

#[test]
fn no_setting_is_left_out_here() {
    let here: BTreeSet<&str> = EACH.iter().map(|(name, ..)| *name).chain(OTHERS).collect();
    let there: BTreeSet<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
    assert_eq!(here, there);
}
