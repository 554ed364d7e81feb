//! How a pod becomes an agent of a tenant.

use crate::names;
use crate::trouble::Call;

/// What a token must be for, and where tenant and agent are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// The audience that a token must be issued for, byte for byte.
    pub audience: String,
    /// Where the tenant is read.
    pub tenant: TenantRule,
    /// Where the agent is read.
    pub agent: AgentRule,
    /// A name for this cluster, put before every tenant as `<cluster>.<tenant>`.
    pub cluster: Option<String>,
}

/// Where the tenant is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantRule {
    /// The tenant is the pod's namespace.
    Namespace,
    /// The tenant is the value of this label on the pod's service account.
    ///
    /// Whoever may edit service accounts in a namespace chooses its tenant.
    ServiceAccountLabel(String),
    /// The tenant is the value of this label on the pod's namespace.
    NamespaceLabel(String),
}

/// Where the agent is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentRule {
    /// The agent is the pod's name.
    PodName,
    /// The agent is the value of a label on the pod.
    Label {
        /// The label's key.
        key: String,
        /// Whether a pod outside any sandbox claim may do without it and go by its own name.
        optional: bool,
    },
    /// The agent is the name of the `SandboxClaim` that owns the pod's `Sandbox`, or the pod's name
    /// where no claim is involved.
    SandboxClaim,
}

/// A rule that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting} {value:?}: {problem}")]
pub struct InvalidRule {
    /// Which setting it is.
    pub setting: &'static str,
    /// The value it has.
    pub value: String,
    /// What is wrong with the value.
    pub problem: &'static str,
}

impl Rules {
    /// Whether these rules can be meant; to be asked once, at the start.
    ///
    /// # Errors
    ///
    /// [`InvalidRule`] names the first setting with an impossible value.
    pub fn check(&self) -> Result<(), InvalidRule> {
        let visible = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        ensure(
            visible(&self.audience),
            "audience",
            &self.audience,
            "must be visible ASCII text",
        )?;
        if let Some(key) = self.tenant.label() {
            ensure(
                names::is_label_key(key),
                "tenant label",
                key,
                "is not the key of a label",
            )?;
        }
        if let AgentRule::Label { key, .. } = &self.agent {
            ensure(
                names::is_label_key(key),
                "agent label",
                key,
                "is not the key of a label",
            )?;
        }
        match &self.cluster {
            Some(name) => ensure(
                names::is_dns_label(name),
                "cluster",
                name,
                "must be lower-case letters, digits and `-`, at most 63",
            ),
            None => Ok(()),
        }
    }

    /// Every kind of call that these rules lead to: what the server's account must be allowed.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        let mut calls = vec![Call::ReviewToken, Call::GetPod];
        calls.extend(match &self.tenant {
            TenantRule::Namespace => None,
            TenantRule::ServiceAccountLabel(_) => Some(Call::GetServiceAccount),
            TenantRule::NamespaceLabel(_) => Some(Call::GetNamespace),
        });
        if self.agent != AgentRule::PodName {
            calls.extend([Call::GetSandbox, Call::GetSandboxClaim]);
        }
        calls
    }
}

impl TenantRule {
    fn label(&self) -> Option<&str> {
        match self {
            Self::Namespace => None,
            Self::ServiceAccountLabel(key) | Self::NamespaceLabel(key) => Some(key),
        }
    }
}

fn ensure(
    good: bool,
    setting: &'static str,
    value: &str,
    problem: &'static str,
) -> Result<(), InvalidRule> {
    if good {
        return Ok(());
    }
    Err(InvalidRule {
        setting,
        value: value.to_owned(),
        problem,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules {
            audience: "recall".to_owned(),
            tenant: TenantRule::Namespace,
            agent: AgentRule::PodName,
            cluster: None,
        }
    }

    #[track_caller]
    fn check(rules: &Rules, expected: Option<&str>) {
        let refused = rules.check().err();
        assert_eq!(refused.as_ref().map(|e| e.setting), expected);
    }

    #[test]
    fn impossible_settings_are_named() {
        check(&rules(), None);
        check(
            &Rules {
                audience: String::new(),
                ..rules()
            },
            Some("audience"),
        );
        check(
            &Rules {
                audience: "re call".to_owned(),
                ..rules()
            },
            Some("audience"),
        );
        let tenant = TenantRule::NamespaceLabel("a/b/c".to_owned());
        check(&Rules { tenant, ..rules() }, Some("tenant label"));
        let agent = AgentRule::Label {
            key: "-x".to_owned(),
            optional: false,
        };
        check(&Rules { agent, ..rules() }, Some("agent label"));
        for cluster in ["a:b", "a.b", "", "A"] {
            check(
                &Rules {
                    cluster: Some(cluster.to_owned()),
                    ..rules()
                },
                Some("cluster"),
            );
        }
        check(
            &Rules {
                cluster: Some("eu-1".to_owned()),
                ..rules()
            },
            None,
        );
    }
}
