//! A resolver, a fake API server and one good pod.

use std::time::Duration;

use recall_identity::kube::{ApiServer, Client, Connection, connect};
use recall_identity::{
    AgentRule, Authenticate, Caller, Error, Limits, Resolver, Rules, TenantRule,
};
use recall_testkit::{FakeApiServer, FakeCluster, NewPod, NewToken};

pub(crate) const AGENT: &str = "sandbox.users.io/agent";

pub(crate) struct World {
    pub(crate) server: FakeApiServer,
    pub(crate) resolver: Resolver<ApiServer>,
}

/// The agent is named by a label that is required; the tenant is the namespace.
pub(crate) fn rules() -> Rules {
    Rules {
        audience: "recall".to_owned(),
        tenant: TenantRule::Namespace,
        agent: AgentRule::Label {
            key: AGENT.to_owned(),
            optional: false,
        },
        cluster: None,
    }
}

pub(crate) fn label_is_optional() -> Rules {
    let agent = AgentRule::Label {
        key: AGENT.to_owned(),
        optional: true,
    };
    Rules { agent, ..rules() }
}

/// As by default, but quick to give up.
pub(crate) fn limits() -> Limits {
    Limits {
        call_timeout: Duration::from_secs(1),
        ..Limits::default()
    }
}

/// Pod `demo-1` of namespace `agents`, which is agent `demo-1`.
pub(crate) fn demo_pod() -> NewPod {
    NewPod::new("agents", "demo-1").label(AGENT, "demo-1")
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(rules(), limits()).await
    }

    pub(crate) async fn with(rules: Rules, limits: Limits) -> Self {
        let server = FakeApiServer::start(FakeCluster::new()).await.unwrap();
        server.cluster().add_pod(&demo_pod());
        let api = ApiServer::new(client(&server, Connection::default()).await);
        Self {
            server,
            resolver: Resolver::new(api, rules, limits),
        }
    }

    pub(crate) fn cluster(&self) -> &FakeCluster {
        self.server.cluster()
    }

    /// A good token of `demo-1`.
    pub(crate) fn token(&self) -> String {
        self.cluster()
            .issue_token(&NewToken::of_pod("agents", "demo-1"))
    }

    pub(crate) async fn exchange(&self, token: &str) -> Result<Caller, Error> {
        self.resolver.authenticate(token).await
    }

    /// The outcome of an exchange, as `tenant:agent` or as the error's code.
    pub(crate) async fn outcome(&self, token: &str) -> String {
        outcome(&self.exchange(token).await)
    }
}

pub(crate) fn outcome(result: &Result<Caller, Error>) -> String {
    match result {
        Ok(caller) => format!("{}:{}", caller.tenant, caller.agent),
        Err(error) => error.code().to_owned(),
    }
}

pub(crate) async fn client(server: &FakeApiServer, connection: Connection) -> Client {
    let api = Some(server.url().to_owned());
    connect(&Connection { api, ..connection }).await.unwrap()
}
