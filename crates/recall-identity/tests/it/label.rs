//! From labels to tenant and agent.

use recall_identity::{AgentRule, Rules, TenantRule};
use recall_testkit::{FakeCluster, NewPod, NewToken, Route};
use serde_json::json;

use crate::support::{AGENT, World, label_is_optional, limits, rules};

const TENANT: &str = "recall.polign.dev/tenant";
const POOL: &str = "agents.x-k8s.io/warm-pool-sandbox";

/// The outcome for pod `name` of namespace `agents`, in a cluster made by `setup`.
async fn outcome(rules: &Rules, name: &str, setup: impl FnOnce(&FakeCluster)) -> String {
    let world = World::with(rules.clone(), limits()).await;
    setup(world.cluster());
    let token = world
        .cluster()
        .issue_token(&NewToken::of_pod("agents", name));
    world.outcome(&token).await
}

fn claims() -> Rules {
    Rules {
        agent: AgentRule::SandboxClaim,
        ..rules()
    }
}

fn pod_name() -> Rules {
    Rules {
        agent: AgentRule::PodName,
        ..rules()
    }
}

#[tokio::test]
async fn plain_pod_without_the_label() {
    let plain = |cluster: &FakeCluster| {
        cluster.add_pod(&NewPod::new("agents", "plain"));
    };
    assert_eq!(
        outcome(&rules(), "plain", plain).await,
        "agent_label_missing"
    );
    assert_eq!(
        outcome(&label_is_optional(), "plain", plain).await,
        "agents:plain"
    );
    assert_eq!(outcome(&pod_name(), "plain", plain).await, "agents:plain");
    assert_eq!(outcome(&claims(), "plain", plain).await, "agents:plain");
}

#[tokio::test]
async fn empty_label_counts_as_absent() {
    let empty = |cluster: &FakeCluster| {
        cluster.add_pod(&NewPod::new("agents", "empty").label(AGENT, ""));
    };
    assert_eq!(
        outcome(&rules(), "empty", empty).await,
        "agent_label_missing"
    );
    assert_eq!(
        outcome(&label_is_optional(), "empty", empty).await,
        "agents:empty"
    );
}

#[tokio::test]
async fn pod_in_a_warm_pool_is_unclaimed_whatever_it_says() {
    let warm = |cluster: &FakeCluster| {
        cluster.add_warm_pod("agents", "pool", "pool-x7k2p");
    };
    let labelled = |cluster: &FakeCluster| {
        warm(cluster);
        cluster.label_pod("agents", "pool-x7k2p", AGENT, "run-1");
    };
    for rules in [rules(), label_is_optional(), claims(), pod_name()] {
        assert_eq!(
            outcome(&rules, "pool-x7k2p", warm).await,
            "sandbox_unclaimed"
        );
        assert_eq!(
            outcome(&rules, "pool-x7k2p", labelled).await,
            "sandbox_unclaimed"
        );
    }
}

#[tokio::test]
async fn pool_label_with_an_empty_value_still_means_unclaimed() {
    let pod = NewPod::new("agents", "odd")
        .label(POOL, "")
        .label(AGENT, "run-1");
    let odd = |cluster: &FakeCluster| {
        cluster.add_pod(&pod);
    };
    assert_eq!(outcome(&rules(), "odd", odd).await, "sandbox_unclaimed");
}

#[tokio::test]
async fn pod_whose_pool_label_was_stripped_is_unclaimed_by_its_owners() {
    let stripped = |cluster: &FakeCluster| {
        cluster.add_warm_pod("agents", "pool", "pool-x7k2p");
        cluster.edit_pod("agents", "pool-x7k2p", |pod| {
            pod["metadata"]["labels"] = json!({})
        });
    };
    for rules in [rules(), label_is_optional(), claims()] {
        assert_eq!(
            outcome(&rules, "pool-x7k2p", stripped).await,
            "sandbox_unclaimed"
        );
    }
}

