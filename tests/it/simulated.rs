//! A server under test beside the stand-in for an API server.
//!
//! The stand-in lives in the test's own runtime, and starting a server blocks a thread: these tests
//! need more than one.

use std::time::{Duration, Instant};

use recall_e2e::world::{PodSpec, World};
use recall_testkit::{FakeApiServer, FakeCluster};

use super::*;

pub(crate) const LABEL: &str = "sandbox.users.io/agent";
/// What a test waits for comes long before this, unless it does not come.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Cluster {
    pub(crate) world: World,
    pub(crate) server: Server,
    pub(crate) http: Client,
    pub(crate) admin: String,
    pub(crate) dir: TempDir,
    flags: Vec<String>,
}

impl Cluster {
    pub(crate) async fn start(flags: &[&str]) -> Self {
        let world = World::simulated().await.expect("a stand-in");
        Self::start_in(world, flags).await
    }

    pub(crate) async fn start_in(world: World, flags: &[&str]) -> Self {
        world.tenant("agents").await.expect("a tenant");
        let dir = tempfile::tempdir().expect("a folder");
        let access = world.server_account(dir.path()).await;
        let mut all = access.expect("an account").flags();
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let server = started(&dir, &all).expect("it starts");
        let admin = programs::admin_key(dir.path(), "recall").expect("an admin key");
        Self {
            world,
            server,
            http: Client::default(),
            admin,
            dir,
            flags: all,
        }
    }

    /// Ends the server, does something, and starts it again on the same data.
    pub(crate) fn restart(&mut self, meanwhile: impl FnOnce(&Self)) {
        self.server.process().stop().expect("it ends");
        meanwhile(self);
        self.server = started(&self.dir, &self.flags).expect("it starts again");
    }

    pub(crate) fn api(&self) -> &FakeApiServer {
        match &self.world {
            World::Simulated(simulated) => simulated.api(),
            World::Real(_) => panic!("it is simulated"),
        }
    }

    pub(crate) fn cluster(&self) -> &FakeCluster {
        self.api().cluster()
    }

    pub(crate) async fn pod(&self, name: &str, labels: &[(&str, &str)]) -> String {
        self.pod_in("agents", name, labels).await
    }

    /// A new pod's token.
    pub(crate) async fn pod_in(
        &self,
        namespace: &str,
        name: &str,
        labels: &[(&str, &str)],
    ) -> String {
        let pod = PodSpec {
            namespace,
            name,
            labels,
        };
        self.world.add_pod(pod).await.expect("a pod");
        let token = self.world.token(namespace, name, "recall").await;
        token.expect("a token")
    }

    pub(crate) async fn exchange(&self, token: &str) -> Answer {
        self.http
            .exchange(&self.server.url, token)
            .await
            .expect("an answer")
    }

    /// The key of an exchange that succeeds.
    pub(crate) async fn key(&self, token: &str) -> String {
        let answer = self.exchange(token).await;
        assert_eq!(answer.status, 201, "{}", answer.json());
        key_of(&answer)
    }

    pub(crate) async fn renew(&self, key: &str, body: &Value) -> Answer {
        self.http
            .post(&format!("{}/v1/keys/renew", self.server.url), key, body)
            .await
            .expect("an answer")
    }

    /// The status and code of a memory call under this key.
    pub(crate) async fn call(&self, key: &str) -> (u16, String) {
        let url = format!("{}/v1/recall", self.server.url);
        let query = json!({ "question": "anything" });
        let answer = self.http.post(&url, key, &query).await.expect("an answer");
        (answer.status, answer.code())
    }

    /// How long it takes until the key is refused.
    pub(crate) async fn refused_after(&self, key: &str) -> Duration {
        let began = Instant::now();
        until("the key is refused", async || {
            let (status, code) = self.call(key).await;
            assert!(
                status == 200 || code == "unauthenticated",
                "{status} {code}"
            );
            status == 401
        })
        .await;
        began.elapsed()
    }

    /// The readiness of the server: its status and what it says.
    pub(crate) async fn readiness(&self) -> (u16, String) {
        self.admin_page("/readyz").await
    }

    pub(crate) async fn ready(&self) {
        until("the server is ready", async || {
            self.readiness().await.0 == 200
        })
        .await;
    }

    pub(crate) async fn metrics(&self) -> String {
        self.admin_page("/metrics").await.1
    }

    async fn admin_page(&self, path: &str) -> (u16, String) {
        let url = format!("{}{path}", self.server.admin_url);
        let answer = self.http.send("GET", &url, &[], "").await;
        let answer = answer.expect("an answer");
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        (answer.status, text)
    }

    /// How many live keys there are of a pod.
    pub(crate) async fn live_keys(&self, pod_uid: &str) -> usize {
        let url = format!("{}/v1/keys?state=live&pod_uid={pod_uid}", self.server.url);
        let bearer = format!("Bearer {}", self.admin);
        let headers = [("authorization", bearer.as_str())];
        let answer = self.http.send("GET", &url, &headers, "").await;
        let keys = answer.expect("an answer").json();
        keys["keys"].as_array().map_or(0, Vec::len)
    }
}

fn started(dir: &TempDir, flags: &[String]) -> anyhow::Result<Server> {
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    programs::server(dir.path(), "recall", &flags)
}

pub(crate) fn key_of(answer: &Answer) -> String {
    let record = answer.json();
    record["key"].as_str().expect("a key").to_owned()
}

/// Waits until something of the server is so.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let waited = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waited).await;
    assert!(waited.is_ok(), "{what}: not within {PATIENCE:?}");
}
