//! The state of a fake cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::objects::{self, NewPod, POOL_LABEL};
use crate::route::Route;
use crate::watch::Event;

/// What the objects of one kind are found by: namespace and name.
pub(crate) type Key = (String, String);

/// A cluster in memory; clones are one cluster.
#[derive(Clone)]
pub struct FakeCluster {
    state: Arc<Mutex<State>>,
    revision: Arc<watch::Sender<u64>>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) objects: BTreeMap<Route, BTreeMap<Key, Value>>,
    pub(crate) tokens: BTreeMap<String, Issued>,
    pub(crate) denied: BTreeSet<(String, String)>,
    pub(crate) events: Vec<Event>,
    pub(crate) revision: u64,
    /// Events up to this revision are forgotten.
    pub(crate) compacted: u64,
    seed: RandomState,
    counter: u64,
}

/// A token to be issued.
#[derive(Debug, Clone)]
pub struct NewToken {
    namespace: String,
    service_account: String,
    pod: Option<String>,
    audiences: Vec<String>,
    lifetime: Duration,
}

/// A token that was issued.
#[derive(Debug, Clone)]
pub(crate) struct Issued {
    pub(crate) namespace: String,
    pub(crate) service_account: String,
    pub(crate) service_account_uid: String,
    pub(crate) pod: Option<(String, String)>,
    pub(crate) audiences: Vec<String>,
    pub(crate) expires: Instant,
    pub(crate) id: String,
}

impl NewToken {
    /// For an hour, for audience `recall`, of the pod's own service account.
    #[must_use]
    pub fn of_pod(namespace: &str, pod: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            service_account: String::new(),
            pod: Some(pod.to_owned()),
            audiences: vec!["recall".to_owned()],
            lifetime: Duration::from_secs(3600),
        }
    }

    /// Of a service account, bound to no pod.
    #[must_use]
    pub fn unbound(namespace: &str, service_account: &str) -> Self {
        Self {
            service_account: service_account.to_owned(),
            pod: None,
            ..Self::of_pod(namespace, "")
        }
    }

    /// For other audiences.
    #[must_use]
    pub fn audiences(mut self, audiences: &[&str]) -> Self {
        self.audiences = audiences
            .iter()
            .map(|&audience| audience.to_owned())
            .collect();
        self
    }

    /// For another time.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }
}

impl Default for FakeCluster {
    fn default() -> Self {
        let (revision, _) = watch::channel(1);
        let state = State {
            revision: 1,
            ..State::default()
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            revision: Arc::new(revision),
        }
    }
}

impl FakeCluster {
    /// An empty cluster.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a pod, and its namespace and service account where they are missing; answers its UID.
    pub fn add_pod(&self, pod: &NewPod) -> String {
        self.add_service_account(&pod.namespace, &pod.service_account);
        let mut state = self.state.lock();
        let uid = state.new_uid();
        state.put_pod("ADDED", pod.object(&uid));
        self.announce(&state);
        uid
    }

    /// Makes a service account and its namespace where they are missing; answers its UID.
    pub fn add_service_account(&self, namespace: &str, name: &str) -> String {
        let mut state = self.state.lock();
        state.ensure(Route::Namespace, "Namespace", "", namespace);
        state.ensure(Route::ServiceAccount, "ServiceAccount", namespace, name)
    }

    /// Makes a service account anew: the same name, another UID.
    pub fn recreate_service_account(&self, namespace: &str, name: &str) -> String {
        self.state
            .lock()
            .objects_of(Route::ServiceAccount)
            .remove(&key(namespace, name));
        self.add_service_account(namespace, name)
    }

    /// Makes a `Sandbox` that stands alone; answers its UID.
    pub fn add_sandbox(&self, namespace: &str, name: &str) -> String {
        let mut state = self.state.lock();
        let uid = state.new_uid();
        let object = objects::sandbox(namespace, name, &uid, None);
        state
            .objects_of(Route::Sandbox)
            .insert(key(namespace, name), object);
        uid
    }

    /// Makes a `SandboxClaim` that asks for these labels on its pod; answers its UID.
    pub fn add_claim(&self, namespace: &str, name: &str, labels: &[(&str, &str)]) -> String {
        let labels = labels
            .iter()
            .map(|&(k, v)| (k.to_owned(), v.to_owned()))
            .collect();
        let mut state = self.state.lock();
        let uid = state.new_uid();
        let object = objects::claim(namespace, name, &uid, &labels);
        state
            .objects_of(Route::SandboxClaim)
            .insert(key(namespace, name), object);
        uid
    }

