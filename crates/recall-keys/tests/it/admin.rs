//! Keys minted on an admin's word.

use recall_keys::{Filter, parse_static_keys};
use recall_store::{Namespace, Revision};

use super::*;

#[tokio::test]
async fn a_minted_key_reaches_its_namespace_and_nothing_else() {
    let bench = Bench::new();
    let minted = bench.mint(None).await;
    let grant = bench.check(&minted).await.expect("it is good");
    assert_eq!(
        grant.reach,
        Reach::Namespace("team:a".parse().expect("a namespace"))
    );
    assert_eq!(grant.key.as_ref(), Some(&minted.record.id));
}

#[tokio::test]
async fn wrong_keys_are_refused_alike() {
    let bench = Bench::new();
    let minted = bench.mint(None).await;
    let text = minted.key.expose_secret();
    let last = if text.ends_with('a') { 'b' } else { 'a' };
    let forged = [
        String::new(),
        "rcl_".to_owned(),
        format!("{}{last}", &text[..text.len() - 1]),
        text[..text.len() - 1].to_owned(),
        format!("{text}a"),
        text.to_uppercase(),
        format!("rcl_{}_{}", "0".repeat(16), "a".repeat(32)),
        minted.record.id.to_string(),
    ];
    for key in forged {
        let error = bench.keys.verify(&key).await.expect_err(&key);
        assert_eq!(
            error.to_string(),
            "unknown, expired or revoked key",
            "{key}"
        );
    }
}

#[tokio::test]
async fn a_key_is_good_until_the_instant_it_expires() {
    let bench = Bench::new();
    let minted = bench.mint(Some(10)).await;
    bench.clock.advance(Duration::from_millis(9_999));
    bench.check(&minted).await.expect("it is good");
    bench.clock.advance(Duration::from_millis(1));
    refused(bench.check(&minted).await, "unauthenticated");
    refused(
        bench.keys.renew(&grant_of(&minted)).await,
        "unauthenticated",
    );
}

fn grant_of(minted: &Minted) -> Grant {
    let record = &minted.record;
    Grant {
        key: Some(record.id),
        reach: record.reach.clone(),
        agent: None,
        session: None,
        pod_uid: record.pod.as_ref().map(|binding| binding.pod.uid.clone()),
    }
}

#[tokio::test]
async fn renewal_extends_the_same_key_by_its_own_lifetime() {
    let bench = Bench::new();
    let minted = bench.mint(Some(10)).await;
    bench.clock.advance(Duration::from_secs(6));
    let grant = bench.check(&minted).await.expect("it is good");
    let renewed = bench.keys.renew(&grant).await.expect("it is renewable");
    assert_eq!(renewed.id, minted.record.id);
    assert_eq!(
        renewed.expires_at,
        Some("2026-11-29T12:00:16Z".parse().expect("an instant"))
    );
    bench.clock.advance(Duration::from_secs(9));
    bench.check(&minted).await.expect("it lives on");
    bench.clock.advance(Duration::from_secs(1));
    refused(bench.check(&minted).await, "unauthenticated");
}

#[tokio::test]
async fn a_key_without_end_has_nothing_to_renew() {
    let bench = Bench::new();
    let minted = bench.mint(None).await;
    refused(
        bench.keys.renew(&grant_of(&minted)).await,
        "invalid_argument",
    );
}

#[tokio::test]
async fn revocation_holds_at_once_and_for_a_key_that_was_cached() {
    let bench = Bench::new();
    let minted = bench.mint(Some(600)).await;
    bench.check(&minted).await.expect("it is good and cached");
    bench
        .keys
        .revoke(&minted.record.id)
        .await
        .expect("it exists");
    refused(bench.check(&minted).await, "unauthenticated");
    bench
        .keys
        .revoke(&minted.record.id)
        .await
        .expect("repeating it is harmless");
    refused(
        bench.keys.renew(&grant_of(&minted)).await,
        "unauthenticated",
    );
    refused(
        bench
            .keys
            .revoke(&"00000000000000ff".parse().expect("an id"))
            .await,
        "not_found",
    );
}

#[tokio::test]
async fn only_a_hash_of_the_key_is_stored() {
    let bench = Bench::new();
    let minted = bench.mint(None).await;
    let secret = minted
        .key
        .expose_secret()
        .splitn(3, '_')
        .last()
        .expect("it has a secret");
    assert_eq!(secret.len(), 32, "it may hold the separator itself");
    let space = Namespace::keys();
    let page = bench
        .store
        .list(&space, recall_store::RecordKind::Key, "", None, 10)
        .await
        .expect("a page");
    let body = String::from_utf8(page.records[0].body.to_vec()).expect("text");
    assert!(!body.contains(secret), "{body}");
    assert_eq!(
        bench.store.revision(&space).await.expect("a revision"),
        Revision(0)
    );
    assert!(
        !format!("{minted:?}").contains(secret),
        "a key must not be printed by accident"
    );
}

