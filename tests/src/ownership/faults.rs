//! What goes wrong, when, and for how long: all of it follows from a seed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::cast::Run;
use super::dice::Dice;
use super::ground::{Ground, Slot, Store, TEAM, TENANT};
use super::proxy::Net;

/// What came to pass, and how often.
#[derive(Debug, Clone, Default)]
pub struct Tally(Arc<Mutex<BTreeMap<&'static str, usize>>>);

impl Tally {
    /// Notes that something came to pass.
    pub fn count(&self, what: &'static str, times: usize) {
        *self.0.lock().entry(what).or_default() += times;
    }

    /// Everything that came to pass.
    #[must_use]
    pub fn all(&self) -> BTreeMap<&'static str, usize> {
        self.0.lock().clone()
    }
}

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A client stands still.
    PauseClient,
    /// A client is killed and started again.
    KillClient,
    /// A server stands still for a moment.
    PauseServer,
    /// A server stands still for longer than a lease.
    OversleepServer,
    /// All servers stand still for longer than a lease: to them the clock jumps.
    OversleepAll,
    /// A server is killed.
    KillServer,
    /// A server is told to end.
    StopServer,
    /// The network to a server.
    Front(Net),
    /// The network from a server to its store.
    Back(Net),
    /// The database is killed.
    KillStore,
    /// The database stands still for a moment.
    PauseStore,
    /// The API server answers nothing.
    ApiAway,
    /// An operator ends a lease.
    BreakLease,
}

/// One fault of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// How long after the one before.
    pub after: Duration,
    /// What.
    pub kind: Kind,
    /// Whom it hits, of those that there are.
    pub pick: u64,
    /// For how long.
    pub lasts: Duration,
}

/// How long a server that was started again is waited for; on a shared store it waits five seconds
/// itself.
const RESTART: Duration = Duration::from_secs(20);

/// What can go wrong, how often in a thousand, and for how many milliseconds.
type Share = (Kind, u64, (u64, u64));

const CLIENTS: [Share; 2] = [
    (Kind::PauseClient, 210, (100, 7000)),
    (Kind::KillClient, 190, (0, 1)),
];
const SERVERS: [Share; 9] = [
    (Kind::PauseServer, 130, (50, 1500)),
    (Kind::OversleepServer, 15, (5500, 7000)),
    (Kind::OversleepAll, 8, (5500, 6500)),
    (Kind::KillServer, 65, (0, 400)),
    (Kind::StopServer, 30, (0, 200)),
    (Kind::Front(Net::Cut), 70, (50, 1000)),
    (Kind::Front(Net::Silent), 40, (50, 1500)),
    (Kind::Front(Net::Deaf), 70, (50, 800)),
    (Kind::ApiAway, 40, (200, 3000)),
];
const OPERATOR: [Share; 1] = [(Kind::BreakLease, 40, (0, 1))];
const SHARED_STORE: [Share; 5] = [
    (Kind::Back(Net::Cut), 30, (50, 800)),
    (Kind::Back(Net::Silent), 20, (50, 1500)),
    (Kind::Back(Net::Deaf), 30, (50, 800)),
    (Kind::KillStore, 20, (0, 500)),
    (Kind::PauseStore, 30, (50, 1500)),
];

/// So many faults, about so long after each other: the same seed gives the same.
#[must_use]
pub fn plan(seed: u64, store: Store, count: usize, every: Duration) -> Vec<Fault> {
    let mut dice = Dice::new(seed, "faults");
    let mut shares: Vec<Share> = [&CLIENTS[..], &SERVERS, &OPERATOR].concat();
    if store != Store::Embedded {
        shares.extend(SHARED_STORE);
    }
    let every = u64::try_from(every.as_millis()).unwrap_or(u64::MAX);
    let mut fault = || {
        let (kind, least, most) = draw(&shares, &mut dice);
        Fault {
            after: dice.millis(every / 2, every * 3 / 2),
            kind,
            pick: dice.roll(),
            lasts: dice.millis(least, most),
        }
    };
    (0..count).map(|_| fault()).collect()
}

