//! From texts to the typed configuration.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use recall_api::{ExchangeLimits, Host, Origin, Rate};
use recall_keys::parse_go;
use recall_memory::{Quota, Surface};
use recall_store_rows::MAX_PREFIX_BYTES;
use recall_telemetry::{Endpoint, LogFormat};
use secrecy::SecretString;

use super::exchange::{
    ServiceAccount, Watch, limit, longest_life, namespaces, selector, service_accounts,
};
use super::{ConfigError, Settings};

const MIN_KEY_TTL: Duration = Duration::from_secs(10);
const MAX_KEY_TTL: Duration = Duration::from_secs(24 * 3600);

/// Where memory is kept.
#[derive(Debug, Clone)]
pub enum Backend {
    /// In one file under this folder.
    Embedded(PathBuf),
    /// In a polign_db that others may write too.
    Polign(Shared),
    /// In a Qdrant that others may write too.
    Qdrant {
        /// Where it is.
        shared: Shared,
        /// Whether agents can be resumed.
        leases: bool,
    },
    /// In the process: gone with it. For tests.
    Memory,
}

impl Backend {
    /// Where it is, if it is on the network.
    #[must_use]
    pub fn shared(&self) -> Option<&Shared> {
        match self {
            Self::Polign(shared) | Self::Qdrant { shared, .. } => Some(shared),
            Self::Embedded(_) | Self::Memory => None,
        }
    }
}

/// A store on the network.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Its address.
    pub url: String,
    /// Its API key.
    pub key: Option<SecretString>,
    /// What the names of its collections begin with.
    pub collection: String,
    /// How long a start waits for it; `None` does not wait and serves unready meanwhile.
    pub wait: Option<Duration>,
}

/// The configuration of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address of the Memory API.
    pub listen: SocketAddr,
    /// Address of the admin routes.
    pub admin_listen: SocketAddr,
    /// Web origins whose pages may ask, beside those of this machine.
    pub allowed_origins: Vec<Origin>,
    /// Host names of a server on loopback, beside its own.
    pub allowed_hosts: Vec<Host>,
    /// TLS on the Memory API, if on.
    pub tls: Option<TlsFiles>,
    /// Where memory is kept.
    pub backend: Backend,
    /// The tools offered.
    pub surface: Surface,
    /// Whether writes may define predicates; `None` leaves it to the surface.
    pub open: Option<bool>,
    /// A registry file instead of the starter registry.
    pub predicates: Option<PathBuf>,
    /// Bytes for resident views.
    pub view_memory: u64,
    /// How stale a read may be against foreign writers.
    pub freshness: Duration,
    /// How long a checked key is trusted while the store is away.
    pub auth_cache_ttl: Duration,
    /// A file with an admin key.
    pub bootstrap_key_file: Option<PathBuf>,
    /// A file of fixed keys.
    pub keys_file: Option<PathBuf>,
    /// How often one key may call memory or a tool.
    pub limit_per_key: Option<Rate>,
    /// What one namespace may hold.
    pub quota: Quota,
    /// The agents that one namespace may have; `None` is as many as it likes.
    pub quota_agents: Option<u32>,
    /// Live keys of one pod.
    pub max_keys_per_pod: u32,
    /// The token exchange, if on.
    pub kubernetes: Option<Kubernetes>,
    /// The embedding model, if one is set.
    pub embed: Option<Model>,
    /// Whether vectors of another model are made anew.
    pub embed_again: bool,
    /// The language model that draws statements from texts, if one is set.
    pub extract: Option<Model>,
    /// How long a write waits for it.
    pub extract_timeout: Duration,
    /// A collector of traces.
    pub otlp_endpoint: Option<Endpoint>,
    /// Which part of all traces is sent.
    pub trace_ratio: f64,
    /// Whether traces name namespaces as they are, and not by a hash.
    pub trace_namespaces: bool,
    /// How log lines look.
    pub log_format: LogFormat,
    /// What is logged.
    pub log_filter: String,
}

