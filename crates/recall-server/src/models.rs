//! The models that the configuration names.

use std::path::Path;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::registry::Registry;
use recall_memory::{Embedder, Extractor, Memory, Models};
use recall_models::{Chat, Embeddings, Endpoint};
use secrecy::SecretString;

use crate::config::{Config, ConfigError, Model};
use crate::exit::Failure;
use crate::told;

/// Sets the models up. Nothing is asked of them yet: a server starts without them.
///
/// # Errors
///
/// [`Failure`] for an endpoint or a key file that cannot be used.
pub(crate) fn connect(config: &Config) -> Result<Models, Failure> {
    let embed = config.embed.as_ref().map(|model| {
        let endpoint = endpoint(model, ["embed-url", "embed-key-file"])?;
        tracing::info!(
            url = model.url,
            model = model.name,
            "texts and questions are embedded"
        );
        let embedder = Embeddings::new(endpoint, model.name.clone());
        Ok::<Arc<dyn Embedder>, Failure>(Arc::new(embedder))
    });
    let extract = config.extract.as_ref().map(|model| {
        let endpoint = endpoint(model, ["extract-url", "extract-key-file"])?;
        tracing::info!(
            url = model.url,
            model = model.name,
            "statements are drawn from texts"
        );
        let extractor = Chat::new(endpoint, model.name.clone(), config.extract_timeout);
        Ok::<Arc<dyn Extractor>, Failure>(Arc::new(extractor))
    });
    Ok(Models {
        embedder: embed.transpose()?,
        embed_again: config.embed_again,
        extractor: extract.transpose()?,
    })
}

fn endpoint(model: &Model, flags: [&'static str; 2]) -> Result<Endpoint, Failure> {
    let [url_flag, key_flag] = flags;
    let refusal = |flag, path: &Path, reason: String| -> Failure {
        let path = path.display().to_string();
        ConfigError::Content { flag, path, reason }.into()
    };
    let key = match &model.key_file {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| refusal(key_flag, path, error.to_string()))?;
            match text.trim() {
                "" => return Err(refusal(key_flag, path, "holds no key".to_owned())),
                key => Some(SecretString::from(key)),
            }
        }
    };
    Endpoint::new(&model.url, key.as_ref())
        .map_err(|error| refusal(url_flag, Path::new(&model.url), error.to_string()))
}

/// Counts what models did.
pub(crate) fn register(memory: &Memory, registry: &mut Registry) {
    registry.register_collector(Box::new(Counts(memory.clone())));
}

#[derive(Debug)]
struct Counts(Memory);

impl Collector for Counts {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let stats = self.0.stats();
        for (name, help, count) in [
            (
                "recall_statements_embedded",
                "Statements that got a vector",
                stats.embedded,
            ),
            (
                "recall_embedding_failures",
                "Times that the embedding model did not answer",
                stats.embedding_failures,
            ),
            (
                "recall_extraction_failures",
                "Times that the extraction model did not answer as it should",
                stats.extraction_failures,
            ),
        ] {
            told::counter(&mut encoder, (name, help), count)?;
        }
        let (name, help) = (
            "recall_statements_unembedded",
            "Statements in memory that have no vector yet",
        );
        told::gauge(&mut encoder, (name, help, None), self.0.unembedded())
    }
}
