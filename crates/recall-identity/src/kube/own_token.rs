//! The token that this server shows to the API server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

use crate::trouble::{Trouble, TroubleKind};

/// Where our own token is found. It is read for each request, by path, because the kubelet swaps
/// the file through a link; the file lies in memory and is small, so reading it blocks nobody.
#[derive(Debug, Clone)]
pub(super) struct OwnToken(Option<Arc<Path>>);

impl OwnToken {
    /// The connection proves who we are, or nobody asks.
    pub(super) fn none() -> Self {
        Self(None)
    }

    pub(super) fn in_file(file: PathBuf) -> Self {
        Self(Some(Arc::from(file)))
    }

    /// Whether reading again may give another token.
    pub(super) fn can_change(&self) -> bool {
        self.0.is_some()
    }

    /// The header to send.
    pub(super) fn header(&self) -> Result<Option<HeaderValue>, Trouble> {
        let Some(file) = &self.0 else { return Ok(None) };
        let trouble = |what: &str| {
            let detail = format!("our own token in {}: {what}", file.display());
            Trouble::new(TroubleKind::OwnToken, detail)
        };
        let token = std::fs::read_to_string(file);
        let token = SecretString::from(token.map_err(|error| trouble(&error.to_string()))?);
        let bearer = SecretString::from(format!("Bearer {}", token.expose_secret().trim()));
        let mut header =
            HeaderValue::from_str(bearer.expose_secret()).map_err(|_| trouble("is not a token"))?;
        header.set_sensitive(true);
        Ok(Some(header))
    }
}
