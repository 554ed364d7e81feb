//! One process of an agent: it takes the agent, works, and is paused, killed and replaced meanwhile.
//! It does with unfinished actions exactly what the server advises.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::dice::Dice;
use super::ground::{Ground, tool_call};
use super::hand::{Ask, Hand, Heard};
use super::log::{Answer, Begun, Class, Did, Entry, Pending, Taken};

/// The shortest lease: so that pauses outlast it.
const TTL_SECONDS: u64 = 5;
/// How often a message without an answer is sent again.
const REPEATS: usize = 3;
/// How long a pod whose token is refused goes on asking.
const FAREWELL: usize = 8;

/// How an actor proves who it is.
#[derive(Debug, Clone)]
pub enum Proof {
    /// By the token of its pod, which is exchanged for a key.
    Token(String),
    /// By a key.
    Key(String),
}

/// Why work stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// Another owns the agent.
    Lost,
    /// The key is not taken any more.
    Dead,
    /// Its process was killed.
    Killed,
    /// The run is over, or this actor's time is.
    Over,
}

/// Who acts.
#[derive(Debug)]
pub struct Actor {
    ground: Arc<Ground>,
    name: String,
    namespace: String,
    agent: String,
    session: String,
    proof: Proof,
    dice: Dice,
    program: std::path::PathBuf,
    hand: Hand,
    key: Option<String>,
    epoch: Option<u64>,
    counter: u64,
    /// Whether its process died in the last call.
    killed: bool,
    retired: watch::Receiver<bool>,
}

/// What makes an actor.
#[derive(Debug)]
pub struct Part {
    /// Its name, nobody else's.
    pub name: String,
    /// The memory namespace.
    pub namespace: String,
    /// The agent in it.
    pub agent: String,
    /// The session it belongs to.
    pub session: String,
    /// How it proves who it is.
    pub proof: Proof,
    /// Becomes true when it shall work no more.
    pub retired: watch::Receiver<bool>,
}

