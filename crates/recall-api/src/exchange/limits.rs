//! How often tokens may be exchanged.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use recall_identity::Caller;

use crate::error::ApiError;
use crate::limit::{Limiter, Rate};

/// Sources, pods and tenants remembered, each; some 100 bytes a piece.
const REMEMBERED: usize = 65_536;

/// The address that a request came from: of the connection itself. What headers say about it, the
/// sender may have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.to_canonical().fmt(f)
    }
}

impl Peer {
    /// What counts as one source: an IPv4 address, or the /64 that one host has of IPv6.
    fn source(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let network = address.to_bits() & !u128::from(u64::MAX);
                IpAddr::V6(Ipv6Addr::from_bits(network))
            }
        }
    }
}

/// How often tokens may be exchanged and pod keys renewed; `None` is as often as one likes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExchangeLimits {
    /// From one address, before the token is looked at.
    pub per_source: Option<Rate>,
    /// By one pod, once it is known.
    pub per_pod: Option<Rate>,
    /// By one tenant, once it is known.
    pub per_tenant: Option<Rate>,
}

/// The limits with what they have seen.
#[derive(Debug)]
pub(crate) struct Limits {
    source: Limiter<IpAddr>,
    pod: Limiter<String>,
    tenant: Limiter<String>,
}

impl Limits {
    pub(crate) fn new(limits: ExchangeLimits) -> Self {
        Self {
            source: Limiter::new(limits.per_source, REMEMBERED),
            pod: Limiter::new(limits.per_pod, REMEMBERED),
            tenant: Limiter::new(limits.per_tenant, REMEMBERED),
        }
    }

    /// Without an address everybody is one source.
    pub(crate) fn source(&self, peer: Option<Peer>) -> Result<(), ApiError> {
        let source = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), Peer::source);
        self.source
            .take(&source)
            .map_err(|wait| too_often("address", wait))
    }

    pub(crate) fn caller(&self, caller: &Caller) -> Result<(), ApiError> {
        self.pod
            .take(&caller.pod.uid)
            .map_err(|wait| too_often("pod", wait))?;
        self.tenant
            .take(&caller.tenant)
            .map_err(|wait| too_often("tenant", wait))
    }
}

fn too_often(what: &str, wait: Duration) -> ApiError {
    ApiError::rate_limited(format!("too many exchanges from this {what}"), wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: &str) {
        let peer = Peer(address.parse().expect("an address"));
        assert_eq!(peer.source().to_string(), expected);
    }

    #[test]
    fn one_host_is_one_source_whatever_its_address_looks_like() {
        check("10.0.0.7", "10.0.0.7");
        check("::ffff:10.0.0.7", "10.0.0.7");
        check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
        check("2001:db8:1:2:ffff::1", "2001:db8:1:2::");
    }
}