#[tokio::test]
async fn adopted_pod_is_unclaimed_until_its_label_lands() {
    for rules in [rules(), label_is_optional()] {
        let world = World::with(rules, limits()).await;
        let cluster = world.cluster();
        cluster.add_warm_pod("agents", "pool", "pool-x7k2p");
        let token = cluster.issue_token(&NewToken::of_pod("agents", "pool-x7k2p"));
        assert_eq!(world.outcome(&token).await, "sandbox_unclaimed");
        cluster.add_claim("agents", "run-1", &[(AGENT, "run-1")]);
        cluster.begin_adoption("agents", "pool-x7k2p", "run-1");
        assert_eq!(world.outcome(&token).await, "sandbox_unclaimed");
        // Not seen in practice: the pool's label gone and the agent's not there yet.
        cluster.edit_pod("agents", "pool-x7k2p", |pod| {
            pod["metadata"]["labels"] = json!({})
        });
        assert_eq!(world.outcome(&token).await, "sandbox_unclaimed");
        cluster.finish_adoption("agents", "pool-x7k2p", "run-1");
        assert_eq!(world.outcome(&token).await, "agents:run-1");
    }
}

fn adopt(cluster: &FakeCluster, labels: &[(&str, &str)]) {
    cluster.add_warm_pod("agents", "pool", "pool-x7k2p");
    cluster.add_claim("agents", "run-1", labels);
    cluster.begin_adoption("agents", "pool-x7k2p", "run-1");
    cluster.finish_adoption("agents", "pool-x7k2p", "run-1");
}

#[tokio::test]
async fn claim_that_names_no_agent_leaves_the_label_missing() {
    for labels in [&[][..], &[(AGENT, "")]] {
        let adopted = |cluster: &FakeCluster| adopt(cluster, labels);
        assert_eq!(
            outcome(&rules(), "pool-x7k2p", adopted).await,
            "agent_label_missing"
        );
        let fallback = outcome(&label_is_optional(), "pool-x7k2p", adopted).await;
        assert_eq!(fallback, "agents:pool-x7k2p");
    }
}

#[tokio::test]
async fn claim_gives_its_own_name_where_claims_name_agents() {
    let adopted = |cluster: &FakeCluster| adopt(cluster, &[(AGENT, "other")]);
    assert_eq!(
        outcome(&claims(), "pool-x7k2p", adopted).await,
        "agents:run-1"
    );
}

#[tokio::test]
async fn sandbox_that_stands_alone_goes_by_the_pods_name() {
    let alone = |cluster: &FakeCluster| {
        let sandbox = cluster.add_sandbox("agents", "alone");
        cluster.add_pod(&NewPod::new("agents", "alone").owned_by_sandbox("alone", &sandbox));
    };
    assert_eq!(outcome(&claims(), "alone", alone).await, "agents:alone");
    assert_eq!(
        outcome(&label_is_optional(), "alone", alone).await,
        "agents:alone"
    );
    assert_eq!(
        outcome(&rules(), "alone", alone).await,
        "agent_label_missing"
    );
}

#[tokio::test]
async fn owner_that_is_gone_or_replaced_vouches_for_nothing() {
    let breaks: [fn(&FakeCluster); 4] = [
        |cluster| cluster.delete(Route::Sandbox, "agents", "pool-x7k2p"),
        |cluster| {
            cluster.add_sandbox("agents", "pool-x7k2p");
        },
        |cluster| cluster.delete(Route::SandboxClaim, "agents", "run-1"),
        |cluster| {
            cluster.add_claim("agents", "run-1", &[(AGENT, "run-1")]);
        },
    ];
    for break_it in breaks {
        let broken = |cluster: &FakeCluster| {
            adopt(cluster, &[]);
            break_it(cluster);
        };
        assert_eq!(outcome(&claims(), "pool-x7k2p", broken).await, "pod_gone");
        assert_eq!(
            outcome(&rules(), "pool-x7k2p", broken).await,
            "agent_label_missing"
        );
        let optional = outcome(&label_is_optional(), "pool-x7k2p", broken).await;
        assert_eq!(optional, "agent_label_missing");
    }
}