#[tokio::test]
async fn fields_are_bounded_and_the_refusal_names_them() {
    let bench = Bench::new();
    let spec = |agent: &str, session: &str, note: &str| Spec {
        reach: Reach::Namespace("n".parse().expect("a namespace")),
        agent: Some(agent.to_owned()),
        session: Some(session.to_owned()),
        note: Some(note.to_owned()),
        ttl: None,
    };
    let fits = spec("a", &"s".repeat(256), &"n".repeat(1024));
    bench.keys.mint(fits).await.expect("at the limits");
    for (bad, field) in [
        (spec("bad agent!", "s", "n"), "agent:"),
        (spec("", "s", "n"), "agent:"),
        (spec(&"a".repeat(129), "s", "n"), "agent:"),
        (spec("a", &"s".repeat(257), "n"), "session:"),
        (spec("a", "s", &"n".repeat(1025)), "note:"),
        (spec("a", "s\n", "n"), "session:"),
    ] {
        let error = bench.keys.mint(bad).await.expect_err(field);
        assert!(error.to_string().starts_with(field), "{error}");
    }
}

#[tokio::test]
async fn the_bootstrap_key_is_registered_once_and_stays_revoked() {
    let bench = Bench::new();
    let text = format!("rcl_00112233445566ff_{}", "a".repeat(32));
    let key = recall_keys::parse_bootstrap_key(&format!("{text}\n")).expect("a key");
    for _ in 0..2 {
        let record = bench.keys.bootstrap(&key).await.expect("it is registered");
        assert_eq!(record.note.as_deref(), Some("bootstrap admin key"));
    }
    assert_eq!(
        bench.keys.verify(&text).await.expect("it is good").reach,
        Reach::Admin
    );
    bench
        .keys
        .revoke(&"00112233445566ff".parse().expect("an id"))
        .await
        .expect("it exists");
    bench.keys.bootstrap(&key).await.expect("a restart");
    refused(bench.keys.verify(&text).await, "unauthenticated");
    bench.clock.advance(Duration::from_secs(400 * 24 * 3600));
    bench.keys.sweep().await.expect("a sweep");
    bench
        .keys
        .bootstrap(&key)
        .await
        .expect("a restart a year later");
    refused(bench.keys.verify(&text).await, "unauthenticated");
}

#[tokio::test]
async fn static_keys_work_without_the_store() {
    let fixed = parse_static_keys("any-text team:a\n").expect("a file");
    let bench = Bench::with(Arc::new(MemoryStore::new()), fixed);
    let grant = bench.keys.verify("any-text").await.expect("it is fixed");
    assert_eq!(grant.key, None);
    refused(bench.keys.renew(&grant).await, "invalid_argument");
    refused(bench.keys.verify("any-tex").await, "unauthenticated");
}

#[tokio::test]
async fn listing_pages_in_order_of_age_and_filters() {
    let bench = Bench::new();
    let mut ids = Vec::new();
    for n in 0..7 {
        let reach = Reach::Namespace(format!("t{}:a", n % 2).parse().expect("a namespace"));
        let spec = Spec {
            reach,
            agent: Some("a".to_owned()),
            session: None,
            note: None,
            ttl: None,
        };
        ids.push(bench.keys.mint(spec).await.expect("a key").record.id);
        bench.clock.advance(Duration::from_secs(1));
    }
    let mut listed = Vec::new();
    let mut after = None;
    loop {
        let page = bench
            .keys
            .list(&Filter::default(), after.as_deref(), 3)
            .await
            .expect("a page");
        listed.extend(page.keys.into_iter().map(|key| key.id));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(listed, ids);
    let tenant = Filter {
        tenant: Some("t1".to_owned()),
        ..Filter::default()
    };
    let page = bench.keys.list(&tenant, None, 2).await.expect("a page");
    assert_eq!(
        page.keys.iter().map(|key| &key.id).collect::<Vec<_>>(),
        [&ids[1], &ids[3]]
    );
    assert!(page.next.is_some());
    assert_eq!(
        bench.keys.revoke_matching(&tenant).await.expect("a count"),
        3
    );
    assert_eq!(
        bench.keys.revoke_matching(&tenant).await.expect("a count"),
        0
    );
    let live = Filter {
        live: Some(true),
        ..Filter::default()
    };
    assert_eq!(
        bench
            .keys
            .list(&live, None, 100)
            .await
            .expect("a page")
            .keys
            .len(),
        4
    );
    refused(
        bench.keys.revoke_matching(&Filter::default()).await,
        "invalid_argument",
    );
}

#[tokio::test]
async fn dead_keys_are_purged_and_live_ones_kept() {
    let bench = Bench::new();
    let dead = bench.mint(Some(10)).await;
    let live = bench.mint(None).await;
    assert_eq!(bench.keys.sweep().await.expect("a sweep"), 0);
    bench.clock.advance(Duration::from_secs(10 + 24 * 3600));
    assert_eq!(bench.keys.sweep().await.expect("a sweep"), 1);
    refused(bench.keys.revoke(&dead.record.id).await, "not_found");
    bench.check(&live).await.expect("it is good");
}
