//! Which pods come and go.

use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use futures_util::stream::{self, Stream};
use http::StatusCode;
use tokio::time::{sleep, timeout};

use super::answer::{self, parse};
use super::api::{ApiServer, part};
use super::client::{Client, METADATA, Question};
use super::lines::Lines;
use super::wire::{Metadata, Page, WatchLine};
use crate::caller::PodRef;
use crate::trouble::{Call, Trouble, TroubleKind};

const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
/// Pods in one page, and bytes in one page of them: metadata is mostly a few kilobytes a pod.
const PAGE: usize = 250;
const MAX_PAGE_BYTES: usize = 16 * 1024 * 1024;
/// A million pods; beyond it something counts wrongly.
const MAX_PAGES: usize = 4_000;
/// A watch is opened anew this often, so that a connection that died silently is noticed.
const WATCH_SECONDS: u64 = 60;
const SILENCE: Duration = Duration::from_secs(WATCH_SECONDS + 10);
/// Pauses after failures: short at first, since keys are to die within two seconds of their pod.
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// What is watched; by default all pods.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watched {
    /// In this namespace only.
    pub namespace: Option<String>,
    /// With labels that fit this selector only.
    pub selector: Option<String>,
}

/// What a watch of pods has to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodEvent {
    /// The UIDs of all watched pods that were there at one moment: at the start, and again when
    /// events may have been missed. A pod that was made a moment later is not among them, nor is
    /// one that is not watched; [`ApiServer::exists`] tells.
    Listed(HashSet<String>),
    /// A pod appeared.
    Alive(PodRef),
    /// A pod's object is gone.
    Gone(PodRef),
    /// The API server cannot be heard. That says nothing about any pod.
    Broken,
    /// The API server is heard again, and nothing was missed.
    Resumed,
}

/// Watches pods and tells of them for ever, whatever happens to the connection.
///
/// Only metadata is read. Our account needs the verbs `list` and `watch` on `pods`, and `get` with a
/// selector: a pod that merely leaves the selector looks like a deletion, and is looked up.
pub fn watch_pods(client: Client, watched: Watched) -> impl Stream<Item = PodEvent> + Send {
    let watch = Watch {
        api: ApiServer::new(client),
        watched,
        ready: VecDeque::new(),
        position: None,
        lines: None,
        failures: 0,
    };
    stream::unfold(watch, async |mut watch| {
        let event = watch.next().await;
        Some((event, watch))
    })
}

struct Watch {
    api: ApiServer,
    watched: Watched,
    ready: VecDeque<PodEvent>,
    /// The resource version to go on from; none if a list is due.
    position: Option<String>,
    lines: Option<Lines>,
    /// In a row; the first was told.
    failures: u32,
}

