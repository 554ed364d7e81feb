//! The server's address, and whether a credential may be sent to it.

use anyhow::{Context, bail};
use http::Uri;

/// A server's address.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// Without a trailing slash.
    base: String,
    host: String,
    port: u16,
}

impl Server {
    /// Reads an address and refuses to send credentials in the clear to a host outside this machine
    /// and the cluster.
    pub(crate) fn parse(text: &str, insecure: bool) -> anyhow::Result<Self> {
        let text = text.trim_end_matches('/');
        let uri: Uri = text
            .parse()
            .with_context(|| format!("--server {text:?} is no URL"))?;
        let host = uri
            .host()
            .with_context(|| format!("--server {text:?} names no host"))?;
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if insecure || local(host) => {}
            Some("http") => bail!(
                "--server {text:?}: http:// would send the key in the clear to {host}; use https://, or \
                 --insecure if the way there is safe"
            ),
            _ => bail!("--server {text:?}: must begin with http:// or https://"),
        }
        let default = if uri.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        Ok(Self {
            base: text.to_owned(),
            host: host.to_owned(),
            port: uri.port_u16().unwrap_or(default),
        })
    }

    /// Host and port.
    pub(crate) fn place(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// The address of a path on this server.
    pub(crate) fn at(&self, path: &str) -> anyhow::Result<Uri> {
        format!("{}{path}", self.base)
            .parse()
            .with_context(|| format!("no address for {path}"))
    }
}

/// A host of this machine or of the cluster: loopback, a bare Service name, or a name under `.svc`
/// or `.cluster.local`.
fn local(host: &str) -> bool {
    let name = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .trim_end_matches('.');
    if let Ok(address) = name.parse::<std::net::IpAddr>() {
        return address.is_loopback();
    }
    let name = name.to_ascii_lowercase();
    !name.contains('.')
        || name.ends_with(".svc")
        || name.ends_with(".svc.cluster.local")
        || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_leaves_in_the_clear() {
        for good in [
            "http://127.0.0.1:8080",
            "http://[::1]:8080/",
            "http://localhost:8080",
            "http://recall:8080",
            "http://recall.recall.svc:8080",
            "http://recall.recall.svc.cluster.local:8080",
            "https://recall.example.com",
        ] {
            Server::parse(good, false).expect(good);
        }
        for bad in [
            "http://recall.example.com",
            "http://10.0.0.7:8080",
            "http://svc.example.com",
            "http://evil.svc.example.com",
            "ftp://127.0.0.1",
            "127.0.0.1:8080",
            "",
        ] {
            assert!(Server::parse(bad, false).is_err(), "{bad:?}");
        }
        Server::parse("http://recall.example.com", true).expect("asked for");
    }
}
