//! Sessions that are written on several keys.

use recall_keys::Standing;
use recall_store::Namespace;

use super::*;

/// Longer than what was read of the sessions is taken for what is there.
const A_WHILE: Duration = Duration::from_secs(6);

impl Bench {
    async fn of_session(&self, namespace: &str, name: &str, ttl: Option<u64>) -> Minted {
        let spec = Spec {
            reach: Reach::Namespace(namespace.parse().expect("a namespace")),
            agent: None,
            session: Some(name.to_owned()),
            note: None,
            ttl: ttl.map(Duration::from_secs),
        };
        self.keys.mint(spec).await.expect("a key")
    }

    async fn standing(&self, name: &str) -> Standing {
        self.clock.advance(A_WHILE);
        let namespace: Namespace = "team:a".parse().expect("a namespace");
        let standing = self.keys.session_standing(&namespace, name).await;
        standing.expect("the store is there")
    }
}

#[tokio::test]
async fn a_session_stands_while_one_of_its_keys_does() {
    let bench = Bench::new();
    assert_eq!(bench.standing("s").await, Standing::Dead);
    let first = bench.of_session("team:a", "s", None).await;
    let second = bench.of_session("team:a", "s", None).await;
    let third = bench.of_session("team:a", "s", Some(600)).await;
    assert_eq!(bench.standing("s").await, Standing::Passing);
    for (key, left) in [
        (&first, Standing::Passing),
        (&third, Standing::Lasting),
        (&second, Standing::Dead),
    ] {
        bench.keys.revoke(&key.record.id).await.expect("it exists");
        assert_eq!(bench.standing("s").await, left);
    }
    bench.of_session("team:a", "s", Some(60)).await;
    assert_eq!(bench.standing("s").await, Standing::Passing);
    bench.clock.advance(Duration::from_secs(60));
    assert_eq!(bench.standing("s").await, Standing::Dead);
}

#[tokio::test]
async fn keys_of_other_namespaces_names_and_pods_are_not_of_the_session() {
    let bench = Bench::new();
    bench.of_session("team:b", "s", None).await;
    bench.of_session("team:a", "S", None).await;
    let hour = Duration::from_secs(3600);
    let pod = bench
        .keys
        .mint_for_pod(&caller("coder", "s", "u1"), hour)
        .await;
    pod.expect("a key");
    assert_eq!(bench.standing("s").await, Standing::Dead);
}

#[tokio::test]
async fn an_end_is_seen_at_once_and_a_revocation_within_seconds() {
    let bench = Bench::new();
    let key = bench.of_session("team:a", "s", Some(8)).await;
    assert_eq!(bench.standing("s").await, Standing::Passing);
    let namespace: Namespace = "team:a".parse().expect("a namespace");
    bench.clock.advance(Duration::from_secs(2));
    let now = bench.keys.session_standing(&namespace, "s").await;
    assert_eq!(now.expect("the store is there"), Standing::Dead);
    bench.keys.revoke(&key.record.id).await.expect("it exists");
    let other = bench.of_session("team:a", "s", None).await;
    assert_eq!(bench.standing("s").await, Standing::Lasting);
    bench
        .keys
        .revoke(&other.record.id)
        .await
        .expect("it exists");
    assert_eq!(bench.standing("s").await, Standing::Dead);
}

#[tokio::test]
async fn more_sessions_than_a_page_holds_are_all_known() {
    let bench = Bench::new();
    for number in 0..=recall_keys::MAX_LISTED {
        bench
            .of_session("team:a", &format!("s{number}"), None)
            .await;
    }
    for number in [0, recall_keys::MAX_LISTED] {
        let standing = bench.standing(&format!("s{number}")).await;
        assert_eq!(standing, Standing::Lasting, "s{number}");
    }
}
