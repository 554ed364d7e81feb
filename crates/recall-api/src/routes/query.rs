//! The query string of a listing.

use std::collections::HashSet;
use std::str::FromStr;

use http::Uri;

use recall_memory::Listing;

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

    /// `cursor`: the last row of the page before, if it is one of this very listing.
    pub(super) fn cursor<T: FromStr>(&mut self, listing: Listing) -> Result<Option<T>, ApiError> {
        let Some(text) = self.take("cursor") else {
            return Ok(None);
        };
        let parts = text.split_once('.');
        let read = parts.and_then(|(of, last)| Some((of, last.parse().ok()?)));
        match read {
            None => Err(ApiError::invalid(
                "cursor: must be the next_cursor of a listing",
            )),
            Some((of, _)) if of != listing.to_string() => Err(ApiError::invalid(
                "cursor: is of another listing: it goes with the request that gave it, all else alike",
            )),
            Some((_, last)) => Ok(Some(last)),
        }
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

/// Refuses every parameter: what a route of ours that takes none does. The published server's routes ignore
/// what they do not take, and so do they here.
pub(super) fn none(uri: &Uri) -> Result<(), ApiError> {
    match Query::parse(uri)?.0.first() {
        None => Ok(()),
        Some((name, _)) => {
            let name = shown(name);
            Err(ApiError::invalid(format!(
                "{name}: unknown parameter; this route takes none"
            )))
        }
    }
}

/// Where a listing goes on behind its row `last`.
pub(super) fn next(listing: Listing, last: &str) -> String {
    format!("{listing}.{last}")
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
    fn a_cursor_goes_with_its_own_listing() {
        let listing = |space| Listing::of("agents", &[Some(space), None]);
        let read = |cursor: &str| {
            let uri = format!("/v1/agents?cursor={cursor}")
                .parse()
                .expect("a path");
            let mut query = Query::parse(&uri).expect("a query");
            let last: Result<Option<String>, ApiError> = query.cursor(listing("a"));
            last.map_err(|error| error.message)
        };
        let cursor = next(listing("a"), "coder.1");
        assert_eq!(read(&cursor), Ok(Some("coder.1".to_owned())));
        let other = read(&next(listing("b"), "coder.1")).expect_err("of another");
        assert!(other.contains("of another listing"), "{other}");
        let none = read("coder").expect_err("it is none");
        assert!(none.contains("must be the next_cursor"), "{none}");
    }

    #[test]
    fn a_route_of_ours_that_takes_no_parameters_says_so() {
        let check = |query: &str| {
            let uri = format!("/v1/remember:batch{query}")
                .parse()
                .expect("a path");
            none(&uri).map_err(|error| error.message)
        };
        assert_eq!((check(""), check("?")), (Ok(()), Ok(())));
        let refused = check("?limit=1").expect_err("it takes none");
        assert!(refused.contains("limit: unknown parameter"), "{refused}");
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
