//! A search that passes over what cannot reach the page finds what one finds that looks at everything.

use std::cell::RefCell;

use jiff::Timestamp;
use proptest::prelude::*;

use crate::search::blocks::ITEMS;
use crate::search::frequent::WEIGHED;
use crate::search::{Filter, Found, Index, ItemNo, NewItem, Place, Query};

/// Words from frequent to rare: one in two items holds the first, one in a hundred the last.
const WORDS: [(&str, u64); 12] = [
    ("amber", 50),
    ("boat", 45),
    ("cedar", 40),
    ("delta", 30),
    ("ember", 25),
    ("forest", 21),
    ("garden", 18),
    ("harbor", 15),
    ("island", 10),
    ("juniper", 5),
    ("kelp", 2),
    ("lichen", 1),
];
const QUESTIONS: [&str; 14] = [
    "amber",
    "lichen",
    "amber boat",
    "amber boat cedar",
    "boat delta forest garden",
    "amber lichen",
    "kelp boat juniper cedar island",
    "amber boat cedar delta ember forest garden harbor island juniper kelp lichen",
    "amber amber cedar",
    "my amber boat",
    "amber boat in march 2022",
    "our ember yesterday",
    "boat ambr",
    "lichen kelp",
];

/// A small generator of numbers (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// What a memory is made of.
#[derive(Clone, Debug)]
struct Made {
    seed: u64,
    items: u64,
    /// Of a hundred writes so many are followed by a removal, and by a restoration.
    removed: u64,
    restored: u64,
    /// Sessions; of 0 there are none.
    sessions: u64,
    /// Whether texts differ in length.
    uneven: bool,
    reach: Option<f32>,
}

fn made() -> impl Strategy<Value = Made> {
    let reach = prop_oneof![Just(Some(0.0)), Just(Some(0.75)), Just(None)];
    let parts = (any::<u64>(), 1..700_u64, 0..80_u64, 0..60_u64, 0..4_u64);
    (parts, any::<bool>(), reach).prop_map(
        |((seed, items, removed, restored, sessions), uneven, reach)| Made {
            seed,
            items,
            removed,
            restored,
            sessions,
            uneven,
            reach,
        },
    )
}

impl Made {
    fn index(&self) -> Index {
        let mut dice = Dice(self.seed);
        let mut index = Index {
            fixed_reach: self.reach,
            ..Index::default()
        };
        for _ in 0..self.items {
            self.write(&mut index, &mut dice);
            let written = index.items.written() as u64;
            if dice.below(100) < self.removed {
                index.remove(dice.below(written) as ItemNo);
            }
            if dice.below(100) < self.restored {
                index.restore(dice.below(written) as ItemNo);
            }
        }
        index
    }

    fn write(&self, index: &mut Index, dice: &mut Dice) {
        let mut text = String::new();
        for (word, share) in WORDS {
            let mut times = u64::from(dice.below(100) < share);
            // Some say a word again and again.
            while times > 0 && times < 9 && dice.below(4) == 0 {
                times += 1;
            }
            for _ in 0..times {
                text.push_str(word);
                text.push(' ');
            }
        }
        for _ in 0..if self.uneven { dice.below(30) } else { 0 } {
            text.push_str("filler ");
        }
        let session = format!("s{}", dice.below(self.sessions.max(1)));
        let speakers = [None, Some("Ana"), Some("assistant")];
        let speaker = speakers[dice.below(3) as usize];
        let item = NewItem {
            text: &text,
            speaker,
            assistant: speaker == Some("assistant"),
            session: (self.sessions > 0).then_some(&session),
            observed_at: Timestamp::from_second((19_030 + dice.below(40) as i64) * 86_400).unwrap(),
        };
        // Some are parts of one text, and some belong before others that are there already.
        let place = Place {
            order: dice.below(self.items) as u32,
            named: dice.below(2) == 0,
        };
        index.insert_at(&item, place, None);
    }
}

/// What a search finds, and what it asked its filter.
#[derive(Debug, PartialEq)]
struct Answer {
    hits: Vec<(ItemNo, u32)>,
    touched: u32,
    counted: Vec<ItemNo>,
}