impl Watch {
    async fn next(&mut self) -> PodEvent {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return event;
            }
            if let Err((call, trouble)) = self.step().await {
                self.failed(call, &trouble).await;
            }
        }
    }

    async fn step(&mut self) -> Result<(), (Call, Trouble)> {
        let Some(position) = self.position.clone() else {
            return self
                .list()
                .await
                .map_err(|trouble| (Call::ListPods, trouble));
        };
        let watching = match self.lines.take() {
            Some(lines) => self.read(lines).await,
            None => self.open(&position).await,
        };
        watching.map_err(|trouble| (Call::WatchPods, trouble))
    }

    async fn list(&mut self) -> Result<(), Trouble> {
        let (mut uids, mut next) = (HashSet::new(), String::new());
        for _ in 0..MAX_PAGES {
            let path = self.path(&[("limit", &PAGE.to_string()), ("continue", &next)])?;
            let question = Question::get(path, METADATA_LIST);
            let page: Option<Page> = self.api.ask_for(&question, MAX_PAGE_BYTES).await?;
            let page = page.ok_or_else(|| Trouble::new(TroubleKind::Nonsense, "no list"))?;
            uids.extend(page.items.into_iter().map(|object| object.metadata.uid));
            if page.metadata.next.is_empty() {
                self.position = Some(page.metadata.resource_version);
                self.failures = 0;
                self.ready.push_back(PodEvent::Listed(uids));
                return Ok(());
            }
            next = page.metadata.next;
        }
        Err(Trouble::new(TroubleKind::TooLarge, "a list without an end"))
    }

    async fn open(&mut self, position: &str) -> Result<(), Trouble> {
        let path = self.path(&[
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", &WATCH_SECONDS.to_string()),
            ("resourceVersion", position),
        ])?;
        let question = Question::get(path, METADATA);
        let answer = self.api.client().send(&question);
        let answer = timeout(SILENCE, answer).await.map_err(|_| silent())??;
        match answer.status() {
            StatusCode::OK => {
                self.lines = Some(Lines::new(answer.into_body()));
                if std::mem::take(&mut self.failures) > 0 {
                    self.ready.push_back(PodEvent::Resumed);
                }
                Ok(())
            }
            StatusCode::GONE => {
                self.position = None;
                Ok(())
            }
            status => Err(answer::refusal(status, answer.headers())),
        }
    }

    async fn read(&mut self, mut lines: Lines) -> Result<(), Trouble> {
        let line = timeout(SILENCE, lines.next()).await.map_err(|_| silent())?;
        let taken = match line {
            Ok(Some(line)) => self.take(&line).await,
            // The proper end: it is opened again from where it stood.
            Ok(None) => Ok(false),
            Err(trouble) => Err(trouble),
        };
        match taken {
            Ok(true) => self.lines = Some(lines),
            Ok(false) => {}
            Err(trouble) => {
                // There is no way past a line that cannot be read: the pods are listed again.
                if matches!(trouble.kind, TroubleKind::TooLarge | TroubleKind::Nonsense) {
                    self.position = None;
                }
                return Err(trouble);
            }
        }
        Ok(())
    }

    /// Takes one line in; answers whether the watch goes on.
    async fn take(&mut self, line: &[u8]) -> Result<bool, Trouble> {
        let line: WatchLine = parse(line)?;
        let gone = line.kind == "ERROR" && line.object.code == StatusCode::GONE.as_u16();
        if gone {
            self.position = None;
            return Ok(false);
        }
        let version = line.object.metadata.resource_version.clone();
        match line.kind.as_str() {
            "ADDED" => self
                .ready
                .push_back(PodEvent::Alive(reference(line.object.metadata))),
            "DELETED" => {
                let pod = reference(line.object.metadata);
                if self.watched.selector.is_none() || !self.api.exists(&pod).await? {
                    self.ready.push_back(PodEvent::Gone(pod));
                }
            }
            "MODIFIED" | "BOOKMARK" => {}
            _ => {
                return Err(Trouble::new(
                    TroubleKind::Nonsense,
                    "a line that makes no sense",
                ));
            }
        }
        if !version.is_empty() {
            self.position = Some(version);
        }
        Ok(true)
    }

    async fn failed(&mut self, call: Call, trouble: &Trouble) {
        if self.failures == 0 {
            self.ready.push_back(PodEvent::Broken);
            tracing::warn!(
                verb = call.verb(),
                resource = call.resource(),
                kind = trouble.kind.code(),
                detail = %trouble.detail,
                "the watch of pods broke"
            );
            self.failures = 1;
            // Told at once; the pause comes with the next try, should that fail too.
            return;
        }
        let doublings = self.failures.min(10) - 1;
        self.failures += 1;
        let pause = SHORTEST_PAUSE
            .saturating_mul(1 << doublings)
            .min(LONGEST_PAUSE);
        let pause = pause.max(trouble.retry_after.unwrap_or_default());
        sleep(pause + spread(pause)).await;
    }

    fn path(&self, query: &[(&str, &str)]) -> Result<String, Trouble> {
        let mut path = match &self.watched.namespace {
            Some(namespace) => format!("/api/v1/namespaces/{}/pods?", part(namespace)?),
            None => "/api/v1/pods?".to_owned(),
        };
        let selector = self.watched.selector.as_deref().unwrap_or_default();
        for (name, value) in query.iter().chain(&[("labelSelector", selector)]) {
            if !value.is_empty() {
                let _ = write!(path, "{name}={}&", encoded(value));
            }
        }
        path.pop();
        Ok(path)
    }
}

fn silent() -> Trouble {
    Trouble::new(TroubleKind::TimedOut, "nothing was heard for too long")
}

/// Up to a fifth more, so that replicas do not come back together.
fn spread(pause: Duration) -> Duration {
    let part = u32::try_from(RandomState::new().hash_one(0_u8) % 100).unwrap_or_default();
    pause / 500 * part
}

fn reference(meta: Metadata) -> PodRef {
    PodRef {
        namespace: meta.namespace,
        name: meta.name,
        uid: meta.uid,
    }
}

fn encoded(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_encoded_whole() {
        assert_eq!(
            encoded("sandbox.users.io/agent=a&b"),
            "sandbox.users.io%2Fagent%3Da%26b"
        );
    }
}
