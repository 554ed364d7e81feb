//! `recall remember`, `forget`, `history` and `diff`.

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::args::{DiffArgs, ForgetArgs, HistoryArgs, RememberArgs, ServerArgs};
use crate::nothing::{self, Sought};
use crate::output::{items, print, print_json, say, text};
use crate::session::Session;
use crate::time;

pub(crate) async fn remember(server: &ServerArgs, arguments: RememberArgs) -> anyhow::Result<()> {
    let session = Session::open(server)?;
    let mut body = match (&arguments.subject, &arguments.predicate) {
        (Some(subject), Some(predicate)) => {
            json!({ "subject": subject, "predicate": predicate, "value": arguments.text })
        }
        _ if is_typed(&session).await? => json!({ "text": arguments.text, "statements": [] }),
        _ => json!({ "text": arguments.text }),
    };
    if let Some(at) = &arguments.observed_at {
        body["observed_at"] = instant(at)?.into();
    }
    let answer = session
        .json(Method::POST, "/v1/remember", Some(&body))
        .await?;
    if arguments.json {
        print_json(&answer);
        return Ok(());
    }
    let known = answer["already_known"] == json!(true);
    print(if known { "already known" } else { "remembered" });
    for ended in items(&answer, "superseded") {
        print(&format!(
            "replaces: {} {}: {}",
            text(ended, "subject"),
            text(ended, "predicate"),
            ended["value"]
        ));
    }
    Ok(())
}

pub(crate) async fn forget(server: &ServerArgs, arguments: ForgetArgs) -> anyhow::Result<()> {
    let session = Session::open(server)?;
    let body = match (&arguments.subject, &arguments.predicate) {
        (Some(subject), Some(predicate)) => match &arguments.text {
            Some(value) => json!({ "subject": subject, "predicate": predicate, "value": value }),
            None => json!({ "subject": subject, "predicate": predicate, "all": true }),
        },
        _ => json!({ "text": arguments.text }),
    };
    let answer = session
        .json(Method::POST, "/v1/forget", Some(&body))
        .await?;
    if arguments.json {
        print_json(&answer);
        return Ok(());
    }
    match answer["withdrawn"].as_u64() {
        Some(count) => print(&format!("withdrawn: {count}")),
        None if items(&answer, "forgotten").is_empty() => {
            say("nothing was forgotten: nothing remembered reads or means that");
        }
        None => {
            for sentence in items(&answer, "forgotten") {
                print(&format!(
                    "forgotten: {}",
                    sentence.as_str().unwrap_or_default()
                ));
            }
        }
    }
    Ok(())
}

pub(crate) async fn history(server: &ServerArgs, arguments: HistoryArgs) -> anyhow::Result<()> {
    let session = Session::open(server)?;
    let body = match (&arguments.subject, &arguments.predicate) {
        (Some(subject), Some(predicate)) => json!({ "subject": subject, "predicate": predicate }),
        _ => json!({ "question": arguments.question }),
    };
    let found = session
        .answer(Method::POST, "/v1/history", Some(&body))
        .await?;
    let answer = found.json()?;
    if arguments.json {
        print_json(&answer);
        return Ok(());
    }
    let events = answer.as_array().map_or(0, Vec::len);
    if events + items(&answer, "history").len() == 0 {
        nothing::told(Sought::History, &found.headers);
    }
    for event in answer.as_array().map_or(&[][..], Vec::as_slice) {
        let sign = if event["retraction"] == json!(true) {
            '-'
        } else {
            '+'
        };
        print(&format!(
            "{} {sign} {}",
            text(event, "observed_at"),
            event["value"]
        ));
    }
    for pair in items(&answer, "history") {
        print(text(pair, "about"));
        for change in items(pair, "changes") {
            print(&format!(
                "  {} {}",
                text(change, "when"),
                text(change, "change")
            ));
            print_signed(change);
        }
    }
    Ok(())
}

pub(crate) async fn diff(server: &ServerArgs, arguments: DiffArgs) -> anyhow::Result<()> {
    let session = Session::open(server)?;
    let mut body = json!({ "from": instant(&arguments.from)? });
    if let Some(to) = &arguments.to {
        body["to"] = instant(to)?.into();
    }
    if let Some(subject) = arguments.subject {
        body["subject"] = subject.into();
    }
    let found = session
        .answer(Method::POST, "/v1/diff", Some(&body))
        .await?;
    let answer = found.json()?;
    if arguments.json {
        print_json(&answer);
        return Ok(());
    }
    if items(&answer, "changes").is_empty() {
        nothing::told(Sought::Changes, &found.headers);
    }
    items(&answer, "changes").iter().for_each(print_signed);
    Ok(())
}

/// What ended with a minus, what began with a plus, under the names of both surfaces.
fn print_signed(change: &Value) {
    for (sign, names) in [('-', ["ended", "removed"]), ('+', ["began", "added"])] {
        for name in names {
            for sentence in items(change, name) {
                print(&format!("{sign} {}", sentence.as_str().unwrap_or_default()));
            }
        }
    }
}

/// A time of the command line as the server reads it.
pub(crate) fn instant(written: &str) -> anyhow::Result<String> {
    Ok(time::parse(written, Timestamp::now())?.to_string())
}

/// Whether the server offers typed beliefs: those list their predicates.
pub(crate) async fn is_typed(session: &Session) -> anyhow::Result<bool> {
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let answer = session.json(Method::POST, "/mcp", Some(&list)).await?;
    Ok(items(&answer["result"], "tools")
        .iter()
        .any(|tool| tool["name"] == "list_predicates"))
}
