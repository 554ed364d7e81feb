//! What is compared: two textbook rankers, the search index, the whole engine, and servers.

use std::time::{Duration, Instant};

use recall_memory::search::{Index, NewItem, Query};

use crate::baseline::Bm25;
use crate::engine::Engine;
use crate::options::{Options, ServerOption};
use crate::score::{Score, score};
use crate::server::Server;
use crate::set::Talk;

/// How many items of an answer are looked at.
pub(crate) const LIMIT: usize = 20;

/// What BM25 with cut words is called in reports.
pub(crate) const TEXTBOOK: &str = "BM25 stop+stem";

/// A way to answer questions.
#[derive(Debug)]
pub(crate) enum Ranker {
    /// BM25, with or without cut words.
    Baseline { clean: bool },
    /// The index alone: what ranks, without what is stored.
    Index { unnamed: bool },
    /// The engine in this process, on the text surface.
    Engine { unnamed: bool },
    /// A running server.
    Server { at: ServerOption, unnamed: bool },
}

/// Something that has taken a conversation in.
pub(crate) trait Loaded {
    /// The ids that answer a question, best first.
    fn ask(&mut self, question: &str) -> Result<Vec<String>, String>;

    /// How long each write of a sample took to be found; empty where nothing is written down.
    fn delays(&self) -> &[Duration] {
        &[]
    }
}

/// A question that was answered.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) talk: usize,
    pub(crate) class: String,
    pub(crate) score: Score,
}

/// What a ranker came to.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) answered: Vec<Answered>,
    pub(crate) times: Vec<Duration>,
    pub(crate) delays: Vec<Duration>,
    pub(crate) load: Duration,
    pub(crate) errors: Vec<String>,
}

/// The rankers that the options ask for.
pub(crate) fn all(options: &Options) -> Result<Vec<Ranker>, String> {
    let unnamed = options.unnamed;
    let mut rankers = Vec::new();
    if !options.only_servers {
        rankers.extend([
            Ranker::Baseline { clean: false },
            Ranker::Baseline { clean: true },
            Ranker::Index { unnamed },
            Ranker::Engine { unnamed },
        ]);
    }
    let servers = options.servers.iter();
    rankers.extend(servers.map(|at| Ranker::Server {
        at: at.clone(),
        unnamed,
    }));
    match rankers.is_empty() {
        true => Err("--only-servers needs a --server".to_owned()),
        false => Ok(rankers),
    }
}

/// Asks every question of every conversation.
pub(crate) fn measure(ranker: &Ranker, talks: &[Talk]) -> Result<Measured, String> {
    let mut measured = Measured {
        name: ranker.name(),
        answered: Vec::new(),
        times: Vec::new(),
        delays: Vec::new(),
        load: Duration::ZERO,
        errors: Vec::new(),
    };
    for (no, talk) in talks.iter().enumerate() {
        let began = Instant::now();
        let mut loaded = ranker.load(talk)?;
        measured.load += began.elapsed();
        for question in &talk.queries {
            let began = Instant::now();
            let answer = loaded.ask(&question.q);
            measured.times.push(began.elapsed());
            // An error finds nothing, and is told.
            let answer = answer.unwrap_or_else(|error| {
                measured.errors.push(format!("{}: {error}", question.q));
                Vec::new()
            });
            measured.answered.push(Answered {
                talk: no,
                class: question.class.clone(),
                score: score(&answer, &question.gold),
            });
        }
        measured.delays.extend_from_slice(loaded.delays());
    }
    measured.times.sort_unstable();
    measured.delays.sort_unstable();
    Ok(measured)
}

impl Ranker {
    fn name(&self) -> String {
        match self {
            Self::Baseline { clean: false } => "BM25 raw".to_owned(),
            Self::Baseline { clean: true } => TEXTBOOK.to_owned(),
            Self::Index { .. } => "index".to_owned(),
            Self::Engine { .. } => "engine".to_owned(),
            Self::Server { at, .. } => at.name.clone(),
        }
    }

    fn load(&self, talk: &Talk) -> Result<Box<dyn Loaded>, String> {
        Ok(match self {
            Self::Baseline { clean } => {
                let texts: Vec<String> = talk.items.iter().map(crate::set::Item::said).collect();
                let ids = talk.items.iter().map(|item| item.id.clone());
                Box::new((Bm25::new(&texts, *clean), ids.collect::<Vec<_>>()))
            }
            Self::Index { unnamed } => Box::new(IndexOf::new(talk, *unnamed)),
            Self::Engine { unnamed } => Box::new(Engine::new(talk, *unnamed)?),
            Self::Server { at, unnamed } => Box::new(Server::new(at, talk, *unnamed)?),
        })
    }
}

impl Loaded for (Bm25, Vec<String>) {
    fn ask(&mut self, question: &str) -> Result<Vec<String>, String> {
        let found = self.0.search(question, LIMIT);
        Ok(found
            .iter()
            .filter_map(|no| self.1.get(*no).cloned())
            .collect())
    }
}

struct IndexOf {
    index: Index,
    ids: Vec<String>,
}

impl IndexOf {
    fn new(talk: &Talk, unnamed: bool) -> Self {
        let mut index = Index::default();
        let mut ids = Vec::new();
        for item in &talk.items {
            let day = item.instant().and_then(|at| at.parse().ok());
            index.insert(&NewItem {
                text: &item.said(),
                speaker: None,
                assistant: item.speaker == "assistant",
                session: (!unnamed).then_some(item.session.as_str()),
                observed_at: day.unwrap_or(jiff::Timestamp::UNIX_EPOCH),
            });
            ids.push(item.id.clone());
        }
        Self { index, ids }
    }
}

impl Loaded for IndexOf {
    fn ask(&mut self, question: &str) -> Result<Vec<String>, String> {
        let query = Query {
            text: question,
            limit: LIMIT,
            now: jiff::Timestamp::now(),
        };
        let hits = self.index.search(&query, &|_| true);
        let ids = hits
            .iter()
            .map(|hit| self.ids.get(hit.item as usize).cloned());
        Ok(ids.flatten().collect())
    }
}
