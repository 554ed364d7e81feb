//! `recall ask`.

use anyhow::bail;
use http::Method;
use serde_json::{Map, Value, json};

use crate::args::{AskArgs, ServerArgs};
use crate::memory::{instant, is_typed};
use crate::nothing::{self, Sought};
use crate::output::{items, print, print_json, text};
use crate::session::Session;

pub(crate) async fn run(server: &ServerArgs, arguments: AskArgs) -> anyhow::Result<()> {
    let session = Session::open(server)?;
    let typed = is_typed(&session).await?;
    let body = body(&arguments, typed)?;
    let found = session
        .answer(Method::POST, "/v1/recall", Some(&body))
        .await?;
    let answer = found.json()?;
    if arguments.json {
        print_json(&answer);
        return Ok(());
    }
    if answer.as_array().map_or(0, Vec::len) + items(&answer, "memories").len() == 0 {
        nothing::told(Sought::Memories, &found.headers);
    }
    match typed {
        true => answer
            .as_array()
            .into_iter()
            .flatten()
            .for_each(print_belief),
        false => items(&answer, "memories").iter().for_each(print_memory),
    }
    Ok(())
}

fn body(arguments: &AskArgs, typed: bool) -> anyhow::Result<Value> {
    let mut body = Map::new();
    match (&arguments.question, typed) {
        (Some(question), _) => {
            let name = if typed { "query" } else { "question" };
            body.insert(name.to_owned(), question.as_str().into());
        }
        (None, true) => bail!("this server is typed: ask a question"),
        (None, false) => {}
    }
    if let Some(at) = &arguments.as_of {
        body.insert("as_of".to_owned(), instant(at)?.into());
    }
    match (&arguments.since, typed) {
        (Some(_), true) => bail!("--since: only the text surface has it"),
        (Some(at), false) => drop(body.insert("since".to_owned(), instant(at)?.into())),
        (None, _) => {}
    }
    Ok(Value::Object(body))
}

fn print_memory(memory: &Value) {
    let before: Vec<_> = items(memory, "before")
        .iter()
        .map(|old| text(old, "text"))
        .collect();
    let before = if before.is_empty() {
        String::new()
    } else {
        format!(" (before: {})", before.join(", "))
    };
    print(&format!(
        "{}\t{}{before}",
        text(memory, "since"),
        text(memory, "text")
    ));
}

fn print_belief(belief: &Value) {
    let value = match &belief["value"] {
        Value::String(value) => value.clone(),
        other => other.to_string(),
    };
    let observed: String = text(belief, "observed_at").chars().take(10).collect();
    let (subject, predicate) = (text(belief, "subject"), text(belief, "predicate"));
    match predicate == json!("note") {
        true => print(&format!("{observed}\t{value}")),
        false => print(&format!(
            "{observed}\t{subject} {}: {value}",
            predicate.replace('_', " ")
        )),
    }
}
