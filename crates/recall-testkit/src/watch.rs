//! Lists and watches of pods.

use std::collections::VecDeque;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cluster::{FakeCluster, State};
use crate::objects::metadata_only;
use crate::respond;
use crate::route::Route;

/// A change of a pod.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) revision: u64,
    pub(crate) kind: &'static str,
    pub(crate) object: Value,
}

/// What a list or watch is narrowed to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    namespace: String,
    label: Option<(String, Option<String>)>,
    limit: Option<usize>,
    from: usize,
    revision: Option<u64>,
}

impl Selection {
    pub(crate) fn new(namespace: &str, query: &str) -> Self {
        let mut selection = Self {
            namespace: namespace.to_owned(),
            ..Self::default()
        };
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let value = value.replace("%2F", "/").replace("%3D", "=");
            match name {
                "limit" => selection.limit = value.parse().ok(),
                "continue" => selection.from = value.parse().unwrap_or(0),
                "resourceVersion" => selection.revision = value.parse().ok(),
                "labelSelector" => {
                    selection.label = Some(match value.split_once('=') {
                        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                        None => (value, None),
                    });
                }
                _ => {}
            }
        }
        selection
    }

    fn takes(&self, pod: &Value) -> bool {
        let meta = &pod["metadata"];
        let placed = self.namespace.is_empty() || meta["namespace"] == self.namespace.as_str();
        placed
            && match &self.label {
                None => true,
                Some((key, None)) => !meta["labels"][key].is_null(),
                Some((key, Some(value))) => meta["labels"][key] == value.as_str(),
            }
    }
}

/// One page of pods.
pub(crate) fn list(state: &State, selection: &Selection) -> Value {
    let pods = state.objects.get(&Route::Pod);
    let matching: Vec<&Value> = pods
        .into_iter()
        .flat_map(|pods| pods.values())
        .filter(|p| selection.takes(p))
        .collect();
    let end = selection
        .limit
        .map_or(matching.len(), |limit| selection.from + limit);
    let page: Vec<Value> = matching
        .iter()
        .take(end)
        .skip(selection.from)
        .map(|pod| metadata_only(pod))
        .collect();
    let more = if end < matching.len() {
        end.to_string()
    } else {
        String::new()
    };
    json!({
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": { "resourceVersion": state.revision.to_string(), "continue": more },
        "items": page,
    })
}

/// Whether a watch cannot go on from where it wants to.
pub(crate) fn is_forgotten(state: &State, selection: &Selection) -> bool {
    selection
        .revision
        .is_some_and(|revision| revision < state.compacted)
}

struct Watch {
    cluster: FakeCluster,
    selection: Selection,
    seen: u64,
    ready: VecDeque<Bytes>,
    revisions: watch::Receiver<u64>,
    cut: watch::Receiver<u64>,
}

/// The events from the asked revision on, one line each, until the watch is cut.
pub(crate) fn lines(
    cluster: &FakeCluster,
    selection: Selection,
    cut: watch::Receiver<u64>,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let watch = Watch {
        cluster: cluster.clone(),
        seen: selection.revision.unwrap_or(0),
        selection,
        ready: VecDeque::new(),
        revisions: cluster.revisions(),
        cut,
    };
    stream::unfold(watch, async |mut watch| {
        let line = watch.next().await?;
        Some((line, watch))
    })
}

impl Watch {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            self.revisions.mark_unchanged();
            self.read();
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            tokio::select! {
                changed = self.revisions.changed() => changed.ok()?,
                _ = self.cut.changed() => return None,
            }
        }
    }

    fn read(&mut self) {
        let (cluster, seen) = (&self.cluster, self.seen);
        let events = cluster.with_state(|state| {
            let new = state.events.iter().filter(|event| event.revision > seen);
            new.cloned().collect::<Vec<_>>()
        });
        for event in events {
            self.seen = event.revision;
            if self.selection.takes(&event.object) {
                self.ready
                    .push_back(respond::line(event.kind, &metadata_only(&event.object)));
            }
        }
    }
}