    /// Makes a pod that waits in a warm pool, with its `Sandbox`; answers the pod's UID.
    pub fn add_warm_pod(&self, namespace: &str, pool: &str, name: &str) -> String {
        let sandbox = self.add_sandbox(namespace, name);
        let pool_uid = self.state.lock().new_uid();
        self.edit(Route::Sandbox, namespace, name, |object| {
            object["metadata"]["ownerReferences"] =
                json!([objects::pool_reference(pool, &pool_uid)]);
        });
        let pod = NewPod::new(namespace, name).label(POOL_LABEL, "d3a44db7");
        self.add_pod(&pod.owned_by_sandbox(name, &sandbox))
    }

    /// The first half of an adoption: the claim owns the sandbox, the pod is as it was.
    pub fn begin_adoption(&self, namespace: &str, pod: &str, claim: &str) {
        let claim_uid = self
            .uid(Route::SandboxClaim, namespace, claim)
            .unwrap_or_default();
        self.edit(Route::Sandbox, namespace, pod, |object| {
            object["metadata"]["ownerReferences"] =
                json!([objects::claim_reference(claim, &claim_uid)]);
        });
    }

    /// The second half of an adoption: one patch puts the claim's labels on the pod and takes the
    /// pool's off.
    pub fn finish_adoption(&self, namespace: &str, pod: &str, claim: &str) {
        let claim = self
            .get(Route::SandboxClaim, namespace, claim)
            .unwrap_or_default();
        let wanted = claim["spec"]["additionalPodMetadata"]["labels"].clone();
        self.edit_pod(namespace, pod, |object| {
            let labels = object["metadata"]["labels"].as_object_mut();
            if let (Some(labels), Some(wanted)) = (labels, wanted.as_object()) {
                labels.remove(POOL_LABEL);
                labels.extend(wanted.clone());
            }
        });
    }

    /// Changes a pod; whoever watches is told.
    pub fn edit_pod(&self, namespace: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut state = self.state.lock();
        let pod = state
            .objects_of(Route::Pod)
            .get(&key(namespace, name))
            .cloned();
        if let Some(mut pod) = pod {
            change(&mut pod);
            state.put_pod("MODIFIED", pod);
            self.announce(&state);
        }
    }

    /// Changes an object that nobody watches.
    pub fn edit(&self, route: Route, namespace: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut state = self.state.lock();
        if let Some(object) = state.objects_of(route).get_mut(&key(namespace, name)) {
            change(object);
        }
    }

    /// Sets a label on a pod.
    pub fn label_pod(&self, namespace: &str, name: &str, label: &str, value: &str) {
        self.edit_pod(namespace, name, |pod| {
            pod["metadata"]["labels"][label] = json!(value)
        });
    }

    /// Marks a pod as being deleted; it stays.
    pub fn mark_pod_deleted(&self, namespace: &str, name: &str) {
        self.edit_pod(namespace, name, |pod| {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:30Z");
        });
    }

    /// Takes a pod away.
    pub fn delete_pod(&self, namespace: &str, name: &str) {
        let mut state = self.state.lock();
        if let Some(pod) = state.objects_of(Route::Pod).remove(&key(namespace, name)) {
            state.record("DELETED", pod);
            self.announce(&state);
        }
    }

    /// Takes an object away that nobody watches.
    pub fn delete(&self, route: Route, namespace: &str, name: &str) {
        self.state
            .lock()
            .objects_of(route)
            .remove(&key(namespace, name));
    }

    /// Takes a pod away and makes it again under the same name; answers the new UID.
    pub fn recreate_pod(&self, pod: &NewPod) -> String {
        self.delete_pod(&pod.namespace, &pod.name);
        self.add_pod(pod)
    }

    /// Issues a token. It looks like a web token and is signed by nobody.
    pub fn issue_token(&self, token: &NewToken) -> String {
        let pod = token.pod.as_ref().map(|pod| {
            let uid = self
                .uid(Route::Pod, &token.namespace, pod)
                .unwrap_or_default();
            (pod.clone(), uid)
        });
        let service_account = match &token.pod {
            Some(pod) => self.service_account_of(&token.namespace, pod),
            None => token.service_account.clone(),
        };
        let service_account_uid = self.add_service_account(&token.namespace, &service_account);
        let mut state = self.state.lock();
        let issued = Issued {
            namespace: token.namespace.clone(),
            service_account,
            service_account_uid,
            pod,
            audiences: token.audiences.clone(),
            expires: Instant::now() + token.lifetime,
            id: state.new_uid(),
        };
        let text = text_of(&issued, token.lifetime);
        state.tokens.insert(text.clone(), issued);
        text
    }

