//! What each part of the score does, seen from outside.

use jiff::Timestamp;

use crate::search::{Index, ItemNo, NewItem, Query};

const NOW: &str = "2024-05-17T12:00:00Z";

struct Writer(Index);

impl Writer {
    fn new() -> Self {
        Self(Index::default())
    }

    /// An index in which neighbours count in full.
    fn cohesive() -> Self {
        Self(Index {
            fixed_reach: Some(1.0),
            ..Index::default()
        })
    }

    fn write(&mut self, text: &str) -> ItemNo {
        self.write_in(None, text)
    }

    fn write_in(&mut self, session: Option<&str>, text: &str) -> ItemNo {
        let observed_at = NOW.parse().unwrap();
        self.0.insert(&NewItem {
            text,
            speaker: None,
            assistant: false,
            session,
            observed_at,
        })
    }

    /// Items about other things, so that a word of a few items is rare.
    fn fill(&mut self, count: usize) {
        for number in 0..count {
            self.write(&format!("filler{number}"));
        }
    }

    fn found(&self, text: &str) -> Vec<ItemNo> {
        self.found_of(text, &|_| true)
    }

    fn found_of(&self, text: &str, keep: &dyn Fn(ItemNo) -> bool) -> Vec<ItemNo> {
        let query = Query {
            text,
            limit: 10,
            now: NOW.parse().unwrap(),
        };
        self.0
            .search(&query, keep)
            .iter()
            .map(|hit| hit.item)
            .collect()
    }
}

#[test]
fn an_empty_index_and_an_empty_question_find_nothing() {
    let mut w = Writer::new();
    assert!(w.found("word").is_empty());
    w.write("word");
    assert!(w.found("").is_empty());
    assert!(w.found("the of and").is_empty());
    let none = Query {
        text: "word",
        limit: 0,
        now: NOW.parse().unwrap(),
    };
    assert!(w.0.search(&none, &|_| true).is_empty());
    let all = Query {
        text: "word",
        limit: usize::MAX,
        now: NOW.parse().unwrap(),
    };
    assert_eq!(w.0.search(&all, &|_| true).len(), 1);
}

#[test]
fn equal_items_come_in_the_order_they_were_written() {
    let mut w = Writer::new();
    for _ in 0..30 {
        w.write("the same words");
    }
    assert_eq!(w.found("same words"), (0..10).collect::<Vec<_>>());
}

#[test]
fn items_that_are_not_kept_take_no_place() {
    let mut w = Writer::new();
    for _ in 0..500 {
        w.write("crowded");
    }
    let wanted = w.write("crowded but much longer than all of the others before");
    assert_eq!(w.found_of("crowded", &|item| item == wanted), [wanted]);
}

#[test]
fn neighbours_lend_weight_and_removal_closes_the_gap() {
    let mut w = Writer::cohesive();
    w.fill(40);
    let question = w.write_in(Some("s"), "Have you finished the quilt?");
    let joke = w.write_in(Some("s"), "Bananas!");
    let answer = w.write_in(Some("s"), "Nearly, Tuesday.");
    let beyond: Vec<_> = (0..2).map(|_| w.write_in(Some("s"), "Goodbye.")).collect();
    assert_eq!(w.found("quilt"), [question, joke, answer, beyond[0]]);
    w.0.remove(joke);
    assert_eq!(w.found("quilt"), [question, answer, beyond[0], beyond[1]]);
    w.0.restore(joke);
    assert_eq!(w.found("quilt"), [question, joke, answer, beyond[0]]);
}

#[test]
fn other_sessions_and_items_without_one_are_no_neighbours() {
    let mut w = Writer::cohesive();
    w.fill(40);
    let first = w.write_in(Some("a"), "quilt");
    w.write_in(Some("b"), "between");
    w.write_in(None, "nobody");
    w.write_in(Some(""), "empty");
    let second = w.write_in(Some("a"), "Tuesday");
    assert_eq!(w.found("quilt"), [first, second]);
}

#[test]
fn strange_neighbours_do_not_count() {
    let mut w = Writer::new();
    for number in 0..100 {
        w.write_in(Some("s"), &format!("word{number} thing{number}"));
    }
    assert_eq!(w.found("word50"), [50]);
}

#[test]
fn a_question_about_oneself_prefers_what_was_not_said_by_the_assistant() {
    let mut index = Index::default();
    for assistant in [true, false] {
        index.insert(&NewItem {
            text: "The tent is green.",
            speaker: None,
            assistant,
            session: None,
            observed_at: Timestamp::UNIX_EPOCH,
        });
    }
    let w = Writer(index);
    assert_eq!(w.found("color of my tent"), [1, 0]);
    assert_eq!(w.found("color of the tent"), [0, 1]);
}

