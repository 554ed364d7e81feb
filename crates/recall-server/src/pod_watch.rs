//! Keys die with their pods: what the watch says is done to the keys.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use parking_lot::Mutex;
use recall_api::{Check, Readiness};
use recall_identity::PodRef;
use recall_identity::kube::{ApiServer, Client, PodEvent, Watched, watch_pods};
use recall_keys::{KeyRecord, Keys, Reach};
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};

use crate::config::{Kubernetes, Watch};
use crate::observe::ApiMetrics;

/// All pods with keys are looked through this often: what an event was lost for is found then, and
/// so is the end of a pod that the selector leaves out.
const LOOK_PERIOD: Duration = Duration::from_secs(45);
/// After a failure of the store or of a look.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Pods whose keys wait to be revoked in the store. They are refused already; those for whom there
/// is no place are found by the next look.
const WAITING: usize = 10_000;
/// Pods whose keys are revoked in the store side by side.
const REVOKED_TOGETHER: usize = 16;
/// Pods looked up side by side.
const LOOKED_UP_TOGETHER: usize = 8;

/// A watch of pods and what follows from it.
pub(crate) struct PodWatch {
    client: Client,
    watched: Vec<Watched>,
    known: Arc<Known>,
    keys: Keys,
    metrics: ApiMetrics,
    due: Notify,
}

/// What each of the watches said last.
struct Known(Mutex<Vec<Said>>);

#[derive(Default)]
struct Said {
    /// Whether the API server is heard.
    heard: bool,
    /// Whether there was a list at all.
    listed: bool,
    alive: HashSet<String>,
}

impl PodWatch {
    pub(crate) fn new(
        client: Client,
        settings: &Kubernetes,
        watch: &Watch,
        keys: Keys,
        metrics: ApiMetrics,
    ) -> Self {
        let watched = watched(&settings.namespaces, watch.selector.as_ref());
        let said = watched.iter().map(|_| Said::default()).collect();
        metrics.watching(false);
        Self {
            client,
            watched,
            known: Arc::new(Known(Mutex::new(said))),
            keys,
            metrics,
            due: Notify::new(),
        }
    }

    /// The check that the API server is heard.
    pub(crate) fn check(&self) -> Check {
        let known = Arc::clone(&self.known);
        Check {
            name: "watch",
            probe: Arc::new(move || {
                let state = known.readiness();
                Box::pin(async { state })
            }),
        }
    }

    /// Watches for ever.
    pub(crate) async fn run(self) {
        let _ended = Ended(Arc::clone(&self.known));
        let (gone, waiting) = mpsc::channel(WAITING);
        tokio::join!(
            self.follow(&gone),
            self.revoke(waiting),
            self.look_for_ever(&gone)
        );
    }

    async fn follow(&self, gone: &mpsc::Sender<PodRef>) {
        let watches = self.watched.iter().enumerate().map(|(place, watched)| {
            let events = watch_pods(self.client.clone(), watched.clone());
            events.map(move |event| (place, event)).boxed()
        });
        let mut events = stream::select_all(watches);
        while let Some((place, event)) = events.next().await {
            self.take(place, event, gone);
        }
    }

    fn take(&self, place: usize, event: PodEvent, gone: &mpsc::Sender<PodRef>) {
        match event {
            PodEvent::Listed(uids) => {
                self.known.listed(place, uids);
                self.due.notify_one();
            }
            PodEvent::Alive(pod) => self.known.alive(place, pod.uid),
            PodEvent::Gone(pod) => {
                self.known.gone(place, &pod.uid);
                self.keys.refuse_pod(&pod.uid);
                if gone.try_send(pod).is_err() {
                    self.due.notify_one();
                }
            }
            PodEvent::Broken => {
                self.known.heard(place, false);
                self.metrics.watch_broke();
            }
            PodEvent::Resumed => self.known.heard(place, true),
        }
        self.metrics.watching(self.known.readiness().is_ok());
    }

    /// Revokes the keys of those who are gone, for every replica.
    async fn revoke(&self, gone: mpsc::Receiver<PodRef>) {
        let gone = stream::unfold(gone, async |mut gone| {
            let pod = gone.recv().await?;
            Some((pod, gone))
        });
        gone.for_each_concurrent(REVOKED_TOGETHER, |pod| self.revoke_one(pod))
            .await;
    }

    async fn revoke_one(&self, pod: PodRef) {
        match self.keys.pod_gone(&pod.uid).await {
            Ok(revoked) if revoked.is_empty() => {}
            Ok(revoked) => {
                self.metrics.pod_gone();
                revoked.iter().for_each(|key| audit(&pod, key));
            }
            Err(error) => {
                tracing::warn!(
                    %error,
                    "the keys of a pod that is gone could not be revoked; this replica refuses them"
                );
                self.due.notify_one();
            }
        }
    }

