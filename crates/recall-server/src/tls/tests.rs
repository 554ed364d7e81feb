use std::path::Path;

use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;

use super::*;

/// A certificate for this name and its key, in PEM.
fn pair(name: &str) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec![name.to_owned()])
        .and_then(|params| params.self_signed(&key))
        .expect("a certificate");
    (certificate.pem(), key.serialize_pem())
}

fn files(dir: &Path) -> TlsFiles {
    TlsFiles {
        cert: dir.join("tls.crt"),
        key: dir.join("tls.key"),
        client_ca: None,
    }
}

fn written(certificate: &str, key: &str) -> (TempDir, TlsFiles) {
    let dir = tempfile::tempdir().expect("a folder");
    let files = files(dir.path());
    std::fs::write(&files.cert, certificate).expect("a file");
    std::fs::write(&files.key, key).expect("a file");
    (dir, files)
}

#[track_caller]
fn refused(certificate: &str, key: &str, flag: &str, words: &str) {
    let (_dir, files) = written(certificate, key);
    let error = Tls::load(files).expect_err("it is refused").to_string();
    assert!(error.starts_with(&format!("--{flag} ")), "{error}");
    assert!(error.contains(words), "{error}");
}

#[test]
fn files_that_cannot_be_served_are_refused_by_name() {
    let ((certificate, key), (other, _)) = (pair("recall"), pair("recall"));
    refused("", &key, "tls-cert-file", "holds no certificate");
    refused(&key, &key, "tls-cert-file", "holds no certificate");
    refused(&certificate, "", "tls-key-file", "holds no private key");
    refused(
        &certificate,
        &certificate,
        "tls-key-file",
        "holds no private key",
    );
    refused(&other, &key, "tls-cert-file", "does not go with the key");
    let large = "x".repeat(1024 * 1024 + 1);
    refused(&large, &key, "tls-cert-file", "larger than 1 MiB");
    let dir = tempfile::tempdir().expect("a folder");
    let error = Tls::load(files(dir.path())).expect_err("there are none");
    assert!(error.to_string().contains("No such file"), "{error}");
}

#[test]
fn a_changed_certificate_is_taken_over_and_a_broken_one_is_not() {
    let (certificate, key) = pair("first");
    let (_dir, files) = written(&certificate, &key);
    let tls = Tls::load(files.clone()).expect("it is good");
    let first = Arc::clone(&tls.current.read().config);
    assert!(!tls.reload().expect("nothing changed"));

    let (certificate, key) = pair("second");
    std::fs::write(&files.cert, &certificate).expect("a file");
    tls.reload().expect_err("the key is still the former one");
    assert!(Arc::ptr_eq(&first, &tls.current.read().config));
    std::fs::write(&files.key, &key).expect("a file");
    assert!(tls.reload().expect("both are new"));
    assert!(!Arc::ptr_eq(&first, &tls.current.read().config));
}
