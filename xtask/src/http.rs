//! The few HTTP calls that chores make to servers on loopback.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Sends one request to `http://127.0.0.1:PORT/…` and returns status and body.
pub(crate) fn request(
    method: &str,
    url: &str,
    bearer: Option<&str>,
    body: &str,
) -> anyhow::Result<(u16, String)> {
    let rest = url
        .strip_prefix("http://")
        .context("only http:// on loopback")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if !host.starts_with("127.0.0.1:") {
        bail!("{host} is not on loopback");
    }
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let authorization = bearer
        .map(|key| format!("Authorization: Bearer {key}\r\n"))
        .unwrap_or_default();
    write!(
        stream,
        "{method} /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{authorization}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").context("no HTTP answer")?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .context("no status")?;
    Ok((status, body.to_owned()))
}

/// Whether `https://HOST:PORT` answers 200 at `path` under a certificate of this authority.
pub(crate) fn https_ok(host: &str, port: u16, path: &str, ca_file: &Path) -> bool {
    https_status(host, port, path, ca_file).is_ok_and(|status| status == 200)
}

fn https_status(host: &str, port: u16, path: &str, ca_file: &Path) -> anyhow::Result<u16> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca_file)?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tls = rustls::ClientConnection::new(Arc::new(config), host.to_owned().try_into()?)?;
    let stream = TcpStream::connect((host, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut stream = rustls::StreamOwned::new(tls, stream);
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    // A server that closes without saying so first has answered all the same.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    answer
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .context("no HTTP answer")
}

/// Whether a URL on loopback answers 200.
pub(crate) fn ok(url: &str) -> bool {
    request("GET", url, None, "").is_ok_and(|(status, _)| status == 200)
}

/// Whether `http://HOST:PORT` answers 200 at `path`.
pub(crate) fn answers(host: &str, port: u16, path: &str) -> bool {
    let ask = || -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect((host, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with(b"HTTP/1.1 200"))
}