fn draw(shares: &[Share], dice: &mut Dice) -> (Kind, u64, u64) {
    let all = shares.iter().map(|(_, share, _)| share).sum();
    let mut lot = dice.below(all);
    let mut drawn = shares.iter().skip_while(|(_, share, _)| {
        let passed = lot >= *share;
        lot = lot.saturating_sub(*share);
        passed
    });
    let drawn = drawn.next().or(shares.last());
    drawn.map_or((Kind::PauseClient, 0, 1), |(kind, _, (least, most))| {
        (*kind, *least, *most)
    })
}

impl Kind {
    /// Whether it takes a server or the store away: such faults come one after another, so that there
    /// is a time in between in which something can be done.
    fn takes_away(self) -> bool {
        match self {
            Self::PauseClient | Self::KillClient | Self::ApiAway | Self::BreakLease => false,
            Self::PauseServer
            | Self::OversleepServer
            | Self::OversleepAll
            | Self::KillServer
            | Self::StopServer
            | Self::Front(_)
            | Self::Back(_)
            | Self::KillStore
            | Self::PauseStore => true,
        }
    }
}

/// Does to a run what a plan says, and waits until all of it has passed.
///
/// # Errors
///
/// If something could not be started again.
pub async fn inflict(run: &Run, plan: Vec<Fault>) -> anyhow::Result<()> {
    let mut under_way = JoinSet::new();
    for fault in plan {
        tokio::time::sleep(fault.after).await;
        let run = run.clone();
        let suffered = async move {
            let suffered = suffer(&run, fault).await;
            suffered.with_context(|| format!("{fault:?}"))
        };
        match fault.kind.takes_away() {
            true => suffered.await?,
            false => drop(under_way.spawn(suffered)),
        }
    }
    // Each ends what it began, whatever becomes of another: a client that was paused goes on.
    let ended = under_way.join_all().await;
    ended.into_iter().collect()
}

async fn suffer(run: &Run, fault: Fault) -> anyhow::Result<()> {
    let (ground, lasts) = (&*run.ground, fault.lasts);
    let what = match fault.kind {
        Kind::PauseClient | Kind::KillClient => return client(run, fault).await,
        Kind::PauseServer | Kind::OversleepServer => {
            pause_server(picked(ground, fault), lasts).await?;
            match fault.kind {
                Kind::PauseServer => "server paused",
                _ => "server paused for longer than the lease",
            }
        }
        Kind::OversleepAll => {
            let pauses = ground.slots.iter().map(|slot| pause_server(slot, lasts));
            futures_util::future::try_join_all(pauses).await?;
            "all servers paused for longer than the lease"
        }
        Kind::KillServer | Kind::StopServer => {
            let slot = picked(ground, fault);
            let mut server = slot.server.lock().await;
            if let Some(mut running) = server.take() {
                tokio::task::block_in_place(|| match fault.kind {
                    Kind::KillServer => running.process().kill(),
                    _ => running.process().stop().map(drop),
                })?;
            }
            tokio::time::sleep(lasts).await;
            ground.launch(slot, &mut server)?;
            // Until it serves, the next server that goes would leave nobody.
            if let Some(server) = server.as_ref() {
                ground.ready(server, RESTART).await;
            }
            match fault.kind {
                Kind::KillServer => "server killed",
                _ => "server stopped",
            }
        }
        Kind::Front(net) => {
            let slot = picked(ground, fault);
            slot.front.set(net);
            tokio::time::sleep(lasts).await;
            slot.front.set(Net::Whole);
            "network to a server cut"
        }
        Kind::Back(net) => {
            let slot = picked(ground, fault);
            let Some(back) = &slot.back else {
                return Ok(());
            };
            back.set(net);
            tokio::time::sleep(lasts).await;
            back.set(Net::Whole);
            "network to the store cut"
        }
        Kind::KillStore | Kind::PauseStore => return database(run, fault).await,
        Kind::ApiAway => {
            ground.api_away(true);
            tokio::time::sleep(lasts).await;
            ground.api_away(false);
            "API server away"
        }
        Kind::BreakLease => {
            break_lease(ground, fault.pick).await?;
            "lease ended by an operator"
        }
    };
    run.tally.count(what, 1);
    Ok(())
}