fn ask(
    index: &Index,
    query: &Query<'_>,
    only: u32,
    counts: bool,
    beside: Option<&Index>,
) -> Answer {
    let asked = RefCell::new(Vec::new());
    let keep = |item: ItemNo| item.is_multiple_of(only);
    let counted = |item: ItemNo| {
        asked.borrow_mut().push(item);
        !item.is_multiple_of(3)
    };
    let filter = Filter {
        keep: (only > 1).then_some(&keep),
        counted: counts.then_some(&counted),
    };
    let found = index.find(query, &filter, beside);
    let mut counted = asked.into_inner();
    counted.sort_unstable();
    Answer {
        hits: found
            .hits
            .iter()
            .map(|hit| (hit.item, hit.score.to_bits()))
            .collect(),
        touched: found.touched,
        counted,
    }
}

/// Asks everything of an index in both ways.
fn check(index: &mut Index, beside: &Index) {
    let now = Timestamp::from_second(19_050 * 86_400).unwrap();
    for text in QUESTIONS {
        for (limit, only, counts, far) in [
            (10, 1, false, false),
            (1, 1, true, false),
            (150, 2, true, false),
            (10, 5, false, true),
        ] {
            let query = Query { text, limit, now };
            let beside = far.then_some(beside);
            let [skipping, all] = [false, true].map(|exhaustive| {
                index.exhaustive = exhaustive;
                ask(index, &query, only, counts, beside)
            });
            assert_eq!(skipping, all, "{text}: {limit} of every {only}th");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn skipping_changes_no_answer(made in made(), beside in made()) {
        let beside = Made { items: beside.items % 100, ..beside }.index();
        check(&mut made.index(), &beside);
    }
}

/// The ten best for a question, and how many items were weighed for it.
fn weighed(index: &mut Index, text: &str) -> (Found, usize) {
    let query = Query {
        text,
        limit: 10,
        now: Timestamp::UNIX_EPOCH,
    };
    let filter = Filter {
        keep: None,
        counted: None,
    };
    WEIGHED.set(0);
    let found = index.find(&query, &filter, None);
    (found, WEIGHED.get())
}

#[test]
fn most_items_are_passed_over_and_all_are_counted() {
    let made = Made {
        seed: 7,
        items: 3_000,
        removed: 5,
        restored: 0,
        sessions: 0,
        uneven: false,
        reach: None,
    };
    let mut index = made.index();
    check(&mut index, &Index::default());
    index.exhaustive = false;
    for text in [
        "amber",
        "amber boat cedar",
        "boat delta forest",
        "kelp amber boat cedar delta",
    ] {
        let (found, weighed) = weighed(&mut index, text);
        let touched = found.touched;
        assert!(touched > 1_000, "{text}: {touched}");
        // Where one word is asked for, most items that hold it may be the best of their length.
        let most = touched as usize * 3 / 4;
        assert!(
            (1..most).contains(&weighed),
            "{text}: {weighed} of {touched}"
        );
    }
}

/// A word in a great many items of one length: the first of them are as good as any.
#[test]
fn those_that_are_worth_the_same_as_the_last_are_passed_over() {
    let mut index = Index::default();
    for _ in 0..3_000 {
        index.insert(&NewItem {
            text: "amber and boat",
            speaker: None,
            assistant: false,
            session: None,
            observed_at: Timestamp::UNIX_EPOCH,
        });
    }
    check(&mut index, &Index::default());
    index.exhaustive = false;
    for text in ["amber", "amber boat"] {
        let (found, weighed) = weighed(&mut index, text);
        assert_eq!(found.touched, 3_000, "{text}");
        let first: Vec<ItemNo> = found.hits.iter().map(|hit| hit.item).collect();
        assert_eq!(first, (0..10).collect::<Vec<_>>(), "{text}");
        assert!(weighed <= ITEMS, "{text}: {weighed}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The closeness of words is looked at in as many items, however many are wanted.
    #[test]
    fn a_longer_page_begins_with_a_shorter_one(made in made()) {
        let index = made.index();
        let now = Timestamp::from_second(19_050 * 86_400).unwrap();
        for text in QUESTIONS {
            let page = |limit| ask(&index, &Query { text, limit, now }, 1, false, None).hits;
            let all = page(1_000);
            for limit in [1, 10, 63, 64, 65, 250] {
                let expected = &all[..all.len().min(limit)];
                prop_assert_eq!(page(limit), expected, "{}: {}", text, limit);
            }
        }
    }
}