/// The files that TLS is made of, all in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain, the server's own first.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Authorities that clients' certificates must come from; clients need none if absent.
    pub client_ca: Option<PathBuf>,
}

/// How long a write may be told to wait for a model: less answers nothing, more holds a client that
/// has gone away long since.
const MIN_PATIENCE: Duration = Duration::from_secs(1);
const MAX_PATIENCE: Duration = Duration::from_secs(600);

/// A model at an OpenAI-compatible endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The endpoint.
    pub url: String,
    /// The name of the model there.
    pub name: String,
    /// A file with the key of the endpoint.
    pub key_file: Option<PathBuf>,
}

/// The configuration of the token exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kubernetes {
    /// The API server; in-cluster or from the kubeconfig if absent.
    pub api: Option<String>,
    /// Its CA bundle.
    pub ca_file: Option<PathBuf>,
    /// The server's own token.
    pub token_file: Option<PathBuf>,
    /// A kubeconfig instead of the three.
    pub kubeconfig: Option<PathBuf>,
    /// The audience that tokens must carry.
    pub audience: String,
    /// Lifetime of a pod's key.
    pub key_ttl: Duration,
    /// The longest life of a pod's key, renewals included.
    pub max_key_lifetime: Option<Duration>,
    /// The label that names the tenant.
    pub tenant_label: Option<TenantLabel>,
    /// The pod label that names the agent.
    pub agent_label: Option<String>,
    /// Whether a plain pod without the label falls back to its name.
    pub agent_label_optional: bool,
    /// Whether the owning SandboxClaim names the agent.
    pub sandbox_claims: bool,
    /// A prefix of tenants.
    pub cluster: Option<String>,
    /// The only service accounts that may exchange; all if empty.
    pub service_accounts: Vec<ServiceAccount>,
    /// The only namespaces that are served; all if empty.
    pub namespaces: Vec<String>,
    /// How pods are watched, if they are.
    pub watch: Option<Watch>,
    /// How often tokens may be exchanged.
    pub limits: ExchangeLimits,
}

/// Which object's label names the tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantLabel {
    /// The pod's service account.
    ServiceAccount(String),
    /// The pod's namespace.
    Namespace(String),
}

impl Config {
    /// Parses every setting.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for the first that is not allowed.
    pub fn parse(settings: &Settings) -> Result<Self, ConfigError> {
        let read = Read(settings);
        let surface = read.one_of(
            "surface",
            &[("text", Surface::Text), ("typed", Surface::Typed)],
        )?;
        let log_format = read.optional("log-format", |text| text.parse::<LogFormat>())?;
        Ok(Self {
            listen: read.required("listen", address)?,
            admin_listen: read.required("admin-listen", address)?,
            allowed_origins: read.list("allowed-origins")?,
            allowed_hosts: read.list("allowed-hosts")?,
            tls: read.tls()?,
            backend: read.backend()?,
            surface,
            open: read.optional("open", |text| Ok::<_, String>(text == "true"))?,
            predicates: read.path("predicates")?,
            view_memory: read.required("view-memory", bytes)?,
            freshness: read.required("freshness", parse_go)?,
            auth_cache_ttl: read.required("auth-cache-ttl", parse_go)?,
            bootstrap_key_file: read.path("bootstrap-key-file")?,
            keys_file: read.path("keys-file")?,
            limit_per_key: read.required("limit-per-key", limit)?,
            quota: Quota {
                facts: read.required("quota-facts", |text| or_off(text, count))?,
                bytes: read.required("quota-bytes", |text| or_off(text, some_bytes))?,
            },
            quota_agents: read.required("quota-agents", |text| or_off(text, count))?,
            max_keys_per_pod: read.required("max-keys-per-pod", |text| {
                let n = text.parse().ok().filter(|n| (1..=100).contains(n));
                n.ok_or("must be a number from 1 to 100")
            })?,
            kubernetes: read.kubernetes()?,
            embed: read.model("embed-url", "embed-model", "embed-key-file")?,
            embed_again: read.switch("embed-again"),
            extract: read.model("extract-url", "extract-model", "extract-key-file")?,
            extract_timeout: read.required("extract-timeout", patience)?,
            otlp_endpoint: read.optional("otlp-endpoint", str::parse)?,
            trace_ratio: read.required("trace-ratio", |text| {
                let ratio = text
                    .parse()
                    .ok()
                    .filter(|ratio| (0.0..=1.0).contains(ratio));
                ratio.ok_or("must be a number from 0 to 1")
            })?,
            trace_namespaces: read.required("trace-namespaces", |text| match text {
                "hash" => Ok(false),
                "plain" => Ok(true),
                _ => Err("must be hash or plain"),
            })?,
            log_format: log_format.unwrap_or_else(LogFormat::detect),
            log_filter: read.required("log-filter", |text| Ok::<_, String>(text.to_owned()))?,
        })
    }
}

