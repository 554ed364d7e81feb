//! `recall key`: minting, listing, revoking.

use anyhow::bail;
use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use crate::args::{CreateArgs, KeyCommand, ListArgs, ServerArgs};
use crate::credential::Credential;
use crate::output::{items, print, print_json, say, text};
use crate::session::Session;

pub(crate) async fn run(server: &ServerArgs, command: KeyCommand) -> anyhow::Result<()> {
    let session = manager(server).await?;
    match command {
        KeyCommand::Create(arguments) => create(&session, arguments).await,
        KeyCommand::List(arguments) => list(&session, &arguments).await,
        KeyCommand::Revoke { id } => revoke(&session, &id).await,
    }
}

/// A session of an operator. The key at hand is often one for a memory: on this machine the
/// server's own admin key is used then.
pub(crate) async fn manager(server: &ServerArgs) -> anyhow::Result<Session> {
    let session = Session::open_admin(server)?;
    let answer = session
        .call(Method::GET, "/v1/keys?limit=1", Bytes::new())
        .await?;
    if answer.status == StatusCode::UNAUTHORIZED
        && let Some(whence) = Credential::of_data_dir(server)
    {
        let (code, message) = answer.error();
        bail!("{message} ({code}, HTTP 401): {whence}");
    }
    if answer.status != StatusCode::FORBIDDEN {
        return Ok(session);
    }
    match Session::open_local_admin(server)? {
        Some(admin) => Ok(admin),
        None => bail!(
            "this key reaches a memory and manages no keys: give an admin key by --key-file, such as the \
             admin.key in the server's data directory"
        ),
    }
}

async fn create(session: &Session, arguments: CreateArgs) -> anyhow::Result<()> {
    let mut body = Map::new();
    for (name, value) in [
        ("namespace", arguments.namespace),
        ("agent", arguments.agent),
        ("session", arguments.session),
        ("expires_in", arguments.expires),
        ("note", arguments.note),
    ] {
        if let Some(value) = value {
            body.insert(name.to_owned(), value.into());
        }
    }
    if arguments.admin {
        body.insert("admin".to_owned(), true.into());
    }
    let record = session
        .json(Method::POST, "/v1/keys", Some(&Value::Object(body)))
        .await?;
    if arguments.json {
        print_json(&record);
        return Ok(());
    }
    print(&format!("key: {}", text(&record, "key")));
    print(&format!("id: {}", text(&record, "id")));
    match record["admin"] == json!(true) {
        true => print("admin: true"),
        false => print(&format!("namespace: {}", text(&record, "namespace"))),
    }
    if let Some(expires) = record["expires_at"].as_str() {
        print(&format!("expires: {expires}"));
    }
    say("The key is shown this once; the server keeps only a hash of it.");
    Ok(())
}

async fn list(session: &Session, arguments: &ListArgs) -> anyhow::Result<()> {
    let mut cursor = None;
    loop {
        let path = match &cursor {
            None => "/v1/keys".to_owned(),
            Some(cursor) => format!("/v1/keys?cursor={cursor}"),
        };
        let page = session.json(Method::GET, &path, None).await?;
        for record in items(&page, "keys") {
            match arguments.json {
                true => print_json(record),
                false => print(&line(record)),
            }
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return Ok(()),
        }
    }
}

fn line(record: &Value) -> String {
    let state = match (record["revoked"] == json!(true), expired(record)) {
        (true, _) => "revoked",
        (false, true) => "expired",
        (false, false) => "active",
    };
    let reach = match record["admin"] == json!(true) {
        true => "(admin)",
        false => text(record, "namespace"),
    };
    [
        text(record, "id"),
        state,
        reach,
        text(record, "created_at"),
        text(record, "note"),
    ]
    .join("\t")
}

fn expired(record: &Value) -> bool {
    let end = text(record, "expires_at").parse::<jiff::Timestamp>();
    end.is_ok_and(|end| end <= jiff::Timestamp::now())
}

async fn revoke(session: &Session, id: &str) -> anyhow::Result<()> {
    let plain = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    anyhow::ensure!(plain, "{id:?} is no key id: ids are 16 hex digits");
    session
        .json(Method::DELETE, &format!("/v1/keys/{id}"), None)
        .await?;
    print(&format!("revoked {id}"));
    Ok(())
}
