//! Rows as another program would read and write them: ids, numbers, pages, mismatches.

use std::collections::HashSet;
use std::sync::Arc;

use recall_store_rows::{Fields, NewRow, PLACES};
use serde_json::{Value, json};

use super::Real;

fn row(id: &str, metadata: &Value) -> NewRow {
    NewRow {
        id: id.to_owned(),
        values: vec![0.5; PLACES],
        metadata: metadata.as_object().cloned().expect("an object"),
    }
}

fn equal(fields: &Value) -> Fields {
    fields.as_object().cloned().expect("an object")
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_any_length_and_script_come_back() {
    let Some(real) = Real::start() else { return };
    let (store, shelf) = (real.store(), format!("{}__ids", real.db.prefix()));
    let ids = [
        "a".repeat(64 * 1024),
        "é\u{10ffff}/../.. \u{0}".to_owned(),
        "ids: \"quoted\" \n".to_owned(),
        String::new(),
    ];
    let rows = ids.iter().map(|id| row(id, &json!({ "text": id })));
    store
        .rows()
        .put(&shelf, rows.collect())
        .await
        .expect("written");
    let found = store.rows().get(&shelf, ids.to_vec()).await.expect("read");
    for id in &ids {
        let text = found.get(id).and_then(|fields| fields.get("text"));
        assert_eq!(text, Some(&json!(id)), "{} bytes", id.len());
    }
}

/// Qdrant's own match takes whole numbers only, and would miss 2.0 for 2 and all fractions.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_match_whatever_their_form() {
    let Some(real) = Real::start() else { return };
    let (store, shelf) = (real.store(), format!("{}__numbers", real.db.prefix()));
    let values = [json!(2), json!(2.0), json!(42.5), json!("2"), json!(true)];
    let rows = values.iter().enumerate();
    let rows = rows.map(|(n, value)| row(&n.to_string(), &json!({ "value": value })));
    store
        .rows()
        .put(&shelf, rows.collect())
        .await
        .expect("written");
    for (wanted, expected) in [
        (json!(2), vec!["0", "1"]),
        (json!(2.0), vec!["0", "1"]),
        (json!(42.5), vec!["2"]),
        (json!("2"), vec!["3"]),
        (json!(true), vec!["4"]),
        (json!(3), vec![]),
    ] {
        let rows = store
            .rows()
            .list(&shelf, &equal(&json!({ "value": wanted })))
            .await;
        let mut ids: Vec<String> = rows
            .expect("a list")
            .into_iter()
            .map(|row| row.id)
            .collect();
        ids.sort();
        assert_eq!(ids, expected, "{wanted}");
    }
}

/// No row that is there all along is left out of a listing, whatever comes and goes meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn pages_have_no_gap_while_rows_come_and_go() {
    let Some(real) = Real::start() else { return };
    let shelf = format!("{}__pages", real.db.prefix());
    let store = Arc::new(real.store());
    let rows: Vec<NewRow> = (0..1700)
        .map(|n| row(&format!("stays-{n}"), &json!({})))
        .collect();
    store.rows().put(&shelf, rows).await.expect("written");
    let (writer, of) = (Arc::clone(&store), shelf.clone());
    let writing = tokio::spawn(async move {
        for n in 0..60 {
            let ids: Vec<String> = (0..20).map(|at| format!("guest-{n}-{at}")).collect();
            let rows = ids.iter().map(|id| row(id, &json!({}))).collect();
            writer.rows().put(&of, rows).await.expect("written");
            writer.rows().delete(&of, ids).await.expect("removed");
        }
    });
    let mut listings = 0;
    while !writing.is_finished() || listings < 3 {
        let rows = store
            .rows()
            .list(&shelf, &Fields::new())
            .await
            .expect("a list");
        let ids: Vec<String> = rows.into_iter().map(|row| row.id).collect();
        let there: HashSet<&String> = ids.iter().collect();
        assert_eq!(there.len(), ids.len(), "a row came twice");
        let missing = (0..1700).find(|n| !there.contains(&format!("stays-{n}")));
        assert_eq!(missing, None, "left out of listing {listings}");
        listings += 1;
    }
    writing.await.expect("the writer ends");
}