#[tokio::test]
async fn owner_of_another_kind_or_group_is_no_owner() {
    let check = async |api: &str, kind: &str| {
        let owned = |cluster: &FakeCluster| {
            cluster.add_pod(&NewPod::new("agents", "owned").owned_by(api, kind, "x", "u-1"));
        };
        assert_eq!(
            outcome(&claims(), "owned", owned).await,
            "agents:owned",
            "{api} {kind}"
        );
    };
    check("apps/v1", "ReplicaSet").await;
    check("example.com/v1", "Sandbox").await;
    check("agents.x-k8s.io/v1beta1", "SandboxClaim").await;
    check("v1", "Sandbox").await;
}

#[tokio::test]
async fn owner_whose_name_would_leave_its_path_is_never_asked_for() {
    let world = World::with(claims(), limits()).await;
    let pod = NewPod::new("agents", "owned");
    world
        .cluster()
        .add_pod(&pod.owned_by_sandbox("../../secrets/x", "u-1"));
    let token = world
        .cluster()
        .issue_token(&NewToken::of_pod("agents", "owned"));
    assert_eq!(world.outcome(&token).await, "upstream");
    assert_eq!(world.server.requests().len(), 2);
}

#[tokio::test]
async fn label_value_that_kubernetes_would_refuse_is_bad() {
    let long = "a".repeat(64);
    for value in [
        "a:b", "../x", "a/b", &long, "a-", "-a", ".", "a.", "а", "ｒun", "a\0b", "*", "a b", " ",
        "a\nb", "%2e",
    ] {
        let bad = |cluster: &FakeCluster| {
            cluster.add_pod(&NewPod::new("agents", "bad").label(AGENT, value));
        };
        assert_eq!(
            outcome(&rules(), "bad", bad).await,
            "bad_label",
            "{value:?}"
        );
        assert_eq!(
            outcome(&label_is_optional(), "bad", bad).await,
            "bad_label",
            "{value:?}"
        );
    }
}

#[tokio::test]
async fn odd_but_legal_label_value_is_taken_byte_for_byte() {
    let longest = "a".repeat(63);
    for value in ["A", "a..b", "a_b", "1", "Run-1", "run-1", &longest] {
        let odd = |cluster: &FakeCluster| {
            cluster.add_pod(&NewPod::new("agents", "odd").label(AGENT, value));
        };
        assert_eq!(
            outcome(&rules(), "odd", odd).await,
            format!("agents:{value}")
        );
    }
}

#[tokio::test]
async fn names_too_long_for_a_memory_are_bad() {
    let name = ["a"; 100].join(".");
    let long = |cluster: &FakeCluster| {
        cluster.add_pod(&NewPod::new("agents", &name));
    };
    assert_eq!(outcome(&pod_name(), &name, long).await, "bad_label");
}

fn tenant_rules() -> [(Rules, Route, &'static str, &'static str); 2] {
    let (account, namespace) = (
        TenantRule::ServiceAccountLabel(TENANT.to_owned()),
        TenantRule::NamespaceLabel(TENANT.to_owned()),
    );
    [
        (
            Rules {
                tenant: account,
                ..rules()
            },
            Route::ServiceAccount,
            "agents",
            "runner",
        ),
        (
            Rules {
                tenant: namespace,
                ..rules()
            },
            Route::Namespace,
            "",
            "agents",
        ),
    ]
}

