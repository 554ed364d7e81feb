//! What carrying on costs: turns recorded by many agents, and the resume of an agent with a past.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::load::{self, Load, Measured};
use super::report::{Bound, Report, median};
use super::requests::{self, Dice};
use super::sides::Side;
use super::{Plan, bare_appends, bare_commits};
use crate::http::request;
use crate::shell::say;

/// Agents that record turns at once: so many more than callers that two of these seldom meet at one,
/// whose turns are numbered one after another.
const AGENTS: u64 = 256;
/// What an agent with a past has: turns, and beliefs in its memory.
const TURNS: u64 = 10_000;
const BELIEFS: u64 = 5_000;
/// The agent with a past.
const OLD: &str = "old";
/// Connections that load a memory.
const LOADERS: usize = 8;

/// Measures both on a server of ours.
pub(super) fn run(
    plan: &Plan,
    dir: &Path,
    admin_key_file: &Path,
    report: &mut Report,
) -> anyhow::Result<()> {
    say("agents");
    let flags = ["--surface=typed".to_owned()];
    let side = Side::ours("agents", dir, admin_key_file, &flags)?;
    turns(&side, plan, dir, report)?;
    resumes(&side, plan, report)
}

/// Turns of many agents beside what the store alone makes durable, round by round: the machine is not
/// the same a minute later.
fn turns(side: &Side, plan: &Plan, dir: &Path, report: &mut Report) -> anyhow::Result<()> {
    for number in 0..AGENTS {
        tool(side, "agent_resume", &name(number), json!({}))?;
    }
    let (mut rates, mut p50, mut next) = (Vec::new(), Vec::new(), 0);
    let (mut bare, mut of_bare) = (Vec::new(), Vec::new());
    let (mut redb, mut of_redb) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        record(side, plan, plan.warm_up, &mut next)?;
        bare.push(bare_appends(dir, plan.connections)?);
        let measured = record(side, plan, plan.round, &mut next)?;
        redb.push(bare_commits(dir, plan.connections)?);
        rates.push(measured.rate());
        p50.push(measured.percentile(0.5));
        of_bare.extend(bare.last().map(|bare| measured.rate() / bare));
        of_redb.extend(redb.last().map(|redb| measured.rate() / redb));
    }
    recorded(side, next)?;
    let callers = plan.connections;
    let mut figure = |name: String, values: &mut Vec<f64>, unit, bound| {
        report.figure(name, median(values), unit, bound);
    };
    let none = Bound::None;
    figure(
        format!("record_turn, {callers} callers"),
        &mut rates,
        "/s",
        none,
    );
    figure(
        format!("record_turn, {callers} callers, p50"),
        &mut p50,
        "ms",
        none,
    );
    let name = format!("the store's appends, {callers} callers");
    figure(name, &mut bare, "/s", none);
    let name = "record_turn rate / the store's, round by round".to_owned();
    figure(name, &mut of_bare, "", Bound::AtLeast(0.6));
    let name = "redb alone, as many events a commit as callers".to_owned();
    figure(name, &mut redb, "/s", none);
    let name = "record_turn rate / redb alone, round by round".to_owned();
    figure(name, &mut of_redb, "", none);
    Ok(())
}

fn name(number: u64) -> String {
    format!("agent-{number}")
}

fn record(side: &Side, plan: &Plan, time: Duration, next: &mut u64) -> anyhow::Result<Measured> {
    let load = Load::during(time, plan.connections);
    let mut write = |_: u64, out: &mut Vec<u8>| {
        let turn =
            json!({ "role": "user", "content": format!("turn {next}, as long as a sentence is") });
        let body = message("record_turn", &name(*next % AGENTS), turn);
        *next += 1;
        requests::post(out, "/mcp", &side.key, &body.to_string());
    };
    load::run(side.address, load, &mut write)?.all_served()
}

/// A refused tool call is a served request as well: every turn must be there.
fn recorded(side: &Side, wanted: u64) -> anyhow::Result<()> {
    let mut found = 0;
    for number in 0..AGENTS {
        let answer = tool(side, "agent_context", &name(number), json!({}))?;
        found += answer["turn_seq"].as_u64().unwrap_or_default();
    }
    ensure!(found == wanted, "{found} turns are there of {wanted}");
    Ok(())
}

/// The resume of an agent that has done and learned much.
fn resumes(side: &Side, plan: &Plan, report: &mut Report) -> anyhow::Result<()> {
    // So many of a short run as make a past at all.
    let (turns, beliefs) = match plan.large < TURNS {
        true => (TURNS / 20, BELIEFS / 20),
        false => (TURNS, BELIEFS),
    };
    side.fill(beliefs, LOADERS, &mut Dice::new(plan.seed))?;
    tool(side, "agent_resume", OLD, json!({}))?;
    let mut write = |number: u64, out: &mut Vec<u8>| {
        let turn = json!({ "role": "user", "content": format!("turn {number}, as long as a sentence is") });
        requests::post(
            out,
            "/mcp",
            &side.key,
            &message("record_turn", OLD, turn).to_string(),
        );
    };
    load::run(side.address, Load::of(turns, LOADERS), &mut write)?.all_served()?;
    let state = json!({ "goal": "release the compiler", "focus": "the deadline of the invoice on tuesday" });
    tool(side, "update_working_state", OLD, state)?;
    tool(
        side,
        "begin_action",
        OLD,
        json!({ "tool": "deploy", "class": "idempotent" }),
    )?;
    let context = tool(side, "agent_resume", OLD, json!({}))?;
    ensure!(context["turn_seq"] == turns, "{}", context["turn_seq"]);
    let full = context["memories"]
        .as_array()
        .is_some_and(|m| !m.is_empty());
    ensure!(
        full,
        "the briefing of a memory of {beliefs} beliefs has none"
    );
    let mut p50 = Vec::new();
    for _ in 0..plan.rounds {
        let load = Load::during(plan.round, 1);
        let mut write = |_: u64, out: &mut Vec<u8>| {
            let body = message("agent_resume", OLD, json!({})).to_string();
            requests::post(out, "/mcp", &side.key, &body);
        };
        let measured = load::run(side.address, load, &mut write)?.all_served()?;
        p50.push(measured.percentile(0.5));
    }
    let text = format!("agent_resume, {turns} turns, {beliefs} beliefs, p50");
    report.figure(text, median(&mut p50), "ms", Bound::AtMost(20.0));
    Ok(())
}

fn message(tool: &str, agent: &str, mut arguments: Value) -> Value {
    arguments["agent_id"] = agent.into();
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments },
    })
}

/// Calls a tool; the answer.
fn tool(side: &Side, tool: &str, agent: &str, arguments: Value) -> anyhow::Result<Value> {
    let url = format!("http://{}/mcp", side.address);
    let body = message(tool, agent, arguments).to_string();
    let (status, answer) = request("POST", &url, Some(&side.key), &body)?;
    ensure!(status == 200, "{tool}: {status} {answer}");
    let answer: Value = serde_json::from_str(&answer)?;
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().context("a text")?;
    ensure!(result["isError"] == false, "{tool}: {text}");
    Ok(serde_json::from_str(text)?)
}
