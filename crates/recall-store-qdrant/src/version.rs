//! Which server answers, as far as it matters what it can do.

use std::fmt;

/// The first version that writes on conditions in every way that is needed here. An older one
/// ignores in silence what it does not know, so it must not even be asked.
pub(crate) const CONDITIONAL: Version = Version {
    major: 1,
    minor: 17,
};

/// A version, as far as it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) major: u32,
    pub(crate) minor: u32,
}

impl Version {
    /// `None` for what is no version.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('v');
        let mut parts = text.split(['.', '-', '+']);
        Some(Self {
            major: parts.next()?.parse().ok()?,
            minor: parts.next()?.parse().ok()?,
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, conditional: Option<bool>) {
        let found = Version::parse(text).map(|version| version >= CONDITIONAL);
        assert_eq!(found, conditional, "{text}");
    }

    #[test]
    fn versions_are_compared_by_number() {
        check("1.17.0", Some(true));
        check("1.18.3", Some(true));
        check("v1.100.0", Some(true));
        check("2.0.0-dev", Some(true));
        check("1.16.3", Some(false));
        check("1.9.7", Some(false));
        check("0.11.0", Some(false));
        check("", None);
        check("dev", None);
    }
}