/// A row that is there already is not replaced by the same event told again.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_there_stays_as_it_was() {
    let Some(real) = Real::start() else { return };
    let (store, shelf) = (real.store(), format!("{}__events", real.db.prefix()));
    store.rows().ready().await.expect("it answers");
    for text in ["first", "second"] {
        let rows = vec![row("m-1", &json!({ "text": text })), row(text, &json!({}))];
        store.rows().add(&shelf, rows).await.expect("written");
    }
    let found = store
        .rows()
        .get(&shelf, vec!["m-1".to_owned()])
        .await
        .expect("read");
    assert_eq!(found["m-1"]["text"], "first");
    assert_eq!(store.rows().count(&shelf).await.expect("a count"), 3);
}

/// The writer of a condition knows whether it won, also when another wrote on top at once.
#[tokio::test(flavor = "multi_thread")]
async fn every_win_of_a_conditional_write_is_known_to_its_winner() {
    let Some(real) = Real::start() else { return };
    let shelf = format!("{}__counter", real.db.prefix());
    let store = Arc::new(real.store());
    store.rows().ready().await.expect("it answers");
    let first = row("n", &json!({ "count": 0, "recall_version": 1 }));
    assert!(
        store
            .rows()
            .put_if(&shelf, first, None)
            .await
            .expect("written")
    );
    let writers = (0..8).map(|_| {
        let (store, shelf) = (Arc::clone(&store), shelf.clone());
        tokio::spawn(async move {
            let mut wins = 0u64;
            for _ in 0..12 {
                let found = store.rows().get(&shelf, vec!["n".to_owned()]).await;
                let was = found.expect("read").remove("n").expect("there");
                let next = |name: &str| was[name].as_u64().expect("a number") + 1;
                let count =
                    json!({ "count": next("count"), "recall_version": next("recall_version") });
                let won = store
                    .rows()
                    .put_if(&shelf, row("n", &count), Some(was))
                    .await;
                wins += u64::from(won.expect("an answer"));
            }
            wins
        })
    });
    let mut wins = 0;
    for writer in writers.collect::<Vec<_>>() {
        wins += writer.await.expect("no writer fails");
    }
    let found = store
        .rows()
        .get(&shelf, vec!["n".to_owned()])
        .await
        .expect("read");
    assert_eq!(found["n"]["count"], json!(wins));
    assert!(wins >= 12, "{wins}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conditional_removal_spares_what_changed() {
    let Some(real) = Real::start() else { return };
    let (store, shelf) = (real.store(), format!("{}__gone", real.db.prefix()));
    store.rows().ready().await.expect("it answers");
    let at = |version: u64| row("a", &json!({ "recall_version": version }));
    store
        .rows()
        .put(&shelf, vec![at(1)])
        .await
        .expect("written");
    let ids = || vec!["a".to_owned()];
    let was = store
        .rows()
        .get(&shelf, ids())
        .await
        .expect("read")
        .remove("a")
        .expect("there");
    store
        .rows()
        .put(&shelf, vec![at(2)])
        .await
        .expect("written");
    let gone = store.rows().delete_if(&shelf, "a".to_owned(), was).await;
    assert!(!gone.expect("an answer"));
    store
        .rows()
        .put_newer(&shelf, vec![at(1)], 1)
        .await
        .expect("an answer");
    store
        .rows()
        .delete_older(&shelf, ids(), 2)
        .await
        .expect("an answer");
    let now = store
        .rows()
        .get(&shelf, ids())
        .await
        .expect("read")
        .remove("a")
        .expect("there");
    assert_eq!(now["recall_version"], 2);
    let gone = store.rows().delete_if(&shelf, "a".to_owned(), now).await;
    assert!(gone.expect("an answer"));
}
