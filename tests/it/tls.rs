//! TLS on the Memory API: served, renewed without a restart, and with clients that must show who
//! they are.

use std::path::Path;
use std::process::{Command, Output};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::simulated::until;
use super::*;

/// An authority that signs certificates for this test.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    /// Writes `NAME.crt` and `NAME.key` for 127.0.0.1.
    fn issue(&self, dir: &Path, name: &str) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        std::fs::write(dir.join(format!("{name}.key")), key.serialize_pem()).expect("a file");
        std::fs::write(dir.join(format!("{name}.crt")), certificate.pem()).expect("a file");
    }

    fn write(&self, path: &Path) {
        std::fs::write(path, self.0.pem()).expect("a file");
    }
}

/// A server with TLS, the folder of its files, and a key for a memory.
struct Secured {
    running: Running,
    dir: TempDir,
}

impl Secured {
    fn start(authority: &Authority, flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        authority.issue(dir.path(), "server");
        authority.write(&dir.path().join("ca.crt"));
        let cert = format!(
            "--tls-cert-file={}",
            dir.path().join("server.crt").display()
        );
        let key = format!("--tls-key-file={}", dir.path().join("server.key").display());
        let running = Running::start(&[&[cert.as_str(), key.as_str()], flags].concat());
        Self { running, dir }
    }

    /// Runs `recall key list` over TLS, trusting `ca.crt`.
    fn list(&self, extra: &[&str]) -> Output {
        let admin = self.running.dir.path().join("recall-data/admin.key");
        Command::new(programs::folder().expect("built").join("recall"))
            .env_clear()
            .args(["key", "list", "--server"])
            .arg(self.running.server.url.replace("http://", "https://"))
            .arg("--key-file")
            .arg(admin)
            .arg("--ca-file")
            .arg(self.dir.path().join("ca.crt"))
            .args(extra)
            .output()
            .expect("it starts")
    }

    /// What `recall doctor` says of the way to the server.
    fn advice(&self) -> String {
        let output = Command::new(programs::folder().expect("built").join("recall"))
            .env_clear()
            .args(["doctor", "--read-only", "--server"])
            .arg(self.running.server.url.replace("http://", "https://"))
            .arg("--key=rcl_none")
            .arg("--ca-file")
            .arg(self.dir.path().join("ca.crt"))
            .output()
            .expect("it starts");
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }
}

#[track_caller]
fn works(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("(admin)"));
}

#[track_caller]
fn fails(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("recall: "), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_trusts_the_authority_is_served_and_a_plain_one_is_not() {
    let authority = Authority::new();
    let secured = Secured::start(&authority, &[]);
    works(&secured.list(&[]));
    Authority::new().write(&secured.dir.path().join("ca.crt"));
    fails(&secured.list(&[]));
    let advice = secured.advice();
    assert!(advice.contains("RECALL_CA_FILE"), "{advice}");
    assert!(!advice.contains("RECALL_CLIENT_CERT_FILE"), "{advice}");
    let url = format!("{}/healthz", secured.running.server.url);
    let plain = secured.running.http.send("GET", &url, &[], "").await;
    assert!(plain.is_err(), "plain HTTP is not answered on a TLS port");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_served_without_a_restart() {
    let secured = Secured::start(&Authority::new(), &[]);
    works(&secured.list(&[]));
    let next = Authority::new();
    next.issue(secured.dir.path(), "server");
    next.write(&secured.dir.path().join("ca.crt"));
    until("the new certificate is served", async || {
        secured.list(&[]).status.success()
    })
    .await;
    works(&secured.list(&[]));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_client_authority_only_its_clients_are_served() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let files = tempfile::tempdir().expect("a folder");
    clients.write(&files.path().join("clients.crt"));
    let flag = format!(
        "--tls-client-ca-file={}",
        files.path().join("clients.crt").display()
    );
    let secured = Secured::start(&authority, &[&flag]);
    fails(&secured.list(&[]));
    let advice = secured.advice();
    assert!(advice.contains("RECALL_CLIENT_CERT_FILE"), "{advice}");
    assert!(!advice.contains("RECALL_CA_FILE"), "{advice}");
    authority.issue(secured.dir.path(), "stranger");
    let (cert, key) = (secured.path("stranger.crt"), secured.path("stranger.key"));
    fails(&secured.list(&["--client-cert-file", &cert, "--client-key-file", &key]));
    clients.issue(secured.dir.path(), "client");
    let (cert, key) = (secured.path("client.crt"), secured.path("client.key"));
    works(&secured.list(&["--client-cert-file", &cert, "--client-key-file", &key]));
}
