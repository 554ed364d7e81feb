//! The way to the server: its name, its port, and whether it is one of ours.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use tokio::net::{TcpStream, lookup_host};

use super::fix;
use super::report::Finding;
use crate::client::Client;
use crate::server::Server;

/// A name or a port that takes longer is as good as away.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn resolve(server: &Server) -> Finding<()> {
    let (host, _) = server.place();
    let fix = "check the Service's name and namespace, and that DNS (UDP and TCP 53) is let out of this \
               pod by its NetworkPolicies";
    match addresses(server).await {
        Ok(found) => {
            let found: Vec<_> = found.iter().map(|at| at.ip().to_string()).collect();
            Ok(((), format!("{host} is {}", found.join(", "))))
        }
        Err(why) => Err((format!("{host} has no address: {why}"), fix.to_owned())),
    }
}

pub(super) async fn connect(server: &Server) -> Finding<()> {
    let found = addresses(server).await.unwrap_or_default();
    let mut why = "no address".to_owned();
    for at in found {
        match tokio::time::timeout(PATIENCE, TcpStream::connect(at)).await {
            Ok(Ok(_)) => return Ok(((), at.to_string())),
            Ok(Err(error)) => why = format!("{at}: {error}"),
            Err(_) => why = format!("{at}: no answer within {} s", PATIENCE.as_secs()),
        }
    }
    Err((why, fix::unreachable().to_owned()))
}

/// Whether what answers is a Recall server.
pub(super) async fn is_recall(client: &Client) -> Finding<()> {
    let answer = client
        .send(Method::GET, "/healthz", None, Bytes::new())
        .await;
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            let why = format!("{error:#}");
            let fix = not_spoken_to(&why).to_owned();
            return Err((why, fix));
        }
    };
    let ours = answer.status == StatusCode::OK
        && answer.body.trim_ascii() == b"ok"
        && answer.headers.contains_key("x-request-id");
    match ours {
        true => Ok(((), "answers as a Recall server".to_owned())),
        false => Err((
            format!("something else answers (HTTP {})", answer.status.as_u16()),
            "set RECALL_URL to the Recall Service and its port (8080, not the admin port)"
                .to_owned(),
        )),
    }
}

/// What to do where the two ends did not come to speak. The server's alerts name a certificate of the
/// client's; all else about certificates is about the server's own.
fn not_spoken_to(why: &str) -> &'static str {
    let alert = why.contains("received fatal alert");
    let (certificate, authority) = (why.contains("ertificate"), why.contains("UnknownCA"));
    match (alert, certificate || authority) {
        (true, true) => {
            "the server asks for a certificate of its clients: name one that its --tls-client-ca-file \
             vouches for with RECALL_CLIENT_CERT_FILE, and its key with RECALL_CLIENT_KEY_FILE"
        }
        (false, true) => {
            "name the authority that signed the server's certificate with RECALL_CA_FILE, and use a name \
             that the certificate holds"
        }
        (_, false) => "use https:// if the server serves TLS, and http:// if it does not",
    }
}

async fn addresses(server: &Server) -> Result<Vec<SocketAddr>, String> {
    let (host, port) = server.place();
    let host = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    match tokio::time::timeout(PATIENCE, lookup_host((host, port))).await {
        Ok(Ok(found)) => {
            let found: Vec<_> = found.collect();
            match found.is_empty() {
                true => Err("the name is known and has none".to_owned()),
                false => Ok(found),
            }
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}