impl Actor {
    /// One actor with a process.
    ///
    /// # Errors
    ///
    /// If the process does not start.
    pub fn new(ground: &Arc<Ground>, seed: u64, part: Part) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?;
        let hand = Hand::start(&program)?;
        let bodies = &mut *ground.bodies.lock();
        bodies.push((part.name.clone(), hand.body()));
        Ok(Self {
            ground: Arc::clone(ground),
            dice: Dice::new(seed, &part.name),
            name: part.name,
            namespace: part.namespace,
            agent: part.agent,
            session: part.session,
            proof: part.proof,
            program,
            hand,
            key: None,
            epoch: None,
            counter: 0,
            killed: false,
            retired: part.retired,
        })
    }

    /// Works until the run is over or it is retired or dead.
    ///
    /// # Errors
    ///
    /// If its process cannot be started again.
    pub async fn act(mut self) -> anyhow::Result<()> {
        let mut refusals = 0;
        while !self.is_over() {
            match self.round().await {
                Ok(()) | Err(Stop::Over) => refusals = 0,
                Err(Stop::Lost) => {
                    let pause = self.dice.millis(200, 1500);
                    self.ground.rest(pause).await;
                }
                Err(Stop::Killed) => self.start_again()?,
                Err(Stop::Dead) => {
                    self.key = None;
                    refusals += 1;
                    let fixed = matches!(self.proof, Proof::Key(_));
                    if fixed || refusals > FAREWELL {
                        break;
                    }
                    self.ground.rest(Duration::from_millis(250)).await;
                }
            }
        }
        let mut bodies = self.ground.bodies.lock();
        bodies.retain(|(name, _)| *name != self.name);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.ground.over() || *self.retired.borrow()
    }

    /// The container is restarted: a new process of the same session, which remembers nothing.
    fn start_again(&mut self) -> anyhow::Result<()> {
        self.hand = Hand::start(&self.program).context("a client")?;
        (self.epoch, self.killed) = (None, false);
        if matches!(self.proof, Proof::Token(_)) {
            self.key = None;
        }
        let mut bodies = self.ground.bodies.lock();
        bodies.retain(|(name, _)| *name != self.name);
        bodies.push((self.name.clone(), self.hand.body()));
        Ok(())
    }

    /// Takes the agent, settles what is unfinished, works a while.
    async fn round(&mut self) -> Result<(), Stop> {
        let pending = self.take().await?;
        for action in pending {
            self.carry_on(&action).await?;
        }
        let steps = 5 + self.dice.below(40);
        for _ in 0..steps {
            self.step().await?;
            let pause = self.dice.millis(0, 60);
            self.ground.rest(pause).await;
        }
        if self.dice.percent(25) {
            self.release().await?;
            let pause = self.dice.millis(100, 1500);
            self.ground.rest(pause).await;
        }
        Ok(())
    }

    async fn step(&mut self) -> Result<(), Stop> {
        match self.dice.below(100) {
            0..50 => self.turn().await,
            50..62 => self.state().await,
            62..70 => self.output().await,
            70..78 => self.action(Class::External).await,
            78..82 => self.action(Class::Idempotent).await,
            82..85 => self.action(Class::Pure).await,
            _ => self.read().await,
        }
    }

    /// Asks until it owns the agent; answers what others left unfinished.
    async fn take(&mut self) -> Result<Vec<Pending>, Stop> {
        loop {
            let lost = self.epoch.is_some();
            // Who lost the agent may ask for it back; who comes for the first time resumes.
            let again = lost && self.dice.percent(40);
            let (tool, settings) = match again {
                true => ("agent_acquire", json!({})),
                false => {
                    let settings = json!({ "lease_ttl_seconds": TTL_SECONDS, "token_budget": 300 });
                    ("agent_resume", settings)
                }
            };
            let call = self.call(tool, settings, |answer| taken(answer, !again));
            let (began, answer) = call.await?;
            self.note(began, Did::Take(answer.clone()));
            match answer {
                Answer::Done(taken) => {
                    self.epoch = Some(taken.epoch);
                    return Ok(taken.pending);
                }
                Answer::Refused(text) if text.contains("call agent_release first") => {
                    self.release().await?;
                }
                Answer::Refused(_) | Answer::Unknown(_) => {
                    let pause = self.dice.millis(80, 400);
                    self.ground.rest(pause).await;
                }
            }
            if self.is_over() {
                return Err(Stop::Over);
            }
        }
    }

    async fn release(&mut self) -> Result<(), Stop> {
        let released = |answer: &Value| answer["released"].as_bool();
        let (began, answer) = self.call("agent_release", json!({}), released).await?;
        self.note(began, Did::Release(answer));
        self.epoch = None;
        Ok(())
    }

    async fn turn(&mut self) -> Result<(), Stop> {
        let content = self.name_of("turn");
        let mut turn = json!({ "role": "user", "content": content });
        let repeats = match self.dice.percent(60) {
            true => {
                turn["message_id"] = content.as_str().into();
                REPEATS
            }
            false => 1,
        };
        for _ in 0..repeats {
            let seq = |answer: &Value| answer["seq"].as_u64();
            let (began, answer) = self.call("record_turn", turn.clone(), seq).await?;
            self.note(began, Did::Turn(content.clone(), answer.clone()));
            match answer {
                Answer::Unknown(_) => {}
                done => return self.unless_lost(&done),
            }
        }
        Ok(())
    }

    async fn state(&mut self) -> Result<(), Stop> {
        let notes = self.name_of("state");
        let version = |answer: &Value| answer["version"].as_u64();
        let body = json!({ "notes": notes });
        let (began, answer) = self.call("update_working_state", body, version).await?;
        self.note(began, Did::State(notes, answer.clone()));
        self.unless_lost(&answer)
    }

    async fn output(&mut self) -> Result<(), Stop> {
        let content = self.name_of("output");
        let reference = |answer: &Value| answer["ref"].as_str().map(str::to_owned);
        let body = json!({ "tool": "sh", "content": content });
        let (began, answer) = self.call("store_output", body, reference).await?;
        self.note(began, Did::Output(content, answer.clone()));
        self.unless_lost(&answer)
    }

    async fn read(&mut self) -> Result<(), Stop> {
        let turns = |answer: &Value| {
            let turns = answer.as_array()?.iter();
            let turn =
                |turn: &Value| Some((turn["seq"].as_u64()?, turn["content"].as_str()?.to_owned()));
            turns.map(turn).collect::<Option<Vec<_>>>()
        };
        let (began, answer) = self
            .call("recent_turns", json!({ "limit": 5 }), turns)
            .await?;
        self.note(began, Did::Read(answer));
        Ok(())
    }

    /// Begins an action, runs it if that was acknowledged, and ends it.
    async fn action(&mut self, class: Class) -> Result<(), Stop> {
        let job = self.name_of("job");
        let body = json!({ "tool": "deploy", "class": word(class), "args": job });
        let begun = |answer: &Value| {
            Some(Begun {
                seq: answer["seq"].as_u64()?,
                key: answer["key"].as_str()?.to_owned(),
                epoch: answer["epoch"].as_u64()?,
            })
        };
        let (began, answer) = self.call("begin_action", body, begun).await?;
        self.note(began, Did::Begin(job.clone(), class, answer.clone()));
        match answer {
            Answer::Done(begun) => self.run(begun.seq, &job, class).await,
            // Without an acknowledgement the tool is not run.
            other => self.unless_lost(&other),
        }
    }

    async fn run(&mut self, seq: u64, job: &str, class: Class) -> Result<(), Stop> {
        self.note(self.ground.now(), Did::Run(job.to_owned(), class));
        let takes = self.dice.millis(0, 150);
        self.ground.rest(takes).await;
        self.finish(seq).await
    }

    async fn finish(&mut self, seq: u64) -> Result<(), Stop> {
        let result = self.name_of("result");
        let body = json!({ "seq": seq, "status": "done", "result": result });
        let (began, answer) = self.call("end_action", body, |_| Some(())).await?;
        self.note(began, Did::End(seq, result, answer.clone()));
        self.unless_lost(&answer)
    }

    /// What the briefing advises: an action is run again unless it warns of that.
    async fn carry_on(&mut self, action: &Pending) -> Result<(), Stop> {
        match action.warned() {
            true => self.finish(action.seq).await,
            false => self.run(action.seq, &action.job, action.class).await,
        }
    }

    fn unless_lost<T>(&self, answer: &Answer<T>) -> Result<(), Stop> {
        let gone = ["lease was lost", "lease not acquired", "is not resumed"];
        match answer {
            Answer::Refused(text) if gone.iter().any(|words| text.contains(words)) => {
                Err(Stop::Lost)
            }
            _ if self.killed => Err(Stop::Killed),
            _ if self.is_over() => Err(Stop::Over),
            _ => Ok(()),
        }
    }

    /// A name that nothing else has.
    fn name_of(&mut self, what: &str) -> String {
        self.counter += 1;
        format!("{what} {} of {}", self.counter, self.name)
    }

    fn note(&self, began: u64, did: Did) {
        self.ground.note(Entry {
            actor: self.name.clone(),
            agent: format!("{}/{}", self.namespace, self.agent),
            session: self.session.clone(),
            epoch: match did {
                Did::Take(_) => None,
                _ => self.epoch,
            },
            began,
            ended: self.ground.now(),
            did,
        });
    }

    /// Calls a tool on the next server. Answers when it began and what came of it; `read` takes from
    /// an answer what counts.
    async fn call<T>(
        &mut self,
        tool: &str,
        arguments: Value,
        read: impl Fn(&Value) -> Option<T> + Send,
    ) -> Result<(u64, Answer<T>), Stop> {
        if self.killed {
            return Err(Stop::Killed);
        }
        let key = self.key().await?;
        let ask = Ask {
            url: format!("{}/mcp", self.ground.next()),
            key,
            body: tool_call(&self.agent, tool, arguments),
        };
        let began = self.ground.now();
        let (status, body) = match self.hand.ask(&ask).await {
            // It may have sent the request or not.
            None => {
                self.killed = true;
                return Ok((began, Answer::Unknown("its process was killed".to_owned())));
            }
            Some(Heard::Nothing(why)) => return Ok((began, Answer::Unknown(why))),
            // A key is looked at before anything is done.
            Some(Heard::Answer(401, _)) => return Err(Stop::Dead),
            Some(Heard::Answer(status, body)) => (status, body),
        };
        let result = &body["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let answer = match (status, result["isError"].as_bool()) {
            (200, Some(false)) => {
                let answer = serde_json::from_str(text).unwrap_or_default();
                match read(&answer) {
                    Some(read) => Answer::Done(read),
                    None => Answer::Unknown(format!("not understood: {text}")),
                }
            }
            (200, Some(true)) if definite(text) => Answer::Refused(text.to_owned()),
            _ => Answer::Unknown(format!("{status}: {body}")),
        };
        Ok((began, answer))
    }

    /// The key, exchanged for the token if need be.
    async fn key(&mut self) -> Result<String, Stop> {
        let token = match (&self.key, &self.proof) {
            (Some(key), _) | (None, Proof::Key(key)) => return Ok(key.clone()),
            (None, Proof::Token(token)) => token.clone(),
        };
        while !self.is_over() {
            let ask = Ask {
                url: format!("{}/v1/auth/kubernetes", self.ground.next()),
                key: String::new(),
                body: json!({ "token": token }),
            };
            match self.hand.ask(&ask).await {
                None => return Err(Stop::Killed),
                Some(Heard::Answer(201, body)) => {
                    let key = body["key"].as_str().ok_or(Stop::Dead)?.to_owned();
                    self.key = Some(key.clone());
                    return Ok(key);
                }
                Some(Heard::Answer(400..500, _)) => return Err(Stop::Dead),
                Some(Heard::Answer(..) | Heard::Nothing(_)) => {
                    self.ground.rest(Duration::from_millis(100)).await;
                }
            }
        }
        Err(Stop::Over)
    }
}

