//! Who plays: agents in pods that come and go, agents of sessions that take them from each other,
//! and agents of keys that end.

use std::sync::Arc;
use std::time::Duration;

use recall_testkit::{NewPod, NewToken};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::actor::{Actor, Part, Proof};
use super::dice::Dice;
use super::faults::Tally;
use super::ground::{Ground, LABEL, TEAM, TENANT};

/// Agents in pods; the first has two processes in each pod.
const PODS: usize = 3;
/// Agents that two sessions take from each other.
const NAMED: usize = 2;
/// Agents whose owner has a key that ends.
const KEYED: usize = 2;
/// How long such a key lives.
const KEY_SECONDS: u64 = 6;

/// A run: where, by which choices, and what came to pass.
#[derive(Debug, Clone)]
pub struct Run {
    /// Where.
    pub ground: Arc<Ground>,
    /// What the choices follow from.
    pub seed: u64,
    /// What came to pass.
    pub tally: Tally,
}

type Actors = JoinSet<anyhow::Result<()>>;

/// Plays until the work is over.
///
/// # Errors
///
/// If an actor cannot do its part.
pub async fn play(run: &Run) -> anyhow::Result<()> {
    let mut agents = JoinSet::new();
    for number in 0..PODS {
        agents.spawn(pods(run.clone(), number));
    }
    for number in 0..NAMED {
        agents.spawn(sessions(run.clone(), number));
    }
    for number in 0..KEYED {
        agents.spawn(keys(run.clone(), number));
    }
    ended(agents).await
}

async fn ended(mut tasks: Actors) -> anyhow::Result<()> {
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(())
}

fn cast(run: &Run, actors: &mut Actors, part: Part) -> anyhow::Result<()> {
    actors.spawn(Actor::new(&run.ground, run.seed, part)?.act());
    Ok(())
}

/// One agent in one pod after another. Some pods are made before their predecessor is gone, some
/// processes are paused while their pod is taken away and wake when it has a successor.
async fn pods(run: Run, number: usize) -> anyhow::Result<()> {
    let (mut actors, ground) = (Actors::new(), Arc::clone(&run.ground));
    let agent = format!("pod-{number}");
    let mut dice = Dice::new(run.seed, &agent);
    let mut generation = 0;
    let mut former: Option<String> = None;
    while !ground.over() {
        // Half of them are recreated under the same name, as by a controller.
        let same = former.is_some() && dice.percent(50);
        let name = match &former {
            Some(former) if same => former.clone(),
            _ => format!("{agent}-{generation}"),
        };
        if same {
            take_away(&run, &mut actors, &mut dice, &name);
        }
        let pod = NewPod::new(TENANT, &name).label(LABEL, &agent);
        let uid = ground.cluster().add_pod(&pod);
        let token = ground
            .cluster()
            .issue_token(&NewToken::of_pod(TENANT, &name).lifetime(Duration::from_secs(86_400)));
        let processes = if number == 0 { 2 } else { 1 };
        for process in 0..processes {
            let part = Part {
                name: format!("{agent}.{generation}.{process}"),
                namespace: format!("{TENANT}:{agent}"),
                agent: agent.clone(),
                session: format!("pod {uid}"),
                proof: Proof::Token(token.clone()),
                // Its pod's end ends it.
                retired: watch::channel(false).1,
            };
            cast(&run, &mut actors, part)?;
        }
        if let Some(former) = former.filter(|_| !same) {
            ground.rest(dice.millis(0, 1500)).await;
            take_away(&run, &mut actors, &mut dice, &former);
        }
        former = Some(name);
        generation += 1;
        ground.rest(dice.millis(2500, 7000)).await;
    }
    ended(actors).await
}

/// Deletes a pod; its processes go on, and find out.
fn take_away(run: &Run, actors: &mut Actors, dice: &mut Dice, name: &str) {
    let agent = name.rsplit_once('-').map_or(name, |(agent, _)| agent);
    if dice.percent(50) {
        let prefix = format!("{agent}.");
        let bodies: Vec<_> = {
            let bodies = run.ground.bodies.lock();
            let of_agent = bodies.iter().filter(|(name, _)| name.starts_with(&prefix));
            of_agent.map(|(_, body)| body.clone()).collect()
        };
        let sleep = dice.millis(500, 7000);
        for body in &bodies {
            body.pause(true);
        }
        run.tally.count(
            "client paused as its pod went",
            usize::from(!bodies.is_empty()),
        );
        let ground = Arc::clone(&run.ground);
        actors.spawn(async move {
            ground.rest(sleep).await;
            for body in bodies {
                body.pause(false);
            }
            Ok(())
        });
    }
    run.ground.cluster().delete_pod(TENANT, name);
    run.tally.count("pod deleted", 1);
}

/// Two sessions that an admin named on keys: each takes the agent from the other while that lives.
async fn sessions(run: Run, number: usize) -> anyhow::Result<()> {
    let mut actors = Actors::new();
    let agent = format!("named-{number}");
    for session in ["left", "right"] {
        let session = format!("{agent}-{session}");
        let spec = json!({ "namespace": TEAM, "session": session });
        let part = Part {
            name: format!("{session}.0"),
            namespace: TEAM.to_owned(),
            agent: agent.clone(),
            proof: Proof::Key(run.ground.mint(&spec).await?),
            session,
            retired: watch::channel(false).1,
        };
        cast(&run, &mut actors, part)?;
    }
    ended(actors).await
}

/// One key after another: each owner is gone when its key has ended or was revoked.
async fn keys(run: Run, number: usize) -> anyhow::Result<()> {
    let (mut actors, ground) = (Actors::new(), Arc::clone(&run.ground));
    let agent = format!("keyed-{number}");
    let mut dice = Dice::new(run.seed, &agent);
    let mut generation = 0;
    while !ground.over() {
        let spec = json!({ "namespace": TEAM, "expires_in": format!("{KEY_SECONDS}s") });
        let key = ground.mint(&spec).await?;
        let id = key.split('_').nth(1).unwrap_or_default().to_owned();
        let part = Part {
            name: format!("{agent}.{generation}"),
            namespace: TEAM.to_owned(),
            agent: agent.clone(),
            session: format!("key {id}"),
            proof: Proof::Key(key),
            retired: watch::channel(false).1,
        };
        cast(&run, &mut actors, part)?;
        generation += 1;
        ground
            .rest(dice.millis(2000, 1000 * KEY_SECONDS + 1000))
            .await;
        if dice.percent(40) && !ground.over() {
            ground
                .admin("DELETE", &format!("/v1/keys/{id}"), "")
                .await?;
            run.tally.count("key revoked", 1);
        } else {
            run.tally.count("key expired", 1);
        }
    }
    ended(actors).await
}
