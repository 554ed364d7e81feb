//! What an operation answers, and what it looked at to do so.

use recall_store::Revision;

use crate::json::Json;

/// The answer of an operation.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The answer of the contract, one JSON text.
    pub json: Vec<u8>,
    /// The revision of the log that the answer is true of.
    pub revision: Revision,
    /// The records in the answer: beliefs, events, rows.
    pub items: u32,
    /// What the answer was taken from.
    pub coverage: Coverage,
    /// The event that holds what was written, if it is one.
    pub record: Option<String>,
    /// Whether this wrote the first thing that the namespace holds.
    pub began: bool,
    /// Where a listing goes on, if it does.
    pub next: Option<String>,
}

/// What an answer was taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The records that the scope held.
    pub in_scope: u32,
    /// Those of them that met the conditions: filters, times, words.
    pub considered: u32,
    /// Those of them that the limit left out.
    pub left_out: u32,
    /// Why the answer is empty, if it is.
    pub empty: Option<EmptyReason>,
    /// By what the answer was found.
    pub indexes: Indexes,
}

/// The search indexes that an answer was found by. An answer by name was found by none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexes {
    /// Whether words were searched.
    pub words: bool,
    /// What became of the search by vectors.
    pub vectors: Vectors,
}

/// What became of the search by vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vectors {
    /// It is not set up, or the question is none that it could answer.
    #[default]
    Off,
    /// It took part.
    Used,
    /// It is set up and could not take part, or not with all items: the answer is what the other
    /// indexes found, or what vectors found among those that have one.
    Degraded(WhyNot),
}

/// Why vectors could not take part as they should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// The model did not answer in time.
    Slow,
    /// The model could not be reached, refused, or answered what is no vector.
    Failed,
    /// The model failed a moment ago and is left alone for some seconds.
    Resting,
    /// The vectors that are kept could not be read.
    Unreadable,
    /// Some statements have no vector yet.
    Behind,
    /// The vectors are another model's and do not compare.
    OtherModel,
}

impl WhyNot {
    /// The reason in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slow => "the embedding model did not answer in time",
            Self::Failed => {
                "the embedding model could not be reached or did not answer with a vector; the \
                 server's log has the reason"
            }
            Self::Resting => {
                "the embedding model failed a moment ago and is asked again in a few seconds"
            }
            Self::Unreadable => "the vectors kept here could not be read from the store",
            Self::Behind => "some statements have no vector yet",
            Self::OtherModel => {
                "the vectors kept here were made by another embedding model than the one that is set; \
                 they can be made anew with embed-again"
            }
        }
    }
}

impl Indexes {
    pub(crate) const WORDS: Self = Self {
        words: true,
        vectors: Vectors::Off,
    };

    /// The names of those that took part.
    #[must_use]
    pub fn used(self) -> Vec<&'static str> {
        let behind = Vectors::Degraded(WhyNot::Behind);
        let vectors = [Vectors::Used, behind].contains(&self.vectors);
        let names = [(self.words, "words"), (vectors, "vector")];
        names
            .iter()
            .filter(|(used, _)| *used)
            .map(|(_, name)| *name)
            .collect()
    }

    /// Why, in words.
    #[must_use]
    pub fn why(self) -> Option<&'static str> {
        match self.vectors {
            Vectors::Degraded(why) => Some(why.as_str()),
            Vectors::Off | Vectors::Used => None,
        }
    }

    /// The names of those that should have taken part and did not.
    #[must_use]
    pub fn degraded(self) -> Vec<&'static str> {
        match self.vectors {
            Vectors::Degraded(_) => vec!["vector"],
            Vectors::Off | Vectors::Used => Vec::new(),
        }
    }
}

/// Why an answer is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyReason {
    /// The scope holds nothing at all.
    NothingStored,
    /// The scope holds something, and nothing of it meets the conditions.
    NothingMatches,
    /// No statement was ever made about that subject.
    UnknownSubject,
    /// No statement ever used that predicate and the registry has none of that name.
    UnknownPredicate,
}

impl EmptyReason {
    /// The stable name of the reason.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NothingStored => "nothing_stored",
            Self::NothingMatches => "nothing_matches",
            Self::UnknownSubject | Self::UnknownPredicate => "scope_unknown",
        }
    }

    /// Which name of the scope is unknown, if one is.
    #[must_use]
    pub fn unknown(self) -> Option<&'static str> {
        match self {
            Self::UnknownSubject => Some("subject"),
            Self::UnknownPredicate => Some("predicate"),
            Self::NothingStored | Self::NothingMatches => None,
        }
    }
}

impl Coverage {
    /// Coverage of a page: `skipped` of the `considered` records were on pages before it.
    pub(crate) fn of_page(in_scope: u32, considered: u32, skipped: u32, shown: u32) -> Self {
        let whole = Self::of(in_scope, considered, shown);
        Self {
            left_out: whole.left_out.saturating_sub(skipped),
            ..whole
        }
    }

    /// Coverage of `shown` records out of `considered` ones of a scope.
    pub(crate) fn of(in_scope: u32, considered: u32, shown: u32) -> Self {
        let empty = match (shown, in_scope) {
            (0, 0) => Some(EmptyReason::NothingStored),
            (0, _) => Some(EmptyReason::NothingMatches),
            _ => None,
        };
        Self {
            in_scope,
            considered,
            left_out: considered.saturating_sub(shown),
            empty,
            indexes: Indexes::default(),
        }
    }

    /// The same of an answer that was searched for.
    pub(crate) fn by(self, indexes: Indexes) -> Self {
        Self { indexes, ..self }
    }

    /// Writes the members of the object that tells of it.
    pub(crate) fn write(&self, json: &mut Json, revision: Revision) {
        let counts = [
            ("in_scope", self.in_scope),
            ("considered", self.considered),
            ("left_out", self.left_out),
        ];
        for (name, number) in counts {
            json.key(name).int(number.into());
        }
        json.key("indexes").strings(self.indexes.used());
        if !self.indexes.degraded().is_empty() {
            json.key("degraded").strings(self.indexes.degraded());
        }
        if let Some(why) = self.indexes.why() {
            json.key("degraded_because").string(why);
        }
        if let Some(empty) = self.empty {
            json.key("empty").string(empty.as_str());
        }
        if let Some(unknown) = self.empty.and_then(EmptyReason::unknown) {
            json.key("unknown").string(unknown);
        }
        json.key("revision").int(revision.0.cast_signed());
    }

    /// The object that tells of it.
    #[must_use]
    pub fn to_json(&self, revision: Revision) -> Vec<u8> {
        let mut json = Json::default();
        json.object(|json| self.write(json, revision));
        json.into_bytes()
    }

    /// Coverage of an answer that is empty because of a name that means nothing.
    pub(crate) fn unknown(empty: EmptyReason) -> Self {
        Self {
            empty: Some(empty),
            ..Self::default()
        }
    }
}

impl Answer {
    pub(crate) fn new(json: Json, revision: Revision, items: usize, coverage: Coverage) -> Self {
        Self {
            json: json.into_bytes(),
            revision,
            items: count(items),
            coverage,
            record: None,
            began: false,
            next: None,
        }
    }
}

/// A length as a count for answers.
pub(crate) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
