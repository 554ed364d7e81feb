//! Leases as compare-and-set makes them, and clocks that differ.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use recall_store::{Acquired, Batch, Error, Fence, Grant, ManualClock, Store};
use recall_store_rows::conformance::ns;

use super::Real;

const TTL: Duration = Duration::from_secs(60);

async fn acquire(store: &dyn Store, holder: &str) -> Acquired {
    let answer = store.acquire(&ns(), "coder", holder, TTL).await;
    answer.expect("an answer")
}

async fn granted(store: &dyn Store, holder: &str) -> Grant {
    match acquire(store, holder).await {
        Acquired::Granted(grant) => grant,
        Acquired::Held(by) => panic!("it is held by {by:?}"),
    }
}

fn under(grant: &Grant) -> Batch {
    let fence = Fence {
        lease: grant.name.clone(),
        epoch: grant.epoch,
    };
    Batch {
        fence: Some(fence),
        ..Batch::default()
    }
}

fn clock() -> ManualClock {
    ManualClock::new(Timestamp::from_second(1_800_000_000).expect("a time"))
}

/// Sixteen racers on two replicas for one lease, many times: one winner each, and the epoch grows.
#[tokio::test(flavor = "multi_thread")]
async fn of_racers_on_two_replicas_one_wins_each_round() {
    let Some(real) = Real::start() else { return };
    let stores = [Arc::new(real.store()), Arc::new(real.store())];
    let mut last = 0;
    for round in 0..20 {
        let racers = (0..16).map(|racer| {
            let store = Arc::clone(&stores[racer % 2]);
            tokio::spawn(async move { acquire(&*store, &format!("h{racer}")).await })
        });
        let mut winners = Vec::new();
        for racer in racers.collect::<Vec<_>>() {
            if let Acquired::Granted(grant) = racer.await.expect("no racer fails") {
                winners.push(grant);
            }
        }
        assert_eq!(winners.len(), 1, "round {round}: {winners:?}");
        let epoch = winners[0].epoch;
        assert!(epoch.0 > last, "{epoch} after {last}");
        last = epoch.0;
        let released = stores[round % 2].release(&ns(), "coder", epoch).await;
        assert!(released.expect("an answer"));
    }
}

/// Its holder stops before anybody else may begin, although the clock of the next is ahead.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_ran_out_has_no_holder_before_it_has_another() {
    let Some(real) = Real::start() else { return };
    let (mine, theirs) = (clock(), clock());
    theirs.advance(Duration::from_millis(1900));
    let ours = real.store_at(Arc::new(mine.clone()));
    let next = real.store_at(Arc::new(theirs.clone()));
    let grant = granted(&ours, "me").await;
    ours.commit(&ns(), under(&grant)).await.expect("it is held");
    for clock in [&mine, &theirs] {
        clock.advance(TTL - Duration::from_millis(100));
    }
    // The clock of the next one says that the time is over.
    ours.commit(&ns(), under(&grant)).await.expect("it is held");
    assert!(matches!(acquire(&next, "you").await, Acquired::Held(_)));
    for clock in [&mine, &theirs] {
        clock.advance(Duration::from_millis(101));
    }
    let error = ours
        .commit(&ns(), under(&grant))
        .await
        .expect_err("it ran out");
    assert!(matches!(error, Error::Fenced { .. }), "{error}");
    let error = ours
        .renew(&ns(), &grant, TTL)
        .await
        .expect_err("it ran out");
    assert!(matches!(error, Error::Fenced { .. }), "{error}");
    for clock in [&mine, &theirs] {
        clock.advance(Duration::from_secs(2));
    }
    let taken = granted(&next, "you").await;
    assert!(taken.epoch > grant.epoch);
    let error = ours
        .commit(&ns(), under(&grant))
        .await
        .expect_err("it was taken");
    let Error::Fenced { held, current } = error else {
        panic!("{error}")
    };
    assert_eq!((held, current), (grant.epoch, taken.epoch));
}

/// A renewal through another replica keeps the epoch; a former holder's does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn any_replica_renews_for_the_holder_and_none_for_a_former_one() {
    let Some(real) = Real::start() else { return };
    let (a, b) = (real.store(), real.store());
    let old = granted(&a, "me").await;
    let renewed = b.renew(&ns(), &old, TTL * 2).await.expect("it is ours");
    assert_eq!(renewed.epoch, old.epoch);
    assert!(renewed.expires_at > old.expires_at);
    assert!(
        b.release(&ns(), "coder", old.epoch)
            .await
            .expect("an answer")
    );
    let new = granted(&b, "you").await;
    for _ in 0..50 {
        let error = a
            .renew(&ns(), &old, TTL)
            .await
            .expect_err("it is another's");
        assert!(matches!(error, Error::Fenced { .. }), "{error}");
        b.renew(&ns(), &new, TTL).await.expect("it is ours");
    }
    assert!(
        !a.release(&ns(), "coder", old.epoch)
            .await
            .expect("an answer")
    );
    b.commit(&ns(), under(&new)).await.expect("it is held");
}

/// Locks between replicas come and go with every pod; they leave nothing behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_leaves_nothing_behind_and_a_late_unlock_opens_nothing() {
    let Some(real) = Real::start() else { return };
    let store = real.store();
    let leases = format!("{}__recall_leases", real.db.prefix());
    let lock = async || {
        store
            .rows()
            .lock("c", "n", "me", TTL)
            .await
            .expect("an answer")
    };
    let unlock = async |number| {
        let unlocked = store.rows().unlock("c", "n", "me", number).await;
        unlocked.expect("an answer");
    };
    let first = lock().await.expect("it is free");
    assert_eq!(lock().await, None);
    unlock(first).await;
    assert_eq!(store.rows().count(&leases).await.expect("a count"), 0);
    let second = lock().await.expect("it is free");
    unlock(first).await;
    assert_eq!(lock().await, None, "a late unlock opened it");
    unlock(second).await;
    assert_eq!(store.rows().count(&leases).await.expect("a count"), 0);
}
