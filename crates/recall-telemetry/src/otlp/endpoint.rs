//! Where a collector listens.

use std::fmt;
use std::str::FromStr;

/// The address of a collector: `http://host:port`, with `/v1/traces` added unless a path is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Host and port.
    pub(crate) authority: String,
    pub(crate) path: String,
}

/// The text is no address of a collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidEndpoint;

impl fmt::Display for InvalidEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "must be http://host:port of a collector's OTLP over HTTP, usually port 4318; TLS is a \
             local collector's or the mesh's to add",
        )
    }
}

impl std::error::Error for InvalidEndpoint {}

impl FromStr for Endpoint {
    type Err = InvalidEndpoint;

    fn from_str(text: &str) -> Result<Self, InvalidEndpoint> {
        let plain = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_graphic() && !b"@?#\"<>".contains(&byte))
        };
        let rest = text.strip_prefix("http://").filter(|rest| plain(rest));
        let rest = rest.ok_or(InvalidEndpoint)?;
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (host, port) = authority.rsplit_once(':').ok_or(InvalidEndpoint)?;
        if host.is_empty() || port.parse::<u16>().is_err() {
            return Err(InvalidEndpoint);
        }
        let path = match path {
            "" | "/" => "/v1/traces",
            path => path,
        };
        Ok(Self {
            authority: authority.to_owned(),
            path: path.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &str)>) {
        let found = text.parse::<Endpoint>().ok();
        let found = found
            .as_ref()
            .map(|it| (it.authority.as_str(), it.path.as_str()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_collector_has_a_host_and_a_port() {
        check(
            "http://localhost:4318",
            Some(("localhost:4318", "/v1/traces")),
        );
        check("http://[::1]:4318/", Some(("[::1]:4318", "/v1/traces")));
        check("http://otel:80/in/traces", Some(("otel:80", "/in/traces")));
        for odd in [
            "",
            "localhost:4318",
            "https://otel:4318",
            "http://otel",
            "http://:1",
            "http://u@h:1",
            "http://h:1\r\n",
        ] {
            check(odd, None);
        }
    }
}
