//! The server behind TLS, and back.

use std::time::Instant;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};

use super::ground::Ground;
use super::pods::upgrade_command;
use super::report::Report;
use crate::shell::{output, scratch};

const SECRET: &str = "recall-tls";
/// As clients name it.
const NAME: &str = "recall.recall.svc";

/// Serves over TLS, has the chart's own test call it by its name, and goes back.
pub(super) fn there_and_back(ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
    let began = Instant::now();
    secret(ground)?;
    let setting = format!("--set=tls.existingSecret={SECRET}");
    output(&mut upgrade_command(ground, &["--reuse-values", &setting]))?;
    output(&mut ground.helm_test())?;
    output(&mut ground.helm(&["rollback", "recall", "--wait", "--timeout=180s"]))?;
    report.step(
        "served over TLS, and back",
        began,
        "helm test trusts the Secret's authority and no other",
    );
    Ok(())
}

fn secret(ground: &Ground) -> anyhow::Result<()> {
    let dir = scratch("demo-tls")?;
    let mut authority = CertificateParams::default();
    authority
        .distinguished_name
        .push(DnType::CommonName, "recall demo authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let mut server = CertificateParams::new([NAME.to_owned()])?;
    server.distinguished_name.push(DnType::CommonName, NAME);
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    std::fs::write(dir.join("ca.crt"), authority.pem())?;
    std::fs::write(
        dir.join("tls.crt"),
        server.signed_by(&key, &authority)?.pem(),
    )?;
    std::fs::write(dir.join("tls.key"), key.serialize_pem())?;
    let from = format!("--from-file={}", dir.display());
    ground
        .done(&[
            "create",
            "secret",
            "generic",
            SECRET,
            "--namespace=recall",
            &from,
        ])
        .map(drop)
}
