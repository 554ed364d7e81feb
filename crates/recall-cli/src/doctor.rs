//! `recall doctor`: which step between this process and its memory fails, and what to do about it.

mod fix;
mod memory;
mod report;
mod token;
mod way;

use bytes::Bytes;
use http::{Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::args::{DoctorArgs, ServerArgs};
use crate::client::Client;
use crate::credential::Credential;
use crate::output::text;
use crate::server::Server;
use report::{Finding, Report};

/// Checks one step after the other and stops where going on would only repeat the failure.
///
/// # Errors
///
/// If any step failed, after all of them were told.
pub(crate) async fn run(server: &ServerArgs, arguments: &DoctorArgs) -> anyhow::Result<()> {
    let mut report = Report::new(arguments.json);
    let sound = examine(server, arguments, &mut report).await;
    report.end();
    anyhow::ensure!(
        sound.is_some() && report.sound(),
        "not everything works: see the lines marked FAIL"
    );
    Ok(())
}

/// `None` where a step failed that the next ones need.
async fn examine(arguments: &ServerArgs, doctor: &DoctorArgs, report: &mut Report) -> Option<()> {
    let server = report.step("address", address(arguments))?;
    report.step("resolve", way::resolve(&server).await)?;
    report.step("connect", way::connect(&server).await)?;
    let client = report.step("client", client(&server, arguments))?;
    report.step("server", way::is_recall(&client).await)?;
    let credential = report.step("credential", credential(arguments))?;
    let (key, agent) = match credential.token_file() {
        Some(path) => {
            report.step("token", token::examine(path))?;
            let minted = exchange(&client, &credential).await;
            let record = report.step("exchange", minted)?;
            report.step("identity", Ok(((), identity(&record))));
            let key = SecretString::from(text(&record, "key").to_owned());
            (key, agent_of(&record))
        }
        None => (credential.given()?, None),
    };
    let surface = report.step("key", memory::surface(&client, &key).await)?;
    match doctor.read_only {
        true => report.step("memory", memory::read(&client, &key, &surface).await)?,
        false => report.step(
            "memory",
            memory::write_and_read(&client, &key, &surface).await,
        )?,
    }
    if surface.agents {
        let lease = match doctor.agent.as_deref().or(agent.as_deref()) {
            Some(agent) => memory::lease(&client, &key, agent).await,
            None => Ok(((), "not looked at: name the agent with --agent".to_owned())),
        };
        report.step("lease", lease)?;
    }
    Some(())
}

fn address(arguments: &ServerArgs) -> Finding<Server> {
    let Some(text) = arguments.server.as_deref() else {
        return Err((
            "no server is named".to_owned(),
            "set RECALL_URL or --server, such as http://recall.recall.svc:8080".to_owned(),
        ));
    };
    match Server::parse(text, arguments.insecure) {
        Ok(server) => Ok((server, text.to_owned())),
        Err(error) => Err((
            format!("{error:#}"),
            "set RECALL_URL or --server to the Service's address, such as \
             http://recall.recall.svc:8080"
                .to_owned(),
        )),
    }
}

fn client(server: &Server, arguments: &ServerArgs) -> Finding<Client> {
    match Client::new(server.clone(), arguments.tls()) {
        Ok(client) => Ok((client, "ready".to_owned())),
        Err(error) => Err((
            format!("{error:#}"),
            "name a PEM file of the authority that signed the server's certificate with \
             RECALL_CA_FILE or --ca-file"
                .to_owned(),
        )),
    }
}

fn credential(arguments: &ServerArgs) -> Finding<Credential> {
    match Credential::find(arguments) {
        Ok(credential) => {
            let detail = match credential.token_file() {
                Some(path) => format!("the pod's token in {}", path.display()),
                None => "a key".to_owned(),
            };
            Ok((credential, detail))
        }
        Err(error) => Err((
            format!("{error:#}"),
            "in a pod, project a service-account token with audience recall and name its file in \
             RECALL_TOKEN_FILE; elsewhere set RECALL_API_KEY or --key-file"
                .to_owned(),
        )),
    }
}

async fn exchange(client: &Client, credential: &Credential) -> Finding<Value> {
    let token = match credential.token() {
        Ok(token) => token,
        Err(error) => return Err((format!("{error:#}"), fix::TOKEN_FILE.to_owned())),
    };
    let body = Bytes::from(json!({ "token": token.expose_secret() }).to_string());
    let answer = client
        .send(Method::POST, "/v1/auth/kubernetes", None, body)
        .await
        .map_err(|error| (format!("{error:#}"), fix::unreachable().to_owned()))?;
    if answer.status != StatusCode::CREATED {
        let (code, message) = answer.error();
        let status = answer.status.as_u16();
        return Err((
            format!("refused: {message} ({code}, HTTP {status})"),
            fix::of(&code).to_owned(),
        ));
    }
    match answer.json() {
        Ok(record) => {
            let detail = format!("accepted; the key lives {}", text(&record, "ttl"));
            Ok((record, detail))
        }
        Err(error) => Err((format!("{error:#}"), fix::of("").to_owned())),
    }
}

/// The agent that a pod's key is for.
fn agent_of(record: &Value) -> Option<String> {
    let bound = text(record, "agent");
    let own = text(record, "namespace").rsplit_once(':');
    let agent = match bound.is_empty() {
        false => bound,
        true => own?.1,
    };
    Some(agent.to_owned())
}

/// Who the server says this is.
fn identity(record: &Value) -> String {
    let mut said = vec![format!("memory {}", text(record, "namespace"))];
    for name in ["agent", "pod", "pod_uid", "kubernetes_namespace"] {
        let value = text(record, name);
        if !value.is_empty() {
            said.push(format!("{} {value}", name.replace('_', " ")));
        }
    }
    said.join(", ")
}
