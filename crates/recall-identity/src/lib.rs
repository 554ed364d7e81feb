//! Turns a bearer token into a verified [`Caller`]: which pod holds it, and which agent of which
//! tenant that pod is.
//!
//! The proof is a projected service-account token of Kubernetes, issued for one audience and bound
//! to one pod. A [`Resolver`] has it reviewed by the API server, reads the pod back live, compares
//! the two, and derives tenant and agent by the [`Rules`]. It asks through two ports,
//! [`TokenReviewer`] and [`Pods`]; everything it decides, it decides with pure functions over the
//! facts they return. Whatever is missing, odd or contradictory ends in an [`Error`], never in a
//! caller.
//!
//! ```
//! use recall_identity::{AgentRule, Limits, Rules, TenantRule};
//!
//! let rules = Rules {
//!     audience: "recall".to_owned(),
//!     tenant: TenantRule::Namespace,
//!     agent: AgentRule::Label { key: "sandbox.users.io/agent".to_owned(), optional: false },
//!     cluster: None,
//! };
//! assert_eq!(rules.check(), Ok(()));
//! assert_eq!(Limits::default().concurrent_reviews, 16);
//! ```
//!
//! # Features
//!
//! * `kube` adds the adapters for a real API server, and a watch that says which pods are gone.
//!   They stand on the `kube` crate, so the program that turns this feature on also chooses a
//!   Kubernetes version by a feature of `k8s-openapi`.
//!
//! Two more have their place here and are not there yet: `tower`, an authentication layer, and
//! `jwks`, an offline check before the review.
//!
//! By default the crate pulls in neither an HTTP stack nor a TLS stack, and it never depends on
//! another crate of this workspace.

mod authenticate;
mod caller;
mod decide;
mod error;
mod facts;
mod flights;
mod gate;
#[cfg(feature = "kube")]
pub mod kube;
mod limits;
mod names;
mod observe;
mod ports;
mod resolver;
mod reuse;
mod rules;
mod token;
#[cfg(feature = "tower")]
pub mod tower;
mod trouble;

pub use authenticate::{Authenticate, Authenticating};
pub use caller::{Caller, PodRef};
pub use error::Error;
pub use facts::{Meta, Owner, Phase, Pod, Review, SandboxClaim, User};
pub use limits::Limits;
pub use observe::Observer;
pub use ports::{Pods, TokenReviewer};
pub use resolver::Resolver;
pub use rules::{AgentRule, InvalidRule, Rules, TenantRule};
pub use token::{MAX_TOKEN_BYTES, TokenHash};
pub use trouble::{Call, Trouble, TroubleKind};
