//! The token exchange from its settings.

use recall_api::{Check, Exchange};

use crate::config::Kubernetes;
use crate::exit::Failure;

pub(crate) async fn exchange(_: &Kubernetes, _: &mut Vec<Check>) -> Result<Exchange, Failure> {
    std::future::ready(()).await;
    Err(Failure::Unavailable("placeholder until merge".to_owned()))
}