    /// From now on the server's own account may not use this verb on this resource.
    pub fn deny(&self, verb: &str, resource: &str) {
        self.state
            .lock()
            .denied
            .insert((verb.to_owned(), resource.to_owned()));
    }

    /// Takes a denial back.
    pub fn allow(&self, verb: &str, resource: &str) {
        self.state
            .lock()
            .denied
            .remove(&(verb.to_owned(), resource.to_owned()));
    }

    /// Forgets all events so far: a watch that wants to go on from one of them is told to start
    /// again.
    pub fn forget_events(&self) {
        let mut state = self.state.lock();
        state.events.clear();
        state.compacted = state.revision;
    }

    /// The UID of an object.
    #[must_use]
    pub fn uid(&self, route: Route, namespace: &str, name: &str) -> Option<String> {
        let object = self.get(route, namespace, name)?;
        object["metadata"]["uid"].as_str().map(str::to_owned)
    }

    /// An object.
    #[must_use]
    pub fn get(&self, route: Route, namespace: &str, name: &str) -> Option<Value> {
        self.state
            .lock()
            .objects
            .get(&route)?
            .get(&key(namespace, name))
            .cloned()
    }

    pub(crate) fn with_state<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state.lock())
    }

    pub(crate) fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    fn service_account_of(&self, namespace: &str, pod: &str) -> String {
        let pod = self.get(Route::Pod, namespace, pod).unwrap_or_default();
        pod["spec"]["serviceAccountName"]
            .as_str()
            .unwrap_or("runner")
            .to_owned()
    }

    fn announce(&self, state: &State) {
        self.revision.send_replace(state.revision);
    }
}

impl State {
    fn objects_of(&mut self, route: Route) -> &mut BTreeMap<Key, Value> {
        self.objects.entry(route).or_default()
    }

    fn ensure(&mut self, route: Route, kind: &str, namespace: &str, name: &str) -> String {
        let uid = self.new_uid();
        let object = self
            .objects_of(route)
            .entry(key(namespace, name))
            .or_insert_with(|| objects::plain(kind, namespace, name, &uid));
        object["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    fn put_pod(&mut self, kind: &'static str, mut pod: Value) {
        pod["metadata"]["resourceVersion"] = json!((self.revision + 1).to_string());
        let text = |field: &str| {
            pod["metadata"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let key = (text("namespace"), text("name"));
        self.objects_of(Route::Pod).insert(key, pod.clone());
        self.record(kind, pod);
    }

    fn record(&mut self, kind: &'static str, mut object: Value) {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        self.events.push(Event {
            revision: self.revision,
            kind,
            object,
        });
    }

    fn new_uid(&mut self) -> String {
        self.counter += 1;
        let (high, low) = (
            self.seed.hash_one(self.counter),
            self.seed.hash_one(!self.counter),
        );
        let (a, b, c) = (high >> 32, (high >> 16) & 0xffff, high & 0xfff);
        format!(
            "{a:08x}-{b:04x}-4{c:03x}-8{:03x}-{:012x}",
            low >> 52,
            low & 0xffff_ffff_ffff
        )
    }
}

pub(crate) fn key(namespace: &str, name: &str) -> Key {
    (namespace.to_owned(), name.to_owned())
}

fn text_of(issued: &Issued, lifetime: Duration) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    #[expect(
        clippy::disallowed_methods,
        reason = "a claim of a fake token: clients may look at it, the fake API server does not"
    )]
    let now = std::time::SystemTime::now();
    let now = now
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let mut holder = json!({
        "namespace": issued.namespace,
        "serviceaccount": {
            "name": issued.service_account, "uid": issued.service_account_uid,
        },
    });
    if let Some((name, uid)) = &issued.pod {
        holder["pod"] = json!({ "name": name, "uid": uid });
    }
    let claims = json!({
        "aud": issued.audiences,
        "exp": (now + lifetime).as_secs(),
        "iat": now.as_secs(),
        "jti": issued.id,
        "kubernetes.io": holder,
        "sub": format!("system:serviceaccount:{}:{}", issued.namespace, issued.service_account),
    });
    let header = json!({ "alg": "RS256", "kid": "fake" });
    format!("{}.{}.ZmFrZQ", part(&header), part(&claims))
}

impl fmt::Debug for FakeCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("FakeCluster")
            .field("revision", &state.revision)
            .finish_non_exhaustive()
    }
}
