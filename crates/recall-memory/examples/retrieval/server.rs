//! A running server, asked as any client asks.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::engine::{Texts, remember};
use crate::options::ServerOption;
use crate::rankers::Loaded;
use crate::set::Talk;

/// Every how many writes one is looked for.
const SAMPLED: usize = 20;
/// How long a write may take to be found before the search for it is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server with a conversation in a namespace of its own.
#[derive(Debug)]
pub(crate) struct Server {
    http: Http,
    key: String,
    texts: Texts,
    delays: Vec<Duration>,
}

impl Server {
    pub(crate) fn new(at: &ServerOption, talk: &Talk, unnamed: bool) -> Result<Self, String> {
        let mut http = Http::new(&at.url)?;
        let clean = |letter: char| match letter.is_ascii_alphanumeric() {
            true => letter,
            false => '-',
        };
        let name: String = talk.conv.chars().map(clean).collect();
        let spec = json!({ "namespace": format!("bench-retrieval.{name}") });
        let minted = http.post("/v1/keys", &at.admin_key, &spec)?;
        let key = minted["key"]
            .as_str()
            .ok_or("no key was minted")?
            .to_owned();
        let mut server = Self {
            http,
            key,
            texts: Texts::new(talk),
            delays: Vec::new(),
        };
        for (no, (item, text)) in server.texts.parts(talk).into_iter().enumerate() {
            let mut arguments = remember(item, &text);
            if !unnamed {
                arguments.insert("session".to_owned(), item.session.clone().into());
            }
            server
                .http
                .post("/v1/remember", &server.key, &arguments.into())?;
            if no % SAMPLED == 0 {
                server.look_for(&text)?;
            }
        }
        Ok(server)
    }

    /// Asks for what was just written until it is there.
    fn look_for(&mut self, text: &str) -> Result<(), String> {
        // Enough of its words that it is first among its like.
        let words: Vec<&str> = text.split_whitespace().take(1_000).collect();
        let question = words.join(" ");
        let began = Instant::now();
        loop {
            let answer = self.recall(&question)?;
            let found = began.elapsed();
            let rows = answer["memories"].as_array().into_iter().flatten();
            if rows
                .into_iter()
                .any(|row| row["text"].as_str() == Some(text))
            {
                self.delays.push(found);
                return Ok(());
            }
            if found > PATIENCE {
                self.delays.push(Duration::MAX);
                return Ok(());
            }
        }
    }

    fn recall(&mut self, question: &str) -> Result<Value, String> {
        let body = json!({ "question": question });
        self.http.post("/v1/recall", &self.key, &body)
    }
}

impl Loaded for Server {
    fn ask(&mut self, question: &str) -> Result<Vec<String>, String> {
        let answer = self.recall(question)?;
        self.texts.ids(&answer)
    }

    fn delays(&self) -> &[Duration] {
        &self.delays
    }
}

/// One connection over which one request follows the other.
#[derive(Debug)]
struct Http {
    host: String,
    stream: BufReader<TcpStream>,
}

impl Http {
    fn new(url: &str) -> Result<Self, String> {
        let host = url
            .strip_prefix("http://")
            .ok_or("a server's URL begins with http://")?;
        Ok(Self {
            host: host.to_owned(),
            stream: connect(host)?,
        })
    }

    fn post(&mut self, path: &str, key: &str, body: &Value) -> Result<Value, String> {
        let body = body.to_string();
        // A connection that was idle may have been closed meanwhile.
        let (status, answer) = match self.exchange(path, key, &body) {
            Ok(answer) => answer,
            Err(_) => {
                self.stream = connect(&self.host)?;
                self.exchange(path, key, &body)?
            }
        };
        match status {
            200 | 201 => serde_json::from_slice(&answer).map_err(|error| error.to_string()),
            _ => Err(format!(
                "{path} answered {status}: {}",
                String::from_utf8_lossy(&answer)
            )),
        }
    }

    fn exchange(&mut self, path: &str, key: &str, body: &str) -> Result<(u16, Vec<u8>), String> {
        let fault = |error: std::io::Error| error.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {key}\r\nContent-Type: \
             application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        );
        self.stream
            .get_mut()
            .write_all(request.as_bytes())
            .map_err(fault)?;
        let line = self.line()?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| format!("no status: {line}"))?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let line = self.line()?.to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().map_err(|_| "a bad length")?;
            }
            chunked |= line.starts_with("transfer-encoding:") && line.contains("chunked");
        }
        let mut answer = Vec::new();
        loop {
            if chunked {
                let size = self.line()?;
                length = usize::from_str_radix(size.trim(), 16).map_err(|_| "a bad chunk")?;
            }
            let from = answer.len();
            answer.resize(from + length, 0);
            let room = answer.get_mut(from..).unwrap_or_default();
            self.stream.read_exact(room).map_err(fault)?;
            if !chunked {
                break;
            }
            self.line()?;
            if length == 0 {
                break;
            }
        }
        Ok((status, answer))
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        let read = self
            .stream
            .read_line(&mut line)
            .map_err(|error| error.to_string())?;
        match read {
            0 => Err("the server hung up".to_owned()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}

fn connect(host: &str) -> Result<BufReader<TcpStream>, String> {
    let stream = TcpStream::connect(host).map_err(|error| format!("{host}: {error}"))?;
    stream
        .set_nodelay(true)
        .and_then(|()| stream.set_read_timeout(Some(Duration::from_secs(60))))
        .map_err(|error| error.to_string())?;
    Ok(BufReader::new(stream))
}
