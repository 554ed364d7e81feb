//! The requests of each kind of load, made from a seed.

use std::io::Write;

use serde_json::{Value, json};

/// Words of notes and queries.
const WORDS: [&str; 24] = [
    "anchor",
    "basil",
    "canyon",
    "compiler",
    "copper",
    "deadline",
    "falcon",
    "glacier",
    "harbour",
    "invoice",
    "kernel",
    "lantern",
    "marble",
    "monsoon",
    "orchid",
    "paprika",
    "quartz",
    "release",
    "saffron",
    "schedule",
    "telescope",
    "tuesday",
    "walnut",
    "zeppelin",
];
const WORDS_OF_NOTE: usize = 12;

/// A small generator of numbers (splitmix64): the same seed gives the same requests.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    fn words(&mut self, count: usize) -> String {
        let word = |_| WORDS[self.below(WORDS.len() as u64) as usize];
        (0..count).map(word).collect::<Vec<_>>().join(" ")
    }
}

/// Appends one request with a JSON body.
pub(super) fn post(out: &mut Vec<u8>, path: &str, key: &str, body: &str) {
    let authorization = match key {
        "" => String::new(),
        key => format!("Authorization: Bearer {key}\r\n"),
    };
    // Writing to a vector does not fail.
    let _ = write!(
        out,
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{authorization}Content-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
}

/// Appends one PUT of a JSON body.
pub(super) fn put(out: &mut Vec<u8>, path: &str, body: &str) {
    let _ = write!(
        out,
        "PUT {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
}

/// Appends one request without a body.
pub(super) fn get(out: &mut Vec<u8>, path: &str) {
    let _ = write!(out, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
}

/// Fact `number` of a memory to be loaded: every other one a pair of its own, the rest notes.
pub(super) fn fact(number: u64, dice: &mut Dice) -> String {
    match number % 2 {
        0 => {
            format!(r#"{{"subject":"u{number}","predicate":"prefers_editor","value":"e{number}"}}"#)
        }
        _ => {
            let words = dice.words(WORDS_OF_NOTE);
            format!(r#"{{"subject":"proj","predicate":"note","value":"{words} {number}"}}"#)
        }
    }
}

/// Facts from `first` on as the statements of one text.
pub(super) fn facts(first: u64, count: u64, dice: &mut Dice) -> String {
    let one = |number: u64| {
        let mut fact: Value = serde_json::from_str(&fact(number, dice)).unwrap_or_default();
        fact["evidence"] = fact["value"].clone();
        fact
    };
    let statements: Vec<Value> = (first..first + count).map(one).collect();
    let said = statements.iter().filter_map(|one| one["value"].as_str());
    let text = said.collect::<Vec<_>>().join("; ");
    json!({ "text": text, "statements": statements }).to_string()
}

/// A pair of one of the first `facts` facts.
pub(super) fn pair(facts: u64, dice: &mut Dice) -> String {
    let number = dice.below(facts.div_ceil(2)) * 2;
    format!(r#"{{"subject":"u{number}","predicate":"prefers_editor"}}"#)
}

/// Three words, at most ten answers.
pub(super) fn query(dice: &mut Dice) -> String {
    format!(r#"{{"query":"{}","limit":10}}"#, dice.words(3))
}

/// A statement that nobody made before, as long as `number` grows.
pub(super) fn statement(number: u64) -> String {
    format!(r#"{{"subject":"s{number}","predicate":"prefers_editor","value":"v{number}"}}"#)
}

/// A text to remember.
pub(super) fn text(number: u64, dice: &mut Dice) -> String {
    let words = dice.words(WORDS_OF_NOTE);
    format!(r#"{{"text":"{words} {number}"}}"#)
}

/// A question to a text memory.
pub(super) fn question(dice: &mut Dice) -> String {
    format!(r#"{{"question":"{}"}}"#, dice.words(3))
}
