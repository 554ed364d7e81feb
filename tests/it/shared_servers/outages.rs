//! A store that is away is 503 and never 401, and nothing acknowledged is lost by it.

use super::*;

async fn ready(fleet: &Fleet, at: usize) -> (u16, String) {
    let url = format!(
        "{}/readyz",
        fleet.servers.lock()[at]
            .as_ref()
            .expect("it runs")
            .admin_url
    );
    let answer = fleet
        .http
        .send("GET", &url, &[], "")
        .await
        .expect("an answer");
    (
        answer.status,
        String::from_utf8_lossy(&answer.body).into_owned(),
    )
}

on_each_store![
    a_store_that_dies_and_comes_back_takes_no_server_with_it,
    a_start_without_the_store_waits_and_then_gives_up_by_name,
    a_start_that_does_not_wait_serves_unready_until_the_store_comes,
];

async fn a_store_that_dies_and_comes_back_takes_no_server_with_it(kind: Kind) {
    let Some(mut fleet) = Fleet::start(kind, 2, &["--surface=typed"]) else {
        return;
    };
    let key = fleet.key(&json!({ "namespace": "team:a" })).await;
    let unseen = fleet.key(&json!({ "namespace": "team:b" })).await;
    for value in ["helix", "vim"] {
        assert_eq!(
            fleet
                .post("/v1/remember", &key, &fact("prefers_editor", value))
                .await
                .status,
            200
        );
    }
    fleet.db.kill().expect("it runs");
    for at in 0..2 {
        let server = fleet.url(at);
        for (path, body) in [
            ("/v1/remember", fact("role", "cook")),
            ("/v1/recall", about("role")),
        ] {
            for key in [&key, &unseen] {
                let answer = fleet.post_to(&server, path, key, &body).await;
                assert_eq!(
                    (answer.status, answer.code().as_str()),
                    (503, "store_unavailable"),
                    "{path}"
                );
                assert!(answer.headers.contains_key("retry-after"), "{path}");
            }
        }
        let (status, text) = ready(&fleet, at).await;
        assert_eq!(status, 503);
        let name = format!("store: {}", fleet.db.name());
        assert!(text.contains(&name), "{text}");
    }
    fleet.db.restart().expect("it starts");
    for at in 0..2 {
        let began = Instant::now();
        while ready(&fleet, at).await.0 != 200 {
            assert!(began.elapsed() < DEADLINE, "server {at} does not recover");
        }
        let server = fleet.url(at);
        let editor = fleet
            .post_to(&server, "/v1/recall", &key, &about("prefers_editor"))
            .await;
        assert_eq!(value_of(&editor).as_deref(), Some("vim"));
        let again = fleet
            .post_to(&server, "/v1/remember", &key, &fact("role", "cook"))
            .await;
        assert_eq!(again.status, 200);
    }
    // The write that failed and was sent again, twice, is one event.
    let history = fleet.post("/v1/history", &key, &about("role")).await;
    assert_eq!(
        history.json().as_array().expect("events").len(),
        1,
        "{}",
        history.json()
    );
}

async fn a_start_without_the_store_waits_and_then_gives_up_by_name(kind: Kind) {
    let Some(mut fleet) = Fleet::database(kind, &["--surface=typed"]) else {
        return;
    };
    fleet.db.kill().expect("it runs");
    let error = fleet
        .server("gives-up", &["--wait-for-backend=1s"])
        .expect_err("the store is away");
    let text = format!("{error:#}");
    assert!(
        text.contains("69") && text.contains("--wait-for-backend"),
        "{text}"
    );
}

async fn a_start_that_does_not_wait_serves_unready_until_the_store_comes(kind: Kind) {
    let Some(mut fleet) = Fleet::database(kind, &["--surface=typed", "--wait-for-backend=off"])
    else {
        return;
    };
    fleet.db.kill().expect("it runs");
    let at = fleet.join();
    assert_eq!(ready(&fleet, at).await.0, 503);
    let spec = json!({ "namespace": "team:a" });
    let early = fleet.post("/v1/keys", &fleet.admin, &spec).await;
    assert_eq!(
        (early.status, early.code().as_str()),
        (503, "store_unavailable")
    );
    fleet.db.restart().expect("it starts");
    let began = Instant::now();
    while ready(&fleet, at).await.0 != 200
        || fleet.post("/v1/keys", &fleet.admin, &spec).await.status != 201
    {
        assert!(began.elapsed() < DEADLINE, "it does not recover");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
