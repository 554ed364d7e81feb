//! The one question this crate answers.

use std::future::Future;
use std::pin::Pin;

use crate::caller::Caller;
use crate::error::Error;

/// The future of [`Authenticate::authenticate`].
pub type Authenticating<'a> = Pin<Box<dyn Future<Output = Result<Caller, Error>> + Send + 'a>>;

/// Finds out who holds a token.
pub trait Authenticate: Send + Sync + 'static {
    /// The caller that `token` proves.
    ///
    /// # Errors
    ///
    /// [`Error`]; only [`Error::Upstream`] and [`Error::Overloaded`] say nothing about the token.
    fn authenticate<'a>(&'a self, token: &'a str) -> Authenticating<'a>;
}
