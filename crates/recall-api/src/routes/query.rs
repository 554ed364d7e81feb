//! The query string of a listing.

use http::Uri;

use crate::error::ApiError;

/// The parameters of a query string, taken one by one so that none goes unnoticed.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(uri: &Uri) -> Result<Self, ApiError> {
        axum::extract::Query::try_from_uri(uri)
            .map(|axum::extract::Query(pairs)| Self(pairs))
            .map_err(|_| ApiError::invalid("the query string cannot be read"))
    }

    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// `limit`, from 1 to `most`; `most` if left out.
    pub(super) fn limit(&mut self, most: u32) -> Result<u32, ApiError> {
        let Some(text) = self.take("limit") else {
            return Ok(most);
        };
        let limit = text.parse().ok().filter(|limit| (1..=most).contains(limit));
        limit.ok_or_else(|| ApiError::invalid(format!("limit: must be from 1 to {most}")))
    }

    pub(super) fn nothing_left(&self, known: &str) -> Result<(), ApiError> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => {
                let name: String = name.chars().take(64).collect();
                Err(ApiError::invalid(format!(
                    "{name}: unknown parameter; known are {known}"
                )))
            }
        }
    }
}
