//! Splits text into folded words.

use std::collections::VecDeque;

use super::fold::{characters, fold};
use super::script::{Script, continues_word, is_han, script_of};

/// Characters of a word that count; the rest of a longer one is not read.
///
/// Scripts without spaces have no such bound, because their runs are cut into bigrams.
const WORD_CHARS: usize = 64;

/// One word in folded spelling.
#[derive(Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) script: Script,
    /// Whether folding changed no letter but its case.
    pub(super) plain: bool,
    /// Whether it begins with a capital letter and is not one throughout.
    pub(super) title: bool,
    /// Byte offsets where a part of a camelCase word begins, ascending, without 0.
    pub(super) parts: &'a [usize],
    /// Byte offset behind the first inner apostrophe.
    pub(super) behind_apostrophe: Option<usize>,
}

/// Calls `emit` with each word of the text in order.
///
/// A word is a run of letters and digits of one script. Inner apostrophes and the possessive `'s`
/// are left out; every other sign, the underscore too, separates.
pub(super) fn split(text: &str, emit: &mut dyn FnMut(&Word<'_>)) {
    let mut input = Lookahead::new(characters(text));
    let mut open = Open::default();
    while let Some(c) = input.advance() {
        if c == '\'' {
            if input.possessive() {
                input.advance();
            } else if !input.peek(0).is_some_and(is_letter_or_digit) {
                open.close(emit);
            } else {
                open.apostrophe();
            }
        } else {
            open.character(c, emit);
        }
    }
    open.close(emit);
}

/// The beginning of a text, at most so many bytes.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn is_letter_or_digit(c: char) -> bool {
    script_of(c).is_some_and(|script| script != Script::Emoji)
}

/// The characters with a look at the next two.
struct Lookahead<I> {
    input: I,
    ahead: VecDeque<char>,
}

impl<I: Iterator<Item = char>> Lookahead<I> {
    fn new(input: I) -> Self {
        Self {
            input,
            ahead: VecDeque::with_capacity(2),
        }
    }

    fn advance(&mut self) -> Option<char> {
        self.ahead.pop_front().or_else(|| self.input.next())
    }

    fn peek(&mut self, distance: usize) -> Option<char> {
        while self.ahead.len() <= distance {
            self.ahead.push_back(self.input.next()?);
        }
        self.ahead.get(distance).copied()
    }

    /// Whether an apostrophe just read is followed by an `s` that ends a word.
    fn possessive(&mut self) -> bool {
        matches!(self.peek(0), Some('s' | 'S'))
            && !self
                .peek(1)
                .is_some_and(|c| is_letter_or_digit(c) || continues_word(c) || c == '_')
    }
}

/// The word being read.
#[derive(Default)]
struct Open {
    text: String,
    chars: usize,
    script: Option<Script>,
    accented: bool,
    /// Whether its first letter is a capital, and whether any letter is not.
    capital: bool,
    small: bool,
    parts: Vec<usize>,
    behind_apostrophe: Option<usize>,
    /// Letter cases seen, for camelCase: the last two letters, `true` for upper case.
    cases: [Option<bool>; 2],
}

impl Open {
    fn character(&mut self, c: char, emit: &mut dyn FnMut(&Word<'_>)) {
        match script_of(c) {
            Some(Script::Emoji) => self.emoji(c, emit),
            Some(script) => {
                // Folded digits count as digits, whatever the script they were written in.
                let script = if c.is_numeric() && !is_han(c) {
                    Script::Spaced
                } else {
                    script
                };
                if self.script.is_some_and(|open| open != script) {
                    self.close(emit);
                }
                self.script = Some(script);
                self.push(c, script);
            }
            None if continues_word(c) => {
                if let Some(script) = self.script {
                    self.push(c, script);
                }
            }
            None => self.close(emit),
        }
    }

    fn push(&mut self, c: char, script: Script) {
        if script != Script::Spaceless && self.chars >= WORD_CHARS {
            return;
        }
        self.note_case(c);
        let start = self.text.len();
        let (text, chars) = (&mut self.text, &mut self.chars);
        fold(c, &mut |folded| {
            text.push(folded);
            *chars += 1;
        });
        self.accented |= !c.is_ascii() && self.text[start..].is_ascii();
    }

    /// Marks where a camelCase word has a new part: `userName`, `HTTPServer`.
    fn note_case(&mut self, c: char) {
        let upper = c.is_uppercase();
        let lower = c.is_lowercase();
        self.capital |= upper && self.text.is_empty();
        self.small |= lower;
        match self.cases {
            [_, Some(false)] if upper => self.parts.push(self.text.len()),
            [Some(true), Some(true)] if lower => {
                self.parts.push(self.text.len() - last_char_len(&self.text));
            }
            _ => {}
        }
        self.cases = [self.cases[1], (upper || lower).then_some(upper)];
    }

    fn apostrophe(&mut self) {
        if self.script.is_some() && self.behind_apostrophe.is_none() {
            self.behind_apostrophe = Some(self.text.len());
        }
    }

    fn emoji(&mut self, c: char, emit: &mut dyn FnMut(&Word<'_>)) {
        // Two regional letters make one flag.
        let regional = matches!(c, '\u{1F1E6}'..='\u{1F1FF}');
        if !(regional && self.script == Some(Script::Emoji)) {
            self.close(emit);
        }
        self.script = Some(Script::Emoji);
        self.text.push(c);
        self.chars += 1;
        if !regional || self.chars == 2 {
            self.close(emit);
        }
    }

    fn close(&mut self, emit: &mut dyn FnMut(&Word<'_>)) {
        let Some(script) = self.script.take() else {
            return;
        };
        // The `s` of `URLs` is no part.
        self.parts
            .pop_if(|start| self.text.len() - *start == 2 && self.text.ends_with('s'));
        if !self.text.is_empty() {
            emit(&Word {
                text: &self.text,
                script,
                plain: !self.accented,
                title: self.capital && self.small,
                parts: &self.parts,
                behind_apostrophe: self.behind_apostrophe,
            });
        }
        self.text.clear();
        self.parts.clear();
        self.chars = 0;
        self.accented = false;
        (self.capital, self.small) = (false, false);
        self.behind_apostrophe = None;
        self.cases = [None; 2];
    }
}

fn last_char_len(text: &str) -> usize {
    text.chars().next_back().map_or(0, char::len_utf8)
}
