//! The query string of a listing.

use std::collections::HashSet;

use http::Uri;

use crate::error::ApiError;

/// The parameters of a query string, taken one by one so that none goes unnoticed.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(uri: &Uri) -> Result<Self, ApiError> {
        let read = axum::extract::Query::try_from_uri(uri);
        let axum::extract::Query(pairs): axum::extract::Query<Vec<(String, String)>> =
            read.map_err(|_| ApiError::invalid("the query string cannot be read"))?;
        let mut names = HashSet::new();
        match pairs.iter().find(|(name, _)| !names.insert(name.as_str())) {
            Some((name, _)) => Err(ApiError::invalid(format!(
                "{}: given more than once",
                shown(name)
            ))),
            None => Ok(Self(pairs)),
        }
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
                let name = shown(name);
                Err(ApiError::invalid(format!(
                    "{name}: unknown parameter; known are {known}"
                )))
            }
        }
    }
}

/// As much of a name as an answer repeats.
fn shown(name: &str) -> String {
    name.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: Result<u32, &str>) {
        let uri = format!("/v1/keys?{query}").parse().expect("a path");
        let found = Query::parse(&uri).and_then(|mut query| {
            let limit = query.limit(100)?;
            query.nothing_left("limit")?;
            Ok(limit)
        });
        let found = found.map_err(|error| error.message);
        assert_eq!(found, expected.map_err(str::to_owned), "{query}");
    }

    #[test]
    fn each_parameter_is_known_and_given_once() {
        check("", Ok(100));
        check("limit=7", Ok(7));
        check("limit=7&limit=7", Err("limit: given more than once"));
        check("limit=7&%6cimit=8", Err("limit: given more than once"));
        check("limt=7", Err("limt: unknown parameter; known are limit"));
        check("limit=101", Err("limit: must be from 1 to 100"));
        check("limit=", Err("limit: must be from 1 to 100"));
    }
}