struct Read<'a>(&'a Settings);

impl Read<'_> {
    fn optional<T, E: ToString>(
        &self,
        flag: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, ConfigError> {
        let Some((text, origin)) = self.0.get(flag) else {
            return Ok(None);
        };
        parse(text).map(Some).map_err(|error| ConfigError::Value {
            flag,
            value: text.to_owned(),
            origin,
            allowed: error.to_string(),
        })
    }

    fn required<T, E: ToString>(
        &self,
        flag: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, ConfigError> {
        let missing = || ConfigError::Together(format!("--{flag} is needed"));
        self.optional(flag, parse)?.ok_or_else(missing)
    }

    fn one_of<T: Copy>(&self, flag: &'static str, allowed: &[(&str, T)]) -> Result<T, ConfigError> {
        self.required(flag, |text| {
            let found = allowed
                .iter()
                .find(|(name, _)| *name == text)
                .map(|(_, value)| *value);
            let names: Vec<_> = allowed.iter().map(|(name, _)| *name).collect();
            found.ok_or_else(|| format!("must be {}", names.join(" or ")))
        })
    }

    fn path(&self, flag: &'static str) -> Result<Option<PathBuf>, ConfigError> {
        self.optional(flag, |text| match text.is_empty() {
            true => Err("must name a file"),
            false => Ok(PathBuf::from(text)),
        })
    }

    /// Items with commas between them; none if the setting is absent.
    fn list<T: FromStr<Err: ToString>>(&self, flag: &'static str) -> Result<Vec<T>, ConfigError> {
        let items = self.optional(flag, |text| {
            let items = text.split(',').map(|item| item.trim().parse());
            items.collect::<Result<Vec<T>, T::Err>>()
        })?;
        Ok(items.unwrap_or_default())
    }

    fn switch(&self, flag: &'static str) -> bool {
        self.0.get(flag).is_some_and(|(text, _)| text == "true")
    }

    fn tls(&self) -> Result<Option<TlsFiles>, ConfigError> {
        let pair = (self.path("tls-cert-file")?, self.path("tls-key-file")?);
        let client_ca = self.path("tls-client-ca-file")?;
        let refusal = match (pair, client_ca) {
            ((Some(cert), Some(key)), client_ca) => {
                return Ok(Some(TlsFiles {
                    cert,
                    key,
                    client_ca,
                }));
            }
            ((None, None), None) => return Ok(None),
            ((Some(_), None), _) => "--tls-cert-file needs the certificate's --tls-key-file",
            ((None, Some(_)), _) => "--tls-key-file needs its --tls-cert-file",
            ((None, None), Some(_)) => {
                "--tls-client-ca-file needs TLS: give --tls-cert-file and --tls-key-file"
            }
        };
        Err(ConfigError::Together(refusal.to_owned()))
    }

    fn backend(&self) -> Result<Backend, ConfigError> {
        let kinds = [("embedded", 0), ("polign", 1), ("qdrant", 2), ("memory", 3)];
        let kind = self.one_of("backend", &kinds)?;
        let leases = self.switch("qdrant-leases");
        if leases && kind != 2 {
            return Err(ConfigError::Together(
                "--qdrant-leases has no effect on this --backend: choose qdrant or leave it out"
                    .to_owned(),
            ));
        }
        if kind == 1 {
            return self.shared("http://127.0.0.1:23000").map(Backend::Polign);
        }
        if kind == 2 {
            let shared = self.shared("http://127.0.0.1:6334")?;
            return Ok(Backend::Qdrant { shared, leases });
        }
        self.nothing_of_shared()?;
        if kind == 3 {
            return Ok(Backend::Memory);
        }
        match self.path("data-dir")? {
            Some(dir) => Ok(Backend::Embedded(dir)),
            None => Err(ConfigError::Together(
                "--data-dir is needed: neither XDG_DATA_HOME nor HOME is set".to_owned(),
            )),
        }
    }

    fn shared(&self, url: &str) -> Result<Shared, ConfigError> {
        let given = self.optional("backend-url", self::url)?;
        let key = self.optional("backend-key", |key| match key.trim().is_empty() {
            true => Err("must not be empty"),
            false => Ok(SecretString::from(key.trim())),
        });
        let file = self.path("backend-key-file")?;
        let key = match (key?, file) {
            (Some(_), Some(_)) => {
                return Err(ConfigError::Together(
                    "--backend-key-file and --backend-key are two keys: leave one out".to_owned(),
                ));
            }
            (key, None) => key,
            (None, Some(path)) => Some(key_in(&path)?),
        };
        Ok(Shared {
            url: given.unwrap_or_else(|| url.to_owned()),
            key,
            collection: self.required("collection", prefix)?,
            wait: self.required("wait-for-backend", |text| match text {
                "off" => Ok(None),
                _ => parse_go(text).map(Some).map_err(|error| error.to_string()),
            })?,
        })
    }

    /// A setting of a shared store without one is a mistake that would go unnoticed.
    fn nothing_of_shared(&self) -> Result<(), ConfigError> {
        let given = ["backend-url", "backend-key-file", "backend-key"]
            .into_iter()
            .find(|name| self.0.get(name).is_some());
        match given {
            None => Ok(()),
            Some(name) => Err(ConfigError::Together(format!(
                "--{name} has no effect on this --backend: choose polign or qdrant, or leave it out"
            ))),
        }
    }

    /// A model needs its endpoint and its name; nothing is guessed about where texts go.
    fn model(
        &self,
        url_flag: &'static str,
        name_flag: &'static str,
        key_flag: &'static str,
    ) -> Result<Option<Model>, ConfigError> {
        let url = self.optional(url_flag, url)?;
        let name = self.optional(name_flag, |text| match text.trim().is_empty() {
            true => Err("must name a model"),
            false => Ok(text.to_owned()),
        })?;
        let key_file = self.path(key_flag)?;
        match (url, name) {
            (Some(url), Some(name)) => Ok(Some(Model {
                url,
                name,
                key_file,
            })),
            (None, None) if key_file.is_none() => Ok(None),
            _ => Err(ConfigError::Together(format!(
                "--{url_flag} and --{name_flag} go together"
            ))),
        }
    }

    fn kubernetes(&self) -> Result<Option<Kubernetes>, ConfigError> {
        if !self.switch("kubernetes") {
            return self.nothing_of_kubernetes();
        }
        let text = |text: &str| match text.is_empty() || text.contains(char::is_whitespace) {
            true => Err("must be a word without blanks"),
            false => Ok(text.to_owned()),
        };
        let kubernetes = Kubernetes {
            api: self.optional("kubernetes-api", url)?,
            ca_file: self.path("kubernetes-ca-file")?,
            token_file: self.path("kubernetes-token-file")?,
            kubeconfig: self.path("kubernetes-kubeconfig")?,
            audience: self.required("kubernetes-audience", text)?,
            key_ttl: self.required("kubernetes-key-ttl", key_ttl)?,
            tenant_label: self.optional("kubernetes-tenant-label", tenant_label)?,
            agent_label: self.optional("kubernetes-agent-label", label_key)?,
            agent_label_optional: self.switch("kubernetes-agent-label-optional"),
            sandbox_claims: self.switch("kubernetes-sandbox-claims"),
            cluster: self.optional("kubernetes-cluster", cluster)?,
            max_key_lifetime: self.required("kubernetes-max-key-lifetime", longest_life)?,
            service_accounts: self
                .optional("kubernetes-service-account", service_accounts)?
                .unwrap_or_default(),
            namespaces: self
                .optional("kubernetes-namespaces", namespaces)?
                .unwrap_or_default(),
            watch: self.watch()?,
            limits: ExchangeLimits {
                per_source: self.required("kubernetes-limit-per-source", limit)?,
                per_pod: self.required("kubernetes-limit-per-pod", limit)?,
                per_tenant: self.required("kubernetes-limit-per-tenant", limit)?,
            },
        };
        let longest = kubernetes.max_key_lifetime;
        if longest.is_some_and(|longest| longest < kubernetes.key_ttl) {
            return Err(ConfigError::Together(
                "--kubernetes-max-key-lifetime must not be shorter than --kubernetes-key-ttl"
                    .to_owned(),
            ));
        }
        if kubernetes.kubeconfig.is_some() && kubernetes.api.is_some() {
            return Err(ConfigError::Together(
                "--kubernetes-kubeconfig names an API server already: leave out --kubernetes-api"
                    .to_owned(),
            ));
        }
        Ok(Some(kubernetes))
    }

    fn watch(&self) -> Result<Option<Watch>, ConfigError> {
        let selector = self.optional("kubernetes-pod-selector", selector)?;
        match (self.switch("kubernetes-watch"), selector) {
            (true, selector) => Ok(Some(Watch { selector })),
            (false, None) => Ok(None),
            (false, Some(_)) => Err(ConfigError::Together(
                "--kubernetes-pod-selector narrows the watch of pods, which is off".to_owned(),
            )),
        }
    }

    /// A setting of the exchange without the exchange is a mistake that would go unnoticed.
    fn nothing_of_kubernetes(&self) -> Result<Option<Kubernetes>, ConfigError> {
        let given = super::table::SETTINGS.iter().find(|setting| {
            let text = self.0.get(setting.name).map(|(text, _)| text);
            setting.name.starts_with("kubernetes-") && text != setting.default
        });
        match given {
            None => Ok(None),
            Some(setting) => Err(ConfigError::Together(format!(
                "--{} has no effect without --kubernetes: add --kubernetes or leave it out",
                setting.name
            ))),
        }
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    // `:8080` is how the published server writes "all addresses".
    let whole = if text.starts_with(':') {
        format!("0.0.0.0{text}")
    } else {
        text.to_owned()
    };
    whole
        .parse()
        .map_err(|_| "must be an address and a port such as 127.0.0.1:8080".to_owned())
}

/// What a setting says unless it is off.
fn or_off<T>(
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, &'static str>,
) -> Result<Option<T>, String> {
    match text {
        "off" => Ok(None),
        text => parse(text)
            .map(Some)
            .map_err(|why| format!("{why}, or off")),
    }
}

fn count(text: &str) -> Result<u32, &'static str> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or("must be a number from 1")
}

fn bytes(text: &str) -> Result<u64, &'static str> {
    const REFUSAL: &str = "must be a number of bytes such as 256MiB, 1GiB or 500000";
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "" | "B" => 1,
        "KiB" | "Ki" => 1 << 10,
        "MiB" | "Mi" => 1 << 20,
        "GiB" | "Gi" => 1u64 << 30,
        _ => return Err(REFUSAL),
    };
    number
        .parse()
        .ok()
        .and_then(|n: u64| n.checked_mul(factor))
        .ok_or(REFUSAL)
}

