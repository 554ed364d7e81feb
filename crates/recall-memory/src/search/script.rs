//! What a character is to the word splitter.

use unicode_normalization::char::is_combining_mark;

/// The way a run of characters becomes terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    /// Scripts written without spaces: Han, Kana, Thai, Lao, Khmer, Burmese.
    Spaceless,
    Hangul,
    Arabic,
    Cyrillic,
    /// One pictograph, a word of its own.
    Emoji,
    /// Latin, digits and every other script with spaces between words.
    Spaced,
}

/// The script of a letter, digit or pictograph; `None` for what separates words.
pub(super) fn script_of(c: char) -> Option<Script> {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric().then_some(Script::Spaced);
    }
    if is_emoji(c) {
        return Some(Script::Emoji);
    }
    if !c.is_alphanumeric() {
        return None;
    }
    Some(match u32::from(c) {
        0x0400..=0x052F | 0x1C80..=0x1C8F | 0xA640..=0xA69F => Script::Cyrillic,
        0x0600..=0x06FF | 0x0750..=0x077F | 0x08A0..=0x08FF => Script::Arabic,
        0x1100..=0x11FF | 0x3130..=0x318F | 0xAC00..=0xD7FF => Script::Hangul,
        _ if is_han(c) || is_kana(c) || is_southeast_asian(c) => Script::Spaceless,
        _ => Script::Spaced,
    })
}

/// Whether a mark belongs to the letter before it and is kept in the word.
pub(super) fn continues_word(c: char) -> bool {
    !c.is_ascii() && is_combining_mark(c)
}

/// Han characters, which carry meaning alone.
pub(super) fn is_han(c: char) -> bool {
    matches!(u32::from(c),
        0x3005 | 0x3007 | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// Characters that show nothing: joiners, direction marks, variation selectors, tags.
///
/// They are dropped before anything else, so that a word with one inside is still that word.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(u32::from(c),
        0x00AD | 0x034F | 0x061C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F
        | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F
        | 0xFEFF | 0xFFA0 | 0x1D173..=0x1D17A | 0x1F3FB..=0x1F3FF | 0xE0000..=0xE0FFF)
}

fn is_kana(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x30FF | 0x31F0..=0x31FF | 0x1AFF0..=0x1B16F)
}

fn is_southeast_asian(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0xA9E0..=0xA9FF | 0xAA60..=0xAA7F)
}

fn is_emoji(c: char) -> bool {
    matches!(u32::from(c),
        0x231A..=0x231B | 0x23E9..=0x23F3 | 0x2600..=0x27BF | 0x2B1B..=0x2B1C | 0x2B50 | 0x2B55
        | 0x1F000..=0x1F0FF | 0x1F18E | 0x1F1E6..=0x1F1FF | 0x1F300..=0x1FAFF)
}
