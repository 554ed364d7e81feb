//! A real API server, used as an operator and as a kubelet would.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::world::{Access, PodSpec, RUNNER};

const SERVER_NAMESPACE: &str = "recall";
const SERVER_ACCOUNT: &str = "recall-server";

/// A client with the rights of a cluster administrator.
#[derive(Clone)]
pub struct Real {
    client: Client,
    url: String,
    ca_file: PathBuf,
}

impl std::fmt::Debug for Real {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Real")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Real {
    pub(crate) async fn connect() -> anyhow::Result<Self> {
        let variable = |name: &str| {
            std::env::var(name).with_context(|| {
                format!("{name} is not set: run this by cargo xtask test --only k8s")
            })
        };
        let url = variable("RECALL_K8S_URL")?;
        let ca_file = PathBuf::from(variable("RECALL_K8S_CA")?);
        let client = client(&url, &ca_file, &variable("RECALL_K8S_ADMIN_TOKEN")?).await?;
        Ok(Self {
            client,
            url,
            ca_file,
        })
    }

    pub(crate) async fn tenant(&self, namespace: &str) -> anyhow::Result<()> {
        self.namespace(namespace).await?;
        self.account(namespace, RUNNER).await
    }

    pub(crate) async fn server_account(&self, dir: &Path) -> anyhow::Result<Access> {
        self.namespace(SERVER_NAMESPACE).await?;
        self.account(SERVER_NAMESPACE, SERVER_ACCOUNT).await?;
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": { "name": SERVER_ACCOUNT },
            "rules": [
                { "apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"] },
                { "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"] },
            ],
        });
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": { "name": SERVER_ACCOUNT },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": SERVER_ACCOUNT },
            "subjects": [{ "kind": "ServiceAccount", "name": SERVER_ACCOUNT, "namespace": SERVER_NAMESPACE }],
        });
        ensure(&Api::<ClusterRole>::all(self.client.clone()), role).await?;
        ensure(
            &Api::<ClusterRoleBinding>::all(self.client.clone()),
            binding,
        )
        .await?;
        let token = self
            .request_token(SERVER_NAMESPACE, SERVER_ACCOUNT, None, Vec::new())
            .await?;
        self.access(dir, &token)
    }

    pub(crate) async fn add_pod(&self, pod: PodSpec<'_>) -> anyhow::Result<String> {
        let labels: serde_json::Map<String, Value> = pod
            .labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).into()))
            .collect();
        let spec = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": pod.name, "namespace": pod.namespace, "labels": labels },
            "spec": {
                "serviceAccountName": RUNNER,
                "automountServiceAccountToken": false,
                "containers": [{ "name": "agent", "image": "agent" }],
            },
        });
        let made = self
            .pods(pod.namespace)
            .create(&PostParams::default(), &serde_json::from_value(spec)?)
            .await?;
        made.metadata.uid.context("a pod has a UID")
    }

    pub(crate) async fn delete_pod(&self, namespace: &str, name: &str) -> anyhow::Result<()> {
        let pods = self.pods(namespace);
        pods.delete(name, &DeleteParams::default().grace_period(0))
            .await?;
        while pods.get_opt(name).await?.is_some() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    pub(crate) async fn token(
        &self,
        namespace: &str,
        pod: Option<&str>,
        audience: &str,
    ) -> anyhow::Result<String> {
        let audiences = if audience.is_empty() {
            Vec::new()
        } else {
            vec![audience.to_owned()]
        };
        self.request_token(namespace, RUNNER, pod, audiences).await
    }

    /// An account for a server that serves one namespace: cluster-wide it may review tokens only.
    ///
    /// # Errors
    ///
    /// If the API server refuses.
    pub async fn narrow_account(&self, dir: &Path, namespace: &str) -> anyhow::Result<Access> {
        let (group, name) = ("rbac.authorization.k8s.io", "recall-narrow");
        self.account(namespace, name).await?;
        let subject = json!([{ "kind": "ServiceAccount", "name": name, "namespace": namespace }]);
        let reviews = json!([
            { "apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"] },
        ]);
        let pods = json!([
            { "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"] },
        ]);
        let meta = json!({ "name": name });
        let reference = |kind: &str| json!({ "apiGroup": group, "kind": kind, "name": name });
        let all = self.client.clone();
        ensure(
            &Api::<ClusterRole>::all(all.clone()),
            json!({ "metadata": meta, "rules": reviews }),
        )
        .await?;
        ensure(
            &Api::<ClusterRoleBinding>::all(all.clone()),
            json!({ "metadata": meta, "roleRef": reference("ClusterRole"), "subjects": subject }),
        )
        .await?;
        ensure(
            &Api::<Role>::namespaced(all.clone(), namespace),
            json!({ "metadata": meta, "rules": pods }),
        )
        .await?;
        ensure(
            &Api::<RoleBinding>::namespaced(all, namespace),
            json!({ "metadata": meta, "roleRef": reference("Role"), "subjects": subject }),
        )
        .await?;
        let token = self
            .request_token(namespace, name, None, Vec::new())
            .await?;
        self.access(dir, &token)
    }

    /// Takes a label off a pod.
    ///
    /// # Errors
    ///
    /// If the API server refuses.
    pub async fn unlabel_pod(&self, namespace: &str, name: &str, key: &str) -> anyhow::Result<()> {
        let patch = json!({ "metadata": { "labels": { key: null } } });
        let patch = Patch::Merge(&patch);
        let pods = self.pods(namespace);
        pods.patch(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// A token of the agents' account that is bound to nothing.
    ///
    /// # Errors
    ///
    /// If the API server refuses.
    pub async fn unbound_token(&self, namespace: &str, audience: &str) -> anyhow::Result<String> {
        self.request_token(namespace, RUNNER, None, vec![audience.to_owned()])
            .await
    }

    /// An account that may do nothing, for a server that must not start.
    ///
    /// # Errors
    ///
    /// If the API server refuses.
    pub async fn powerless_account(&self, dir: &Path, namespace: &str) -> anyhow::Result<Access> {
        let token = self
            .request_token(namespace, RUNNER, None, Vec::new())
            .await?;
        self.access(dir, &token)
    }

    fn access(&self, dir: &Path, token: &str) -> anyhow::Result<Access> {
        let token_file = dir.join("server.token");
        std::fs::write(&token_file, token)?;
        Ok(Access {
            url: self.url.clone(),
            ca_file: Some(self.ca_file.clone()),
            token_file,
        })
    }

    async fn request_token(
        &self,
        namespace: &str,
        account: &str,
        pod: Option<&str>,
        audiences: Vec<String>,
    ) -> anyhow::Result<String> {
        let bound = match pod {
            None => None,
            Some(name) => Some(BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                name: Some(name.to_owned()),
                uid: self.pods(namespace).get(name).await?.metadata.uid,
            }),
        };
        let request = TokenRequest {
            spec: TokenRequestSpec {
                audiences,
                bound_object_ref: bound,
                expiration_seconds: Some(3600),
            },
            ..TokenRequest::default()
        };
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let made = accounts
            .create_token_request(account, &PostParams::default(), &request)
            .await?;
        Ok(made.status.context("a token request is answered")?.token)
    }

    fn pods(&self, namespace: &str) -> Api<Pod> {
        Api::namespaced(self.client.clone(), namespace)
    }

    async fn namespace(&self, name: &str) -> anyhow::Result<()> {
        let spec = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        ensure(&Api::<Namespace>::all(self.client.clone()), spec).await
    }

    async fn account(&self, namespace: &str, name: &str) -> anyhow::Result<()> {
        let spec = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": name, "namespace": namespace },
            "automountServiceAccountToken": false,
        });
        ensure(
            &Api::<ServiceAccount>::namespaced(self.client.clone(), namespace),
            spec,
        )
        .await
    }
}

/// Makes an object unless it is there.
async fn ensure<K>(api: &Api<K>, object: Value) -> anyhow::Result<()>
where
    K: Clone + serde::de::DeserializeOwned + serde::Serialize + std::fmt::Debug,
{
    match api
        .create(&PostParams::default(), &serde_json::from_value(object)?)
        .await
    {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn client(url: &str, ca_file: &Path, token: &str) -> anyhow::Result<Client> {
    let config: Kubeconfig = serde_json::from_value(json!({
        "current-context": "test",
        "clusters": [{ "name": "test", "cluster": { "server": url, "certificate-authority": ca_file } }],
        "users": [{ "name": "test", "user": { "token": token } }],
        "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
    }))?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
