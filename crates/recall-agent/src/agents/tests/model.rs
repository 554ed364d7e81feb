//! Sessions, servers, pauses and expiry in any order.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Resume(usize, usize),
    Acquire(usize, usize),
    Release(usize, usize),
    Turn(usize, usize),
    Wait(u64),
    Die(usize),
    /// A server decides on a write and is paused right before it commits.
    Pause(usize),
    /// Every paused server wakes and commits what it had decided.
    Wake,
}

fn step() -> impl Strategy<Value = Step> {
    let (who, server) = (0usize..4, 0usize..3);
    let pair = (who.clone(), server);
    prop_oneof![
        3 => pair.clone().prop_map(|(who, server)| Step::Resume(who, server)),
        1 => pair.clone().prop_map(|(who, server)| Step::Acquire(who, server)),
        1 => pair.clone().prop_map(|(who, server)| Step::Release(who, server)),
        8 => pair.prop_map(|(who, server)| Step::Turn(who, server)),
        2 => (1u64..90).prop_map(Step::Wait),
        1 => (0usize..2).prop_map(Step::Die),
        2 => who.prop_map(Step::Pause),
        1 => Just(Step::Wake),
    ]
}

/// What was acknowledged, in order of its number.
#[derive(Debug)]
struct World {
    bench: Bench,
    servers: [Bench; 3],
    sessions: [Session; 4],
    dead: [bool; 4],
    /// Who took the agent last and has not given it back, and when it last called.
    owner: Option<(usize, jiff::Timestamp)>,
    accepted: BTreeMap<u64, (String, u64)>,
    newest: u64,
    paused: Vec<(u64, Batch)>,
}

impl World {
    fn new() -> Self {
        let bench = Bench::new();
        Self {
            servers: [bench.clone(), bench.replica(), bench.replica()],
            bench,
            // A pod, its successor of another UID, two keys.
            sessions: [pod("u1"), pod("u2"), key("k1"), key("k2")],
            dead: [false; 4],
            owner: None,
            accepted: BTreeMap::new(),
            newest: 0,
            paused: Vec::new(),
        }
    }

    /// An epoch was granted or written under: it may never be older than one seen before.
    fn saw(&mut self, epoch: u64) -> Result<(), TestCaseError> {
        prop_assert!(
            epoch >= self.newest,
            "epoch {} after {}",
            epoch,
            self.newest
        );
        self.newest = epoch;
        Ok(())
    }

    /// Nobody takes the agent from an owner that is there and called within two thirds of the lease:
    /// a call renews it once a third has passed.
    fn may_take(&self, who: usize) -> Result<(), TestCaseError> {
        let Some((owner, called)) = self.owner.filter(|(owner, _)| *owner != who) else {
            return Ok(());
        };
        let silent = self.bench.clock.now().duration_since(called).as_secs();
        let (dead, paused) = (self.dead[owner], silent >= 40);
        prop_assert!(
            dead || paused,
            "{} took over from {} after {} s",
            who,
            owner,
            silent
        );
        Ok(())
    }

    async fn take(&mut self, who: usize, server: usize, tool: &str) -> Result<(), TestCaseError> {
        let answer = self.servers[server]
            .call(&self.sessions[who], tool, none())
            .await;
        match answer {
            Ok(context) => {
                self.may_take(who)?;
                self.owner = Some((who, self.bench.clock.now()));
                self.saw(context["epoch"].as_u64().unwrap_or(0))
            }
            Err(error) => {
                prop_assert_eq!(error.code(), "lease_held");
                Ok(())
            }
        }
    }

    async fn turn(&mut self, who: usize, server: usize, at: usize) -> Result<(), TestCaseError> {
        let content = format!("step {at}");
        let turn = json!({"role": "user", "content": content});
        match self.servers[server]
            .call(&self.sessions[who], "record_turn", turn)
            .await
        {
            Ok(turn) => {
                let owner = self.owner.map(|(owner, _)| owner);
                prop_assert_eq!(owner, Some(who), "only the owner writes");
                self.owner = Some((who, self.bench.clock.now()));
                let seq = turn["seq"].as_u64().unwrap_or(0);
                prop_assert_eq!(seq, self.accepted.len() as u64 + 1, "numbers without a gap");
                let epoch = self.epoch_of(seq).await;
                self.saw(epoch)?;
                self.accepted.insert(seq, (content, epoch));
            }
            Err(error) => prop_assert!(
                ["tool_error", "lease_lost"].contains(&error.code()),
                "{}",
                error
            ),
        }
        Ok(())
    }

