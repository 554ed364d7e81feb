//! `POST /chat/completions`, with a schema that the answer must follow.

use std::time::Duration;

use recall_memory::{Ask, Extractor, ModelError, ModelFuture};
use serde_json::{Value, json};

use crate::endpoint::Endpoint;

/// A language model at an endpoint.
#[derive(Clone, Debug)]
pub struct Chat {
    endpoint: Endpoint,
    model: String,
    patience: Duration,
}

impl Chat {
    /// The model of this name. An answer that takes longer than `patience` is none: whoever sent the
    /// text waits for it.
    #[must_use]
    pub fn new(endpoint: Endpoint, model: String, patience: Duration) -> Self {
        Self {
            endpoint,
            model,
            patience,
        }
    }

    async fn ask(&self, ask: Ask) -> Result<String, ModelError> {
        let body = json!({
            "model": self.model,
            "messages": [
                { "role": "system", "content": ask.system },
                { "role": "user", "content": ask.user },
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": { "name": ask.name, "strict": true, "schema": ask.schema },
            },
        });
        let answer = self
            .endpoint
            .post("chat/completions", &body, self.patience)
            .await?;
        content(&answer)
    }
}

fn content(answer: &Value) -> Result<String, ModelError> {
    let choice = &answer["choices"][0];
    if choice["finish_reason"] == "length" {
        return Err(ModelError("the answer was cut off".to_owned()));
    }
    match choice["message"]["content"].as_str() {
        Some(text) if !text.trim().is_empty() => Ok(text.to_owned()),
        Some(_) | None => Err(ModelError("an answer without content".to_owned())),
    }
}

impl Extractor for Chat {
    fn answer(&self, ask: Ask) -> ModelFuture<'_, String> {
        Box::pin(self.ask(ask))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_content_or_an_error() {
        let whole = json!({"choices": [{"finish_reason": "stop", "message": {"content": "{}"}}]});
        assert_eq!(content(&whole).unwrap(), "{}");
        for broken in [
            json!({}),
            json!({"choices": []}),
            json!({"choices": [{"message": {"content": null, "refusal": "no"}}]}),
            json!({"choices": [{"message": {"content": " "}}]}),
            json!({"choices": [{"finish_reason": "length", "message": {"content": "{\"st"}}]}),
        ] {
            assert!(content(&broken).is_err(), "{broken}");
        }
    }
}
