//! What a resolver asks of the outside.

use std::future::Future;

use crate::facts::{Meta, Owner, Pod, Review, SandboxClaim};
use crate::trouble::Trouble;

/// Has tokens reviewed.
pub trait TokenReviewer: Send + Sync + 'static {
    /// The verdict on `token`, asked for exactly one `audience`.
    ///
    /// # Errors
    ///
    /// [`Trouble`] if there is no verdict; a refusal is a verdict.
    fn review(
        &self,
        token: &str,
        audience: &str,
    ) -> impl Future<Output = Result<Review, Trouble>> + Send;
}

/// Reads pods and what stands around them, live and never from a cache. An object that does not
/// exist is `None`.
pub trait Pods: Send + Sync + 'static {
    /// One pod.
    ///
    /// # Errors
    ///
    /// [`Trouble`] if it cannot be said whether the pod exists.
    fn pod(
        &self,
        namespace: &str,
        name: &str,
    ) -> impl Future<Output = Result<Option<Pod>, Trouble>> + Send;

    /// One service account.
    ///
    /// # Errors
    ///
    /// [`Trouble`] if it cannot be said whether the account exists.
    fn service_account(
        &self,
        namespace: &str,
        name: &str,
    ) -> impl Future<Output = Result<Option<Meta>, Trouble>> + Send;

    /// One namespace.
    ///
    /// # Errors
    ///
    /// [`Trouble`] if it cannot be said whether the namespace exists.
    fn namespace(&self, name: &str) -> impl Future<Output = Result<Option<Meta>, Trouble>> + Send;

    /// The `Sandbox` that `owner` refers to, in the version it refers to.
    ///
    /// # Errors
    ///
    /// [`Trouble`] if it cannot be said whether the sandbox exists.
    fn sandbox(
        &self,
        namespace: &str,
        owner: &Owner,
    ) -> impl Future<Output = Result<Option<Meta>, Trouble>> + Send;

    /// The `SandboxClaim` that `owner` refers to, in the version it refers to.
    ///
    /// # Errors
    ///
    /// [`Trouble`] if it cannot be said whether the claim exists.
    fn sandbox_claim(
        &self,
        namespace: &str,
        owner: &Owner,
    ) -> impl Future<Output = Result<Option<SandboxClaim>, Trouble>> + Send;
}
