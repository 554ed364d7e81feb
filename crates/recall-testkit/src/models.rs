//! A stand-in for an OpenAI-compatible endpoint.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// How the stand-in answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// As it should.
    Answers,
    /// 500.
    Fails,
    /// Never.
    Hangs,
    /// 200 with something else than was asked for.
    Babbles,
}

/// What the stand-in was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The path.
    pub path: String,
    /// The `Authorization` header.
    pub authorization: Option<String>,
    /// The body.
    pub body: Value,
}

/// Models on loopback: vectors by a few meanings, and answers that a test prepares. It ends when it is
/// dropped.
pub struct FakeModels {
    url: String,
    shared: Arc<Shared>,
    task: AbortHandle,
}

struct Shared {
    meanings: Vec<Vec<String>>,
    mood: Mutex<Mood>,
    answers: Mutex<VecDeque<Value>>,
    asked: Mutex<Vec<Asked>>,
}

impl FakeModels {
    /// Listens on a free port of loopback. Words of one list mean the same.
    ///
    /// # Errors
    ///
    /// If there is no free port.
    pub async fn start(meanings: &[&[&str]]) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}/v1", listener.local_addr()?);
        let words = |list: &&[&str]| list.iter().map(|&word| word.to_owned()).collect();
        let shared = Arc::new(Shared {
            meanings: meanings.iter().map(words).collect(),
            mood: Mutex::new(Mood::Answers),
            answers: Mutex::default(),
            asked: Mutex::default(),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared))).abort_handle();
        Ok(Self { url, shared, task })
    }

    /// The address to configure, which ends with `/v1`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// From now on answers so.
    pub fn be(&self, mood: Mood) {
        *self.shared.mood.lock() = mood;
    }

    /// Answers the next question of a chat with this content; several are taken in turn.
    pub fn answer(&self, content: Value) {
        self.shared.answers.lock().push_back(content);
    }

    /// Everything it was asked so far.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().clone()
    }
}

impl fmt::Debug for FakeModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeModels")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Drop for FakeModels {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let service = service_fn(|request| respond(request, Arc::clone(&shared)));
            // A client that hangs up is its own affair.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body
        .collect()
        .await
        .map(|body| body.to_bytes())
        .unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = head.uri.path().to_owned();
    let authorization = head.headers.get(AUTHORIZATION);
    let authorization = authorization
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    shared.asked.lock().push(Asked {
        path: path.clone(),
        authorization,
        body: body.clone(),
    });
    let mood = *shared.mood.lock();
    let (status, answer) = match (mood, path.as_str()) {
        (Mood::Hangs, _) => std::future::pending().await,
        (Mood::Fails, _) => (500, json!({ "error": { "message": "out of order" } })),
        (Mood::Babbles, _) => (
            200,
            json!({ "choices": [{ "message": { "content": "Sure!" } }] }),
        ),
        (Mood::Answers, "/v1/embeddings") => (200, shared.embeddings(&body)),
        (Mood::Answers, "/v1/chat/completions") => (200, shared.chat()),
        (Mood::Answers, _) => (404, json!({ "error": { "message": "no such path" } })),
    };
    let mut response = Response::new(Full::new(Bytes::from(answer.to_string())));
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    Ok(response)
}

impl Shared {
    /// One number a meaning; in another order than asked, as is allowed.
    fn embeddings(&self, body: &Value) -> Value {
        let texts = body["input"].as_array().cloned().unwrap_or_default();
        let row = |(index, text): (usize, &Value)| {
            let text = text.as_str().unwrap_or_default().to_lowercase();
            let words: Vec<&str> = text
                .split(|letter: char| !letter.is_alphanumeric())
                .collect();
            let number = |meaning: &Vec<String>| {
                let said = words
                    .iter()
                    .filter(|word| meaning.iter().any(|own| own == *word));
                0.01 + said.count() as f64
            };
            let vector: Vec<f64> = self.meanings.iter().map(number).collect();
            json!({ "index": index, "embedding": vector })
        };
        let rows: Vec<Value> = texts.iter().enumerate().rev().map(row).collect();
        json!({ "data": rows })
    }

    fn chat(&self) -> Value {
        let content = self.answers.lock().pop_front().unwrap_or_else(|| json!({}));
        let content = match content {
            Value::String(text) => text,
            other => other.to_string(),
        };
        json!({ "choices": [{ "finish_reason": "stop", "message": { "content": content } }] })
    }
}