fn picked(ground: &Ground, fault: Fault) -> &Slot {
    let count = ground.slots.len() as u64;
    let at = usize::try_from(fault.pick % count).unwrap_or_default();
    &ground.slots[at]
}

async fn client(run: &Run, fault: Fault) -> anyhow::Result<()> {
    let body = {
        let bodies = run.ground.bodies.lock();
        let at = usize::try_from(fault.pick % bodies.len().max(1) as u64)?;
        bodies.get(at).map(|(_, body)| body.clone())
    };
    let Some(body) = body else {
        return Ok(());
    };
    match fault.kind {
        Kind::KillClient => {
            body.kill();
            run.tally.count("client killed", 1);
        }
        _ => {
            body.pause(true);
            tokio::time::sleep(fault.lasts).await;
            body.pause(false);
            run.tally.count("client paused", 1);
        }
    }
    Ok(())
}

async fn pause_server(slot: &Slot, lasts: Duration) -> anyhow::Result<()> {
    let mut server = slot.server.lock().await;
    if let Some(server) = server.as_mut() {
        server.process().signal("STOP")?;
        tokio::time::sleep(lasts).await;
        server.process().signal("CONT")?;
    }
    Ok(())
}

async fn database(run: &Run, fault: Fault) -> anyhow::Result<()> {
    let dbs = &run.ground.dbs;
    let at = usize::try_from(fault.pick % dbs.len().max(1) as u64)?;
    let Some(db) = dbs.get(at) else {
        return Ok(());
    };
    let mut db = db.lock().await;
    match fault.kind {
        Kind::KillStore => {
            tokio::task::block_in_place(|| db.kill())?;
            tokio::time::sleep(fault.lasts).await;
            tokio::task::block_in_place(|| db.restart())?;
            run.tally.count("store killed", 1);
        }
        _ => {
            let process = db.process().map(|process| process.signal("STOP"));
            process.transpose()?;
            tokio::time::sleep(fault.lasts).await;
            let process = db.process().map(|process| process.signal("CONT"));
            process.transpose()?;
            run.tally.count("store paused", 1);
        }
    }
    Ok(())
}

async fn break_lease(ground: &Ground, pick: u64) -> anyhow::Result<()> {
    let agents = ["pod-0", "pod-1", "pod-2", "named-0", "named-1", "keyed-0"];
    let at = usize::try_from(pick % agents.len() as u64)?;
    let agent = agents[at];
    let namespace = match agent.starts_with("pod") {
        true => format!("{TENANT}:{agent}"),
        false => TEAM.to_owned(),
    };
    let path = format!("/v1/agents/{agent}/lease?namespace={namespace}");
    let answer = ground.admin("DELETE", &path, "").await?;
    // 404: nothing was ever kept of it.
    let fine = matches!(answer.status, 200 | 404);
    ensure!(fine, "the lease is not ended: {}", answer.json());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_plan_and_every_kind_of_fault_occurs() {
        let (count, every) = (2000, Duration::from_millis(300));
        let one = plan(1, Store::Polign, count, every);
        assert_eq!(one.len(), count);
        assert_eq!(one, plan(1, Store::Polign, count, every));
        assert_ne!(one, plan(2, Store::Polign, count, every));
        for (kind, ..) in [&CLIENTS[..], &SERVERS, &OPERATOR, &SHARED_STORE].concat() {
            assert!(one.iter().any(|fault| fault.kind == kind), "{kind:?}");
        }
        let embedded = plan(1, Store::Embedded, count, every);
        let shared = |kind| matches!(kind, Kind::Back(_) | Kind::KillStore | Kind::PauseStore);
        assert!(embedded.iter().all(|fault| !shared(fault.kind)));
    }
}
