//! Word search over one namespace: analysis, inverted index and ranking, without a model.
//!
//! An [`Index`] is written by one owner and searched by any number of threads. A write is found by
//! the next search. Items are known by the number they got at [`Index::insert`]; what they say is
//! kept only as terms.
//!
//! The score of an item is the sum over the question's terms of the term's weight in the item or,
//! discounted, in one of its neighbours in the session, whichever is more. Days that the question
//! names, its author and the closeness of its words add to it. The parts:
//!
//! * `words`, `fold`, `script`: text into folded words. `terms`, `english`, `forms`: words into terms.
//! * `dictionary`, `postings`, `blocks`, `items`: the index. `cohesion`: how far neighbours count.
//! * `question`, `trigrams`, `dates`, `time`: a question made ready.
//! * `rank`, `frequent`, `reach`, `best`, `proximity`, `weight`, `scratch`: scores and the best of them.

mod best;
mod blocks;
mod cohesion;
mod dates;
mod dictionary;
mod english;
mod fold;
mod forms;
mod frequent;
mod items;
pub(crate) mod plain;
mod postings;
mod proximity;
mod question;
mod rank;
mod reach;
mod scratch;
mod script;
mod terms;
pub mod time;
mod trigrams;
mod weight;
mod words;

use std::fmt;

use jiff::Timestamp;
use parking_lot::RwLock;

use cohesion::{Cohesion, Reach};
use dictionary::{Dictionary, TermNo};
use items::Items;
use postings::{Posting, Postings};
use question::Question;
use terms::Kind;
use trigrams::Trigrams;

/// Number of an item, given in order of insertion from 0 and never again.
pub type ItemNo = u32;

/// An item to be indexed.
#[derive(Clone, Copy, Debug)]
pub struct NewItem<'a> {
    /// What the item says.
    pub text: &'a str,
    /// Who says it or whom it is about; searched like the text.
    pub speaker: Option<&'a str>,
    /// Whether an assistant said it: questions with "I" or "my" prefer what others said.
    pub assistant: bool,
    /// Items written in one go, in order; neighbours in a session lend each other weight.
    pub session: Option<&'a str>,
    /// When it was observed, for questions that name a time.
    pub observed_at: Timestamp,
}

/// Where an item belongs among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Among items with equal scores the lesser comes first, and in a session the lesser stands
    /// before. Items of one order are parts of one text, in the order in which they are inserted.
    pub(crate) order: u32,
    /// Whether the session is one that its writer named, instead of a guess.
    pub(crate) named: bool,
}

/// A question to the index.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The question as asked.
    pub text: &'a str,
    /// Items wanted at most.
    pub limit: usize,
    /// The instant from which "yesterday" counts.
    pub now: Timestamp,
}

/// An item found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Its number.
    pub item: ItemNo,
    /// Its score, comparable within one answer only.
    pub score: f32,
}

/// Which items a search may return, and how it counts.
#[derive(Clone, Copy)]
pub(crate) struct Filter<'a> {
    /// Whether an item may take a place; asked about those that would, in no order. All may where nothing is
    /// given.
    pub(crate) keep: Option<&'a dyn Fn(ItemNo) -> bool>,
    /// Whether an item that the question touches is counted; all are where nothing is given.
    pub(crate) counted: Option<&'a dyn Fn(ItemNo) -> bool>,
}

impl Filter<'_> {
    fn keeps(&self, item: ItemNo) -> bool {
        self.keep.is_none_or(|keep| keep(item))
    }
}

/// What a search came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Best first.
    pub(crate) hits: Vec<Hit>,
    /// Items that the question touches.
    pub(crate) touched: u32,
}

/// The search index of one namespace.
#[derive(Default)]
pub struct Index {
    dictionary: Dictionary,
    postings: Postings,
    items: Items,
    cohesion: Cohesion,
    trigrams: RwLock<Trigrams>,
    /// Neighbour reach that a test sets in place of the measured one.
    #[cfg(test)]
    fixed_reach: Option<f32>,
    /// Whether every item that a question touches is looked at, as a test sets it.
    #[cfg(test)]
    exhaustive: bool,
}

impl Index {
    /// Adds an item behind all others and returns its number. Its session counts as named.
    pub fn insert(&mut self, item: &NewItem<'_>) -> ItemNo {
        let order = u32::try_from(self.items.written()).unwrap_or(u32::MAX);
        let named = true;
        self.insert_at(item, Place { order, named }, None)
    }

    /// Adds an item in its place among the others and returns its number. A part of the text that
    /// stands for itself, a `name`, is found by its function words if it has no others.
    pub(crate) fn insert_at(
        &mut self,
        item: &NewItem<'_>,
        place: Place,
        name: Option<&str>,
    ) -> ItemNo {
        let (mut terms, words) = self.read(item);
        if let Some(name) = name.filter(|name| terms::is_all_grammar(name)) {
            terms::terms(name, &mut |term, _| {
                terms.extend(self.dictionary.intern(term))
            });
        }
        let no = self.items.push(item, place, &terms, words);
        for (term, times) in counted(terms) {
            let posting = Posting { item: no, times };
            self.postings.add(term, posting, &self.items);
        }
        self.measure_cohesion(no);
        no
    }

