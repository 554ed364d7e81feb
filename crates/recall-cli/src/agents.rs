//! `recall agents`: who works as which agent.

use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use serde_json::{Value, json};

use crate::args::{AgentArgs, AgentsArgs, AgentsCommand, ServerArgs};
use crate::key;
use crate::output::{items, print, print_json, say, text};
use crate::session::Session;

/// All but letters, digits and the signs that RFC 3986 leaves unreserved.
const UNSAFE: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

pub(crate) async fn run(server: &ServerArgs, command: AgentsCommand) -> anyhow::Result<()> {
    let session = key::manager(server).await?;
    match command {
        AgentsCommand::List(arguments) => list(&session, &arguments).await,
        AgentsCommand::Show(arguments) => show(&session, &arguments).await,
        AgentsCommand::Break(arguments) => end_lease(&session, &arguments).await,
    }
}

async fn list(session: &Session, arguments: &AgentsArgs) -> anyhow::Result<()> {
    let mut cursor = String::new();
    loop {
        let path = format!("/v1/agents?{}{cursor}", query(arguments));
        let page = session.json(Method::GET, &path, None).await?;
        if cursor.is_empty() && !arguments.json && items(&page, "agents").is_empty() {
            let namespace = &arguments.namespace;
            say(&format!("no agent was ever resumed in {namespace}"));
        }
        for agent in items(&page, "agents") {
            match arguments.json {
                true => print_json(agent),
                false => print(&line(agent)),
            }
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={}", escaped(next)),
            None => return Ok(()),
        }
    }
}

async fn show(session: &Session, arguments: &AgentArgs) -> anyhow::Result<()> {
    let agent = session
        .json(Method::GET, &path(arguments, ""), None)
        .await?;
    if arguments.of.json {
        print_json(&agent);
        return Ok(());
    }
    print(&line(&agent));
    for action in items(&agent, "pending_actions") {
        print(&format!(
            "  action {}\t{}\t{}\t{}\tsince {}",
            action["seq"],
            text(action, "tool"),
            text(action, "class"),
            text(action, "status"),
            text(action, "started_at"),
        ));
    }
    Ok(())
}

async fn end_lease(session: &Session, arguments: &AgentArgs) -> anyhow::Result<()> {
    let path = path(arguments, "/lease");
    let answer = session.json(Method::DELETE, &path, None).await?;
    match (arguments.of.json, answer["broken"] == json!(true)) {
        (true, _) => print_json(&answer),
        (false, true) => {
            let lease = &answer["lease"];
            print(&format!(
                "ended: {} held it under epoch {}",
                text(lease, "holder"),
                lease["epoch"]
            ));
        }
        (false, false) => say("nobody holds this agent: nothing was ended"),
    }
    Ok(())
}

fn line(agent: &Value) -> String {
    let lease = &agent["lease"];
    let state = match text(lease, "state") {
        "held" => format!(
            "held by {} until {} (epoch {})",
            text(lease, "holder"),
            text(lease, "expires_at"),
            lease["epoch"]
        ),
        other => other.to_owned(),
    };
    format!(
        "{}\t{state}\t{} turns\t{} open actions",
        text(agent, "agent_id"),
        agent["turn_seq"],
        agent["open_actions"]
    )
}

fn path(arguments: &AgentArgs, rest: &str) -> String {
    let agent = escaped(&arguments.agent);
    format!("/v1/agents/{agent}{rest}?{}", query(&arguments.of))
}

fn query(arguments: &AgentsArgs) -> String {
    format!("namespace={}", escaped(&arguments.namespace))
}

/// Percent-encodes what may not stand in a path segment or a query.
fn escaped(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, UNSAFE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_place_in_an_address() {
        assert_eq!(
            escaped("team:a/../b?c&d e").to_string(),
            "team%3Aa%2F..%2Fb%3Fc%26d%20e"
        );
        assert_eq!(escaped("猫").to_string(), "%E7%8C%AB");
    }
}
