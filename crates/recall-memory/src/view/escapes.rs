//! Texts as they read once the escapes of JSON and HTML in them are undone.

use std::borrow::Cow;

use crate::search::plain::PAD;

/// Entities that writers of HTML put for signs.
const ENTITIES: [(&str, char); 6] = [
    ("&quot;", '"'),
    ("&amp;", '&'),
    ("&apos;", '\''),
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&nbsp;", ' '),
];
/// Digits of a number that stands for a character.
const MAX_DIGITS: usize = 7;
/// Letters of a tag; no tag of HTML without members is longer.
const MAX_TAG: usize = 12;

/// The text without its escapes. Every character stands where its escape began and what is left of the
/// escape is padded, so that places in the one are places in the other.
pub(super) fn undone(text: &str) -> Cow<'_, str> {
    if !text.contains(['\\', '&', '<']) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let c = rest.chars().next().unwrap_or(PAD);
        let escape = match c {
            '\\' => backslash(rest),
            '&' => entity(rest),
            '<' => tag(rest).map(|length| (' ', length)),
            _ => None,
        };
        let (c, length) = escape.unwrap_or((c, c.len_utf8()));
        plain.push(c);
        plain.extend(std::iter::repeat_n(
            PAD,
            length.saturating_sub(c.len_utf8()),
        ));
        at += length;
    }
    Cow::Owned(plain)
}

/// The character that an escape of JSON begins with stands for, however often it was escaped, and the
/// length of the escape in bytes.
fn backslash(text: &str) -> Option<(char, usize)> {
    let code = text.trim_start_matches('\\');
    let signs = text.len() - code.len();
    let (c, length) = match code.chars().next()? {
        'n' | 'r' => ('\n', 1),
        't' => ('\t', 1),
        c @ ('"' | '/') => (c, 1),
        'u' | 'U' => unit(code).and_then(|(first, length)| match first {
            0xD800..=0xDBFF => {
                let second = code.get(length..)?;
                let bare = second.trim_start_matches('\\');
                let (low, more) = unit(bare)?;
                let length = length + second.len() - bare.len() + more;
                let pair = char::decode_utf16([first, low]).next()?;
                Some((pair.ok()?, length))
            }
            _ => Some((char::from_u32(u32::from(first))?, length)),
        })?,
        _ => return None,
    };
    Some((c, signs + length))
}

/// The number behind `u`, and the length of both.
fn unit(code: &str) -> Option<(u16, usize)> {
    let digits = code.strip_prefix(['u', 'U'])?.get(..4)?;
    let hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    Some((u16::from_str_radix(digits, 16).ok().filter(|_| hex)?, 5))
}

fn entity(text: &str) -> Option<(char, usize)> {
    let named = ENTITIES.iter().find(|(name, _)| {
        let own = text.get(..name.len());
        own.is_some_and(|own| own.eq_ignore_ascii_case(name))
    });
    if let Some((name, c)) = named {
        return Some((*c, name.len()));
    }
    let (number, _) = text.strip_prefix("&#")?.split_once(';')?;
    let hex = number.strip_prefix(['x', 'X']);
    let digits = hex.unwrap_or(number);
    if digits.len() > MAX_DIGITS || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let code = u32::from_str_radix(digits, if hex.is_some() { 16 } else { 10 }).ok()?;
    let c = char::from_u32(code)?;
    // A short number may stand for no character of more bytes than it has itself.
    Some((c, "&#;".len() + number.len())).filter(|(c, length)| c.len_utf8() <= *length)
}

/// The length of a tag without members, such as `<b>` and `</fact>`.
fn tag(text: &str) -> Option<usize> {
    let inner = text.get(1..)?;
    let end = inner.find('>').filter(|end| *end <= MAX_TAG)?;
    let name = inner.get(..end)?.trim_matches('/').trim_end();
    let is_name = !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric());
    is_name.then_some(end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_where_they_stand() {
        for (text, plain) in [
            ("plain", "plain"),
            (r"Z\u00fcrich", "Zürich"),
            (r"Z\\u00FCrich", "Zürich"),
            (r"\u5317\u4eac", "北京"),
            (r"\ud83d\ude80!", "\u{1f680}!"),
            (r"\ud83d", r"\ud83d"),
            (r"\u00", r"\u00"),
            (r#"a\nb\"c\""#, "a\nb\"c\""),
            (r"C:\work", r"C:\work"),
            ("&quot;R&amp;D&quot; &#252;&#xfc;", "\"R&D\" üü"),
            ("&#1;&#99999999; & &x;", "\u{1}&#99999999; & &x;"),
            ("<b>a</b> <br/>1 < 2 > 0", " a   1 < 2 > 0"),
            ("<a href='x'>", "<a href='x'>"),
        ] {
            let undone = undone(text);
            assert_eq!(undone.len(), text.len(), "{text}");
            let read: String = undone.chars().filter(|c| *c != PAD).collect();
            let plain: String = plain.chars().filter(|c| *c != PAD).collect();
            assert_eq!(read, plain, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_keeps_its_places(text in "[\\\\u&#;<>/\"0-9a-fxé北 ]{0,30}") {
            let undone = undone(&text);
            proptest::prop_assert_eq!(undone.len(), text.len());
            for (at, c) in text.char_indices().filter(|(_, c)| !c.is_ascii()) {
                proptest::prop_assert_eq!(undone.get(at..at + c.len_utf8()), text.get(at..at + c.len_utf8()));
            }
        }
    }
}
