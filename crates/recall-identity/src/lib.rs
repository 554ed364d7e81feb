//! Turns a bearer token into a verified [`Caller`]: which pod holds it, and which agent of which
//! tenant that pod is.

mod authenticate;
mod caller;
mod error;

pub use authenticate::{Authenticate, Authenticating};
pub use caller::{Caller, PodRef};
pub use error::Error;
