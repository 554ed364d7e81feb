//! Resident views and what is told of them.

use super::*;

/// The last figure of a line of the exposition.
fn figure(exposition: &str, name: &str) -> f64 {
    let line = exposition
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is not told:\n{exposition}"))
        .parse()
        .expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn views_over_the_bound_are_let_go_and_told_of() {
    let running = Running::start(&["--surface=typed", "--view-memory=1MiB"]);
    let url = format!("{}/metrics", running.server.admin_url);
    let told = async || {
        let answer = running.http.send("GET", &url, &[], "").await;
        String::from_utf8_lossy(&answer.expect("an answer").body).into_owned()
    };
    let note = |n: usize| json!({ "subject": "s", "predicate": "note", "value": format!("{n} {}", "x".repeat(2_000)) });
    for tenant in 0..12 {
        let key = running.key(&format!("team:{tenant}")).await;
        let items: Vec<Value> = (0..100).map(note).collect();
        let kept = running
            .post("/v1/remember:batch", &key, &json!({ "items": items }))
            .await;
        assert_eq!(kept.status, 200, "{}", kept.json());
    }
    let exposition = told().await;
    let loads = figure(&exposition, "recall_view_loads_total");
    let gone = figure(&exposition, "recall_view_evictions_total");
    assert!(gone >= 8.0, "each takes more than 200 KB: {exposition}");
    assert_eq!(figure(&exposition, "recall_views"), 12.0 - gone);
    // One that is in use stays beyond the bound.
    assert!(figure(&exposition, "recall_views_size_bytes") < 2.0 * 1024.0 * 1024.0);
    assert_eq!(
        figure(&exposition, "recall_views_statements"),
        100.0 * (12.0 - gone)
    );
    let first = running.key("team:0").await;
    let found = running
        .post(
            "/v1/recall",
            &first,
            &json!({ "subject": "s", "limit": 100 }),
        )
        .await;
    assert_eq!(found.json().as_array().map(Vec::len), Some(100));
    assert_eq!(
        figure(&told().await, "recall_view_loads_total"),
        loads + 1.0,
        "it was read from the log again"
    );
}