fn some_bytes(text: &str) -> Result<u64, &'static str> {
    match bytes(text)? {
        0 => Err("must be a number of bytes from 1 such as 256MiB"),
        bytes => Ok(bytes),
    }
}

/// The one line of a file that holds a key.
fn key_in(path: &Path) -> Result<SecretString, ConfigError> {
    let refusal = |reason: &str| ConfigError::Content {
        flag: "backend-key-file",
        path: path.display().to_string(),
        reason: reason.to_owned(),
    };
    let text = std::fs::read_to_string(path).map_err(|error| refusal(&error.to_string()))?;
    match text.trim() {
        "" => Err(refusal("it is empty")),
        key if key.contains(char::is_whitespace) => Err(refusal("it must hold one key")),
        key => Ok(SecretString::from(key)),
    }
}

fn prefix(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    match (1..=MAX_PREFIX_BYTES).contains(&text.len()) && text.bytes().all(plain) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "must be at most {MAX_PREFIX_BYTES} ASCII letters, digits, _ and -"
        )),
    }
}

fn key_ttl(text: &str) -> Result<Duration, String> {
    let ttl = parse_go(text).map_err(|error| error.to_string())?;
    match (MIN_KEY_TTL..=MAX_KEY_TTL).contains(&ttl) {
        true => Ok(ttl),
        false => Err("must be from 10s to 24h".to_owned()),
    }
}

