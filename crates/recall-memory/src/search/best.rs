//! The best of many items.

use super::question::Question;
use super::{Filter, Index, ItemNo};

/// What a question about its asker adds to items that the assistant did not write.
const AUTHOR: f32 = 1.5;
/// The room that is made at once; more only where more is asked for.
const ROOM: usize = 128;

/// Takes scores of items in and keeps the best that may take a place.
pub(super) struct Best<'a> {
    index: &'a Index,
    question: &'a Question,
    filter: &'a Filter<'a>,
    leaders: Leaders,
    /// Words that are worth less cannot take a place, whatever else an item has.
    least_words: f32,
    /// Whether a score is what the words are worth and nothing else.
    plain: bool,
    /// The most that priors multiply by, and add before that.
    priors: (f32, f32),
}

impl<'a> Best<'a> {
    pub(super) fn new(
        index: &'a Index,
        question: &'a Question,
        room: usize,
        filter: &'a Filter<'a>,
    ) -> Self {
        let factor = if question.personal { AUTHOR } else { 1.0 };
        let gains = question.days.iter().map(|&(_, gain)| gain);
        Self {
            index,
            question,
            filter,
            leaders: Leaders::new(room),
            least_words: 0.0,
            plain: !question.personal && question.days.is_empty(),
            priors: (factor, gains.fold(0.0, f32::max)),
        }
    }

    /// How many have a place.
    pub(super) fn room(&self) -> usize {
        self.leaders.room
    }

    /// Whether there are as many items as have a place.
    pub(super) fn is_full(&self) -> bool {
        self.leaders.last.is_some()
    }

    /// Whether there are so many more, or as many for the first time, that it is worth to drop the rest.
    pub(super) fn is_over(&self) -> bool {
        let (found, room) = (self.leaders.found.len(), self.leaders.room);
        let spare = if self.is_full() { room / 4 } else { 0 };
        found > room.saturating_add(spare)
    }

    /// Drops all but as many as have a place, if there are so many, so that it is known what the last of
    /// them is worth.
    pub(super) fn settle(&mut self) {
        if let Some(last) = self.leaders.settle() {
            self.least_words = self.words_for(last.score());
        }
    }

    /// Items of this order and of later ones need words that are worth more than this to take a place.
    pub(super) fn bar(&self, earliest: u32) -> f32 {
        match self.leaders.last {
            None => 0.0,
            // Of two that are worth the same, the one of the earlier order has the place.
            Some(last) if self.plain && last.order() < earliest => self.least_words,
            Some(_) => self.least_words.next_down().max(0.0),
        }
    }

    /// Takes in what the words of an item are worth.
    pub(super) fn offer(&mut self, item: ItemNo, words: f32) {
        if words < self.least_words || words <= 0.0 {
            return;
        }
        let score = self.with_priors(item, words);
        let candidate = Ranked::new(score, self.index.items.place(item));
        if self.leaders.want(candidate)
            && self.filter.keeps(item)
            && let Some(last) = self.leaders.push(candidate)
        {
            self.least_words = self.words_for(last.score());
        }
    }

    /// Those that have a place.
    pub(super) fn into_leaders(self) -> Leaders {
        self.leaders
    }

    fn with_priors(&self, item: ItemNo, words: f32) -> f32 {
        let (items, question) = (&self.index.items, self.question);
        let mut score = words;
        if !question.days.is_empty() {
            let day = items.day(item);
            if let Ok(at) = question.days.binary_search_by_key(&day, |&(day, _)| day) {
                score += question.days[at].1;
            }
        }
        if question.personal && !items.by_assistant(item) {
            score *= AUTHOR;
        }
        score
    }

    /// The words that a score takes at least, or a little less.
    fn words_for(&self, score: f32) -> f32 {
        if self.plain {
            return score;
        }
        const ROUNDING: f32 = 0.999;
        let (factor, gain) = self.priors;
        ((score * ROUNDING) / factor - gain).max(0.0)
    }
}

/// Keeps the best of many: up to twice the room is taken in, then all but the best are dropped.
pub(super) struct Leaders {
    room: usize,
    found: Vec<Ranked>,
    /// What does not beat it has no place.
    last: Option<Ranked>,
}

impl Leaders {
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            found: Vec::with_capacity(room.min(ROOM) * 2),
            last: None,
        }
    }

    pub(super) fn want(&self, candidate: Ranked) -> bool {
        self.last.is_none_or(|last| candidate < last)
    }

    /// Takes one in; answers with the last that has a place whenever that becomes known anew.
    pub(super) fn push(&mut self, candidate: Ranked) -> Option<Ranked> {
        self.found.push(candidate);
        match self.found.len() >= self.room.saturating_mul(2) {
            true => self.settle(),
            false => None,
        }
    }

    /// Drops all but as many as have a place; answers with the last of them, if there are so many.
    pub(super) fn settle(&mut self) -> Option<Ranked> {
        if self.room > 0 && self.found.len() > self.room {
            self.found.select_nth_unstable(self.room - 1);
            self.found.truncate(self.room);
            self.last = self.found.last().copied();
        } else if self.room > 0 && self.found.len() == self.room && self.last.is_none() {
            self.last = self.found.iter().max().copied();
        }
        self.last
    }

    /// In no order.
    pub(super) fn into_unsorted(mut self) -> Vec<Ranked> {
        self.settle();
        self.found
    }

    /// Best first.
    pub(super) fn into_sorted(mut self) -> Vec<Ranked> {
        self.settle();
        self.found.sort_unstable();
        self.found
    }
}

/// An item with its score; the better one is less. One number, because most of a search for the best
/// is comparing: the score turned round so that more is less, then the order of the item and the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ranked(u128);

impl Ranked {
    pub(super) fn new(score: f32, (order, item): (u32, ItemNo)) -> Self {
        let place = u64::from(order) << 32 | u64::from(item);
        Self(u128::from(!ascending(score)) << 64 | u128::from(place))
    }

    pub(super) fn item(self) -> ItemNo {
        self.0 as ItemNo
    }

    /// What orders it among those of the same score.
    pub(super) fn place(self) -> (u32, ItemNo) {
        (self.order(), self.item())
    }

    fn order(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(super) fn score(self) -> f32 {
        let bits = !((self.0 >> 64) as u32);
        f32::from_bits(if bits & SIGN == 0 {
            !bits
        } else {
            bits & !SIGN
        })
    }
}

const SIGN: u32 = 1 << 31;

/// A number whose order is that of [`f32::total_cmp`].
fn ascending(score: f32) -> u32 {
    let bits = score.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_score_is_less_and_then_the_earlier_order() {
        let scores = [
            f32::INFINITY,
            3.5,
            3.25,
            1e-40,
            0.0,
            -0.0,
            -1.0,
            f32::NEG_INFINITY,
        ];
        let ranked: Vec<_> = scores
            .iter()
            .flat_map(|&score| {
                let places = [(7, 9), (u32::MAX - 1, 2), (u32::MAX - 1, 3)];
                places.map(|place| Ranked::new(score, place))
            })
            .collect();
        assert!(ranked.is_sorted_by(|a, b| a < b), "{ranked:?}");
        for (three, score) in ranked.chunks(3).zip(scores) {
            assert_eq!(three[0].score().to_bits(), score.to_bits());
            let items: Vec<_> = three.iter().map(|it| it.item()).collect();
            assert_eq!(items, [9, 2, 3]);
        }
    }
}
