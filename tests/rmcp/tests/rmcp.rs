//! The official Rust SDK works unchanged in each of its lifecycles, over HTTP and through
//! `recall connect`.

use rmcp::model::{CallToolRequestParams, CallToolResult, ErrorCode, ProtocolVersion};
use rmcp::service::{
    ClientLifecycleMode, RoleClient, RunningService, ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::IntoTransport;
use rmcp_client::{bridge, http, key};
use serde_json::{Value, json};

type Client = RunningService<RoleClient, ()>;

/// A lifecycle, and whether it ends in the revision without a handshake.
fn lifecycles() -> [(&'static str, ClientLifecycleMode, bool); 3] {
    let newest = || vec![ProtocolVersion::V_2026_07_28];
    let auto = ClientLifecycleMode::Auto {
        preferred_versions: newest(),
        legacy_version: None,
    };
    let discover = ClientLifecycleMode::Discover {
        preferred_versions: newest(),
    };
    [
        ("initialize", ClientLifecycleMode::Initialize, false),
        ("auto", auto, true),
        ("discover", discover, true),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_lifecycle_works_over_http() {
    for (name, lifecycle, stateless) in lifecycles() {
        let dir = tempfile::tempdir().expect("a folder");
        let transport = http(dir.path(), &key(&format!("rmcp:http-{name}")));
        session(transport, name, lifecycle, stateless).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_lifecycle_works_through_the_bridge() {
    for (name, lifecycle, stateless) in lifecycles() {
        let transport = bridge(&key(&format!("rmcp:bridge-{name}")));
        session(transport, name, lifecycle, stateless).await;
    }
}

/// Lists, writes, reads, resumes, and calls what is not there.
async fn session<T, E, A>(transport: T, name: &str, lifecycle: ClientLifecycleMode, stateless: bool)
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let client = serve_client_with_lifecycle((), transport, lifecycle).await;
    let client = client.unwrap_or_else(|error| panic!("{name}: {error}"));
    let info = client.peer_info().expect("the server said who it is");
    let spoken = match stateless {
        true => ProtocolVersion::V_2026_07_28,
        // It asks for one without a handshake and is offered the newest that has one.
        false => ProtocolVersion::V_2025_11_25,
    };
    assert_eq!(info.protocol_version, spoken, "{name}");
    let server = info.server_info.as_ref().expect("its name");
    assert_eq!(server.name, "recall", "{name}");
    assert!(info.instructions.is_some(), "{name}");
    lists_its_tools(&client, name).await;
    let kept = call(
        &client,
        "remember",
        json!({ "text": "My cat is called Figaro." }),
    )
    .await;
    assert_eq!(structured(&kept)["kept_as_text"], true, "{name}");
    let found = call(&client, "recall", json!({ "question": "cat" })).await;
    assert_eq!(
        structured(&found)["memories"][0]["text"],
        "My cat is called Figaro."
    );
    let text = found.content[0].as_text().expect("text");
    let text: Value = serde_json::from_str(&text.text).expect("JSON");
    assert_eq!(text["memories"][0]["text"], "My cat is called Figaro.");
    let refused = call(&client, "recall", json!({ "since": "yesterday" })).await;
    assert_eq!(refused.is_error, Some(true), "{name}: {refused:?}");
    let resumed = call(&client, "agent_resume", json!({ "agent_id": name })).await;
    assert_eq!(structured(&resumed)["lease_held"], true, "{name}");
    let released = call(&client, "agent_release", json!({ "agent_id": name })).await;
    assert_eq!(structured(&released)["released"], true, "{name}");
    is_told_of_an_unknown_tool(&client, name, stateless).await;
    client.cancel().await.expect("it ends");
}

/// The types of the SDK take every tool, and say of each what it does.
async fn lists_its_tools(client: &Client, name: &str) {
    let tools = client.list_all_tools().await.expect("tools");
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let memory = ["remember", "recall", "forget", "history", "diff"];
    assert_eq!(names[..5], memory, "{name}");
    assert!(names.contains(&"agent_resume"), "{name}: {names:?}");
    for tool in &tools {
        assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
        let output = tool.output_schema.as_ref().expect("an output schema");
        assert_eq!(output["type"], "object", "{}", tool.name);
        assert!(tool.annotations.is_some(), "{}", tool.name);
    }
    let hints = |tool: usize| tools[tool].annotations.as_ref().expect("annotations");
    assert_eq!(hints(0).idempotent_hint, Some(true), "remember");
    assert_eq!(hints(1).read_only_hint, Some(true), "recall");
    assert_eq!(hints(2).destructive_hint, Some(true), "forget");
}

async fn is_told_of_an_unknown_tool(client: &Client, name: &str, stateless: bool) {
    let unknown = client
        .call_tool(CallToolRequestParams::new("no_such_tool"))
        .await;
    match (stateless, unknown) {
        (true, Err(ServiceError::McpError(error))) => {
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{name}: {error:?}");
        }
        (false, Ok(result)) => assert_eq!(result.is_error, Some(true), "{name}: {result:?}"),
        (_, other) => panic!("{name}: {other:?}"),
    }
}

async fn call(client: &Client, tool: &'static str, arguments: Value) -> CallToolResult {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    let request = CallToolRequestParams::new(tool).with_arguments(arguments);
    client
        .call_tool(request)
        .await
        .unwrap_or_else(|error| panic!("{tool}: {error}"))
}

fn structured(result: &CallToolResult) -> &Value {
    assert_eq!(result.is_error, Some(false), "{result:?}");
    result
        .structured_content
        .as_ref()
        .expect("a structured answer")
}
