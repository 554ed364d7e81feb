//! From which web pages and under which names the server may be reached.
//!
//! A page of any site can make a browser send requests to a server on the same machine or network,
//! and by answering its own name with that server's address it can even read what comes back.

use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};

use crate::error::ApiError;

/// A web origin: scheme, host and port, such as `https://app.example.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: &'static str,
    host: String,
    port: u16,
}

/// The name of a host, without a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host(String);

/// The text is no origin or no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidHost(&'static str);

/// Who may ask: pages of this machine and of the named origins; and, while the server listens on
/// this machine alone, only under its own names and the named hosts.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    origins: Arc<[Origin]>,
    /// `None` takes any name: behind a service or a proxy it is somebody else's to know.
    names: Option<Arc<[Host]>>,
}

impl Hosts {
    /// `names` are checked only if the server is reached `on_loopback`.
    #[must_use]
    pub fn new(origins: Vec<Origin>, names: Vec<Host>, on_loopback: bool) -> Self {
        Self {
            origins: origins.into(),
            names: on_loopback.then(|| names.into()),
        }
    }

    /// # Errors
    ///
    /// 403 for a page or a name that is not allowed.
    pub(crate) fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), ApiError> {
        let mut sent = headers.get_all(ORIGIN).iter();
        let origin = match (sent.next(), sent.next()) {
            (None, _) => None,
            (Some(origin), None) => Some(origin.to_str().ok().and_then(|text| text.parse().ok())),
            (Some(_), Some(_)) => Some(None),
        };
        match origin {
            None => {}
            Some(Some(origin)) if self.allows(&origin) => {}
            Some(_) => {
                return Err(ApiError::forbidden(
                    "requests from web pages of this origin are not taken; see --allowed-origins",
                ));
            }
        }
        match self.reached_under(headers, uri) {
            true => Ok(()),
            false => Err(ApiError::forbidden(
                "the server is not known under this Host; see --allowed-hosts",
            )),
        }
    }

    fn allows(&self, origin: &Origin) -> bool {
        on_this_machine(&origin.host) || self.origins.contains(origin)
    }

    fn reached_under(&self, headers: &HeaderMap, uri: &Uri) -> bool {
        let Some(names) = &self.names else {
            return true;
        };
        let named = match headers.get(HOST) {
            Some(value) => value.to_str().ok().and_then(|text| text.parse().ok()),
            None => match uri.authority() {
                Some(authority) => Some(authority.clone()),
                // No browser leaves it out.
                None => return true,
            },
        };
        named.is_some_and(|named: Authority| {
            let host = named.host().to_ascii_lowercase();
            on_this_machine(&host) || names.iter().any(|known| known.0 == host)
        })
    }
}

/// The names that every machine has for itself.
fn on_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

impl FromStr for Origin {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let invalid = InvalidHost("must be origins such as https://app.example.com, with commas");
        let text = text.to_ascii_lowercase();
        let (scheme, rest) = text.split_once("://").ok_or(invalid)?;
        let (scheme, usual) = match scheme {
            "http" => ("http", 80),
            "https" => ("https", 443),
            _ => return Err(invalid),
        };
        let authority: Authority = rest.parse().map_err(|_| invalid)?;
        if rest.contains('@') || authority.host().is_empty() {
            return Err(invalid);
        }
        Ok(Self {
            scheme,
            host: authority.host().to_owned(),
            port: authority.port_u16().unwrap_or(usual),
        })
    }
}

impl FromStr for Host {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let invalid = InvalidHost("must be host names without ports, with commas");
        let authority: Authority = text.to_ascii_lowercase().parse().map_err(|_| invalid)?;
        match authority.port().is_none() && authority.as_str() == authority.host() {
            true => Ok(Self(authority.host().to_owned())),
            false => Err(invalid),
        }
    }
}

impl std::fmt::Display for InvalidHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for InvalidHost {}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn hosts(on_loopback: bool) -> Hosts {
        Hosts::new(
            vec!["https://app.example.com".parse().expect("an origin")],
            vec!["recall.example.com".parse().expect("a host")],
            on_loopback,
        )
    }

    #[track_caller]
    fn check(hosts: &Hosts, name: &HeaderName, value: &'static str, expected: bool) {
        let headers = HeaderMap::from_iter([(name.clone(), HeaderValue::from_static(value))]);
        let found = hosts.check(&headers, &Uri::from_static("/mcp"));
        assert_eq!(found.is_ok(), expected, "{name}: {value}");
        if let Err(error) = found {
            assert_eq!((error.status.as_u16(), error.code), (403, "forbidden"));
        }
    }

    #[test]
    fn pages_of_this_machine_and_of_named_origins_may_ask() {
        for hosts in [hosts(true), hosts(false)] {
            for allowed in [
                "http://localhost",
                "https://localhost:3000",
                "http://127.0.0.1:6274",
                "http://[::1]:80",
                "https://app.example.com",
                "https://APP.example.com:443",
            ] {
                check(&hosts, &ORIGIN, allowed, true);
            }
            for foreign in [
                "null",
                "",
                "http://evil.example",
                "http://app.example.com",
                "https://app.example.com:444",
                "http://localhost.evil.example",
                "http://127.0.0.1.evil.example",
                "http://localhost@evil.example",
                "file://localhost",
                "chrome-extension://localhost",
            ] {
                check(&hosts, &ORIGIN, foreign, false);
            }
        }
    }

    #[test]
    fn on_this_machine_the_server_has_only_its_own_names() {
        for own in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:8080",
            "[::1]:8080",
            "recall.example.com",
            "recall.example.com:443",
        ] {
            check(&hosts(true), &HOST, own, true);
        }
        for foreign in [
            "evil.example",
            "evil.example:8080",
            "x.localhost.evil",
            "a b",
        ] {
            check(&hosts(true), &HOST, foreign, false);
            check(&hosts(false), &HOST, foreign, true);
        }
        let nameless = hosts(true).check(&HeaderMap::new(), &Uri::from_static("/mcp"));
        assert!(nameless.is_ok());
    }

    #[test]
    fn what_is_no_host_and_no_origin() {
        for odd in ["", "a:80", "a/b", "http://a", "u@a"] {
            assert!(odd.parse::<Host>().is_err(), "{odd}");
        }
        for odd in ["", "a", "ftp://a", "https://", "https://u@a"] {
            assert!(odd.parse::<Origin>().is_err(), "{odd}");
        }
    }
}