#[tokio::test]
async fn tenant_comes_from_a_label_and_from_nowhere_else() {
    for (rules, route, namespace, name) in tenant_rules() {
        let labelled = async |value: serde_json::Value| {
            let set = |cluster: &FakeCluster| {
                cluster.edit(route, namespace, name, |object| {
                    object["metadata"]["labels"] = json!({ TENANT: value });
                });
            };
            outcome(&rules, "demo-1", set).await
        };
        assert_eq!(labelled(json!("acme")).await, "acme:demo-1");
        assert_eq!(labelled(json!("")).await, "tenant_label_missing");
        assert_eq!(labelled(json!("a:b")).await, "bad_label");
        assert_eq!(labelled(json!("../x")).await, "bad_label");
        assert_eq!(
            outcome(&rules, "demo-1", |_| ()).await,
            "tenant_label_missing"
        );
    }
}

#[tokio::test]
async fn tenant_of_an_account_made_again_after_the_review_is_rejected() {
    for gone in [false, true] {
        let [(rules, ..), _] = tenant_rules();
        let world = World::with(rules, limits()).await;
        let token = world.token();
        assert_eq!(world.outcome(&token).await, "tenant_label_missing");
        if gone {
            world
                .cluster()
                .delete(Route::ServiceAccount, "agents", "runner");
        } else {
            world.cluster().recreate_service_account("agents", "runner");
        }
        assert_eq!(world.outcome(&token).await, "token_rejected");
        assert_eq!(world.server.count(Route::TokenReviews), 1);
    }
}

#[tokio::test]
async fn two_namespaces_of_one_tenant_share_an_agent_by_name() {
    let [_, (rules, ..)] = tenant_rules();
    let world = World::with(rules, limits()).await;
    world
        .cluster()
        .add_pod(&NewPod::new("more", "demo-1").label(AGENT, "demo-1"));
    for namespace in ["agents", "more"] {
        world
            .cluster()
            .edit(Route::Namespace, "", namespace, |object| {
                object["metadata"]["labels"] = json!({ TENANT: "acme" });
            });
        let token = world
            .cluster()
            .issue_token(&NewToken::of_pod(namespace, "demo-1"));
        assert_eq!(world.outcome(&token).await, "acme:demo-1");
    }
}

#[tokio::test]
async fn tenants_are_told_apart_by_cluster() {
    let rules = Rules {
        cluster: Some("eu-1".to_owned()),
        ..rules()
    };
    assert_eq!(
        outcome(&rules, "demo-1", |_| ()).await,
        "eu-1.agents:demo-1"
    );
}

#[tokio::test]
async fn label_changed_on_a_live_pod_shows_in_the_next_exchange() {
    let world = World::new().await;
    let token = world.token();
    assert_eq!(world.outcome(&token).await, "agents:demo-1");
    world
        .cluster()
        .label_pod("agents", "demo-1", AGENT, "run-2");
    assert_eq!(world.outcome(&token).await, "agents:run-2");
    world.cluster().edit_pod("agents", "demo-1", |pod| {
        pod["metadata"]["labels"] = json!({})
    });
    assert_eq!(world.outcome(&token).await, "agent_label_missing");
}

#[tokio::test]
async fn namespace_made_again_is_the_same_tenant() {
    let world = World::new().await;
    assert_eq!(world.outcome(&world.token()).await, "agents:demo-1");
    world.cluster().delete(Route::Namespace, "", "agents");
    world.cluster().recreate_pod(&crate::support::demo_pod());
    assert_eq!(world.outcome(&world.token()).await, "agents:demo-1");
}

#[tokio::test]
async fn pool_pod_and_sandbox_of_one_name_are_one_agent() {
    let world = World::new().await;
    world
        .cluster()
        .add_pod(&NewPod::new("agents", "pool-1").label(AGENT, "demo-1"));
    let pool = world
        .cluster()
        .issue_token(&NewToken::of_pod("agents", "pool-1"));
    assert_eq!(world.outcome(&pool).await, "agents:demo-1");
    assert_eq!(world.outcome(&world.token()).await, "agents:demo-1");
}
