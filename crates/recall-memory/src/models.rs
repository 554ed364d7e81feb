//! The ports behind which models may stand. Nothing here needs one.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// What a model will answer.
pub type ModelFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ModelError>> + Send + 'a>>;

/// A model did not answer, or not in a form that can be used. The text is for the log.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ModelError(pub String);

/// Turns texts into vectors whose closeness is that of their meanings.
pub trait Embedder: Send + Sync + fmt::Debug + 'static {
    /// The model by name: vectors of two models do not compare.
    fn model(&self) -> &str;

    /// One vector a text, in their order, all of one length.
    fn embed(&self, texts: Vec<String>) -> ModelFuture<'_, Vec<Vec<f32>>>;
}

/// A question to a language model whose answer must follow a schema.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What the model is to do.
    pub system: String,
    /// What it is to do that with.
    pub user: String,
    /// The name of the schema.
    pub name: &'static str,
    /// The JSON schema of the answer.
    pub schema: serde_json::Value,
}

/// Answers questions in JSON.
pub trait Extractor: Send + Sync + fmt::Debug + 'static {
    /// The text of the answer, JSON if the model did as it was told.
    fn answer(&self, ask: Ask) -> ModelFuture<'_, String>;
}

/// The models that a memory may use. By default none.
#[derive(Clone, Debug, Default)]
pub struct Models {
    /// For search by vectors, beside words.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Whether vectors of another model are made anew.
    pub embed_again: bool,
    /// For statements drawn from texts.
    pub extractor: Option<Arc<dyn Extractor>>,
}
