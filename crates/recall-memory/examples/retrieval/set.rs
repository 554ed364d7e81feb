//! Conversations with their questions.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::options::Options;
use crate::score::Random;

/// A conversation, remembered in one namespace, and what is asked about it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Talk {
    pub(crate) conv: String,
    pub(crate) items: Vec<Item>,
    pub(crate) queries: Vec<Question>,
}

/// What is remembered in one go.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) speaker: String,
    #[serde(default)]
    pub(crate) session: String,
    /// The day, if it is known.
    #[serde(default)]
    pub(crate) observed_at: Option<String>,
}

/// A question and the items that hold its answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Question {
    pub(crate) q: String,
    pub(crate) gold: Vec<String>,
    pub(crate) class: String,
}

impl Item {
    /// The text as it is remembered: with who says it.
    pub(crate) fn said(&self) -> String {
        match self.speaker.is_empty() {
            true => self.text.clone(),
            false => format!("{}: {}", self.speaker, self.text),
        }
    }

    pub(crate) fn instant(&self) -> Option<String> {
        Some(format!("{}T00:00:00Z", self.observed_at.as_ref()?))
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<Talk>, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let talks = lines.map(|line| {
        serde_json::from_str(line).map_err(|error| format!("{}: {error}", path.display()))
    });
    talks.collect()
}

pub(crate) fn write(dir: &Path, name: &str, talks: &[Talk]) -> Result<(), String> {
    let path = dir.join(format!("{name}.jsonl"));
    let fault = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = std::fs::File::create(&path).map_err(fault)?;
    for talk in talks {
        let line = serde_json::to_string(talk).map_err(|error| error.to_string())?;
        writeln!(file, "{line}").map_err(fault)?;
    }
    Ok(())
}

/// Chooses, shuffles and joins as the options say; equal texts become one item, as they do in a
/// memory.
pub(crate) fn prepare(mut talks: Vec<Talk>, options: &Options) -> Vec<Talk> {
    let named = |talk: &Talk, list: &[String]| list.contains(&talk.conv);
    talks.retain(|talk| options.only.is_empty() || named(talk, &options.only));
    talks.retain(|talk| !named(talk, &options.skip));
    for talk in &mut talks {
        let all = std::mem::take(&mut talk.queries);
        talk.queries = all.into_iter().step_by(options.step.max(1)).collect();
        if let Some(seed) = options.shuffle {
            shuffle(talk, seed);
        }
    }
    if options.merge {
        talks = vec![merge(talks)];
    }
    talks.iter_mut().for_each(join_equal);
    talks
}

/// The items in another order, each with the session of the place where it now stands.
fn shuffle(talk: &mut Talk, seed: u64) {
    let sessions: Vec<String> = talk.items.iter().map(|item| item.session.clone()).collect();
    let mut random = Random::new(seed);
    for last in (1..talk.items.len()).rev() {
        talk.items.swap(last, random.below(last + 1));
    }
    for (item, session) in talk.items.iter_mut().zip(sessions) {
        item.session = session;
    }
}

fn merge(talks: Vec<Talk>) -> Talk {
    let mut all = Talk {
        conv: "all".to_owned(),
        items: Vec::new(),
        queries: Vec::new(),
    };
    for talk in talks {
        let join = |name: &str| format!("{}/{name}", talk.conv);
        all.items.extend(talk.items.iter().map(|item| Item {
            id: join(&item.id),
            session: join(&item.session),
            ..item.clone()
        }));
        all.queries
            .extend(talk.queries.iter().map(|question| Question {
                gold: question.gold.iter().map(|id| join(id)).collect(),
                ..question.clone()
            }));
    }
    all
}

fn join_equal(talk: &mut Talk) {
    let mut first: HashMap<String, String> = HashMap::new();
    let mut same: HashMap<String, String> = HashMap::new();
    talk.items.retain(|item| {
        let said = item.said().trim().to_lowercase();
        let id = first.entry(said).or_insert_with(|| item.id.clone());
        same.insert(item.id.clone(), id.clone());
        *id == item.id
    });
    for question in &mut talk.queries {
        for gold in &mut question.gold {
            if let Some(id) = same.get(gold) {
                gold.clone_from(id);
            }
        }
        question.gold.sort();
        question.gold.dedup();
    }
}
