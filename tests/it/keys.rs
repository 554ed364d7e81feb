//! Managing keys over HTTP, as the contract has it.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_minted_key_has_the_members_of_the_contract() {
    let running = Running::start(&[]);
    let spec = json!({ "namespace": "t2", "agent": "a1", "session": "s", "note": "n", "expires_in": "15m" });
    let answer = running.post("/v1/keys", &running.admin, &spec).await;
    assert_eq!(answer.status, 201);
    let record = answer.json();
    let names: Vec<_> = record
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect();
    let expected = [
        "admin",
        "agent",
        "created_at",
        "expires_at",
        "id",
        "key",
        "namespace",
        "note",
        "renewable",
        "revoked",
        "session",
        "ttl",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        (record["ttl"].as_str(), record["renewable"].as_bool()),
        (Some("15m0s"), Some(true))
    );
    let id = record["id"].as_str().expect("text");
    assert!(
        record["key"]
            .as_str()
            .expect("text")
            .starts_with(&format!("rcl_{id}_"))
    );
    assert!(record["created_at"].as_str().expect("text").ends_with('Z'));
    let for_ever = running
        .post("/v1/keys", &running.admin, &json!({ "namespace": "t2" }))
        .await
        .json();
    for absent in ["expires_at", "ttl", "renewable", "agent", "session", "note"] {
        assert!(for_ever.get(absent).is_none(), "{absent} says nothing here");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_key_requests_are_named() {
    let running = Running::start(&[]);
    for (spec, expected) in [
        (json!({}), "namespace: empty"),
        (json!({ "namespace": "a b" }), "' ' at byte 1"),
        (json!({ "namespace": "_a" }), "letter or digit first"),
        (json!({ "namespace": "x".repeat(129) }), "at most 128"),
        (json!({ "namespace": 5 }), "namespace: must be a string"),
        (
            json!({ "namespace": "a", "admin": true }),
            "an admin key has none",
        ),
        (
            json!({ "namespace": "a", "expires_in": "15" }),
            "expires_in",
        ),
        (
            json!({ "namespace": "a", "expires_in": "-5m" }),
            "expires_in",
        ),
        (
            json!({ "namespace": "a", "expires_in": 15 }),
            "expires_in: must be a string",
        ),
        (
            json!({ "namespace": "a", "ttl": "1h" }),
            "ttl: unknown field",
        ),
        (json!({ "namespace": "a", "agent": "bad agent!" }), "agent:"),
        (json!([]), "one JSON object"),
    ] {
        let answer = running.post("/v1/keys", &running.admin, &spec).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "invalid_argument"),
            "{spec}"
        );
        let message = answer.json()["error"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(message.contains(expected), "{spec}: {message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_do_what() {
    let running = Running::start(&[]);
    let key = running.key("team:a").await;
    let admin = &running.admin;
    for (path, key, status, code) in [
        ("/v1/keys", key.as_str(), 403, "forbidden"),
        ("/v1/recall", admin, 403, "namespace_mismatch"),
        ("/mcp", admin, 403, "namespace_mismatch"),
        ("/v1/nope", &key, 404, "not_found"),
        ("/v1/nope", "rcl_wrong", 401, "unauthenticated"),
        ("/v1/recall/", &key, 404, "not_found"),
        ("/v1/Recall", &key, 404, "not_found"),
        ("/v1/%72ecall", &key, 404, "not_found"),
    ] {
        let answer = running.post(path, key, &json!({})).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{path}"
        );
    }
    let wrong_method = running.get("/v1/recall", &key).await;
    assert_eq!(
        (
            wrong_method.status,
            wrong_method.headers["allow"].to_str().ok()
        ),
        (405, Some("POST"))
    );
    let missing = running
        .http
        .send(
            "POST",
            &format!("{}/v1/recall", running.server.url),
            &[],
            "",
        )
        .await;
    let missing = missing.expect("an answer");
    assert_eq!(missing.status, 401);
    assert_eq!(
        missing.headers["www-authenticate"],
        "Bearer realm=\"recall\""
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn revoking_one_key_and_many() {
    let running = Running::start(&[]);
    let (first, second) = (running.key("t1:a").await, running.key("t1:b").await);
    let other = running.key("t2:a").await;
    let id = first.split('_').nth(1).expect("a key has an id").to_owned();
    let delete = async |path: &str| {
        let (url, bearer) = (
            format!("{}{path}", running.server.url),
            format!("Bearer {}", running.admin),
        );
        running
            .http
            .send("DELETE", &url, &[("authorization", &bearer)], "")
            .await
            .expect("an answer")
    };
    assert_eq!(delete(&format!("/v1/keys/{id}")).await.status, 204);
    assert_eq!(delete(&format!("/v1/keys/{id}")).await.status, 204);
    assert_eq!(delete("/v1/keys/00000000000000aa").await.status, 404);
    assert_eq!(
        running.post("/v1/recall", &first, &json!({})).await.status,
        401
    );
    assert_eq!(delete("/v1/keys").await.code(), "invalid_argument");
    let dead = delete("/v1/keys?tenant=t1&state=dead").await;
    assert_eq!(dead.code(), "invalid_argument");
    assert_eq!(
        delete("/v1/keys?tenant=t1").await.json(),
        json!({ "revoked": 1 })
    );
    assert_eq!(
        running.post("/v1/recall", &second, &json!({})).await.status,
        401
    );
    assert_eq!(
        running.post("/v1/recall", &other, &json!({})).await.status,
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn listing_pages_and_refuses_what_it_does_not_know() {
    let running = Running::start(&[]);
    for n in 0..5 {
        running.key(&format!("team:{n}")).await;
    }
    let page = running.get("/v1/keys?limit=4", &running.admin).await.json();
    assert_eq!(page["keys"].as_array().map(Vec::len), Some(4));
    let cursor = page["next_cursor"].as_str().expect("there is more");
    let rest = running
        .get(&format!("/v1/keys?limit=4&cursor={cursor}"), &running.admin)
        .await
        .json();
    assert_eq!(
        rest["keys"].as_array().map(Vec::len),
        Some(2),
        "five and the admin key"
    );
    assert!(rest.get("next_cursor").is_none());
    assert!(
        !page.to_string().contains("\"key\""),
        "a listing shows no secret"
    );
    for bad in [
        "limit=0",
        "limit=1001",
        "limit=x",
        "state=alive",
        "cursor=zzz",
        &format!("cursor={cursor}&state=live"),
        "namespace=%20",
        "order=age",
    ] {
        let answer = running
            .get(&format!("/v1/keys?{bad}"), &running.admin)
            .await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "invalid_argument"),
            "{bad}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recall_program_manages_keys_and_memory() {
    let running = Running::start(&[]);
    let recall = |arguments: &[&str], key: &str| {
        let program = programs::folder().expect("built").join("recall");
        let output = std::process::Command::new(program)
            .args(arguments)
            .env("RECALL_URL", &running.server.url)
            .env("RECALL_API_KEY", key)
            .env_remove("RECALL_TOKEN_FILE")
            .output()
            .expect("it starts");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {err}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let created = recall(
        &[
            "key",
            "create",
            "--namespace",
            "team:cli",
            "--expires",
            "1h",
        ],
        &running.admin,
    );
    let field = |name: &str| {
        let line = created
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no {name} in {created}"))
            .to_owned()
    };
    let key = field("key");
    assert_eq!(field("namespace"), "team:cli");
    assert!(
        recall(&["key", "list"], &running.admin)
            .contains(&format!("{}\tactive\tteam:cli", field("id")))
    );
    assert_eq!(
        recall(&["remember", "The user likes mangoes."], &key),
        "remembered\n"
    );
    assert!(recall(&["ask", "which fruit does the user like? mangoes"], &key).contains("mangoes"));
    assert!(recall(&["ask", "--json"], &key).contains("\"memories\""));
    assert!(recall(&["diff", "--from", "1h"], &key).contains("+ "));
    assert!(recall(&["forget", "The user likes mangoes."], &key).starts_with("forgotten: "));
    assert_eq!(recall(&["ask", "mangoes"], &key), "");
    recall(&["key", "revoke", &field("id")], &running.admin);
    assert!(recall(&["key", "list"], &running.admin).contains("\trevoked\t"));
}
