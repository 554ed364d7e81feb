//! Models behind an OpenAI-compatible endpoint, which many programs offer, also on one's own machine.
//!
//! Nothing is sent anywhere unless an endpoint is named. What is sent is the text to embed or to draw
//! statements from, and the key of the endpoint; nothing else of the server's.

mod chat;
mod embeddings;
mod endpoint;

pub use chat::Chat;
pub use embeddings::Embeddings;
pub use endpoint::{Endpoint, EndpointError};
