//! Bad input over HTTP: a clear 4xx in bounded memory, nothing stored, never a 5xx.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;

const MAX_BODY: usize = 4 * 1024 * 1024;

/// Sends raw bytes and returns the status line's code and the whole answer.
fn raw(url: &str, request: &[u8]) -> (u16, String) {
    let host = url.strip_prefix("http://").expect("plain HTTP");
    let mut stream = TcpStream::connect(host).expect("it listens");
    // The server may answer and hang up before it has taken everything.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or(0);
    (status, answer)
}

fn head(path: &str, key: &str, more: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n{more}\r\n"
    )
}

async fn nothing_is_stored(running: &Running, key: &str) {
    let all = running
        .post("/v1/diff", key, &json!({ "from": "2000-01-01T00:00:00Z" }))
        .await;
    assert_eq!(all.json(), json!({ "changes": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_4_mib_is_refused_announced_or_not() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    let announced = head(
        "/v1/remember",
        &key,
        &format!("Content-Length: {}\r\n", MAX_BODY + 1),
    );
    let (status, answer) = raw(&running.server.url, announced.as_bytes());
    assert_eq!(status, 413, "{answer}");
    assert!(
        answer.contains("invalid_argument") && answer.contains("4194304"),
        "{answer}"
    );

    let mut chunked = head("/v1/remember", &key, "Transfer-Encoding: chunked\r\n").into_bytes();
    let chunk = vec![b' '; 64 * 1024];
    for _ in 0..=MAX_BODY / chunk.len() {
        chunked.extend(format!("{:x}\r\n", chunk.len()).bytes());
        chunked.extend(&chunk);
        chunked.extend(b"\r\n");
    }
    chunked.extend(b"0\r\n\r\n");
    let (status, answer) = raw(&running.server.url, &chunked);
    assert_eq!(status, 413, "{answer}");
    nothing_is_stored(&running, &key).await;
}

/// Most clients look for the answer only after they have sent everything.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_a_byte_too_much_gets_its_answer() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    let length = format!("Content-Length: {}\r\n", MAX_BODY + 1);
    let mut announced = head("/v1/remember", &key, &length).into_bytes();
    announced.resize(announced.len() + MAX_BODY + 1, b' ');
    let host = running.server.url.strip_prefix("http://").expect("HTTP");
    for time in 0..20 {
        let mut stream = TcpStream::connect(host).expect("it listens");
        stream.write_all(&announced).expect("everything is taken");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 413 "), "{time}: {answer}");
    }
    nothing_is_stored(&running, &key).await;
}

/// A client that asks first is answered before it sends anything.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_long_is_not_asked_for() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    let more = format!(
        "Expect: 100-continue\r\nContent-Length: {}\r\n",
        MAX_BODY + 1
    );
    let (_, answer) = raw(
        &running.server.url,
        head("/v1/remember", &key, &more).as_bytes(),
    );
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_million_open_brackets_cost_nothing() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    for deep in ["[".repeat(1_000_000), "{\"a\":".repeat(500_000)] {
        for path in ["/v1/remember", "/mcp"] {
            let url = format!("{}{path}", running.server.url);
            let bearer = format!("Bearer {key}");
            let answer = running
                .http
                .send("POST", &url, &[("authorization", &bearer)], deep.clone())
                .await;
            assert_eq!(answer.expect("an answer").status, 400, "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_bodies_are_named_without_words_of_our_language() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    let url = format!("{}/v1/remember", running.server.url);
    let bearer = format!("Bearer {key}");
    let good = r#""subject":"u","predicate":"prefers_editor""#;
    for body in [
        "{".to_owned(),
        "[]".to_owned(),
        "5".to_owned(),
        "\"x\"".to_owned(),
        "{} {}".to_owned(),
        "{}x".to_owned(),
        format!("{{{good},\"value\":1e999}}"),
        format!("{{{good},\"value\":NaN}}"),
        format!("{{{good},\"value\":\"\\ud800\"}}"),
        format!("{{{good},\"value\":\"a\\u0000b\"}}"),
        format!("{{{good},\"value\":null}}"),
        format!("{{{good},\"value\":[]}}"),
        format!("{{{good},\"value\":\"x\",\"bogus\":1}}"),
        format!("{{{good},\"value\":\"x\",\"confidence\":\"high\"}}"),
        format!("{{{good},\"value\":\"x\",\"confidence\":1.5}}"),
        format!("{{{good},\"value\":\"x\",\"observed_at\":\"2026-01-01T00:00:00\"}}"),
        format!("{{{good},\"value\":\"x\",\"observed_at\":\"0000-01-01T00:00:00Z\"}}"),
        format!("{{{good},\"value\":\"x\",\"observed_at\":\"tomorrow\"}}"),
        format!("{{{good},\"value\":\"{}\"}}", "x".repeat(64 * 1024 + 1)),
    ] {
        let answer = running
            .http
            .send("POST", &url, &[("authorization", &bearer)], body.clone())
            .await;
        let answer = answer.expect("an answer");
        let shown: String = body.chars().take(120).collect();
        assert_eq!(answer.status, 400, "{shown}: {}", answer.json());
        let message = answer.json()["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(!message.is_empty(), "{shown}");
        for word in [
            "struct", "enum", "serde", "::", "i64", "f64", "Option", "Map<",
        ] {
            assert!(!message.contains(word), "{shown}: {message}");
        }
        assert_eq!(
            answer.json()["error"]["request_id"],
            answer.headers["x-request-id"].to_str().expect("text")
        );
    }
    nothing_is_stored(&running, &key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_text_is_kept_byte_for_byte() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    for (n, text) in [
        "\u{1F980} crab",
        "left \u{202E}right",
        "non-character \u{FFFE}",
        "<|endoftext|>",
        "zero\u{200B}width",
        "e\u{0301} and é",
        "line\nbreak\ttab",
    ]
    .into_iter()
    .enumerate()
    {
        let subject = format!("s{n}");
        let fact = json!({ "subject": subject, "predicate": "note", "value": text });
        let kept = running.post("/v1/remember", &key, &fact).await;
        assert_eq!(kept.status, 200, "{text:?}: {}", kept.json());
        let found = running
            .post("/v1/recall", &key, &json!({ "subject": subject }))
            .await
            .json();
        assert_eq!(found[0]["value"], text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn request_ids_are_kept_if_plain_and_made_otherwise() {
    let running = Running::start(&[]);
    let url = format!("{}/healthz", running.server.url);
    let id = async |sent: &str| {
        let answer = running
            .http
            .send("GET", &url, &[("x-request-id", sent)], "")
            .await
            .expect("an answer");
        answer.headers["x-request-id"]
            .to_str()
            .expect("text")
            .to_owned()
    };
    assert_eq!(id("abc-123").await, "abc-123");
    for odd in ["a b", "<script>", &"x".repeat(129)] {
        assert_ne!(id(odd).await, odd);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_heads_are_answered() {
    let running = Running::start(&[]);
    let long = "x".repeat(70 * 1024);
    for (request, status) in [
        (
            format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: {long}\r\n\r\n"),
            431,
        ),
        (
            "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n".to_owned(),
            400,
        ),
        (
            "GET /healthz HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n".to_owned(),
            400,
        ),
        ("nonsense\r\n\r\n".to_owned(), 400),
    ] {
        let (found, answer) = raw(&running.server.url, request.as_bytes());
        let shown: String = request.chars().take(60).collect();
        assert_eq!(found, status, "{shown}: {answer}");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let body: Value = serde_json::from_str(body).expect("an envelope");
        let error = &body["error"];
        assert_eq!(error["code"], "invalid_argument", "{shown}: {answer}");
        let id = error["request_id"].as_str().expect("an id");
        assert!(head.contains(&format!("x-request-id: {id}")), "{answer}");
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| text.contains("head"))
        );
    }
}

/// RFC 9112, 3.2: a request of HTTP/1.1 names its host, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_its_host_is_refused() {
    let running = Running::start(&[]);
    for (hosts, version, status) in [
        ("", "1.1", 400),
        ("Host: a\r\nHost: b\r\n", "1.1", 400),
        ("Host: a b\r\n", "1.1", 400),
        ("Host: localhost\r\n", "1.1", 200),
        ("", "1.0", 200),
    ] {
        let request = format!("GET /healthz HTTP/{version}\r\n{hosts}Connection: close\r\n\r\n");
        let (found, answer) = raw(&running.server.url, request.as_bytes());
        assert_eq!(found, status, "{hosts:?} {version}: {answer}");
        assert!(
            status == 200 || answer.contains("the header Host"),
            "{answer}"
        );
    }
}

/// A body that is not sent as it is would be read as something else, or not at all.
#[tokio::test(flavor = "multi_thread")]
async fn an_encoded_body_is_refused() {
    let running = Running::start(&[]);
    let key = running.key("team:a").await;
    let bearer = format!("Bearer {key}");
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    for (path, body) in [("/v1/recall", "{}".to_owned()), ("/mcp", ping)] {
        for (encoding, status) in [("gzip", 415), ("identity, br", 415), ("Identity", 200)] {
            let url = format!("{}{path}", running.server.url);
            let headers = [
                ("authorization", bearer.as_str()),
                ("content-encoding", encoding),
            ];
            let answer = running
                .http
                .send("POST", &url, &headers, body.clone())
                .await;
            let answer = answer.expect("an answer");
            assert_eq!(
                answer.status,
                status,
                "{path} {encoding}: {}",
                answer.json()
            );
            if status == 415 {
                assert_eq!(answer.code(), "invalid_argument");
                assert_eq!(answer.headers["accept-encoding"], "identity");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn year_one_in_a_zone_east_of_utc_does_not_close_the_namespace() {
    let mut running = Running::start(&[]);
    let key = running.key("team:a").await;
    let early = json!({ "text": "x", "observed_at": "0001-01-01T00:00:00+00:01" });
    assert_eq!(running.post("/v1/remember", &key, &early).await.status, 400);
    let first = json!({ "text": "the first moment", "observed_at": "0001-01-01T00:00:00Z" });
    assert_eq!(running.post("/v1/remember", &key, &first).await.status, 200);
    running.server.process().stop().expect("it ends");
    let server = programs::server(running.dir.path(), "recall", &[]).expect("it starts");
    let url = format!("{}/v1/recall", server.url);
    let found = running
        .http
        .post(&url, &key, &json!({}))
        .await
        .expect("an answer");
    assert_eq!(found.status, 200, "{}", found.json());
}

/// The classic way to hide a second request in the body of a first.
#[tokio::test(flavor = "multi_thread")]
async fn no_request_hides_in_the_body_of_another() {
    let running = Running::start(&[]);
    let key = running.key("team:a").await;
    let hidden = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n";
    let length = format!("Content-Length: {}\r\n", hidden.len() + 5);
    for (framing, status) in [
        (format!("{length}{chunked}"), 200),
        (format!("{chunked}{length}"), 200),
        (format!("{chunked}{chunked}"), 200),
        (format!("{length}Content-Length: 5\r\n"), 400),
        ("Transfer-Encoding: chunked, identity\r\n".to_owned(), 400),
    ] {
        let request = format!(
            "POST /v1/recall HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n{framing}\r\n0\r\n\r\n{hidden}"
        );
        let (found, answer) = raw(&running.server.url, request.as_bytes());
        assert_eq!(found, status, "{framing}: {answer}");
        assert!(!answer.contains("\"openapi\""), "{framing}: {answer}");
        assert!(
            answer.to_ascii_lowercase().contains("connection: close"),
            "{framing}: {answer}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_two_keys_is_refused() {
    let running = Running::start(&[]);
    let key = running.key("team:a").await;
    let more = format!("Authorization: Bearer {key}\r\nContent-Length: 0\r\n");
    let request = head("/v1/recall", &key, &more);
    let (status, answer) = raw(&running.server.url, request.as_bytes());
    assert_eq!(status, 400, "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_calls_too_often_is_told_when_to_come_back() {
    let running = Running::start(&["--limit-per-key=3/1h"]);
    let (key, other) = (running.key("team:a").await, running.key("team:a").await);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for (path, left) in [("/v1/recall", 2), ("/mcp", 1), ("/mcp", 0)] {
        let body = if path == "/mcp" {
            ping.clone()
        } else {
            json!({})
        };
        let answer = running.post(path, &key, &body).await;
        assert_eq!(answer.status, 200, "{}", answer.json());
        assert_eq!(answer.headers["ratelimit-policy"], "\"key\";q=3;w=3600");
        let told = answer.headers["ratelimit"].to_str().expect("text");
        assert!(told.starts_with(&format!("\"key\";r={left};t=")), "{told}");
    }
    for path in ["/v1/recall", "/mcp"] {
        let refused = running.post(path, &key, &ping).await;
        assert_eq!(
            (refused.status, refused.code()),
            (429, "rate_limited".to_owned())
        );
        assert_eq!(refused.headers["ratelimit-policy"], "\"key\";q=3;w=3600");
        assert!(refused.headers.contains_key("retry-after"));
    }
    assert_eq!(
        running.post("/v1/recall", &other, &json!({})).await.status,
        200
    );
    let discover = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover" });
    assert_eq!(
        running.post("/mcp", &key, &discover).await.status,
        200,
        "it is never counted"
    );
}

/// Deeper than anything that is served, and cheap to refuse.
#[tokio::test(flavor = "multi_thread")]
async fn nesting_beyond_sixty_four_is_named() {
    let running = Running::start(&["--surface=typed"]);
    let key = running.key("team:a").await;
    let nested =
        |depth: usize| format!("{{\"value\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
    let (url, bearer) = (
        format!("{}/v1/remember", running.server.url),
        format!("Bearer {key}"),
    );
    for (depth, named) in [(62, false), (64, true), (100, true)] {
        let answer = running
            .http
            .send("POST", &url, &[("authorization", &bearer)], nested(depth))
            .await;
        let answer = answer.expect("an answer");
        let message = answer.json()["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert_eq!(
            (answer.status, message.contains("64 deep")),
            (400, named),
            "{message}"
        );
    }
}
