//! Names that are kept once and spoken of by number.

use std::collections::HashMap;
use std::sync::Arc;

use super::runs::Runs;
use crate::registry::{Definition, NOTE, Registry};
use crate::search::plain::Plain;
use crate::value::name_key;

/// Things with a name, numbered from 0.
#[derive(Debug)]
pub(super) struct Names<T> {
    list: Vec<T>,
    by_key: HashMap<Arc<str>, u32>,
    /// By the words of which they are, for finding them in texts.
    pub(super) said: Runs<u32>,
    /// Those of signs alone.
    pub(super) wordless: Vec<u32>,
}

/// A subject of the namespace.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) name: Arc<str>,
    /// Its pairs, in the order in which they were first spoken of.
    pub(crate) pairs: Vec<u32>,
    /// What is believed of it now.
    pub(crate) held: u32,
}

/// A predicate of the namespace.
#[derive(Debug)]
pub(crate) struct Predicate {
    pub(crate) name: Arc<str>,
    pub(crate) definition: Arc<Definition>,
    /// Whether the registry or a write defines it; a log may hold others.
    pub(crate) known: bool,
    pub(crate) note: bool,
    /// Predicates under which a statement here ends the same value.
    pub(crate) ends: Vec<u32>,
    /// Predicates that are folded together with this one, itself among them.
    pub(crate) group: Vec<u32>,
    pub(crate) pairs: Vec<u32>,
    pub(crate) held: u32,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            by_key: HashMap::new(),
            said: Runs::default(),
            wordless: Vec::new(),
        }
    }
}

impl<T> Names<T> {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.list.iter()
    }

    pub(super) fn get(&self, no: u32) -> Option<&T> {
        self.list.get(no as usize)
    }

    pub(super) fn get_mut(&mut self, no: u32) -> Option<&mut T> {
        self.list.get_mut(no as usize)
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.by_key.get(name_key(name).as_str()).copied()
    }

    /// The number of a name, which `make` is asked to introduce when it is new.
    pub(super) fn intern(&mut self, name: &Arc<str>, make: impl FnOnce(u32) -> T) -> u32 {
        let key = name_key(name);
        if let Some(no) = self.by_key.get(key.as_str()) {
            return *no;
        }
        let no = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let key = match *key == **name {
            true => Arc::clone(name),
            false => Arc::from(key),
        };
        self.list.push(make(no));
        let words = Plain::of(name);
        match words.is_empty() {
            true => self.wordless.push(no),
            false => self.said.add(&words, no),
        }
        self.by_key.insert(key, no);
        no
    }
}

impl Names<Subject> {
    pub(super) fn subject(&mut self, name: &Arc<str>) -> u32 {
        self.intern(name, |_| Subject {
            name: Arc::clone(name),
            pairs: Vec::new(),
            held: 0,
        })
    }
}

impl Names<Predicate> {
    pub(super) fn of_registry(registry: &Registry) -> Self {
        let mut names = Self::default();
        for (name, definition) in &registry.definitions {
            names.add(name, definition, true);
        }
        names.link();
        names
    }

    pub(super) fn predicate(&mut self, name: &Arc<str>) -> u32 {
        match self.find(name) {
            Some(no) => no,
            None => self.add(name, &Arc::new(Definition::unknown()), false),
        }
    }

    /// Records a definition; the first one of a name stands. Answers with the number if it is new.
    pub(super) fn define(&mut self, name: &str, definition: Definition) -> Option<u32> {
        let definition = Arc::new(definition);
        let no = match self.find(name) {
            Some(no) => {
                let predicate = self.get_mut(no).filter(|predicate| !predicate.known)?;
                predicate.known = true;
                predicate.definition = Arc::clone(&definition);
                no
            }
            None => self.add(&Arc::from(name), &definition, true),
        };
        if !definition.excludes.is_empty() {
            self.link();
        }
        Some(no)
    }

    fn add(&mut self, name: &Arc<str>, definition: &Arc<Definition>, known: bool) -> u32 {
        self.intern(name, |no| Predicate {
            name: Arc::clone(name),
            definition: Arc::clone(definition),
            known,
            note: **name == *NOTE,
            ends: Vec::new(),
            group: vec![no],
            pairs: Vec::new(),
            held: 0,
        })
    }

    /// Works out which predicates end beliefs of which, and which are therefore folded together.
    fn link(&mut self) {
        let ends: Vec<Vec<u32>> = self.list.iter().map(|one| self.ended_by(one)).collect();
        let groups = groups(&ends);
        for ((predicate, ends), group) in self.list.iter_mut().zip(ends).zip(groups) {
            predicate.ends = ends;
            predicate.group = group;
        }
    }

    fn ended_by(&self, predicate: &Predicate) -> Vec<u32> {
        let excludes = predicate.definition.excludes.iter();
        excludes
            .filter_map(|name| self.find(name))
            .filter(|no| {
                self.get(*no)
                    .is_some_and(|other| !other.definition.historical)
            })
            .collect()
    }
}

/// The connected parts of the graph that `ends` draws, one for each node.
fn groups(ends: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut part: Vec<usize> = (0..ends.len()).collect();
    for (from, targets) in ends.iter().enumerate() {
        for to in targets {
            let joined = (part.get(from).copied(), part.get(*to as usize).copied());
            if let (Some(one), Some(two)) = joined {
                part.iter_mut()
                    .filter(|no| **no == two)
                    .for_each(|no| *no = one);
            }
        }
    }
    let together = |one: &usize| {
        let members = (0..).zip(&part).filter(|(_, two)| *two == one);
        members.map(|(no, _)| no).collect()
    };
    part.iter().map(together).collect()
}
