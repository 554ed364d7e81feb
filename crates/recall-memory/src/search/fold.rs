//! One spelling per letter: compatibility forms, case, accents and script variants.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

use super::script::is_invisible;

/// Marks kept in a row; real text needs three, and more would only cost sorting.
const MARKS: usize = 8;

/// Characters that a text may have beyond its bytes; a sign of three bytes may unfold to eighteen.
const UNFOLDED: usize = 64 * 1024;

/// The characters of a text in compatibility form (NFKC), case kept, invisible ones left out.
pub(super) fn characters(text: &str) -> Box<dyn Iterator<Item = char> + '_> {
    if text.is_ascii() {
        return Box::new(text.bytes().map(char::from));
    }
    let mut marks = 0;
    let visible = text.chars().filter(move |&c| {
        marks = if !c.is_ascii() && is_combining_mark(c) {
            marks + 1
        } else {
            0
        };
        marks <= MARKS && !is_invisible(c)
    });
    Box::new(visible.nfkc().take(text.len() + UNFOLDED).map(apostrophe))
}

/// Calls `emit` with the folded spelling of one character: none, one or several characters.
pub(super) fn fold(c: char, emit: &mut impl FnMut(char)) {
    if c.is_ascii() {
        return emit(c.to_ascii_lowercase());
    }
    for c in c.to_lowercase() {
        fold_lower(c, emit);
    }
}

fn fold_lower(c: char, emit: &mut impl FnMut(char)) {
    if is_dropped(c) {
        return;
    }
    if let Some(digit) = decimal(c) {
        return emit(digit);
    }
    match c {
        'ß' => "ss".chars().for_each(emit),
        'æ' => "ae".chars().for_each(emit),
        'œ' => "oe".chars().for_each(emit),
        'þ' => "th".chars().for_each(emit),
        'ø' => emit('o'),
        'đ' | 'ð' => emit('d'),
        'ł' => emit('l'),
        'ħ' => emit('h'),
        'ı' => emit('i'),
        'ς' => emit('σ'),
        'ё' => emit('е'),
        // Alef, ya, waw and ta forms that writers use for one another.
        'أ' | 'إ' | 'آ' | 'ٱ' => emit('ا'),
        'ى' | 'ئ' | 'ی' => emit('ي'),
        'ؤ' => emit('و'),
        'ة' => emit('ه'),
        'ک' => emit('ك'),
        'ך' => emit('כ'),
        'ם' => emit('מ'),
        'ן' => emit('נ'),
        'ף' => emit('פ'),
        'ץ' => emit('צ'),
        // Katakana and hiragana are two ways to write one syllable, 0x60 apart.
        'ァ'..='ヶ' | 'ヽ' | 'ヾ' => {
            emit(char::from_u32(u32::from(c) - 0x60).unwrap_or(c));
        }
        // Candrabindu is written as anusvara by many.
        'ँ' => emit('ं'),
        _ => emit(without_accent(c)),
    }
}

/// Latin and Greek letters lose their accents; other letters differ by theirs (й is not и).
fn without_accent(c: char) -> char {
    if !matches!(u32::from(c), 0xC0..=0x24F | 0x370..=0x3FF | 0x1E00..=0x1FFF) {
        return c;
    }
    let mut base = None;
    decompose_canonical(c, |part| {
        base.get_or_insert(part);
    });
    base.unwrap_or(c)
}

/// Accents left over by composition, vowel points of Hebrew and Arabic, tatweel, nukta.
fn is_dropped(c: char) -> bool {
    matches!(u32::from(c),
        0x0300..=0x036F | 0x0591..=0x05C7 | 0x0610..=0x061A | 0x0640 | 0x064B..=0x065F | 0x0670
        | 0x06D6..=0x06ED | 0x093C | 0x20D0..=0x20FF)
}

/// Digits of other scripts as ASCII digits.
fn decimal(c: char) -> Option<char> {
    const ZEROS: [u32; 9] = [
        0x0660, 0x06F0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0E50, 0x0ED0, 0x17E0,
    ];
    let code = u32::from(c);
    let zero = ZEROS
        .into_iter()
        .find(|&zero| (zero..zero + 10).contains(&code))?;
    char::from_digit(code - zero, 10)
}

fn apostrophe(c: char) -> char {
    match c {
        '\u{2019}' | '\u{02BC}' => '\'',
        _ => c,
    }
}
