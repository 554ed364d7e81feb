//! `POST /embeddings`.

use std::time::Duration;

use recall_memory::{Embedder, ModelError, ModelFuture};
use serde::Deserialize;
use serde_json::json;

use crate::endpoint::Endpoint;

/// How long an answer may take; callers that are in a hurry wait less.
const PATIENCE: Duration = Duration::from_secs(60);

/// An embedding model at an endpoint.
#[derive(Clone, Debug)]
pub struct Embeddings {
    endpoint: Endpoint,
    model: String,
}

#[derive(Debug, Deserialize)]
struct Answer {
    data: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Embeddings {
    /// The model of this name.
    #[must_use]
    pub fn new(endpoint: Endpoint, model: String) -> Self {
        Self { endpoint, model }
    }

    async fn ask(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, ModelError> {
        let count = texts.len();
        let body = json!({ "model": self.model, "input": texts, "encoding_format": "float" });
        let answer = self.endpoint.post("embeddings", &body, PATIENCE).await?;
        let answer: Answer = serde_json::from_value(answer)
            .map_err(|error| ModelError(format!("no embeddings: {error}")))?;
        in_order(answer.data, count)
    }
}

/// The vectors in the order of the texts, which is not always that of the answer.
fn in_order(rows: Vec<Row>, count: usize) -> Result<Vec<Vec<f32>>, ModelError> {
    let given = rows.len();
    let mut vectors = vec![Vec::new(); count];
    for (at, row) in rows.into_iter().enumerate() {
        if let Some(vector) = vectors.get_mut(row.index.unwrap_or(at)) {
            *vector = row.embedding;
        }
    }
    match given == count && vectors.iter().all(|vector| !vector.is_empty()) {
        true => Ok(vectors),
        false => Err(ModelError(format!("{given} embeddings for {count} texts"))),
    }
}

impl Embedder for Embeddings {
    fn model(&self) -> &str {
        &self.model
    }

    fn embed(&self, texts: Vec<String>) -> ModelFuture<'_, Vec<Vec<f32>>> {
        Box::pin(self.ask(texts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rows: &[(Option<usize>, f32)], count: usize, expected: Option<&[f32]>) {
        let rows = rows.iter().map(|(index, number)| Row {
            index: *index,
            embedding: vec![*number],
        });
        let vectors = in_order(rows.collect(), count).ok();
        let expected = expected.map(|numbers| numbers.iter().map(|number| vec![*number]).collect());
        assert_eq!(vectors, expected);
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts_or_not_at_all() {
        check(&[(Some(1), 1.0), (Some(0), 0.5)], 2, Some(&[0.5, 1.0]));
        check(&[(None, 1.0), (None, 0.5)], 2, Some(&[1.0, 0.5]));
        check(&[(Some(0), 1.0)], 2, None);
        check(&[(Some(0), 1.0), (Some(0), 0.5)], 2, None);
        check(&[(Some(0), 1.0), (Some(9), 0.5)], 2, None);
    }
}
