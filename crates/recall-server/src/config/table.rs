//! The table of settings: one row each, from which flags, variables and file keys are made.

/// How a setting is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `--flag VALUE`.
    Value,
    /// `--flag`, or `true`/`false` in the environment and the file.
    Switch,
}

/// One setting.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: Option<&'static str>,
    /// Never printed.
    pub(crate) secret: bool,
    pub(crate) value_name: &'static str,
    pub(crate) help: &'static str,
}

const fn value(
    name: &'static str,
    value_name: &'static str,
    default: Option<&'static str>,
    help: &'static str,
) -> Setting {
    Setting {
        name,
        kind: Kind::Value,
        default,
        secret: false,
        value_name,
        help,
    }
}

const fn secret(name: &'static str, value_name: &'static str, help: &'static str) -> Setting {
    Setting {
        name,
        kind: Kind::Value,
        default: None,
        secret: true,
        value_name,
        help,
    }
}

const fn switch(name: &'static str, default: Option<&'static str>, help: &'static str) -> Setting {
    Setting {
        name,
        kind: Kind::Switch,
        default,
        secret: false,
        value_name: "BOOL",
        help,
    }
}

/// All settings, in the order of the help text.
pub(crate) static SETTINGS: &[Setting] = &[
    value(
        "listen",
        "ADDR",
        Some("127.0.0.1:8080"),
        "Address of the Memory API",
    ),
    value(
        "admin-listen",
        "ADDR",
        Some("127.0.0.1:9090"),
        "Address of /livez, /readyz and /metrics; never serves data",
    ),
    value(
        "tls-cert-file",
        "FILE",
        None,
        "Serve the Memory API over TLS with this certificate chain (PEM), read again when it changes",
    ),
    value(
        "tls-key-file",
        "FILE",
        None,
        "Private key of the certificate (PEM)",
    ),
    value(
        "tls-client-ca-file",
        "FILE",
        None,
        "Serve only clients with a certificate of one of these authorities (PEM)",
    ),
    value(
        "allowed-origins",
        "LIST",
        None,
        "Web origins whose pages may ask /mcp, such as https://app.example.com, with commas between \
         them [default: pages of this machine]",
    ),
    value(
        "allowed-hosts",
        "LIST",
        None,
        "Further host names for /mcp while it listens on a loopback address, with commas between \
         them [default: localhost and loopback addresses]",
    ),
    value(
        "backend",
        "KIND",
        Some("embedded"),
        "Where memory is kept: embedded, polign, qdrant or memory (for tests)",
    ),
    value(
        "backend-url",
        "URL",
        None,
        "Address of the store [default: http://127.0.0.1:23000 for polign, http://127.0.0.1:6334 (gRPC) \
         for qdrant]",
    ),
    value(
        "backend-key-file",
        "FILE",
        None,
        "File with the API key of the store",
    ),
    secret(
        "backend-key",
        "KEY",
        "API key of the store; better as RECALL_BACKEND_KEY or in a file than as a flag",
    ),
    value(
        "collection",
        "PREFIX",
        Some("recall_lexical_v1"),
        "What the names of a shared store's collections begin with",
    ),
    value(
        "wait-for-backend",
        "TIME",
        Some("30s"),
        "How long a start waits for a shared store before it fails, or off: serve unready meanwhile",
    ),
    switch(
        "qdrant-leases",
        None,
        "On qdrant, agents can be resumed: by conditional writes of Qdrant 1.17 or later",
    ),
    value(
        "data-dir",
        "DIR",
        None,
        "Folder of the embedded store [default: $XDG_DATA_HOME/recall]",
    ),
    value(
        "surface",
        "KIND",
        Some("text"),
        "Tools offered: text or typed",
    ),
    switch(
        "open",
        None,
        "Writes may define predicates [default: on for text without --predicates, else off]",
    ),
    value(
        "predicates",
        "FILE",
        None,
        "JSON file of predicates instead of the starter registry",
    ),
    value(
        "view-memory",
        "BYTES",
        Some("256MiB"),
        "Memory for resident views",
    ),
    value(
        "freshness",
        "TIME",
        Some("250ms"),
        "How stale a read may be against writers that are not our replicas",
    ),
    value(
        "auth-cache-ttl",
        "TIME",
        Some("30s"),
        "How long a checked key is trusted while the store cannot be asked",
    ),
    value(
        "bootstrap-key-file",
        "FILE",
        None,
        "File with one key to register as an admin key",
    ),
    value(
        "keys-file",
        "FILE",
        None,
        "File of fixed keys: `<key> <namespace>` a line",
    ),
    value(
        "limit-per-key",
        "RATE",
        Some("2000000/1m"),
        "Calls of memory and tools with one key, or off",
    ),
    value(
        "quota-facts",
        "N",
        Some("off"),
        "Statements that one namespace may hold at once, or off",
    ),
    value(
        "quota-bytes",
        "BYTES",
        Some("off"),
        "Bytes that everything stated in one namespace may take in memory, or off",
    ),
    value(
        "quota-agents",
        "N",
        Some("off"),
        "Agents that one namespace may have, or off",
    ),
    value(
        "max-keys-per-pod",
        "N",
        Some("8"),
        "Live keys of one pod; beyond it the oldest is revoked",
    ),
    switch(
        "kubernetes",
        Some("false"),
        "Exchange pods' service-account tokens for keys",
    ),
    value(
        "kubernetes-api",
        "URL",
        None,
        "Kubernetes API server [default: in-cluster]",
    ),
    value(
        "kubernetes-ca-file",
        "FILE",
        None,
        "CA bundle of the API server [default: in-cluster]",
    ),
    value(
        "kubernetes-token-file",
        "FILE",
        None,
        "The server's own token [default: in-cluster]",
    ),
    value(
        "kubernetes-kubeconfig",
        "FILE",
        None,
        "Kubeconfig to use outside a cluster",
    ),
    value(
        "kubernetes-audience",
        "TEXT",
        Some("recall"),
        "The audience that tokens must carry",
    ),
    value(
        "kubernetes-key-ttl",
        "TIME",
        Some("15m"),
        "Lifetime of a pod's key, 10s to 24h",
    ),
    value(
        "kubernetes-tenant-label",
        "LABEL",
        None,
        "Label that names the tenant: KEY or serviceaccount:KEY, or namespace:KEY [default: the \
         namespace is the tenant]",
    ),
    value(
        "kubernetes-agent-label",
        "KEY",
        None,
        "Pod label that names the agent [default: the pod's name]",
    ),
    switch(
        "kubernetes-agent-label-optional",
        Some("false"),
        "A plain pod without the agent label falls back to its name",
    ),
    switch(
        "kubernetes-sandbox-claims",
        Some("false"),
        "The agent is the name of the SandboxClaim that owns the pod",
    ),
    value(
        "kubernetes-cluster",
        "NAME",
        None,
        "Prefix of tenants when clusters share one store",
    ),
    value(
        "kubernetes-namespaces",
        "LIST",
        None,
        "The only namespaces served, with commas between them: rights are needed in these alone \
         [default: all]",
    ),
    value(
        "kubernetes-service-account",
        "LIST",
        None,
        "The only service accounts that may exchange: NAMESPACE/NAME, several with commas between \
         them [default: all]",
    ),
    value(
        "kubernetes-max-key-lifetime",
        "TIME",
        Some("off"),
        "The longest life of a pod's key, renewals included, or off",
    ),
    switch(
        "kubernetes-watch",
        Some("true"),
        "Watch pods, so that keys die with them [default: on]",
    ),
    value(
        "kubernetes-pod-selector",
        "SELECTOR",
        None,
        "Labels of the pods to watch; keys of other pods die within a minute of their pod",
    ),
    value(
        "kubernetes-limit-per-source",
        "RATE",
        Some("5000/1m"),
        "Exchanges from one address, before the token is looked at: a number and a time, or off",
    ),
    value(
        "kubernetes-limit-per-pod",
        "RATE",
        Some("60/1m"),
        "Exchanges and renewals by one pod, or off",
    ),
    value(
        "kubernetes-limit-per-tenant",
        "RATE",
        Some("6000/1m"),
        "Exchanges and renewals by one tenant, or off",
    ),
    value(
        "embed-url",
        "URL",
        None,
        "OpenAI-compatible endpoint of an embedding model, to search by vectors beside words: texts \
         and questions are sent there [default: none, words alone]",
    ),
    value(
        "embed-model",
        "NAME",
        None,
        "The embedding model; its vectors are kept with its name",
    ),
    value(
        "embed-key-file",
        "FILE",
        None,
        "File with the key of that endpoint",
    ),
    switch(
        "embed-again",
        Some("false"),
        "Make the vectors anew, in the background, where they are another model's",
    ),
    value(
        "extract-url",
        "URL",
        None,
        "OpenAI-compatible endpoint of a language model that draws statements from texts, which are \
         sent there [default: none, texts are kept as they are]",
    ),
    value("extract-model", "NAME", None, "The language model"),
    value(
        "extract-key-file",
        "FILE",
        None,
        "File with the key of that endpoint",
    ),
    value(
        "extract-timeout",
        "DURATION",
        Some("30s"),
        "How long a write waits for that model, from 1s to 10m; after that its text is kept unread, and \
         the same text sent again is read then",
    ),
    value(
        "otlp-endpoint",
        "URL",
        None,
        "Send traces to this OpenTelemetry collector: OTLP over HTTP, such as http://localhost:4318",
    ),
    value(
        "trace-ratio",
        "NUMBER",
        Some("0.1"),
        "Which part of all traces is sent, from 0 to 1",
    ),
    value(
        "trace-namespaces",
        "KIND",
        Some("hash"),
        "How traces tell namespaces: hash, or plain, which may say whose memory it is",
    ),
    value(
        "log-format",
        "KIND",
        None,
        "text or json [default: text on a terminal]",
    ),
    value(
        "log-filter",
        "FILTER",
        Some("info"),
        "What is logged: a level, or target=level pairs",
    ),
    value(
        "config",
        "FILE",
        None,
        "TOML file of settings, by the names of the flags",
    ),
    switch(
        "print-config",
        Some("false"),
        "Print the effective configuration and exit",
    ),
];
