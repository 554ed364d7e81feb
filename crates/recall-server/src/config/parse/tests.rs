//! Settings in, configuration or one sentence out.

use std::ffi::OsString;

use super::*;

fn read(flags: &[&str], variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let arguments = std::iter::once("recall-server")
        .chain(flags.iter().copied())
        .map(OsString::from);
    let environment = variables
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Config::parse(&Settings::read(arguments, environment)?)
}

#[track_caller]
fn refused(flags: &[&str], expected: &str) {
    let error = read(flags, &[])
        .expect_err("it must be refused")
        .to_string();
    assert!(error.contains(expected), "{error}");
    assert!(!error.contains('\n'), "one sentence: {error}");
}

#[test]
fn defaults() {
    let config = read(&["--data-dir=d"], &[]).expect("defaults");
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.admin_listen.to_string(), "127.0.0.1:9090");
    assert!(matches!(config.backend, Backend::Embedded(dir) if dir == Path::new("d")));
    assert_eq!((config.surface, config.open), (Surface::Text, None));
    assert_eq!(config.view_memory, 256 << 20);
    assert_eq!(config.kubernetes, None);
}

#[test]
fn a_flag_wins_over_the_environment_and_the_environment_over_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("recall.toml");
    std::fs::write(
        &path,
        "surface = \"typed\"\nmax-keys-per-pod = 3\nopen = true\n",
    )
    .expect("a file");
    let path = path.to_str().expect("text");
    let environment = [
        ("RECALL_CONFIG", path),
        ("RECALL_MAX_KEYS_PER_POD", "4"),
        ("RECALL_OPEN", ""),
    ];
    let config = read(&["--backend=memory", "--max-keys-per-pod=5"], &environment).expect("good");
    assert_eq!(
        (config.surface, config.max_keys_per_pod, config.open),
        (Surface::Typed, 5, Some(true))
    );
    let config = read(&["--backend=memory"], &environment).expect("good");
    assert_eq!(config.max_keys_per_pod, 4);
}

#[test]
fn a_shared_store_has_an_address_a_key_and_a_prefix() {
    use secrecy::ExposeSecret;
    let shared = |flags: &[&str], environment: &[(&str, &str)]| {
        let flags = [&["--backend=polign"], flags].concat();
        match read(&flags, environment).expect("good").backend {
            Backend::Polign(shared) => shared,
            other => panic!("{other:?}"),
        }
    };
    let plain = shared(&[], &[]);
    assert_eq!(plain.url, "http://127.0.0.1:23000");
    assert_eq!(plain.collection, "recall_lexical_v1");
    assert_eq!(plain.wait, Some(Duration::from_secs(30)));
    assert!(plain.key.is_none());
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "plgn_k\n").expect("written");
    let by_file = format!("--backend-key-file={}", file.path().display());
    let flags = [
        "--backend-url=https://db:1",
        "--collection=c",
        "--wait-for-backend=off",
        &by_file,
    ];
    let given = shared(&flags, &[]);
    assert_eq!(
        (given.url.as_str(), given.collection.as_str(), given.wait),
        ("https://db:1", "c", None)
    );
    for key in [
        given.key,
        shared(&[], &[("RECALL_BACKEND_KEY", "plgn_k")]).key,
    ] {
        assert_eq!(key.expect("a key").expose_secret(), "plgn_k");
    }
    refused(&["--backend=polign", "--backend-url=db"], "must be a URL");
    refused(&["--backend=polign", "--collection=a/b"], "ASCII letters");
    refused(
        &["--backend=polign", "--wait-for-backend=soon"],
        "not a duration",
    );
    refused(
        &["--backend=polign", "--backend-key=k", &by_file],
        "leave one out",
    );
    refused(&["--backend-url=http://db:1"], "no effect");
}

#[test]
fn qdrant_has_leases_only_where_they_are_asked_for() {
    let backend = |flags: &[&str]| {
        let flags = [&["--backend=qdrant"], flags].concat();
        match read(&flags, &[]).expect("good").backend {
            Backend::Qdrant { shared, leases } => (shared, leases),
            other => panic!("{other:?}"),
        }
    };
    let (plain, leases) = backend(&[]);
    assert_eq!(
        (plain.url.as_str(), leases),
        ("http://127.0.0.1:6334", false)
    );
    let (given, leases) = backend(&["--qdrant-leases", "--backend-url=https://q:6334"]);
    assert_eq!((given.url.as_str(), leases), ("https://q:6334", true));
    refused(&["--backend=polign", "--qdrant-leases"], "choose qdrant");
    refused(&["--backend=memory", "--qdrant-leases"], "choose qdrant");
}