#[test]
fn a_named_day_prefers_its_items() {
    let mut index = Index::default();
    for day in ["2024-02-03", "2024-05-16", "2024-05-07", "2023-03-09"] {
        index.insert(&NewItem {
            text: "Lunch with Otto.",
            speaker: None,
            assistant: false,
            session: None,
            observed_at: format!("{day}T23:30:00Z").parse().unwrap(),
        });
    }
    let w = Writer(index);
    for (question, first) in [
        ("lunch yesterday", 1),
        ("lunch last week", 2),
        ("lunch in March", 3),
        ("lunch on 3 February", 0),
        ("lunch in 2023", 3),
        ("lunch three months ago", 0),
        ("lunch on 2024-05-16", 1),
    ] {
        assert_eq!(w.found(question).first(), Some(&first), "{question}");
    }
}

#[test]
fn words_close_together_come_first() {
    let mut w = Writer::new();
    w.write("red paint dried while somebody parked another bike there");
    let close = w.write("red bike dried while somebody parked another paint there");
    assert_eq!(w.found("red bike").first(), Some(&close));
}

#[test]
fn a_mistyped_word_finds_what_it_resembles() {
    let mut w = Writer::new();
    let item = w.write("Kubernetes runs in the basement.");
    w.write("Nothing else matters here.");
    assert_eq!(w.found("kubernets"), [item]);
    let later = w.write("The wolverine came back.");
    assert_eq!(w.found("wolverne"), [later]);
    w.0.remove(later);
    assert!(w.found("wolverne").is_empty());
    // Short words and numbers resemble too much.
    w.write("port 54321, cod");
    assert!(w.found("54322").is_empty());
    assert!(w.found("cop").is_empty());
}

#[test]
fn removed_items_are_found_again_only_when_restored() {
    let mut w = Writer::new();
    for number in 0..100 {
        w.write(&format!("apple number{number}"));
    }
    for item in 0..99 {
        w.0.remove(item);
        w.0.remove(item);
        assert_eq!(w.0.len(), 99 - item as usize);
    }
    assert_eq!(w.found("apple"), [99]);
    assert!(w.found("number7").is_empty());
    w.0.restore(7);
    w.0.restore(7);
    w.0.restore(12_345);
    w.0.remove(12_345);
    assert_eq!(w.found("number7"), [7]);
    assert_eq!(w.found("apple"), [7, 99]);
    assert_eq!(w.0.len(), 2);
}

#[test]
fn a_search_inside_a_search_and_after_a_panic_is_not_disturbed() {
    let mut w = Writer::new();
    w.write("pear");
    w.write("pear tree");
    let nested = w.found_of("pear", &|_| w.found("pear tree") == [1, 0]);
    assert_eq!(nested, [0, 1]);
    let panics = std::panic::AssertUnwindSafe(|| w.found_of("pear", &|_| panic!("in keep")));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(w.found("pear"), [0, 1]);
}

#[test]
fn many_threads_get_the_same_answer() {
    let mut w = Writer::new();
    for number in 0..2_000 {
        w.write(&format!("item {} of {}", number % 17, number % 5));
    }
    let expected = w.found("item 3 unknwon");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|_| assert_eq!(w.found("item 3 unknwon"), expected)));
        }
    });
}

/// A million bytes of one kind each; quadratic work anywhere would not end.
#[test]
fn huge_texts_are_read_to_their_end() {
    const SIZE: usize = 1 << 20;
    let mut w = Writer::new();
    let million = (0..300_000)
        .map(|n| format!("{n:x}"))
        .collect::<Vec<_>>()
        .join(" ");
    let item = w.write(&format!("{million} needle"));
    assert_eq!(w.found("needle 3fffe"), [item]);
    for (unit, word) in [
        ("x", "end0"),
        ("\u{301}", "end1"),
        ("\u{200d}", "end2"),
        ("👨‍👩‍👧", "end3"),
        ("京", "end4"),
        ("\u{202e}ا", "end5"),
        ("'s", "end6"),
        ("aB", "end7"),
        ("가", "end8"),
    ] {
        let text = format!("{} {word}", unit.repeat(SIZE / unit.len()));
        let item = w.write(&text);
        assert_eq!(w.found(word), [item], "{unit:?}");
        assert!(w.found(&text).len() <= 10);
    }
}

/// One sign that stands for eighteen letters costs no more than the letters of a long text.
#[test]
fn signs_that_unfold_are_read_within_bounds() {
    let mut w = Writer::new();
    let short = w.write("before \u{fdfa} behind");
    assert_eq!(w.found("behind"), [short]);
    assert_eq!(w.found("وسلم"), [short]);
    let long = w.write(&format!("first {} last", "\u{fdfa}".repeat(100_000)));
    assert_eq!(w.found("first"), [long]);
    assert!(w.0.items.terms(long).len() < 100_000);
    assert!(w.found("last").is_empty());
}
