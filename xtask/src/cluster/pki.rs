//! Keys of a control plane that lives for a day.

use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};

/// Names and addresses under which the API server is reached.
const SERVER_NAMES: [&str; 5] = [
    "10.96.0.1",
    "localhost",
    "kubernetes",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// Writes a CA, the API server's certificate for its address, its certificate towards kubelets, and the
/// pair that signs service-account tokens.
pub(super) fn write(dir: &Path, address: &str) -> anyhow::Result<()> {
    let mut authority = CertificateParams::default();
    authority.distinguished_name = named("recall test authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    std::fs::write(dir.join("ca.crt"), authority.pem())?;

    let names = SERVER_NAMES
        .iter()
        .chain([&address])
        .map(|name| (*name).to_owned());
    let mut server = CertificateParams::new(names.collect::<Vec<_>>())?;
    server.distinguished_name = named("kube-apiserver");
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let mut kubelets = CertificateParams::default();
    kubelets.distinguished_name = named("apiserver-kubelet-client");
    kubelets
        .distinguished_name
        .push(DnType::OrganizationName, "system:masters");
    kubelets.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    for (name, parameters) in [("apiserver", server), ("kubelet-client", kubelets)] {
        let key = KeyPair::generate()?;
        let certificate = parameters.signed_by(&key, &authority)?;
        std::fs::write(dir.join(format!("{name}.crt")), certificate.pem())?;
        std::fs::write(dir.join(format!("{name}.key")), key.serialize_pem())?;
    }

    let accounts = KeyPair::generate()?;
    std::fs::write(dir.join("sa.key"), accounts.serialize_pem())?;
    std::fs::write(dir.join("sa.pub"), accounts.public_key_pem())?;
    Ok(())
}

/// A name of its own: one that equals its issuer's would be taken for self-signed.
fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}