    async fn look_for_ever(&self, gone: &mpsc::Sender<PodRef>) {
        loop {
            // The wait running out is as good a reason to look as being called.
            let _ = timeout(LOOK_PERIOD, self.due.notified()).await;
            if !self.known.all_listed() {
                continue;
            }
            if let Err(error) = self.look(gone).await {
                tracing::warn!(%error, "the pods that have keys could not be looked through");
                self.due.notify_one();
            }
            // So that being called over and over does not become a storm.
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Looks up every pod that has keys and is not known to be there.
    async fn look(&self, gone: &mpsc::Sender<PodRef>) -> Result<(), recall_keys::Error> {
        let api = ApiServer::new(self.client.clone());
        let mut after = None;
        loop {
            let page = self.keys.pods(after.as_deref()).await?;
            let doubtful = page.pods.into_iter().filter(|pod| self.is_doubtful(pod));
            stream::iter(doubtful)
                .for_each_concurrent(LOOKED_UP_TOGETHER, |pod| self.look_up(&api, pod, gone))
                .await;
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// Pods outside the namespaces that are served are not ours to ask about.
    fn is_doubtful(&self, pod: &PodRef) -> bool {
        let ours = self.watched.iter().any(|watched| {
            let namespace = watched.namespace.as_ref();
            namespace.is_none_or(|namespace| *namespace == pod.namespace)
        });
        ours && !self.known.is_alive(&pod.uid)
    }

    async fn look_up(&self, api: &ApiServer, pod: PodRef, gone: &mpsc::Sender<PodRef>) {
        match api.exists(&pod).await {
            Ok(true) => {}
            Ok(false) => {
                self.keys.refuse_pod(&pod.uid);
                // The other end lives as long as this one.
                let _ = gone.send(pod).await;
            }
            Err(trouble) => {
                tracing::debug!(
                    kind = trouble.kind.code(),
                    "it could not be found out whether a pod is still there"
                );
            }
        }
    }
}

impl fmt::Debug for PodWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PodWatch")
            .field("watched", &self.watched)
            .finish_non_exhaustive()
    }
}

/// However a watch ends, it is no longer said to stand.
struct Ended(Arc<Known>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0
            .0
            .lock()
            .iter_mut()
            .for_each(|said| said.heard = false);
    }
}

impl Known {
    fn change(&self, place: usize, change: impl FnOnce(&mut Said)) {
        if let Some(said) = self.0.lock().get_mut(place) {
            change(said);
        }
    }

    fn listed(&self, place: usize, alive: HashSet<String>) {
        self.change(place, |said| {
            *said = Said {
                heard: true,
                listed: true,
                alive,
            };
        });
    }

    fn heard(&self, place: usize, heard: bool) {
        self.change(place, |said| said.heard = heard);
    }

    fn alive(&self, place: usize, uid: String) {
        self.change(place, |said| {
            said.alive.insert(uid);
        });
    }

    fn gone(&self, place: usize, uid: &str) {
        self.change(place, |said| {
            said.alive.remove(uid);
        });
    }

    fn is_alive(&self, uid: &str) -> bool {
        self.0.lock().iter().any(|said| said.alive.contains(uid))
    }

    fn all_listed(&self) -> bool {
        self.0.lock().iter().all(|said| said.listed)
    }

    fn readiness(&self) -> Readiness {
        let all_heard = self.0.lock().iter().all(|said| said.heard && said.listed);
        match all_heard {
            true => Ok(()),
            false => Err(
                "pods are not watched: until they are, keys end with their time and not with their \
                 pod"
                .to_owned(),
            ),
        }
    }
}

/// One watch for each namespace that is served, or one for all.
fn watched(namespaces: &[String], selector: Option<&String>) -> Vec<Watched> {
    let one = |namespace: Option<&String>| Watched {
        namespace: namespace.cloned(),
        selector: selector.cloned(),
    };
    match namespaces {
        [] => vec![one(None)],
        some => some.iter().map(|namespace| one(Some(namespace))).collect(),
    }
}

fn audit(pod: &PodRef, key: &KeyRecord) {
    let namespace = match &key.reach {
        Reach::Admin => "",
        Reach::Namespace(namespace) => namespace.as_str(),
    };
    tracing::info!(
        target: "recall::audit",
        decision = "revoked",
        code = "pod_gone",
        what = "watch",
        tenant = namespace.split_once(':').map(|(tenant, _)| tenant),
        agent = key.agent.as_deref(),
        namespace = pod.namespace,
        pod = pod.name,
        pod_uid = pod.uid,
        service_account = key.pod.as_ref().map(|binding| binding.service_account.as_str()),
        key_id = key.id.as_str(),
        "key revoked"
    );
}