#[test]
fn the_stores_key_is_not_printed() {
    let arguments = ["recall-server", "--backend=polign", "--backend-key=plgn_k"];
    let settings = Settings::read(
        arguments.map(OsString::from).into_iter(),
        std::iter::empty(),
    );
    let printed = settings.expect("good").to_string();
    assert!(printed.contains("backend-key = \"***\"") && !printed.contains("plgn_k"));
}

#[test]
fn bad_values_name_flag_value_and_what_is_allowed() {
    refused(
        &["--listen=nowhere"],
        "--listen \"nowhere\" (flag): must be an address",
    );
    refused(
        &["--surface=both"],
        "--surface \"both\" (flag): must be text or typed",
    );
    refused(
        &["--backend=mysql"],
        "must be embedded or polign or qdrant or memory",
    );
    refused(
        &["--view-memory=12parsecs"],
        "must be a number of bytes such as 256MiB",
    );
    refused(&["--auth-cache-ttl=soon"], "not a duration");
    refused(&["--max-keys-per-pod=0"], "from 1 to 100");
    refused(&["--no-such-flag"], "--no-such-flag");
    refused(
        &["--kubernetes", "--kubernetes-audience="],
        "--kubernetes-audience",
    );
    refused(
        &["--kubernetes", "--kubernetes-key-ttl=9s"],
        "from 10s to 24h",
    );
    refused(
        &["--kubernetes", "--kubernetes-key-ttl=25h"],
        "from 10s to 24h",
    );
    refused(
        &["--kubernetes", "--kubernetes-agent-label=-x"],
        "must be a label key",
    );
    refused(
        &["--kubernetes", "--kubernetes-tenant-label=pod:x"],
        "namespace:KEY",
    );
    refused(&["--kubernetes", "--kubernetes-cluster=a:b"], "without ':'");
    refused(
        &["--kubernetes", "--kubernetes-api=ftp://x"],
        "must be a URL",
    );
    refused(
        &["--kubernetes-audience=x"],
        "no effect without --kubernetes",
    );
}

#[test]
fn a_file_with_an_unknown_setting_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    for (content, expected) in [
        ("audiences = \"x\"", "unknown setting \"audiences\""),
        ("listen = [1]", "must be a string, a number or a boolean"),
        ("open = \"maybe\"", "must be true or false"),
        ("listen = ", "--config"),
    ] {
        let path = dir.path().join("recall.toml");
        std::fs::write(&path, content).expect("a file");
        refused(&["--config", path.to_str().expect("text")], expected);
    }
    refused(&["--config=/no/such/file"], "--config /no/such/file");
}

#[test]
fn variables_that_nobody_reads_are_noticed() {
    let environment = [("RECALL_LISTENN", "x"), ("RECALL_URL", "x"), ("OTHER", "x")];
    let environment = environment
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let settings = Settings::read(["recall-server".into()].into_iter(), environment).expect("good");
    assert_eq!(settings.unknown_variables(), ["RECALL_LISTENN"]);
}

#[test]
fn the_printed_configuration_is_a_configuration_file() {
    let flags = [
        "recall-server",
        "--surface=typed",
        "--open",
        "--print-config",
    ]
    .map(OsString::from);
    let settings = Settings::read(flags.into_iter(), std::iter::empty()).expect("good");
    assert!(settings.print_config());
    let printed = settings.to_string();
    assert!(
        printed.contains("surface = \"typed\" # flag\n"),
        "{printed}"
    );
    assert!(
        printed.contains("listen = \"127.0.0.1:8080\" # default\n"),
        "{printed}"
    );
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("recall.toml");
    std::fs::write(&path, &printed).expect("a file");
    let config = read(
        &["--backend=memory", "--config", path.to_str().expect("text")],
        &[],
    )
    .expect("good");
    assert_eq!((config.surface, config.open), (Surface::Typed, Some(true)));
}

fn kubernetes(flags: &[&str]) -> Kubernetes {
    let flags = [&["--backend=memory", "--kubernetes"], flags].concat();
    let config = read(&flags, &[]).expect("good");
    config.kubernetes.expect("it is on")
}

#[test]
fn pods_are_watched_unless_it_is_said() {
    let watch = |selector: Option<&str>| Watch {
        selector: selector.map(str::to_owned),
    };
    assert_eq!(kubernetes(&[]).watch, Some(watch(None)));
    let selector = "--kubernetes-pod-selector=app in (a,b)";
    assert_eq!(
        kubernetes(&[selector]).watch,
        Some(watch(Some("app in (a,b)")))
    );
    assert_eq!(kubernetes(&["--kubernetes-watch=false"]).watch, None);
    let both = ["--kubernetes", "--kubernetes-watch=off", selector];
    refused(&both, "narrows the watch");
}