/// Whether a refusal says that nothing was done. Others, such as a store's that is away, do not.
fn definite(text: &str) -> bool {
    [
        "lease was lost",
        "lease not acquired",
        "lease is held",
        "is not resumed",
        "already resumed",
    ]
    .iter()
    .any(|words| text.contains(words))
}

fn word(class: Class) -> &'static str {
    match class {
        Class::Pure => "pure",
        Class::Idempotent => "idempotent",
        Class::External => "external",
    }
}

fn taken(answer: &Value, settles: bool) -> Option<Taken> {
    let pending = answer["pending_actions"].as_array();
    let briefing = answer["briefing"].as_str()?;
    let action = |action: &Value| {
        let seq = action["seq"].as_u64()?;
        let line = format!("- action {seq}: ");
        let advice = briefing.lines().find(|text| text.starts_with(&line));
        Some(Pending {
            seq,
            advice: advice.unwrap_or_default().to_owned(),
            job: action["args"].as_str()?.to_owned(),
            class: serde_json::from_value(action["class"].clone()).ok()?,
            status: action["status"].as_str()?.to_owned(),
            key: action["key"].as_str()?.to_owned(),
        })
    };
    Some(Taken {
        epoch: answer["epoch"].as_u64()?,
        turn_seq: answer["turn_seq"].as_u64(),
        pending: pending
            .into_iter()
            .flatten()
            .map(action)
            .collect::<Option<_>>()?,
        settles,
    })
}