fn patience(text: &str) -> Result<Duration, String> {
    let patience = parse_go(text).map_err(|error| error.to_string())?;
    match (MIN_PATIENCE..=MAX_PATIENCE).contains(&patience) {
        true => Ok(patience),
        false => Err("must be from 1s to 10m".to_owned()),
    }
}

fn url(text: &str) -> Result<String, &'static str> {
    const REFUSAL: &str = "must be a URL such as https://10.0.0.1:6443";
    let parsed: http::Uri = text.parse().map_err(|_| REFUSAL)?;
    match (parsed.scheme_str(), parsed.authority()) {
        (Some("http" | "https"), Some(_)) => Ok(text.to_owned()),
        _ => Err(REFUSAL),
    }
}

fn tenant_label(text: &str) -> Result<TenantLabel, &'static str> {
    match text.split_once(':') {
        None => label_key(text).map(TenantLabel::ServiceAccount),
        Some(("serviceaccount", key)) => label_key(key).map(TenantLabel::ServiceAccount),
        Some(("namespace", key)) => label_key(key).map(TenantLabel::Namespace),
        Some(_) => Err("must be KEY, serviceaccount:KEY or namespace:KEY"),
    }
}

/// A Kubernetes label key: an optional DNS prefix and a slash, then a name of at most 63.
fn label_key(text: &str) -> Result<String, &'static str> {
    const REFUSAL: &str = "must be a label key such as example.com/agent";
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let good_name = (1..=63).contains(&name.len()) && edges(name) && name.bytes().all(in_label);
    let good_prefix = prefix.is_none_or(|prefix| {
        (1..=253).contains(&prefix.len())
            && prefix.split('.').all(|part| {
                edges(part)
                    && part
                        .bytes()
                        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            })
    });
    if good_name && good_prefix {
        Ok(text.to_owned())
    } else {
        Err(REFUSAL)
    }
}

fn in_label(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

fn edges(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.into_iter()
        .all(|end| end.is_some_and(u8::is_ascii_alphanumeric))
}

fn cluster(text: &str) -> Result<String, &'static str> {
    let good = (1..=63).contains(&text.len()) && edges(text) && text.bytes().all(in_label);
    if good {
        Ok(text.to_owned())
    } else {
        Err("must be letters, digits and - _ . only, without ':'")
    }
}

#[cfg(test)]
mod each;
#[cfg(test)]
mod tests;
