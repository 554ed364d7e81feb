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
        }
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
        }
    }
}

/// A length as a count for answers.
pub(crate) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
