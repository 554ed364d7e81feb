//! What a request asks for.

use http::Method;

/// The kinds of request that are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Route {
    /// Have a token reviewed.
    TokenReviews,
    /// Ask what one may do oneself.
    AccessReviews,
    /// Read one pod.
    Pod,
    /// List pods.
    PodList,
    /// Watch pods.
    PodWatch,
    /// Read one service account.
    ServiceAccount,
    /// Read one namespace.
    Namespace,
    /// Read one `Sandbox`.
    Sandbox,
    /// Read one `SandboxClaim`.
    SandboxClaim,
    /// Read the version.
    Version,
    /// Anything else.
    Other,
}

/// What a request's path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target<'a> {
    pub(crate) route: Route,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> Target<'a> {
    pub(crate) fn of(method: &Method, path: &'a str, query: &str) -> Self {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let at = |route, namespace, name| Self {
            route,
            namespace,
            name,
        };
        let watch = query
            .split('&')
            .any(|pair| pair == "watch=true" || pair == "watch=1");
        let listed = if watch {
            Route::PodWatch
        } else {
            Route::PodList
        };
        match (method.as_str(), parts.as_slice()) {
            ("POST", ["apis", "authentication.k8s.io", "v1", "tokenreviews"]) => {
                at(Route::TokenReviews, "", "")
            }
            (
                "POST",
                [
                    "apis",
                    "authorization.k8s.io",
                    "v1",
                    "selfsubjectaccessreviews",
                ],
            ) => at(Route::AccessReviews, "", ""),
            ("GET", ["version"]) => at(Route::Version, "", ""),
            ("GET", ["api", "v1", "pods"]) => at(listed, "", ""),
            ("GET", ["api", "v1", "namespaces", ns]) => at(Route::Namespace, "", ns),
            ("GET", ["api", "v1", "namespaces", ns, "pods"]) => at(listed, ns, ""),
            ("GET", ["api", "v1", "namespaces", ns, "pods", name]) => at(Route::Pod, ns, name),
            ("GET", ["api", "v1", "namespaces", ns, "serviceaccounts", name]) => {
                at(Route::ServiceAccount, ns, name)
            }
            (
                "GET",
                [
                    "apis",
                    "agents.x-k8s.io",
                    _,
                    "namespaces",
                    ns,
                    "sandboxes",
                    name,
                ],
            ) => at(Route::Sandbox, ns, name),
            (
                "GET",
                [
                    "apis",
                    "extensions.agents.x-k8s.io",
                    _,
                    "namespaces",
                    ns,
                    "sandboxclaims",
                    name,
                ],
            ) => at(Route::SandboxClaim, ns, name),
            _ => at(Route::Other, "", ""),
        }
    }
}

impl Route {
    /// Verb, API group and resource in an RBAC rule.
    pub(crate) fn rule(self) -> Option<(&'static str, &'static str, &'static str)> {
        Some(match self {
            Self::TokenReviews => ("create", "authentication.k8s.io", "tokenreviews"),
            Self::Pod => ("get", "", "pods"),
            Self::PodList => ("list", "", "pods"),
            Self::PodWatch => ("watch", "", "pods"),
            Self::ServiceAccount => ("get", "", "serviceaccounts"),
            Self::Namespace => ("get", "", "namespaces"),
            Self::Sandbox => ("get", "agents.x-k8s.io", "sandboxes"),
            Self::SandboxClaim => ("get", "extensions.agents.x-k8s.io", "sandboxclaims"),
            Self::AccessReviews | Self::Version | Self::Other => return None,
        })
    }
}