#[test]
fn lists_of_accounts_and_namespaces() {
    let account = |namespace: &str, name: &str| (namespace.to_owned(), name.to_owned());
    let flag = "--kubernetes-service-account=agents/runner, b/x.y";
    let expected = [account("agents", "runner"), account("b", "x.y")];
    assert_eq!(kubernetes(&[flag]).service_accounts, expected);
    assert_eq!(
        kubernetes(&["--kubernetes-namespaces=a,b-1"]).namespaces,
        ["a", "b-1"]
    );
    for odd in ["runner", "a/b/c", "A/b", "/b", "a/", "a/b,", ""] {
        let flag = format!("--kubernetes-service-account={odd}");
        refused(&["--kubernetes", &flag], "NAMESPACE/NAME");
    }
    for odd in ["a,,b", "-a", "a.b", "A"] {
        let flag = format!("--kubernetes-namespaces={odd}");
        refused(&["--kubernetes", &flag], "names of namespaces");
    }
}

#[test]
fn limits_and_the_longest_life() {
    let defaults = kubernetes(&[]);
    assert_eq!(defaults.max_key_lifetime, None);
    let shown = |rate: Option<recall_api::Rate>| rate.map(|rate| rate.to_string());
    assert_eq!(
        shown(defaults.limits.per_source).as_deref(),
        Some("5000/1m0s")
    );
    let set = kubernetes(&[
        "--kubernetes-limit-per-pod=off",
        "--kubernetes-max-key-lifetime=12h",
    ]);
    assert_eq!(
        (set.limits.per_pod, set.max_key_lifetime),
        (None, Some(Duration::from_secs(12 * 3600)))
    );
    refused(
        &["--kubernetes", "--kubernetes-limit-per-pod=60"],
        "such as 60/1m, or off",
    );
    refused(
        &["--kubernetes", "--kubernetes-max-key-lifetime=1m"],
        "not be shorter",
    );
}

#[test]
fn labels_of_tenants() {
    let label = |text: &str| {
        let flag = format!("--kubernetes-tenant-label={text}");
        let config = read(&["--backend=memory", "--kubernetes", &flag], &[]).expect(text);
        config
            .kubernetes
            .expect("it is on")
            .tenant_label
            .expect("it is given")
    };
    assert_eq!(
        label("x.io/tenant"),
        TenantLabel::ServiceAccount("x.io/tenant".to_owned())
    );
    assert_eq!(
        label("serviceaccount:t"),
        TenantLabel::ServiceAccount("t".to_owned())
    );
    assert_eq!(
        label("namespace:x.io/t"),
        TenantLabel::Namespace("x.io/t".to_owned())
    );
}

#[test]
fn a_model_needs_its_endpoint_and_its_name_and_none_is_guessed() {
    let config = read(&["--backend=memory"], &[]).expect("defaults");
    assert_eq!(
        (config.embed, config.extract, config.embed_again),
        (None, None, false)
    );
    let flags = [
        "--backend=memory",
        "--embed-url=http://127.0.0.1:11434/v1",
        "--embed-model=small",
        "--embed-key-file=k",
        "--embed-again",
    ];
    let config = read(&flags, &[]).expect("good");
    let expected = Model {
        url: "http://127.0.0.1:11434/v1".to_owned(),
        name: "small".to_owned(),
        key_file: Some("k".into()),
    };
    assert_eq!(
        (config.embed, config.extract, config.embed_again),
        (Some(expected), None, true)
    );
    let backend = "--backend=memory";
    for alone in [
        "--embed-url=http://x/v1",
        "--embed-model=m",
        "--embed-key-file=k",
    ] {
        refused(
            &[backend, alone],
            "--embed-url and --embed-model go together",
        );
    }
    for alone in [
        "--extract-url=http://x/v1",
        "--extract-model=m",
        "--extract-key-file=k",
    ] {
        refused(
            &[backend, alone],
            "--extract-url and --extract-model go together",
        );
    }
    refused(
        &[backend, "--embed-url=localhost", "--embed-model=m"],
        "must be a URL",
    );
    let patience = |flags: &[&str]| read(flags, &[]).expect("good").extract_timeout.as_secs();
    assert_eq!(patience(&[backend]), 30);
    assert_eq!(patience(&[backend, "--extract-timeout=10m"]), 600);
    for wrong in [
        "--extract-timeout=500ms",
        "--extract-timeout=11m",
        "--extract-timeout=0",
    ] {
        refused(&[backend, wrong], "must be from 1s to 10m");
    }
    refused(
        &[backend, "--embed-url=http://x/v1", "--embed-model= "],
        "must name a model",
    );
}
