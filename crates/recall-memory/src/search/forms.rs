//! Forms of words in scripts for which there is no stemmer at hand: a few endings and beginnings.
//!
//! What comes off is not always grammar, so a shorter form never stands for the word: it stands
//! beside it, as a piece.

/// Letters that Hebrew writes before a noun: and, the, in, to, from, that, as.
const HEBREW_BEFORE: [char; 7] = ['ו', 'ה', 'ב', 'ל', 'מ', 'ש', 'כ'];
/// Plural and feminine endings of Hebrew, the longest first; final letters are folded.
const HEBREW_BEHIND: [&str; 4] = ["ימ", "ות", "ה", "ת"];
/// Letters of a Hebrew word that are left at least.
const HEBREW_LEAST: usize = 3;

/// Endings of number, case and gender of Hindi, the longest first; candrabindu is folded.
const HINDI_BEHIND: [&str; 14] = [
    "ियों",
    "ियां",
    "ाओं",
    "ाएं",
    "ुओं",
    "ुएं",
    "ें",
    "ों",
    "ां",
    "ी",
    "ा",
    "े",
    "ो",
    "ि",
];
/// Signs of a Hindi word that are left at least.
const HINDI_LEAST: usize = 2;

const VIRAMA: char = '\u{94D}';
const ANUSVARA: char = '\u{902}';

/// Calls `emit` with the shorter forms of a folded word.
pub(super) fn pieces(word: &str, emit: &mut dyn FnMut(&str)) {
    match word.chars().next().map(u32::from) {
        Some(0x05D0..=0x05EA) => hebrew(word, emit),
        Some(0x0900..=0x097F) => {
            let shorter = HINDI_BEHIND.iter().find_map(|end| word.strip_suffix(end));
            if let Some(shorter) = shorter.filter(|it| has(it, HINDI_LEAST)) {
                emit(shorter);
            }
        }
        _ => {}
    }
}

fn hebrew(word: &str, emit: &mut dyn FnMut(&str)) {
    let mut rest = Some(word);
    for before in 0..=2 {
        let Some(form) = rest.filter(|form| has(form, HEBREW_LEAST)) else {
            return;
        };
        if before > 0 {
            emit(form);
        }
        let shorter = HEBREW_BEHIND.iter().find_map(|end| form.strip_suffix(end));
        if let Some(shorter) = shorter.filter(|it| has(it, HEBREW_LEAST - 1)) {
            emit(shorter);
        }
        // Only "and" and "that" stand before another such letter.
        rest = match before {
            0 => form.strip_prefix(HEBREW_BEFORE),
            _ => form
                .strip_prefix(HEBREW_BEFORE)
                .filter(|_| word.starts_with(['ו', 'ש'])),
        };
    }
}

/// One spelling of a word of Hindi: writers put a dot for the nasal before a consonant, or the nasal,
/// and write the glide between vowels or not.
pub(super) fn hindi_spelling(word: &str) -> Option<String> {
    if !word.starts_with(|c| matches!(c, '\u{900}'..='\u{97F}')) {
        return None;
    }
    let letters: Vec<char> = word.chars().collect();
    let mut plain = String::with_capacity(word.len());
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        let (next, then) = (letters.get(at + 1), letters.get(at + 2));
        let nasal = matches!(letter, 'ङ' | 'ञ' | 'ण' | 'न' | 'म');
        let before = then.is_some_and(|then| matches!(then, 'क'..='ह') && *then != letter);
        if nasal && next == Some(&VIRAMA) && before && homorganic(letter, then) {
            plain.push(ANUSVARA);
            at += 2;
            continue;
        }
        let last = at + 2 == letters.len() && at > 0;
        match (letter, next) {
            ('य', Some('े')) if last => plain.push('ए'),
            ('य', Some('ी')) if last => plain.push('ई'),
            _ => {
                plain.push(letter);
                at += 1;
                continue;
            }
        }
        at += 2;
    }
    (plain != word).then_some(plain)
}

/// Whether a nasal is that of the row of consonants that follows it.
fn homorganic(nasal: char, consonant: Option<&char>) -> bool {
    consonant.is_some_and(|consonant| match nasal {
        'ङ' => matches!(consonant, 'क'..='घ'),
        'ञ' => matches!(consonant, 'च'..='झ'),
        'ण' => matches!(consonant, 'ट'..='ढ'),
        'न' => matches!(consonant, 'त'..='ध'),
        'म' => matches!(consonant, 'प'..='भ'),
        _ => false,
    })
}

fn has(word: &str, letters: usize) -> bool {
    word.chars().nth(letters - 1).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: &[&str]) {
        let mut got = Vec::new();
        pieces(word, &mut |piece| got.push(piece.to_owned()));
        assert_eq!(got, expected, "{word}");
    }

    #[test]
    fn hebrew_loses_what_is_written_before_and_behind() {
        check("כלבימ", &["כלב", "לבימ", "לב"]);
        check("הכלב", &["כלב"]);
        check("ובבית", &["ובבי", "בבית", "בבי", "בית", "בי"]);
        check("לספרייה", &["לספריי", "ספרייה", "ספריי"]);
        check("כלב", &[]);
        check("של", &[]);
    }

    #[test]
    fn hindi_loses_endings() {
        check("किताबें", &["किताब"]);
        check("किताबों", &["किताब"]);
        check("लड़कियों", &["लड़क"]);
        check("घर", &[]);
        check("मां", &[]);
    }

    #[test]
    fn hindi_has_one_spelling() {
        for (word, plain) in [
            ("हिन्दी", Some("हिंदी")),
            ("हिंदी", None),
            ("अण्डा", Some("अंडा")),
            ("सम्भव", Some("संभव")),
            ("गये", Some("गए")),
            ("नयी", Some("नई")),
            ("जन्म", None),
            ("अन्न", None),
            ("ये", None),
        ] {
            assert_eq!(hindi_spelling(word).as_deref(), plain, "{word}");
        }
    }
}