    /// Takes an item out of every answer; nothing happens when it is out or unknown.
    pub fn remove(&mut self, item: ItemNo) {
        if !self.items.is_known(item) || !self.items.is_live(item) {
            return;
        }
        self.items.bury(item);
        for (term, _) in counted(self.items.terms(item).to_vec()) {
            self.postings.bury(term);
        }
        if self.postings.want_rewrite() {
            self.postings.rewrite(&self.items);
            self.items.dead_are_unposted();
        }
    }

    /// Puts a removed item back in its place; nothing happens when it is in or unknown.
    pub fn restore(&mut self, item: ItemNo) {
        if !self.items.is_known(item) || self.items.is_live(item) {
            return;
        }
        let posted = self.items.is_posted(item);
        self.items.revive(item);
        self.items.set_posted(item);
        for (term, times) in counted(self.items.terms(item).to_vec()) {
            if posted {
                self.postings.unbury(term);
            } else {
                self.postings
                    .add(term, Posting { item, times }, &self.items);
            }
        }
    }

    /// The items that answer the question best, best first.
    ///
    /// Only items that `keep` accepts are returned or take a place. It is asked about those that
    /// would take one, in no order, and must not depend on how often.
    pub fn search(&self, query: &Query<'_>, keep: &dyn Fn(ItemNo) -> bool) -> Vec<Hit> {
        let filter = Filter {
            keep: Some(keep),
            counted: None,
        };
        self.find(query, &filter, None).hits
    }

    /// As [`Index::search`], with a count. With `beside`, terms are worth what they are worth in that
    /// other index, so that the scores of both compare.
    pub(crate) fn find(
        &self,
        query: &Query<'_>,
        filter: &Filter<'_>,
        beside: Option<&Self>,
    ) -> Found {
        if query.limit == 0 || self.is_empty() {
            return Found::default();
        }
        let question = Question::new(self, query, beside);
        scratch::with(self.items.written(), |scratch| {
            rank::best(self, &question, query.limit, filter, scratch)
        })
    }

    /// The items of the days that the question names, the latest first, if it names nothing else; `None` for
    /// any other question.
    pub(crate) fn of_days(&self, query: &Query<'_>, filter: &Filter<'_>) -> Option<Found> {
        let days = dates::alone(&self.items, query.text, query.now)?;
        Some(rank::of_days(self, &days, query.limit, filter))
    }

    /// Whether a question names a time and nothing else; then what says of an instant whether it is meant.
    pub(crate) fn time_alone(
        &self,
        query: &Query<'_>,
    ) -> Option<impl Fn(Timestamp) -> bool + use<>> {
        let days = dates::alone(&self.items, query.text, query.now)?;
        Some(move |at| days.iter().any(|range| range.holds(time::day_of(at))))
    }

    /// What a term is worth.
    fn worth(&self, term: TermNo, beside: Option<&Self>) -> f32 {
        let Some(other) = beside else {
            return weight::idf(self.postings.live(term), self.items.live());
        };
        let there = other.dictionary.find(self.dictionary.term(term));
        let holders = there.map_or(0, |there| other.postings.live(there));
        weight::idf(holders, other.items.live())
    }

    /// Number of live items.
    pub fn len(&self) -> usize {
        self.items.live() as usize
    }

    /// Whether no item lives.
    pub fn is_empty(&self) -> bool {
        self.items.live() == 0
    }

    /// Memory held, in bytes, about.
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.dictionary.bytes()
            + self.postings.bytes()
            + self.items.bytes()
            + self.trigrams.read().bytes()
    }

    /// The terms of an item, words first and pieces behind, and how many of them are words.
    fn read(&mut self, item: &NewItem<'_>) -> (Vec<TermNo>, usize) {
        let dictionary = &mut self.dictionary;
        let (mut words, mut pieces) = (Vec::new(), Vec::new());
        for text in item.speaker.into_iter().chain([item.text]) {
            terms::terms(text, &mut |term, kind| {
                let terms = match kind {
                    Kind::Word => &mut words,
                    Kind::Piece => &mut pieces,
                };
                terms.extend(dictionary.intern(term));
            });
        }
        let length = words.len();
        words.append(&mut pieces);
        (words, length)
    }

    /// How much neighbours count.
    fn reach(&self) -> Reach {
        #[cfg(test)]
        if let Some(reach) = self.fixed_reach {
            return Reach::Measured(reach);
        }
        self.cohesion.reach()
    }

    /// Live terms that look like an unknown word or hold it, with their similarity.
    fn similar(&self, word: &str) -> Vec<(TermNo, f32)> {
        if trigrams::is_lone(word) {
            let around = trigrams::around(word, &self.dictionary, &self.postings);
            return around.into_iter().map(|term| (term, 1.0)).collect();
        }
        let table = self.trigrams.read();
        if table.covers(&self.dictionary) {
            return table.similar(word, &self.dictionary, &self.postings);
        }
        drop(table);
        let mut table = self.trigrams.write();
        table.cover(&self.dictionary);
        table.similar(word, &self.dictionary, &self.postings)
    }
}

/// Without contents: they are the user's.
impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("items", &self.len())
            .field("terms", &self.dictionary.len())
            .field("bytes", &self.bytes())
            .finish()
    }
}

/// Distinct terms and how often each stands in the list.
fn counted(mut terms: Vec<TermNo>) -> Vec<(TermNo, u16)> {
    terms.sort_unstable();
    let runs = terms.chunk_by(|a, b| a == b);
    runs.filter_map(|run| Some((*run.first()?, u16::try_from(run.len()).unwrap_or(u16::MAX))))
        .collect()
}

#[cfg(test)]
mod tests;