    async fn pause(&mut self, who: usize) {
        let seat = Seat {
            ns: self.bench.ns.clone(),
            agent: "a".parse().expect("an agent"),
        };
        let (mut head, version) = self.bench.agents.inner.head(&seat).await.expect("a head");
        let Some(hold) = head.hold_of(&self.sessions[who]).cloned() else {
            return;
        };
        head.turn_seq += 1;
        let now = self.bench.clock.now();
        let late = json!({"seq": head.turn_seq, "role": "user", "content": "late", "at": now});
        let names = seat.names();
        let known = version.map_or(Precondition::Absent, Precondition::Version);
        let place = names.turn(head.turn_seq);
        let turn = names.write(place, &late, hold.epoch, Precondition::Absent);
        let head = names.write(names.head(), &head, hold.epoch, known);
        let batch = Batch {
            records: vec![turn.expect("a write"), head.expect("a write")],
            fence: Some(Fence {
                lease: "a".to_owned(),
                epoch: recall_store::Epoch(hold.fence),
            }),
            ..Batch::default()
        };
        self.paused.push((hold.epoch, batch));
    }

    async fn wake(&mut self) -> Result<(), TestCaseError> {
        for (epoch, batch) in std::mem::take(&mut self.paused) {
            if self.bench.store.commit(&self.bench.ns, batch).await.is_ok() {
                self.saw(epoch)?;
                let seq = self.accepted.len() as u64 + 1;
                self.accepted.insert(seq, ("late".to_owned(), epoch));
            }
        }
        Ok(())
    }

    async fn epoch_of(&self, seq: u64) -> u64 {
        let key = format!("a:{seq:012}");
        let record = self
            .bench
            .store
            .get(&self.bench.ns, RecordKind::Turn, &key)
            .await;
        let record = record.expect("an answer").expect("the turn");
        let body: Value = serde_json::from_slice(&record.body).expect("JSON");
        body["epoch"].as_u64().expect("an epoch")
    }

    async fn step(&mut self, at: usize, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Resume(who, server) if !self.dead[who] => {
                self.take(who, server, "agent_resume").await
            }
            Step::Acquire(who, server) if !self.dead[who] => {
                self.take(who, server, "agent_acquire").await
            }
            Step::Release(who, server) if !self.dead[who] => {
                let server = &self.servers[server];
                let answer = server.ok(&self.sessions[who], "agent_release", none());
                let released = answer.await["released"] == true;
                let owner = self.owner.map(|(owner, _)| owner);
                prop_assert_eq!(released, owner == Some(who), "only the owner releases");
                self.owner = self.owner.filter(|_| !released);
                Ok(())
            }
            Step::Turn(who, server) if !self.dead[who] => self.turn(who, server, at).await,
            Step::Wait(seconds) => {
                self.bench.advance(seconds);
                Ok(())
            }
            Step::Die(who) => {
                self.dead[who] = true;
                self.bench.life.say(&self.sessions[who], Life::Gone);
                Ok(())
            }
            Step::Pause(who) => {
                self.pause(who).await;
                Ok(())
            }
            Step::Wake => self.wake().await,
            Step::Resume(..) | Step::Acquire(..) | Step::Release(..) | Step::Turn(..) => Ok(()),
        }
    }

    async fn check(self) -> Result<(), TestCaseError> {
        let all = json!({"limit": 1000});
        let turns = self.bench.ok(&key("reader"), "recent_turns", all).await;
        let turns = turns.as_array().expect("a list");
        let kept: Vec<_> = turns
            .iter()
            .map(|turn| (turn["seq"].as_u64(), turn["content"].as_str()))
            .collect();
        let expected: Vec<_> = self
            .accepted
            .iter()
            .map(|(seq, (content, _))| (Some(*seq), Some(content.as_str())))
            .collect();
        prop_assert_eq!(kept, expected, "nothing that was acknowledged is lost");
        let epochs: Vec<_> = self.accepted.values().map(|(_, epoch)| *epoch).collect();
        prop_assert!(epochs.is_sorted(), "epochs went back: {:?}", epochs);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// After each takeover only the new epoch's writes are accepted, no acknowledged turn is lost,
    /// and the numbers have no gap.
    #[test]
    fn an_agent_has_one_owner_at_a_time(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut world = World::new();
            for (at, step) in steps.into_iter().enumerate() {
                world.step(at, step).await?;
            }
            world.check().await
        })?;
    }
}
