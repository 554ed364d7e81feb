//! Requests as a person can read and write them:
//!
//! ```text
//! POST /v1/remember
//! idempotency-key: a
//!
//! {"text":"Ann likes tea."}
//! --
//! GET /v1/agents
//! ```

use bytes::Bytes;

const NEXT: &[u8] = b"\n--\n";
const BODY: &[u8] = b"\n\n";
/// More of them find nothing that these do not, and take their time.
const MOST: usize = 12;

/// What one call sends.
#[derive(Debug)]
pub struct Request {
    head: Vec<u8>,
    body: Bytes,
}

/// The requests that `input` holds, in order.
#[must_use]
pub fn requests(input: &[u8]) -> Vec<Request> {
    let mut rest = Some(input);
    let pieces = std::iter::from_fn(|| {
        let (piece, after) = cut(rest?, NEXT);
        rest = after;
        Some(piece)
    });
    let requests = pieces.map(|piece| {
        let (head, body) = cut(piece, BODY);
        Request {
            head: head.to_vec(),
            body: Bytes::copy_from_slice(body.unwrap_or_default()),
        }
    });
    requests.take(MOST).collect()
}

impl Request {
    /// As HTTP, with the key where the head brings no authorization of its own. `None` for what no
    /// HTTP library would let through.
    #[must_use]
    pub fn into_http(self, key: &str) -> Option<http::Request<axum::body::Body>> {
        let head = String::from_utf8(self.head).ok()?;
        let mut lines = head.lines();
        let (method, path) = lines.next()?.split_once(' ')?;
        let mut request = http::Request::builder().method(method).uri(path);
        for line in lines {
            let (name, value) = line.split_once(':')?;
            request = request.header(name.trim(), value.trim());
        }
        let headers = request.headers_mut()?;
        let mut unless_sent = |name: &'static str, value: String| {
            if !headers.contains_key(name) {
                headers.insert(name, value.parse().expect("a value of a header"));
            }
        };
        unless_sent("host", "recall".to_owned());
        unless_sent("content-type", "application/json".to_owned());
        unless_sent("authorization", format!("Bearer {key}"));
        request.body(self.body.into()).ok()
    }
}

/// What stands before `mark`, and what after it, if it is there.
fn cut<'a>(text: &'a [u8], mark: &[u8]) -> (&'a [u8], Option<&'a [u8]>) {
    match text.windows(mark.len()).position(|window| window == mark) {
        None => (text, None),
        Some(at) => (&text[..at], Some(&text[at + mark.len()..])),
    }
}
