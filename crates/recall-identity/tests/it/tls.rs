//! Who may answer as the API server.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use recall_identity::kube::{ApiServer, Connection, connect};
use recall_identity::{Authenticate, Resolver};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::support::{World, limits, outcome, rules};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn acceptor(by: &Authority, name: &str, expired: bool) -> TlsAcceptor {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    if expired {
        params.not_after = date_time_ymd(2020, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, by).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Speaks TLS on loopback and passes on what it hears to the fake.
async fn terminate(world: &World, acceptor: TlsAcceptor) -> (SocketAddr, AbortHandle) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let target = world.server.url().trim_start_matches("http://").to_owned();
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Whoever does not trust us breaks off here.
            if let Ok(mut tls) = acceptor.accept(stream).await {
                let mut plain = TcpStream::connect(&target).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut tls, &mut plain).await;
            }
        }
    });
    (address, task.abort_handle())
}

async fn check(trusted: &Authority, server: TlsAcceptor, expected: &str) {
    let world = World::new().await;
    let (address, task) = terminate(&world, server).await;
    let file = |text: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    };
    let (ca, token) = (file(&trusted.pem()), file("ours"));
    let connection = Connection {
        api: Some(format!("https://{address}")),
        ca_file: Some(ca.path().to_owned()),
        token_file: Some(token.path().to_owned()),
        kubeconfig: None,
    };
    let api = ApiServer::new(connect(&connection).await.unwrap());
    let resolver = Resolver::new(api, rules(), limits());
    assert_eq!(
        outcome(&resolver.authenticate(&world.token()).await),
        expected
    );
    if expected == "upstream" {
        assert!(world.server.requests().is_empty());
    }
    task.abort();
}

#[tokio::test]
async fn a_certificate_of_our_authority_for_this_address_is_trusted() {
    let ours = authority();
    check(&ours, acceptor(&ours, "127.0.0.1", false), "agents:demo-1").await;
}

#[tokio::test]
async fn a_certificate_of_another_authority_expired_or_of_another_name_is_not() {
    let (ours, theirs) = (authority(), authority());
    check(&ours, acceptor(&theirs, "127.0.0.1", false), "upstream").await;
    check(&ours, acceptor(&ours, "127.0.0.1", true), "upstream").await;
    check(
        &ours,
        acceptor(&ours, "kubernetes.default.svc", false),
        "upstream",
    )
    .await;
}
